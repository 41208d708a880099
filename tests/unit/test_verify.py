"""verify: what each check says, and of which fault. The sweep over all fields is in test_verify_sweep.py."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import Enrichment, KeyRing, PaperMetadata, PithRecord, VerificationReport, verify
from pith_builder.errors import InvalidJson, VerificationFailed
from pith_builder.keyring import Revocation
from pith_builder.testing import START, FrozenClock, make_keyring, make_metadata, make_record, make_signer
from pith_builder.verify import NOT_BOUND


def status(report: VerificationReport, name: str) -> str:
    return next(check.status for check in report.checks if check.name == name)


def reason(report: VerificationReport, name: str) -> str:
    return next(check.reason for check in report.checks if check.name == name)


def with_value(record: PithRecord, path: str, value: Any) -> bytes:
    whole = json.loads(record.to_json())
    *parents, last = path.split(".")
    target = whole
    for key in parents:
        target = target[int(key) if key.isdigit() else key]
    target[int(last) if last.isdigit() else last] = value
    return json.dumps(whole, ensure_ascii=False).encode()


@pytest.fixture
def reviewed(root: Path) -> PithRecord:
    enrichment = Enrichment.from_json((root / "fixtures" / "enrichment.json").read_bytes())
    return make_record(enrichment=enrichment)


def test_a_published_record_passes_every_check(seed: tuple[PaperMetadata, bytes], registry_ring: KeyRing) -> None:
    report = verify(seed[1], registry_ring, seed[0])
    assert {check.status for check in report.checks} == {"passed"}
    assert report.ok
    assert report.issuer == "https://pith.science"


def test_a_record_of_the_older_shape_passes(seed: tuple[PaperMetadata, bytes], registry_ring: KeyRing) -> None:
    whole = json.loads(seed[1])
    del whole["graph_snapshot"]["integrity"]
    assert verify(json.dumps(whole).encode(), registry_ring).ok


def test_a_reviewed_record_passes_every_check(reviewed: PithRecord) -> None:
    report = verify(reviewed.to_json(), make_keyring(), make_metadata())
    assert [check for check in report.checks if check.status != "passed"] == []


def test_without_metadata_the_checks_that_need_them_are_not_done() -> None:
    report = verify(make_record(), make_keyring())
    not_checked = {check.name for check in report.checks if check.status == "not_checked"}
    assert not_checked == {"metadata", "title", "abstract", "excerpt", "authors"}
    assert report.ok


def test_an_unsigned_field_is_listed_as_not_bound() -> None:
    assert verify(make_record(), make_keyring()).not_bound == NOT_BOUND


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"a":1,"a":2}',
        b'{"a":NaN}',
        b'"\\ud800"',
        b"\xff",
        b"{} {}",
        b"[" * 100_000,
        b"1" * 5000,
        b'{"a":1e999}',
    ],
    ids=["empty", "cut", "key twice", "NaN", "surrogate", "UTF-8", "trailing", "deep", "digits", "infinite"],
)
def test_bytes_that_are_no_strict_json_are_invalid_input(data: bytes) -> None:
    with pytest.raises(InvalidJson):
        verify(data, make_keyring())


@pytest.mark.parametrize("data", [b"[]", b"null", b"7", b'"text"', b"{}"])
def test_json_that_is_no_record_fails_the_form(data: bytes) -> None:
    report = verify(data, make_keyring())
    assert status(report, "form") == "failed"
    assert {check.status for check in report.checks[1:]} == {"not_checked"}
    assert report.pith_number is None


def test_the_form_names_the_field_at_fault() -> None:
    report = verify(with_value(make_record(), "paper.title", 7), make_keyring())
    assert reason(report, "form") == "paper.title: Expected `str`, got `int`"


def test_require_raises_with_the_reasons() -> None:
    report = verify(with_value(make_record(), "short_pith_number", "pith:AAAAAAAA"), make_keyring())
    with pytest.raises(VerificationFailed, match="short_forms: short_pith_number"):
        report.require()
    verify(make_record(), make_keyring()).require()


@pytest.mark.parametrize(
    ("path", "value", "check"),
    [
        ("canonical_record.metadata.title_canon_sha256", "A" * 64, "canonical_bytes"),
        ("canonical_record.metadata.submitted_at", "2026-02-30T12:00:00Z", "canonical_bytes"),
        ("canonical_record.metadata.submitted_at", "2026-01-01T24:00:00Z", "canonical_bytes"),
        ("canonical_record.metadata.submitted_at", "soon", "number"),
        ("canonical_record.metadata.cross_cats_sorted", ["cs.LG", "cs.CR"], "canonical_bytes"),
        ("canonical_record.metadata.primary_cat", "", "canonical_bytes"),
        ("canonical_record.source.id", "math.GT/0309136", "canonical_bytes"),
        ("canonical_record.source.id", "nowhere", "canonical_bytes"),
        ("canonical_record.source.version", 0, "form"),
        ("canonical_record.metadata.license", "", "digest"),
        ("canonical_sha256", "0" * 64, "digest"),
        ("receipt.canonical_sha256", "0" * 64, "digest"),
        ("pith_number", "pith:2025:AAAAAAAAAAAAAAAAAAAAAAAAAA", "number"),
        ("source.id", "2601.00002", "source"),
        ("graph_snapshot.source.version", 2, "source"),
        ("aliases", [], "aliases"),
        ("aliases.0.alias_kind", "doi", "aliases"),
        ("aliases.2.created_at", "2026-01-02T03:04:06.000000+00:00", "aliases"),
        ("links.html", "https://example.org/", "links"),
        ("links.html", "javascript:alert(1)", "links"),
        ("links.paper", "https://example.org/paper/AAAAAAAA", "links"),
        ("schema_url", "https://example.org/schema.json", "links"),
        ("agent_actions.resolve_alias", "https://pith.science/", "links"),
        ("agent_actions.actions.attest_author", "https://pith.science/", "links"),
        ("paper.title", "Another Title", "paper"),
        ("paper.license", "", "paper"),
        ("graph_snapshot.paper.authors_text", "Somebody Else", "paper"),
        ("graph_snapshot.claims.snapshot_sha256", "0" * 64, "snapshot_hashes"),
        ("graph_snapshot.integrity.snapshot_sha256", "0" * 64, "snapshot_hashes"),
        ("graph_snapshot.references.snapshot_sha256", "0" * 64, "snapshot_hashes"),
        ("graph_snapshot.formal_canon.snapshot_sha256", "0" * 64, "snapshot_hashes"),
        ("graph_snapshot.author_claims.snapshot_sha256", "0" * 64, "snapshot_hashes"),
        ("graph_snapshot.claims.count", 1, "counts"),
        ("graph_snapshot.integrity.clean", False, "counts"),
        ("graph_snapshot.integrity.available", False, "counts"),
        ("graph_snapshot.integrity.endpoint", "/pith/2601.00002/integrity.json", "counts"),
        ("graph_snapshot.integrity.findings", [{"detector": "d", "severity": "grave"}], "counts"),
        ("graph_snapshot.references.count", 1, "counts"),
        ("graph_snapshot.references.resolved_work", 1, "counts"),
        ("graph_snapshot.references.internal_anchors", 1, "counts"),
        ("graph_snapshot.formal_canon.evidence_count", 1, "counts"),
        ("graph_snapshot.author_claims.strong_count", 1, "counts"),
        ("formal_canon.sample", [{}], "counts"),
        ("inbound_citations.count", -1, "counts"),
        ("inbound_citations.internal_anchor_count", 1, "counts"),
        ("event_summary", {"timestamp_anchor": 1}, "event_summary"),
        ("events", [{"event_type": "timestamp_anchor"}], "event_summary"),
        ("events", [{}], "event_summary"),
        ("verification_status.content_addressed", False, "flags"),
        ("verification_status.citation_signatures", 3, "flags"),
        ("attestation_state", "author_attested", "flags"),
        ("receipt.builder_version", "another", "builder_version"),
        ("receipt.signed_at", "2025-01-01T00:00:00.000000Z", "times_in_order"),
        ("receipt.signed_at", "2026-01-02T03:04:05Z", "times_in_order"),
        ("receipt.last_reissued_at", "2025-01-01T00:00:00.000000Z", "times_in_order"),
        ("receipt.first_computed_at", "2027-01-01T00:00:00.000000Z", "times_in_order"),
        ("updated_at", "2026-01-02T03:04:05.678901Z", "times_in_order"),
        ("receipt.signature_b64", "AAAA", "signature"),
        ("receipt.signature_b64", "A" * 86 + "==", "signature"),
        ("receipt.key_id", "TEST-v9-2026-01", "key_known"),
        ("receipt.public_key_fingerprint", "0" * 32, "key_known"),
    ],
)
def test_a_fault_fails_the_check_that_is_named_for_it(path: str, value: Any, check: str) -> None:
    report = verify(with_value(make_record(), path, value), make_keyring())
    assert status(report, check) == "failed", report.checks
    assert reason(report, check)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("canonical_record.metadata.primary_cat", "a b", "canonical_record.metadata.primary_cat is no category"),
        ("canonical_sha256", "0", 'canonical_sha256 is "0", expected "'),
        ("receipt.canonical_sha256", "0", 'receipt.canonical_sha256 is "0", expected "'),
        ("pith_number", "0", 'pith_number is "0", expected "pith:2026:'),
        ("short_pith_number", "0", 'short_pith_number is "0", expected "pith:'),
        ("source.id", "2601.00002", 'source.id is "2601.00002", expected "2601.00001"'),
        ("source.version", 2, "source.version is 2, expected 1"),
        ("graph_snapshot.source.id", "2601.00002", 'graph_snapshot.source.id is "2601.00002", expected "2601.00001"'),
        ("graph_snapshot.source.version", 2, "graph_snapshot.source.version is 2, expected 1"),
        ("aliases", [], "aliases is [], expected ["),
        ("links.html", "0", 'links.html is "0", expected BASE/pith/'),
        ("links.paper", "0", 'links.paper is "0", expected "https://pith.science/paper/'),
        ("schema_url", "0", 'schema_url is "0", expected "https://pith.science/'),
        ("agent_actions.resolve_alias", "0", 'agent_actions.resolve_alias is "0", expected "https://pith.science/'),
        ("graph_snapshot.paper.title", "0", 'graph_snapshot.paper.title is "0", expected "A Made-Up Paper"'),
        ("graph_snapshot.claims.snapshot_sha256", "0", 'claims.snapshot_sha256 is "0", expected "'),
        ("graph_snapshot.integrity.snapshot_sha256", "0", 'integrity.snapshot_sha256 is "0", expected "'),
        ("graph_snapshot.references.snapshot_sha256", "0", 'references.snapshot_sha256 is "0", expected "'),
        ("graph_snapshot.formal_canon.snapshot_sha256", "0", 'formal_canon.snapshot_sha256 is "0", expected "'),
        ("graph_snapshot.author_claims.snapshot_sha256", "0", 'author_claims.snapshot_sha256 is "0", expected "'),
        ("graph_snapshot.claims.count", 1, "claims.count is 1, expected 0"),
        ("graph_snapshot.integrity.clean", False, "integrity.clean is false, expected true"),
        ("graph_snapshot.integrity.summary.advisory", 1, "integrity.summary.advisory is 1, expected 0"),
        ("graph_snapshot.integrity.available", False, "integrity.available is false, expected true"),
        ("graph_snapshot.integrity.endpoint", "0", 'integrity.endpoint is "0", expected "/pith/'),
        ("graph_snapshot.references.count", 1, "references.sample (its length) is 0, expected 1"),
        ("graph_snapshot.references.resolved_work", 1, "references.resolved_work is 1, 0 of the 0 rows shown"),
        ("graph_snapshot.references.internal_anchors", 1, "references.internal_anchors is 1, 0 of the 0 rows shown"),
        ("graph_snapshot.formal_canon.evidence_count", 1, "formal_canon.evidence_count is 0, expected 1"),
        ("formal_canon.sample", [{}], "formal_canon.sample (its length) is 1, expected 0"),
        ("graph_snapshot.author_claims.strong_count", 1, "author_claims: 1 strong of 0"),
        ("inbound_citations.count", -1, "inbound_citations.count is -1, 0 are shown"),
        ("inbound_citations.internal_anchor_count", 1, "inbound_citations.internal_anchor_count is 1, 0 of the 0"),
        ("event_summary", {"x": 1}, 'event_summary is {"x":1}, expected {}'),
        ("verification_status.content_addressed", False, "verification_status.content_addressed is false, expected"),
        ("attestation_state", "0", 'attestation_state is "0", expected "computed"'),
        ("receipt.builder_version", "0", 'receipt.builder_version is "0", expected "pith-number-builder-'),
        ("receipt.signed_at", "2025-01-01T00:00:00.000000Z", "not in order: first_computed_at, last_reissued_at, s"),
        ("updated_at", "2025-01-01T00:00:00.000000+00:00", "not in order: first_computed_at, created_at, updated_at"),
        ("receipt.signed_at", "0", 'receipt.signed_at is "0", no UTC time'),
        ("receipt.first_computed_at", "0", 'receipt.first_computed_at is "0", no UTC time'),
        ("receipt.last_reissued_at", "0", 'receipt.last_reissued_at is "0", no UTC time'),
        ("created_at", "0", 'created_at is "0", no UTC time'),
        ("updated_at", "0", 'updated_at is "0", no UTC time'),
        ("receipt.signature_b64", "0", "receipt.signature_b64 is not the canonical base64 of 64 bytes"),
        ("receipt.key_id", "0", 'the key ring has no key "0"; nothing is known of its signature'),
    ],
)
def test_a_reason_names_the_field_and_says_what_it_should_be(path: str, value: Any, said: str) -> None:
    report = verify(with_value(make_record(), path, value), make_keyring())
    assert [check.reason for check in report.failed if check.reason.startswith(said)], report.failed


@pytest.mark.parametrize("name", ["license", "primary_cat", "cross_cats", "submitted_at", "title"])
def test_both_paper_blocks_must_agree_with_the_canonical_record(name: str) -> None:
    value: Any = ["cs.AI", "cs.CR"] if name == "cross_cats" else "another"
    whole = json.loads(make_record().to_json())
    whole["paper"][name] = whole["graph_snapshot"]["paper"][name] = value
    report = verify(json.dumps(whole).encode(), make_keyring())
    assert reason(report, "paper").startswith(("the hash of " if name == "title" else "") + f"paper.{name} is ")


@pytest.mark.parametrize(
    ("changes", "check", "said"),
    [
        ({"version": 2}, "metadata", "canonical_record.source.version is 1, expected 2"),
        ({"license": ""}, "metadata", "canonical_record.metadata.license is "),
        ({"categories": "cs.CR cs.DL"}, "metadata", "canonical_record.metadata.primary_cat is "),
        ({"categories": "cs.DL cs.AI"}, "metadata", "canonical_record.metadata.cross_cats_sorted"),
        ({"submitted_at": "2026-01-01T12:00:01Z"}, "metadata", "canonical_record.metadata.submitted_at is "),
        ({"title": "Another"}, "title", "title_canon_sha256 is "),
        ({"title": "A made-up paper"}, "title", 'paper.title is "A Made-Up Paper", expected "A made-up paper"'),
        ({"abstract": "Another."}, "abstract", "abstract_canon_sha256 is "),
        ({"abstract": "Another."}, "excerpt", 'paper.abstract_excerpt is "'),
        ({"authors": "Ada"}, "authors", 'paper.authors_text is "'),
    ],
)
def test_a_reason_names_the_field_that_differs_from_the_metadata(
    changes: dict[str, Any], check: str, said: str
) -> None:
    assert reason(verify(make_record(), make_keyring(), make_metadata(**changes)), check).startswith(said)


def test_what_could_not_be_checked_says_why() -> None:
    report = verify(make_record(), make_keyring(make_signer(2)))
    assert reason(report, "signature") == reason(report, "key_valid") == "the key is not known"
    assert reason(report, "title") == "no metadata of this paper were given"
    malformed = verify(b"{}", make_keyring())
    assert {check.reason for check in malformed.checks[1:]} == {"the record has not the form of one"}


def test_a_report_that_is_required_names_every_check_that_failed() -> None:
    record = with_value(make_record(), "receipt.key_id", "0")
    record = with_value(PithRecord.from_json(record), "graph_snapshot.claims.count", 1)
    with pytest.raises(VerificationFailed) as caught:
        verify(record, make_keyring()).require()
    assert caught.value.message.startswith("counts: claims.count is 1, expected 0; key_known: the key ring has no key")


def test_a_base64_with_other_padding_bits_is_refused() -> None:
    record = make_record()
    signature = record.receipt.signature_b64
    twin = signature[:-3] + chr(ord(signature[-3]) + 1) + "=="
    report = verify(with_value(record, "receipt.signature_b64", twin), make_keyring())
    assert "canonical base64" in reason(report, "signature")


def test_a_title_with_wraps_is_not_the_published_form() -> None:
    whole = json.loads(make_record().to_json())
    for paper in (whole["paper"], whole["graph_snapshot"]["paper"]):
        paper["title"] = "A  Made-Up Paper"
    assert "paper.title is" in reason(verify(json.dumps(whole).encode(), make_keyring()), "paper")


@pytest.mark.parametrize(("length", "bound"), [(599, True), (600, False)])
def test_an_excerpt_below_600_is_checked_as_the_whole_abstract(length: int, bound: bool) -> None:
    record = make_record(make_metadata(abstract="a" * length))
    whole = json.loads(record.to_json())
    for paper in (whole["paper"], whole["graph_snapshot"]["paper"]):
        paper["abstract_excerpt"] = "b" * length
    assert (status(verify(json.dumps(whole).encode(), make_keyring()), "paper") == "failed") is bound


def test_an_excerpt_above_600_fails() -> None:
    whole = json.loads(make_record(make_metadata(abstract="a" * 700)).to_json())
    for paper in (whole["paper"], whole["graph_snapshot"]["paper"]):
        paper["abstract_excerpt"] = "a" * 601
    assert "601" in reason(verify(json.dumps(whole).encode(), make_keyring()), "paper")


@pytest.mark.parametrize(
    ("path", "value", "check"),
    [
        ("graph_snapshot.claims.items.0.text", "It fails.", "snapshot_hashes"),
        ("graph_snapshot.integrity.findings.0.note", "Another.", "snapshot_hashes"),
        ("graph_snapshot.integrity.findings.0.severity", "critical", "counts"),
        ("graph_snapshot.integrity.summary.by_detector", {}, "counts"),
        ("graph_snapshot.references.snapshot_sha256", "not a hash", "snapshot_hashes"),
        ("graph_snapshot.references.sample", [], "counts"),
        ("graph_snapshot.references.count", 2, "counts"),
        ("graph_snapshot.references.resolved_work", 8, "counts"),
        ("graph_snapshot.author_claims.count", 0, "counts"),
        ("formal_canon.sample.0.name", "everything_exists", "snapshot_hashes"),
        ("events.0.event_type", "replication_record", "event_summary"),
        ("verification_status.author_attested", False, "flags"),
    ],
)
def test_a_fault_in_a_reviewed_record_is_noticed(reviewed: PithRecord, path: str, value: Any, check: str) -> None:
    assert status(verify(with_value(reviewed, path, value), make_keyring()), check) == "failed"


def test_a_hashed_row_with_a_float_fails_and_names_it(reviewed: PithRecord) -> None:
    report = verify(with_value(reviewed, "graph_snapshot.claims.items.0.weight", 0.5), make_keyring())
    assert "float has no canonical form" in reason(report, "snapshot_hashes")


def test_an_unknown_key_is_not_a_bad_signature() -> None:
    report = verify(make_record(), make_keyring(make_signer(2)))
    assert status(report, "key_known") == "failed"
    assert status(report, "signature") == status(report, "key_valid") == "not_checked"
    assert not report.ok


def test_a_known_id_with_another_key_is_named_as_that() -> None:
    impostor = make_signer(2)
    impostor.key_id = make_signer().key_id
    assert "another fingerprint" in reason(verify(make_record(signer=impostor), make_keyring()), "key_known")


def test_a_signature_over_another_digest_fails() -> None:
    other = make_record(make_metadata(title="Another Paper"))
    report = verify(with_value(make_record(), "receipt.signature_b64", other.receipt.signature_b64), make_keyring())
    assert "is not TEST-v1-2026-01's over this digest" in reason(report, "signature")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"not_before": "2026-01-03T00:00:00Z"}, "before TEST-v1-2026-01 became valid"),
        ({"not_after": "2026-01-02T00:00:00Z"}, "not before the end"),
        ({"use": "recovery"}, "recovery key"),
        ({"state": "next"}, "not active yet"),
        (
            {"state": "revoked", "revoked": Revocation("2026-02-01T00:00:00Z", "compromised")},
            "no receipt of it counts",
        ),
        ({"state": "revoked", "revoked": Revocation("2026-01-01T00:00:00Z", "lost")}, "revoked as lost"),
    ],
)
def test_a_key_that_may_not_sign_fails_although_the_signature_fits(changes: dict[str, Any], said: str) -> None:
    key = msgspec.structs.replace(make_keyring().keys[0], **changes)
    report = verify(make_record(), KeyRing("1.0", [key], []))
    assert status(report, "signature") == "passed"
    assert said in reason(report, "key_valid")


def test_earlier_receipts_of_a_superseded_key_stay_valid() -> None:
    revoked = Revocation("2026-02-01T00:00:00Z", "superseded")
    key = msgspec.structs.replace(make_keyring().keys[0], state="revoked", revoked=revoked)
    assert verify(make_record(), KeyRing("1.0", [key], [])).ok


def test_at_asks_what_held_then() -> None:
    revoked = Revocation("2026-02-01T00:00:00Z", "compromised")
    ring = KeyRing("1.0", [msgspec.structs.replace(make_keyring().keys[0], state="revoked", revoked=revoked)], [])
    assert verify(make_record(), ring, at=datetime(2026, 1, 31, tzinfo=UTC)).ok
    assert not verify(make_record(), ring, at=datetime(2026, 2, 1, tzinfo=UTC)).ok


def test_a_receipt_later_than_the_time_asked_for_is_not_valid() -> None:
    report = verify(make_record(), make_keyring(), at=START - timedelta(seconds=1))
    assert "later than the time asked for" in reason(report, "key_valid")


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"version": 2}, "metadata"),
        ({"license": ""}, "metadata"),
        ({"categories": "cs.CR cs.DL"}, "metadata"),
        ({"submitted_at": "2026-01-01T12:00:01Z"}, "metadata"),
        ({"title": "A Made Up Paper"}, "title"),
        ({"title": "A made-up paper"}, "title"),
        ({"abstract": "Something is shown here."}, "abstract"),
        ({"abstract": "nothing is shown here, and nothing else follows."}, "excerpt"),
        ({"authors": "Ada Lovelace"}, "authors"),
    ],
)
def test_metadata_that_differ_fail_the_check_that_compares_them(changes: dict[str, Any], check: str) -> None:
    report = verify(make_record(), make_keyring(), make_metadata(**changes))
    assert status(report, check) == "failed"


def test_metadata_without_a_licence_compare_the_rest() -> None:
    report = verify(make_record(), make_keyring(), make_metadata(license=None))
    assert status(report, "metadata") == "not_checked"
    assert status(report, "title") == "passed"


def test_links_of_another_issuer_are_reported_and_not_judged() -> None:
    from pith_builder import Profile

    record = make_record(profile=Profile(base_url="http://localhost:8000/registry"))
    report = verify(record.to_json(), make_keyring())
    assert report.ok
    assert report.issuer == "http://localhost:8000/registry"


def test_a_reissued_record_may_name_two_builders() -> None:
    whole = json.loads(make_record(clock=FrozenClock()).to_json())
    whole["receipt"] |= {
        "builder_version": "newer",
        "last_reissued_at": "2026-03-01T00:00:00.000000Z",
        "signed_at": "2026-03-01T00:00:00.000001Z",
    }
    report = verify(json.dumps(whole).encode(), make_keyring())
    assert report.ok
    assert status(report, "builder_version") == "not_checked"
