"""Many records in one transaction: the same rows as one by one, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import Enrichment, Issuer, PithRecord, Provenance, canonical_record
from pith_builder.published import Surroundings
from pith_builder.signing import fingerprint
from pith_builder.store import Store, bulk
from pith_builder.store.bulk import Common, NewRecord
from pith_builder.store.check import check_store
from pith_builder.store.database import reading, writing
from pith_builder.store.store import paper_and_snapshot
from pith_builder.testing import FrozenClock, make_keyring, make_metadata, make_record, make_signer

SIGNER = make_signer()
PROVENANCE = Provenance("test", "2026-01-01T00:00:00Z")
COMMON = Common(
    "https://pith.science",
    msgspec.json.encode(Surroundings.of(None)),
    fingerprint(SIGNER.public_key),
    "pith-number-builder-2026-05-17-v1",
)
COLUMNS = (
    "canonical_sha256, suffix, arxiv_id, version, base_url, created_at, said_at, records.recorded_at, canonical, "
    "provenance, withdrawn, paper, snapshot, surroundings, enrichment, layout, receipt, receipts.recorded_at, "
    "current.updated_at, key_fingerprint, receipt_builder"
)
WHOLE = (
    f"SELECT {COLUMNS} FROM records JOIN current ON current.record_id = records.id "
    "JOIN receipts ON receipts.id = current.receipt_id ORDER BY suffix"
)


@pytest.fixture
def store(store_url: str) -> Store:
    return Store(store_url)


def record(n: int, **changes: Any) -> PithRecord:
    return make_record(make_metadata(arxiv_id=f"2601.{n:05}", **changes))


def new(record: PithRecord) -> NewRecord:
    source = record.canonical_record.source
    return NewRecord(
        bytes.fromhex(record.canonical_sha256),
        record.number.suffix,
        *(source.id, source.version, record.created_at, PROVENANCE.said_at, record.receipt.signed_at),
        record.canonical_record.to_bytes(),
        msgspec.json.encode(PROVENANCE),
        *paper_and_snapshot(record.graph_snapshot),
        msgspec.json.encode(record.receipt),
    )


def insert(store: Store, *records: PithRecord) -> set[bytes]:
    with writing(store.engine) as connection:
        return bulk.insert(connection, sorted(map(new, records)), COMMON)


def rows(store: Store) -> list[tuple[Any, ...]]:
    with reading(store.engine) as connection:
        return [tuple(row) for row in connection.exec_driver_sql(WHOLE)]


def test_bulk_inserts_the_rows_that_issuing_inserts(store: Store, tmp_path: Path) -> None:
    one_by_one = Store(f"sqlite:///{tmp_path / 'other.db'}")
    issuer = Issuer(SIGNER, clock=FrozenClock())
    for n in range(1, 30):
        one_by_one.issue(make_metadata(arxiv_id=f"2601.{n:05}"), PROVENANCE, issuer)
    records = [record(n) for n in range(1, 30)]
    assert insert(store, *records) == {bytes.fromhex(r.canonical_sha256) for r in records}
    assert rows(store) == rows(one_by_one)


def test_a_store_that_was_filled_in_bulk_passes_its_check(store: Store) -> None:
    insert(store, *(record(n) for n in range(1, 10)))
    insert(store, *(record(n) for n in range(10, 20)))
    failed: list[str] = []
    *_, counts = check_store(store, make_keyring(SIGNER), FrozenClock(), lambda number, _: failed.append(number))
    assert (counts.checked, failed) == (19, [])


def test_ids_follow_the_order_of_digests(store: Store, sql: Callable[..., list[Any]]) -> None:
    insert(store, *(record(n) for n in range(1, 20)))
    digests = [bytes(digest) for (digest,) in sql("SELECT canonical_sha256 FROM records ORDER BY id")]
    assert digests == sorted(digests)
    assert sql("SELECT count(*) FROM current WHERE record_id <> receipt_id") == [(0,)]


def test_nothing_new_inserts_nothing(store: Store) -> None:
    assert insert(store) == set()
    assert store.count() == 0


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_a_record_that_others_have_put_in_is_passed_over(store: Store) -> None:
    insert(store, record(1), record(2))
    before = rows(store)
    inserted = insert(store, record(2), record(3))
    assert inserted == {bytes.fromhex(record(3).canonical_sha256)}
    assert [row for row in rows(store) if row in before] == before
    assert store.count() == 3


def test_what_is_known_of_papers_is_told_by_their_ids(store: Store) -> None:
    issuer = Issuer(SIGNER, clock=FrozenClock())
    enriched = Enrichment.from_json('{"headline":"Reviewed"}')
    one, other = (make_metadata(arxiv_id="2601.00001", version=version) for version in (1, 2))
    reviewed = make_metadata(arxiv_id="2601.00002")
    for metadata, enrichment in ((one, None), (other, None), (reviewed, enriched)):
        store.issue(metadata, PROVENANCE, issuer, enrichment)
    with reading(store.engine) as connection:
        known = bulk.known(connection, ["2601.00001", "2601.00002", "2601.00003", "2601.00001"])
    found = {name: {k.digest: (k.is_plain, k.said_at) for k in of} for name, of in known.items()}
    plain, changed = (True, PROVENANCE.said_at), (False, PROVENANCE.said_at)
    assert found == {
        "2601.00001": {canonical_record(one).digest(): plain, canonical_record(other).digest(): plain},
        "2601.00002": {canonical_record(reviewed).digest(): changed},
    }
    [paper] = [k.paper for k in known["2601.00002"]]
    assert msgspec.json.decode(paper)["headline"] == "Reviewed"


def test_many_papers_are_asked_for_in_portions(store: Store) -> None:
    insert(store, *(record(n) for n in range(1, 8)))
    with pytest.MonkeyPatch.context() as patch, writing(store.engine) as connection:
        patch.setattr(bulk, "_ASKED_AT_ONCE", 3)
        assert len(bulk.known(connection, [f"2601.{n:05}" for n in range(1, 20)])) == 7
        ids = bulk.row_ids(connection, [canonical_record(make_metadata(arxiv_id="2601.00005")).digest()])
        assert len(ids) == 1
        bulk.lock(connection, range(1, 8))
