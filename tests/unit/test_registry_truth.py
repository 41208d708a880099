"""Every published record that we have, built again (fixtures/registry/README.md)."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
import rfc8785

from pith_builder import (
    CanonicalRecord,
    Enrichment,
    Issuer,
    KeyRing,
    PaperMetadata,
    PithRecord,
    Receipt,
    canonical_record,
    fingerprint,
    text_sha256,
)
from pith_builder.number import PithNumber
from pith_builder.public_keys import published as published_key
from pith_builder.record import CanonicalMetadata, CanonicalSource
from pith_builder.signing import decode_base64, signature_fits
from pith_builder.snapshot import EMPTY_SHA256, IntegrityInput, build_integrity, integrity_sha256
from pith_builder.sources.rows import read_metadata
from pith_builder.testing import make_record
from pith_builder.text import authors_text

REGISTRY = Path(__file__).parents[2] / "fixtures" / "registry"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (REGISTRY / name).read_bytes().splitlines()]


def whole(name: str) -> Any:
    return json.loads((REGISTRY / name).read_bytes())


CASES = [pytest.param(case, id=case["arxiv_id"]) for case in lines("cases.jsonl")]
WITH_ABSTRACT = [pytest.param(case, id=case["arxiv_id"]) for case in lines("cases.jsonl") if case["abstract"]]
WITH_AUTHORS = [pytest.param(case, id=case["arxiv_id"]) for case in lines("cases.jsonl") if case["authors_text"]]
AUTHORS = [pytest.param(case, id=case["arxiv"]) for case in whole("authors.json")]
RECORDS = [pytest.param(case, id=case["pith_number"]) for case in whole("canonical_records.json")]
SIGNED = [
    pytest.param(case, id=case["pith_number"])
    for case in chain(whole("receipts.json")["receipts"], lines("cases.jsonl"))
    if case["signature_b64"]
]
INTEGRITY = [pytest.param(whole(f"integrity/{path.name}"), id=path.stem) for path in (REGISTRY / "integrity").iterdir()]
ROWS = [pytest.param(row, id=row["id"]) for row in lines("snapshot_rows.jsonl")]


def test_all_fixtures_are_here() -> None:
    found = [len(table) for table in (CASES, WITH_ABSTRACT, WITH_AUTHORS, AUTHORS, RECORDS, INTEGRITY, ROWS)]
    assert found == [163, 93, 156, 20, 5, 2, 100]


# --- cases, authors, canonical records --------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_the_title_has_the_published_hash(case: dict[str, Any]) -> None:
    assert text_sha256(case["title"]) == case["title_canon_sha256"]


@pytest.mark.parametrize("case", WITH_ABSTRACT)
def test_the_abstract_has_the_published_hash(case: dict[str, Any]) -> None:
    assert text_sha256(case["abstract"]) == case["abstract_canon_sha256"]


@pytest.mark.parametrize("case", CASES)
def test_the_hashes_give_the_published_digest_and_number(case: dict[str, Any]) -> None:
    hashed = CanonicalMetadata(
        license=case["license"],
        primary_cat=case["primary_cat"],
        submitted_at=case["submitted_at"],
        cross_cats_sorted=case["cross_cats"],
        title_canon_sha256=case["title_canon_sha256"],
        abstract_canon_sha256=case["abstract_canon_sha256"],
    )
    source = CanonicalSource(case["arxiv_id"], "arxiv", case["version"])
    record = CanonicalRecord.from_json(CanonicalRecord(source, hashed, "1.0").to_bytes())
    assert record.digest().hex() == case["canonical_sha256"]
    assert str(record.number()) == case["pith_number"]


@pytest.mark.parametrize("case", WITH_ABSTRACT)
def test_the_metadata_give_the_published_number(case: dict[str, Any]) -> None:
    metadata = PaperMetadata(
        arxiv_id=case["arxiv_id"],
        version=case["version"],
        title=case["title"],
        abstract=case["abstract"],
        authors=case["authors_text"] or "",
        categories=" ".join([case["primary_cat"], *reversed(case["cross_cats"])]),
        license=case["license"],
        submitted_at=case["submitted_at"],
    )
    assert str(canonical_record(metadata).number()) == case["pith_number"]


@pytest.mark.parametrize("case", WITH_AUTHORS)
def test_a_published_author_list_is_a_fixed_point_of_the_author_rule(case: dict[str, Any]) -> None:
    assert authors_text(case["authors_text"]) == case["authors_text"]


@pytest.mark.parametrize("case", AUTHORS)
def test_the_raw_authors_give_the_published_list(case: dict[str, Any]) -> None:
    assert authors_text(case["raw_authors"]) == case["authors_text"]


@pytest.mark.parametrize("case", RECORDS)
def test_a_canonical_record_gives_the_published_digest_and_number(case: dict[str, Any]) -> None:
    record = CanonicalRecord.from_json(json.dumps(case["canonical_record"]))
    assert record.to_bytes() == rfc8785.dumps(case["canonical_record"])
    assert record.digest().hex() == case["canonical_sha256"]
    assert str(record.number()) == case["pith_number"]


# --- signatures and the key -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", SIGNED)
def test_a_published_signature_is_the_registrys_over_the_raw_digest(
    case: dict[str, Any], registry_ring: KeyRing
) -> None:
    key = registry_ring.find("pith-v1-2026-05", "8d4b5ee74e4693bcd1df2446408b0d54")
    signature = decode_base64(case["signature_b64"], 64)
    assert key is not None
    assert signature is not None
    assert signature_fits(key.public_key, bytes.fromhex(case["canonical_sha256"]), signature)
    assert not signature_fits(key.public_key, case["canonical_sha256"].encode(), signature)


@pytest.mark.parametrize("case", SIGNED)
def test_a_signed_digest_has_the_published_number(case: dict[str, Any]) -> None:
    number = PithNumber.parse(case["pith_number"])
    assert number.year is not None
    assert PithNumber.from_digest(bytes.fromhex(case["canonical_sha256"]), number.year) == number


def test_the_built_in_key_is_published_as_the_registry_publishes_it(registry_ring: KeyRing) -> None:
    published = whole("registry-key.json")
    (key,) = registry_ring.keys
    assert published_key(key) == {name: value for name, value in published.items() if name != "url"}
    assert fingerprint(bytes.fromhex(published["public_key_hex"])) == published["fingerprint_sha256_hex"]


# --- snapshots --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("published", INTEGRITY)
def test_an_integrity_section_has_the_published_hash(published: dict[str, Any]) -> None:
    assert integrity_sha256(published["detectors_run"], published["findings"]) == published["snapshot_sha256"]


@pytest.mark.parametrize("published", INTEGRITY)
def test_an_integrity_section_follows_from_its_two_lists(published: dict[str, Any]) -> None:
    arxiv_id = published["endpoint"].split("/")[2]
    built = build_integrity(arxiv_id, IntegrityInput(published["detectors_run"], published["findings"]))
    assert msgspec.to_builtins(built) == published


def test_a_snapshot_of_may_2026_is_read_and_written_as_published() -> None:
    snapshot = (REGISTRY / "graph_snapshot_2026-05.json").read_bytes().rstrip()
    record = json.loads(make_record().to_json()) | {"graph_snapshot": json.loads(snapshot)}
    assert snapshot in PithRecord.from_json(msgspec.json.encode(record)).to_json()


@pytest.mark.parametrize("section", ["claims", "references", "formal_canon", "author_claims"])
def test_an_empty_section_has_the_published_hash(section: str) -> None:
    assert whole("graph_snapshot_2026-05.json")[section]["snapshot_sha256"] == EMPTY_SHA256


# --- seeds ------------------------------------------------------------------------------------------------------


class Replay:
    """Signer and clock of a published record: they give what it holds."""

    def __init__(self, published: PithRecord) -> None:
        receipt = published.receipt
        self.key_id = receipt.key_id
        self.public_key = KeyRing.registry().keys[0].public_key
        self.signed: list[bytes] = []
        self._receipt = receipt
        times = (receipt.first_computed_at, published.created_at, receipt.signed_at)
        self._readings = iter([datetime.fromisoformat(time).astimezone(UTC) for time in times])

    def sign(self, message: bytes) -> bytes:
        self.signed.append(message)
        signature = self._receipt.signature()
        assert signature is not None
        return signature

    def clock(self) -> datetime:
        return next(self._readings)


def test_a_seed_is_issued_again_byte_for_byte(seed: tuple[PaperMetadata, bytes]) -> None:
    metadata, published = seed
    record = PithRecord.from_json(published)
    replay = Replay(record)
    enrichment = Enrichment(inbound_citations=record.inbound_citations.sample)
    assert Issuer(replay, clock=replay.clock).issue(metadata, enrichment).to_json() == published
    assert replay.signed == [bytes.fromhex(record.canonical_sha256)]


def test_a_seed_is_read_and_written_byte_for_byte(seed: tuple[PaperMetadata, bytes]) -> None:
    record = PithRecord.from_json(seed[1])
    assert record.to_json() == seed[1]
    assert record.unknown() == []


def test_a_seed_says_the_number_that_its_canonical_record_has(seed: tuple[PaperMetadata, bytes]) -> None:
    record = PithRecord.from_json(seed[1])
    assert str(record.number) == record.pith_number
    assert record.canonical_record == canonical_record(seed[0])


def test_the_receipt_of_a_seed_is_signed_by_the_registry(
    seed: tuple[PaperMetadata, bytes], registry_ring: KeyRing
) -> None:
    receipt: Receipt = PithRecord.from_json(seed[1]).receipt
    key = registry_ring.find(receipt.key_id, receipt.public_key_fingerprint)
    assert key is not None
    assert receipt.is_signed_by(key.public_key, bytes.fromhex(receipt.canonical_sha256))


# --- rows of the metadata snapshot ------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS)
def test_a_snapshot_row_gives_the_record_that_the_protocol_describes(row: dict[str, Any]) -> None:
    primary, *others = row["categories"].split()
    created = {int(entry["version"][1:]): entry["created"] for entry in row["versions"]}
    submitted = datetime.strptime(created[1], "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)

    def sha256(text: str) -> str:
        return hashlib.sha256(" ".join(text.lower().split()).encode()).hexdigest()

    assert canonical_record(read_metadata(row)).to_bytes() == rfc8785.dumps(
        {
            "metadata": {
                "abstract_canon_sha256": sha256(row["abstract"]),
                "cross_cats_sorted": sorted(others),
                "license": row["license"] or "",
                "primary_cat": primary,
                "submitted_at": submitted.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "title_canon_sha256": sha256(row["title"]),
            },
            "schema_version": "1.0",
            "source": {"id": row["id"], "kind": "arxiv", "version": max(created)},
        }
    )


def test_the_snapshot_row_of_a_seed_gives_its_number() -> None:
    (row,) = lines("seeds/2407.14645v1.kaggle.jsonl")
    published = whole("seeds/2407.14645v1.record.json")
    assert str(canonical_record(read_metadata(row)).number()) == published["pith_number"]
