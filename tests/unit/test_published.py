"""The whole record: flags, aliases, links (PROTOCOL §3, §4, §7, §8)."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from pith_builder import Enrichment, Profile
from pith_builder.errors import InvalidInput
from pith_builder.published import VerificationStatus, event_summary
from pith_builder.testing import make_metadata, make_record

CREATED = "2026-01-02T03:04:05.678901+00:00"


def enriched(**fields: Any) -> Enrichment:
    return Enrichment.from_json(json.dumps(fields))


def flags_of(**fields: Any) -> VerificationStatus:
    return make_record(enrichment=enriched(**fields)).verification_status


# --- flags ------------------------------------------------------------------------------------------------------


def test_a_record_without_enrichment_is_addressed_signed_and_has_a_snapshot() -> None:
    status = msgspec.to_builtins(make_record().verification_status)
    assert {name for name, value in status.items() if value} == {
        "content_addressed",
        "pith_receipt",
        "graph_snapshot",
    }


@pytest.mark.parametrize(
    ("strengths", "attested", "weak", "strong"),
    [
        ([], False, 0, 0),
        (["weak"], False, 1, 0),
        (["strong"], True, 0, 1),
        (["weak", "strong", "weak"], True, 2, 1),
    ],
)
def test_author_claims_set_flag_counts_and_state(strengths: list[str], attested: bool, weak: int, strong: int) -> None:
    record = make_record(enrichment=enriched(author_claims=[{"strength": strength} for strength in strengths]))
    status = record.verification_status
    assert (status.author_attested, status.weak_author_claims, status.strong_author_claims) == (attested, weak, strong)
    assert record.attestation_state == ("author_attested" if attested else "computed")


@pytest.mark.parametrize(
    ("event_type", "flag", "value"),
    [
        ("citation_signature", "citation_signatures", 2),
        ("replication_record", "replication_records", 2),
        ("timestamp_anchor", "externally_anchored", True),
        ("storage_attestation", "storage_verified", True),
    ],
)
def test_events_set_their_flag_alone(event_type: str, flag: str, value: int | bool) -> None:
    changed = msgspec.to_builtins(flags_of(events=[{"event_type": event_type}] * 2))
    untouched = msgspec.to_builtins(make_record().verification_status)
    assert changed == untouched | {flag: value}


def test_an_event_of_another_type_sets_no_flag() -> None:
    assert flags_of(events=[{"event_type": "seen"}]) == make_record().verification_status


@pytest.mark.parametrize(
    ("resolved", "flag"), [([], False), ([True], True), ([True, True], True), ([True, False], False), ([False], False)]
)
def test_references_are_resolved_when_given_and_all_are(resolved: list[bool], flag: bool) -> None:
    assert flags_of(references=[{"resolved": value} for value in resolved]).references_resolved is flag


@pytest.mark.parametrize(
    ("formal", "flag"), [({}, False), ({"anchors": ["x"]}, False), ({"evidence": [{"kind": "lean"}]}, True)]
)
def test_formal_links_are_present_with_formal_evidence(formal: dict[str, Any], flag: bool) -> None:
    assert flags_of(formal_canon=formal).formal_links_present is flag


# --- what enrichment shows --------------------------------------------------------------------------------------


def test_the_headline_stands_in_both_paper_blocks() -> None:
    record = make_record(enrichment=enriched(headline="A headline"))
    assert record.paper.headline == record.graph_snapshot.paper.headline == "A headline"


def test_events_are_counted_by_type_with_keys_sorted() -> None:
    events = [{"event_type": name, "n": n} for n, name in enumerate(["b", "a", "b"])]
    record = make_record(enrichment=enriched(events=events))
    assert record.events == events
    assert list(record.event_summary.items()) == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("row", [{}, {"event_type": 1}])
def test_an_event_without_a_type_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        event_summary([row])
    assert caught.value.field == "events"


def test_formal_canon_shows_five_rows_and_all_anchors() -> None:
    evidence = [{"n": n} for n in range(7)]
    record = make_record(enrichment=enriched(formal_canon={"evidence": evidence, "anchors": list("abcdefg")}))
    shown = record.formal_canon
    assert (shown.evidence_count, shown.sample, shown.anchors) == (7, evidence[:5], list("abcdefg"))


def test_paper_claims_are_shown_as_given() -> None:
    assert make_record(enrichment=enriched(paper_claims=["x", {"b": 1, "a": 2}])).paper_claims == [
        "x",
        {"b": 1, "a": 2},
    ]


def test_inbound_citations_are_shown_as_given() -> None:
    given = {"count": 17, "internal_anchor_count": 4, "sample": [{"ref_index": 1}]}
    record = make_record(enrichment=enriched(inbound_citations=given))
    assert msgspec.to_builtins(record.inbound_citations) == given


def test_unknown_fields_of_a_verdict_are_kept_in_the_record_in_jsonb_order() -> None:
    given = {"x_score": {"bb": 0.5, "a": 1}, "strongest_claim": "It holds.", "x": 1}
    record = make_record(enrichment=enriched(verdict=given))
    verdict = json.loads(record.to_json())["graph_snapshot"]["verdict"]
    assert verdict.items() >= given.items()
    assert list(verdict) == sorted(verdict, key=lambda name: (len(name), name))
    assert sorted(record.unknown()) == ["graph_snapshot.verdict.x", "graph_snapshot.verdict.x_score"]


# --- numbers, aliases, links ------------------------------------------------------------------------------------


def test_a_record_says_its_number_short_form_and_digest() -> None:
    record = make_record()
    number = record.canonical_record.number()
    assert record.pith_number == str(number)
    assert record.short_pith_number == f"pith:{number.suffix[:8]}"
    assert record.canonical_sha256 == record.receipt.canonical_sha256 == record.canonical_record.digest().hex()


@pytest.mark.parametrize(
    ("arxiv_id", "version"), [("2601.00001", 1), ("hep-th/9901001", 3)], ids=["new form", "old form"]
)
def test_aliases_stand_in_their_published_order(arxiv_id: str, version: int) -> None:
    record = make_record(make_metadata(arxiv_id=arxiv_id, version=version))
    suffix = record.number.suffix
    assert [(alias.alias_kind, alias.alias_value) for alias in record.aliases] == [
        ("arxiv", arxiv_id),
        ("arxiv_version", f"{arxiv_id}v{version}"),
        ("doi", f"10.48550/arxiv.{arxiv_id}"),
        ("pith_short_12", suffix[:12]),
        ("pith_short_16", suffix[:16]),
        ("pith_short_8", suffix[:8]),
    ]


def test_at_issue_all_record_times_are_one_reading() -> None:
    record = make_record()
    assert {record.created_at, record.updated_at, *(alias.created_at for alias in record.aliases)} == {CREATED}


@pytest.mark.parametrize("base_url", ["https://example.org", "https://example.org/", "http://localhost:8000/registry"])
def test_all_links_are_below_the_base_url(base_url: str) -> None:
    record = make_record(profile=Profile(base_url=base_url))
    base = base_url.rstrip("/")
    actions = msgspec.to_builtins(record.agent_actions)
    urls = [
        record.schema_url,
        *msgspec.to_builtins(record.links).values(),
        *actions.pop("actions").values(),
        *actions.values(),
    ]
    assert [url for url in urls if not url.startswith(f"{base}/") or "//" in url.removeprefix(f"{base}/")] == []
    assert record.base_url == base


def test_the_resolve_link_keeps_the_slash_of_an_old_id() -> None:
    record = make_record(make_metadata(arxiv_id="hep-th/9901001"))
    assert record.agent_actions.resolve_alias.endswith("/api/pith-number/resolve?arxiv=hep-th/9901001&json=true")


@pytest.mark.parametrize("html", ["", "https://pith.science/paper/ABCDEFGH", "ftp://x/pith/" + "A" * 26, "x"])
def test_a_record_with_another_html_link_has_no_base_url(html: str) -> None:
    record = make_record()
    assert record.replace(links=msgspec.structs.replace(record.links, html=html)).base_url is None


def test_the_builder_version_of_the_profile_stands_in_receipt_and_snapshot() -> None:
    record = make_record(profile=Profile(builder_version="another"))
    assert record.receipt.builder_version == record.graph_snapshot.builder_version == "another"
