"""Enrichment, and the snapshot's sections with their hashes (PROTOCOL §4, §5)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import rfc8785

from pith_builder import Enrichment, GraphSnapshot, Paper, canonical_record
from pith_builder.canonical import NotCanonical
from pith_builder.errors import InvalidEnrichment
from pith_builder.snapshot import (
    CLEAN_SHA256,
    EMPTY_SHA256,
    NO_VERDICT,
    IntegrityInput,
    build_integrity,
    build_references,
    build_snapshot,
    integrity_summary,
    rows_sha256,
)
from pith_builder.testing import make_metadata


def enriched(**fields: Any) -> Enrichment:
    return Enrichment.from_json(json.dumps(fields))


def snapshot_of(enrichment: Enrichment | None) -> GraphSnapshot:
    metadata = make_metadata()
    canonical = canonical_record(metadata)
    return build_snapshot(Paper.of(metadata, canonical), canonical, enrichment, "builder")


def payload_sha256(payload: Any) -> str:
    return hashlib.sha256(rfc8785.dumps({"payload": payload})).hexdigest()


@pytest.fixture(scope="module")
def reviewed(root: Path) -> dict[str, Any]:
    """The enrichment of the fixtures, as a JSON value."""
    found: dict[str, Any] = json.loads((root / "fixtures" / "enrichment.json").read_bytes())
    return found


# --- nothing known ----------------------------------------------------------------------------------------------


def test_without_enrichment_the_sections_are_the_published_defaults() -> None:
    sections = msgspec.to_builtins(snapshot_of(None))
    assert sections["claims"] == {"count": 0, "items": [], "snapshot_sha256": EMPTY_SHA256}
    assert sections["verdict"] == msgspec.to_builtins(NO_VERDICT)
    assert sections["integrity"]["clean"] is True
    assert sections["integrity"]["snapshot_sha256"] == CLEAN_SHA256
    assert sections["references"]["snapshot_sha256"] == EMPTY_SHA256
    assert sections["formal_canon"] == {"evidence_count": 0, "snapshot_sha256": EMPTY_SHA256}
    assert sections["author_claims"] == {"count": 0, "strong_count": 0, "snapshot_sha256": EMPTY_SHA256}


def test_an_empty_enrichment_is_no_enrichment() -> None:
    assert snapshot_of(enriched()) == snapshot_of(None)


def test_the_sections_stand_in_their_stored_order() -> None:
    assert list(msgspec.to_builtins(snapshot_of(None))) == [
        *("paper", "claims", "source", "verdict", "integrity"),
        *("references", "formal_canon", "author_claims", "builder_version"),
    ]


@pytest.mark.parametrize(("payload", "known"), [([], EMPTY_SHA256), ({"detectors": [], "findings": []}, CLEAN_SHA256)])
def test_the_hash_of_an_empty_section_is_that_of_its_payload(payload: Any, known: str) -> None:
    assert payload_sha256(payload) == known


# --- hashes and counts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("section", ["claims", "references", "author_claims"])
def test_a_section_of_rows_is_hashed_over_all_of_them(reviewed: dict[str, Any], section: str) -> None:
    built = msgspec.to_builtins(snapshot_of(enriched(**reviewed)))[section]
    assert built["snapshot_sha256"] == payload_sha256(reviewed[section])
    assert built["count"] == len(reviewed[section])


def test_formal_canon_is_hashed_over_its_evidence(reviewed: dict[str, Any]) -> None:
    built = snapshot_of(enriched(**reviewed)).formal_canon
    assert built.snapshot_sha256 == payload_sha256(reviewed["formal_canon"]["evidence"])
    assert built.evidence_count == len(reviewed["formal_canon"]["evidence"])


def test_integrity_is_hashed_over_detectors_and_findings_alone(reviewed: dict[str, Any]) -> None:
    integrity = reviewed["integrity"]
    built = snapshot_of(enriched(**reviewed)).integrity
    assert isinstance(built, msgspec.Struct)
    assert msgspec.to_builtins(built)["snapshot_sha256"] == payload_sha256(
        {"detectors": integrity["detectors_run"], "findings": integrity["findings"]}
    )


def test_the_order_of_keys_in_a_row_does_not_change_its_hash() -> None:
    assert rows_sha256([{"a": 1, "bb": 2}]) == rows_sha256([{"bb": 2, "a": 1}])


def test_the_order_of_rows_changes_the_hash() -> None:
    assert rows_sha256([{"a": 1}, {"a": 2}]) != rows_sha256([{"a": 2}, {"a": 1}])


def test_references_show_five_rows_and_count_all() -> None:
    rows = [{"n": n, "resolved": n % 2 == 0, "is_internal_anchor": n == 0} for n in range(7)]
    built = build_references(rows)
    assert [row["n"] for row in built.sample] == [0, 1, 2, 3, 4]
    assert (built.count, built.resolved_work, built.internal_anchors) == (7, 4, 1)


def test_strong_author_claims_are_counted() -> None:
    rows = [{"strength": strength} for strength in ("strong", "weak", "strong")]
    built = snapshot_of(enriched(author_claims=rows)).author_claims
    assert (built.count, built.strong_count) == (3, 2)


@pytest.mark.parametrize("section", ["claims", "references", "author_claims"])
@pytest.mark.parametrize("value", [0.5, 1.0, 2**53])
def test_a_float_or_a_large_integer_in_a_hashed_row_is_refused(section: str, value: float) -> None:
    enrichment = enriched(**{section: [{"strength": "weak", "x": {"y": [value]}}]})
    with pytest.raises(NotCanonical):
        snapshot_of(enrichment)


@pytest.mark.parametrize(
    "fields",
    [
        {"integrity": {"detectors_run": [{"name": "d", "x": 0.5}]}},
        {"integrity": {"findings": [{"detector": "d", "severity": "critical", "x": 0.5}]}},
        {"formal_canon": {"evidence": [{"x": 0.5}]}},
    ],
)
def test_a_float_in_a_hashed_inner_row_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(NotCanonical):
        snapshot_of(enriched(**fields))


def test_a_float_that_nothing_hashes_is_kept() -> None:
    built = snapshot_of(enriched(verdict={"model_set": {"temperature": 0.5}}))
    assert built.verdict.model_set == {"temperature": 0.5}


@pytest.mark.parametrize(("section", "shown"), [("claims", "items"), ("references", "sample")])
def test_shown_rows_stand_in_jsonb_order(section: str, shown: str) -> None:
    rows = [{"longer": {"bb": 1, "a": 2}, "x": 1}]
    built = msgspec.to_builtins(snapshot_of(enriched(**{section: rows})))[section][shown]
    assert json.dumps(built) == '[{"x": 1, "longer": {"a": 2, "bb": 1}}]'


# --- integrity --------------------------------------------------------------------------------------------------


def finding(detector: str, severity: str) -> dict[str, Any]:
    return {"detector": detector, "severity": severity}


def test_the_summary_follows_from_the_findings() -> None:
    summary = integrity_summary(
        [finding("bb", "critical"), finding("a", "advisory"), finding("bb", "informational"), finding("bb", "critical")]
    )
    assert msgspec.to_builtins(summary) == {
        "advisory": 1,
        "critical": 2,
        "by_detector": {
            "a": {"total": 1, "advisory": 1, "critical": 0, "informational": 0},
            "bb": {"total": 3, "advisory": 0, "critical": 2, "informational": 1},
        },
        "informational": 1,
    }


def test_a_finding_that_the_summary_cannot_count_is_named() -> None:
    with pytest.raises(InvalidEnrichment) as caught:
        integrity_summary([finding("d", "critical"), finding("d", "grave")])
    assert caught.value.field == "integrity.findings[1].severity"


def test_the_summary_lists_detectors_in_jsonb_order() -> None:
    summary = integrity_summary([finding(name, "critical") for name in ("ccc", "bb", "a", "aa")])
    assert list(summary.by_detector) == ["a", "aa", "bb", "ccc"]


def test_a_detector_without_findings_is_not_in_the_summary() -> None:
    built = build_integrity("2601.00001", IntegrityInput([{"name": "quiet"}], [finding("loud", "critical")]))
    assert list(built.summary.by_detector) == ["loud"]


@pytest.mark.parametrize(("findings", "clean"), [([], True), ([finding("d", "informational")], False)])
def test_clean_is_without_findings(findings: list[dict[str, Any]], clean: bool) -> None:
    built = build_integrity("2601.00001", IntegrityInput([{"name": "d"}], findings))
    assert (built.clean, built.available) == (clean, True)


def test_detectors_without_findings_are_hashed() -> None:
    built = build_integrity("2601.00001", IntegrityInput([{"name": "d"}], []))
    assert built.snapshot_sha256 == payload_sha256({"detectors": [{"name": "d"}], "findings": []})


def test_the_endpoint_of_an_old_id_keeps_its_slash() -> None:
    assert build_integrity("hep-th/9901001", IntegrityInput()).endpoint == "/pith/hep-th/9901001/integrity.json"


# --- enrichment -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"headline": 1}, "headline"),
        ({"claims": {}}, "claims"),
        ({"claims": [1]}, "claims[0]"),
        ({"references": [{}, {"resolved": 1}]}, "references[1].resolved"),
        ({"references": [{"is_internal_anchor": "no"}]}, "references[0].is_internal_anchor"),
        ({"author_claims": [{"strength": "medium"}]}, "author_claims[0].strength"),
        ({"author_claims": [{}]}, "author_claims[0]"),
        ({"events": [{}]}, "events[0]"),
        ({"events": [{"event_type": 1}]}, "events[0].event_type"),
        ({"integrity": {"detectors_run": [{}]}}, "integrity.detectors_run[0]"),
        ({"integrity": {"findings": [finding("d", "fatal")]}}, "integrity.findings[0].severity"),
        ({"integrity": {"findings": [{"severity": "critical"}]}}, "integrity.findings[0]"),
        ({"integrity": []}, "integrity"),
        ({"formal_canon": {"evidence": [1]}}, "formal_canon.evidence[0]"),
        ({"verdict": {"strongest_claim": 1}}, "verdict.strongest_claim"),
        ({"verdict": {"model_set": []}}, "verdict.model_set"),
        ({"verdict": []}, "verdict"),
        ({"inbound_citations": 1}, "inbound_citations"),
        ({"inbound_citations": [{"is_internal_anchor": 1}]}, "inbound_citations[0].is_internal_anchor"),
        ({"inbound_citations": {"count": "3"}}, "inbound_citations.count"),
    ],
)
def test_a_wrong_enrichment_is_refused_and_the_field_is_named(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidEnrichment) as caught:
        enriched(**fields)
    assert caught.value.field == field


@pytest.mark.parametrize("sample", [5, None, "x", {"a": 1}])
def test_a_sample_that_is_no_list_is_refused(sample: Any) -> None:
    with pytest.raises(InvalidEnrichment):
        enriched(inbound_citations={"sample": sample})


def test_an_enrichment_keeps_unknown_fields(reviewed: dict[str, Any]) -> None:
    value = {**reviewed, "x_note": 1}
    enrichment = Enrichment.from_json(json.dumps(value))
    assert json.loads(enrichment.to_json()).items() >= value.items()
    assert enrichment.unknown() == ["x_note"]


def test_a_verdict_has_the_published_defaults_for_what_is_not_given() -> None:
    verdict = enriched(verdict={"strongest_claim": "It holds."}).full_verdict()
    assert verdict == msgspec.structs.replace(NO_VERDICT, strongest_claim="It holds.")


ROWS = [{"ref_index": 1, "is_internal_anchor": True}, {"ref_index": 2}]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], (0, 0, [])),
        (ROWS, (2, 1, ROWS)),
        ({"sample": ROWS}, (2, 1, ROWS)),
        ({"count": 17, "sample": ROWS}, (17, 1, ROWS)),
        ({"count": 17, "internal_anchor_count": 4, "sample": ROWS}, (17, 4, ROWS)),
        ({"count": 17}, (17, 0, [])),
    ],
)
def test_inbound_citations_are_a_list_or_an_object_with_counts(
    given: Any, expected: tuple[int, int, list[dict[str, Any]]]
) -> None:
    found = enriched(inbound_citations=given).inbound()
    assert (found.count, found.internal_anchor_count, found.sample) == expected


def test_inbound_citations_show_all_given_rows() -> None:
    rows = [{"ref_index": n} for n in range(9)]
    assert enriched(inbound_citations=rows).inbound().sample == rows
