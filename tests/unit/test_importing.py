"""Others' records in the store: verified first, kept whole, and never in the place of ours."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from pith_builder import Enrichment, Issuer, KeyRing, PaperMetadata, PithRecord, Profile, Provenance, reissue, verify
from pith_builder.errors import PithError, StoreFailed
from pith_builder.keyring import RingKey
from pith_builder.store import Store, importing
from pith_builder.store.check import check_store
from pith_builder.store.database import reading, writing
from pith_builder.store.importing import Import, Taken
from pith_builder.store.reissue import Reissue
from pith_builder.store.schema import earlier_blocks, receipts, records
from pith_builder.store.store import insert_record
from pith_builder.store.withdraw import withdraw
from pith_builder.testing import START, FrozenClock, make_metadata, make_record, make_signer

DAY = timedelta(days=1)
NOW = START + 100 * DAY
OURS, THEIRS, OTHERS = make_signer(1), make_signer(2), make_signer(3)
ELSEWHERE = Profile(base_url="https://elsewhere.example/registry")
REVIEW = Enrichment.from_json(
    json.dumps(
        {
            "headline": "Reviewed",
            "verdict": {"id": "v1", "novelty": "high"},
            "claims": [{"kind": "strongest_claim", "text": "It holds."}],
            "events": [{"event_type": "timestamp_anchor"}],
            "references": [{"resolved": True, "is_internal_anchor": False}],
        }
    )
)


def verifier(*signers: Any) -> KeyRing:
    """Our ring, and these signers' keys for verifying."""
    ring = KeyRing.empty().with_key(RingKey.of(OURS.key_id, OURS.public_key, "active", "receipts"))
    for signer in signers:
        ring = ring.with_key(RingKey.of(signer.key_id, signer.public_key, "active", "verify"))
    return ring


RING = verifier(THEIRS, OTHERS)


def theirs(
    metadata: PaperMetadata | None = None,
    enrichment: Enrichment | None = REVIEW,
    *,
    days: int = 0,
    signer: Any = THEIRS,
) -> PithRecord:
    """A record of theirs, made `days` after the start."""
    return make_record(metadata, enrichment, signer=signer, clock=FrozenClock(START + days * DAY), profile=ELSEWHERE)


def later(record: PithRecord, **changes: Any) -> PithRecord:
    """The same record as its issuer published it ten days later."""
    return record.replace(updated_at=f"2026-01-12{record.updated_at[10:]}", **changes)


def with_paper(record: PithRecord, **changes: Any) -> PithRecord:
    paper = msgspec.structs.replace(record.paper, **changes)
    return record.replace(paper=paper, graph_snapshot=msgspec.structs.replace(record.graph_snapshot, paper=paper))


#: A record of theirs under their next key, and the same under their first, as if made later and elsewhere.
REISSUED = reissue(theirs(), OTHERS, ELSEWHERE, FrozenClock(START + 5 * DAY))
REDATED = make_record(
    None, REVIEW, signer=THEIRS, clock=FrozenClock(START + 20 * DAY), profile=Profile("https://third.example")
)
CORRECTED = later(with_paper(theirs(), authors_text="Grace Hopper"))


@pytest.fixture
def store(store_url: str) -> Store:
    return Store(store_url)


@pytest.fixture
def take(store: Store, tmp_path: Path) -> Callable[..., list[Taken | PithError]]:
    """Import records, from objects or bytes, as lines of the file `theirs.jsonl`; what became of each."""

    def call(*given: PithRecord | bytes, ring: KeyRing = RING, clock: Any = None) -> list[Taken | PithError]:
        path = tmp_path / "theirs.jsonl"
        path.write_bytes(b"".join((g if isinstance(g, bytes) else g.to_json()) + b"\n" for g in given))
        return [result for _, result in Import(store, ring, clock or FrozenClock(NOW)).run(str(path))]

    return call


Take = Callable[..., list[Any]]


def actions(results: list[Any]) -> list[str]:
    return [result.code if isinstance(result, PithError) else result.action for result in results]


def count(store: Store, table: sa.Table) -> int:
    with reading(store.engine) as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def stored_json(store: Store, alias: str = "2601.00001") -> bytes:
    return store.get(alias).record.to_json()


# --- kept whole -------------------------------------------------------------------------------------------------


def test_record_is_kept_whole(store: Store, take: Take) -> None:
    record = theirs()
    assert take(record) == [Taken("imported", record.pith_number)]
    assert stored_json(store) == record.to_json()
    assert store.get("2601.00001").enrichment is None


def test_published_records_are_kept_byte_for_byte(store: Store, take: Take, seed: tuple[PaperMetadata, bytes]) -> None:
    metadata, published = seed
    assert actions(take(published, ring=KeyRing.registry(), clock=FrozenClock(START + 300 * DAY))) == ["imported"]
    assert stored_json(store, metadata.arxiv_id) == published


def test_unknown_fields_are_kept(store: Store, take: Take) -> None:
    value = json.loads(theirs().to_json())
    value["note"] = {"é": [1, None]}
    value["paper"]["shelf"] = 7
    value["aliases"][1]["seen"] = True
    raw = json.dumps(value, ensure_ascii=False).encode()
    assert actions(take(raw, raw)) == ["imported", "stored"]
    assert json.loads(stored_json(store)) == value


def test_unknown_fields_of_an_earlier_state_go_to_the_history(store: Store, take: Take) -> None:
    raw = theirs().to_json()[:-1] + b',"note":{"shelf":7}}'
    assert actions(take(raw, CORRECTED)) == ["imported", "updated"]
    assert stored_json(store) == CORRECTED.to_json()
    with reading(store.engine) as connection:
        layout = connection.scalar(sa.select(earlier_blocks.c.layout))
    assert json.loads(layout or b"")["note"] == {"shelf": 7}


def test_record_without_integrity_section_is_kept(store: Store, take: Take) -> None:
    graph = msgspec.structs.replace(theirs(enrichment=None).graph_snapshot, integrity=msgspec.UNSET)
    record = theirs(enrichment=None).replace(graph_snapshot=graph)
    assert actions(take(record)) == ["imported"]
    assert stored_json(store) == record.to_json()


def test_time_of_recording_is_the_clocks(store: Store, take: Take) -> None:
    take(theirs())
    assert store.get("2601.00001").recorded_at == "2026-04-12T03:04:05.678901Z"
    with reading(store.engine) as connection:
        assert connection.scalar(sa.select(receipts.c.recorded_at)) == "2026-04-12T03:04:05.678901Z"


def test_provenance_names_the_file_and_its_bytes(store: Store, take: Take) -> None:
    record = theirs()
    take(record)
    assert store.get("2601.00001").provenance == Provenance(
        source="import:theirs.jsonl",
        source_time="2026-01-02T03:04:05Z",
        fetched_at="2026-04-12T03:04:05Z",
        raw_sha256=hashlib.sha256(record.to_json()).hexdigest(),
    )


def test_newest_of_a_version_is_what_was_made_last_whatever_the_order_of_the_file(store: Store, take: Take) -> None:
    last = theirs(make_metadata(title="Last"), days=2)
    take(last, theirs(make_metadata(title="First")), later(theirs(make_metadata(title="Middle"), days=1)))
    assert stored_json(store) == last.to_json()


def test_record_of_ours_that_the_store_lost_comes_back(store: Store, take: Take) -> None:
    record = make_record()
    assert actions(take(record, record)) == ["imported", "stored"]
    assert stored_json(store) == record.to_json()


# --- verified ---------------------------------------------------------------------------------------------------


def test_record_that_does_not_verify_is_not_kept_and_the_others_are(store: Store, take: Take) -> None:
    altered = theirs().replace(attestation_state="computed", events=[])
    other = theirs(make_metadata(arxiv_id="2601.00002"))
    failed, taken = take(altered, other)
    assert (failed.code, failed.line) == ("verification_failed", 1)
    assert "event_summary" in failed.message
    assert (taken.action, store.count()) == ("imported", 1)


def test_key_must_be_known(store: Store, take: Take) -> None:
    [failed] = take(theirs(), ring=verifier(OTHERS))
    assert "key_known" in failed.message
    assert store.count() == 0


@pytest.mark.parametrize(
    ("line", "code"), [(b"xx", "invalid_json"), (b"{}", "verification_failed")], ids=["no JSON", "no record"]
)
def test_line_that_is_no_record_fails_alone(take: Take, line: bytes, code: str) -> None:
    assert actions(take(theirs(), line, CORRECTED)) == ["imported", code, "updated"]


def test_builder_version_that_no_database_takes_fails_alone(take: Take) -> None:
    receipt = reissue(theirs(), THEIRS, Profile(builder_version="a\0b"), FrozenClock(START + DAY)).receipt
    assert actions(take(theirs().replace(receipt=receipt), theirs())) == ["invalid_text", "imported"]


def test_empty_file_has_no_record(take: Take) -> None:
    assert actions(take()) == ["invalid_json"]


def test_record_of_the_future_is_refused(store: Store, take: Take) -> None:
    record = theirs()
    assert actions(take(record, clock=FrozenClock(START - 2 * DAY))) == ["record_of_the_future"]
    assert store.count() == 0
    assert actions(take(record, clock=FrozenClock(START - DAY / 2))) == ["imported"]


# --- a digest that is there already -----------------------------------------------------------------------------


def test_second_run_changes_nothing(store: Store, take: Take) -> None:
    given = [theirs(make_metadata(arxiv_id=f"2601.{n:05}")) for n in range(1, 6)]
    take(*given)
    before = [store.get(f"2601.{n:05}") for n in range(1, 6)]
    assert actions(take(*given, clock=FrozenClock(NOW + DAY))) == ["stored"] * 5
    assert [store.get(f"2601.{n:05}") for n in range(1, 6)] == before
    assert (count(store, records), count(store, receipts), count(store, earlier_blocks)) == (5, 5, 0)


def test_later_state_takes_the_place_of_the_earlier_which_is_kept(store: Store, take: Take) -> None:
    assert actions(take(theirs(), CORRECTED)) == ["imported", "updated"]
    assert stored_json(store) == CORRECTED.to_json()
    with reading(store.engine) as connection:
        kept = connection.execute(sa.select(earlier_blocks)).one()
    assert json.loads(kept.paper)["authors_text"] == theirs().paper.authors_text
    assert (kept.updated_at, kept.replaced_at) == (theirs().updated_at, CORRECTED.updated_at)
    assert count(store, receipts) == 1


def test_earlier_state_changes_nothing(store: Store, take: Take) -> None:
    assert actions(take(CORRECTED, theirs())) == ["imported", "stored"]
    assert stored_json(store) == CORRECTED.to_json()
    assert count(store, earlier_blocks) == 0


def test_other_state_of_the_same_time_changes_nothing(store: Store, take: Take) -> None:
    assert actions(take(theirs(), with_paper(theirs(), authors_text="Grace Hopper"))) == ["imported", "stored"]
    assert stored_json(store) == theirs().to_json()


def test_new_receipt_of_theirs_is_appended(store: Store, take: Take) -> None:
    assert actions(take(theirs(), REISSUED)) == ["imported", "updated"]
    assert stored_json(store) == REISSUED.to_json()
    assert store.receipts_of(REISSUED.number) == [theirs().receipt, REISSUED.receipt]
    assert count(store, earlier_blocks) == 0  # nothing but the receipt was replaced
    *_, counts = check_store(store, RING, FrozenClock(NOW), lambda *_: None)
    assert (counts.checked, counts.failed) == (1, 0)


def test_later_record_of_a_third_issuer_takes_its_place_whole(store: Store, take: Take) -> None:
    third = make_record(signer=OTHERS, clock=FrozenClock(START + DAY), profile=Profile("https://third.example"))
    assert actions(take(theirs(), third)) == ["imported", "updated"]
    assert stored_json(store) == third.to_json()
    assert [receipt.key_id for receipt in store.receipts_of(third.number)] == [THEIRS.key_id, OTHERS.key_id]


def test_later_state_with_other_unknown_fields_alone_keeps_the_earlier_one(store: Store, take: Take) -> None:
    raw = later(theirs()).to_json()[:-1] + b',"note":{"shelf":7}}'
    assert actions(take(theirs(), raw)) == ["imported", "updated"]
    assert stored_json(store) == raw
    with reading(store.engine) as connection:
        layout = connection.scalar(sa.select(earlier_blocks.c.layout))
    assert b"shelf" not in (layout or b"")
    assert count(store, earlier_blocks) == 1


def test_links_and_times_change_only_with_a_new_receipt(store: Store, take: Take) -> None:
    assert REDATED.receipt != theirs().receipt
    assert actions(take(theirs(), REDATED, later(theirs()))) == ["imported", "stored", "stored"]
    assert stored_json(store) == theirs().to_json()
    assert (count(store, receipts), count(store, earlier_blocks)) == (1, 0)


def test_corrected_blocks_come_without_links_and_times(store: Store, take: Take) -> None:
    assert actions(take(theirs(), with_paper(REDATED, authors_text="Grace Hopper"))) == ["imported", "updated"]
    record = store.get("2601.00001").record
    assert (record.paper.authors_text, record.updated_at) == ("Grace Hopper", REDATED.updated_at)
    assert (record.links, record.created_at, record.receipt) == (
        theirs().links,
        theirs().created_at,
        theirs().receipt,
    )
    assert verify(record, RING).ok


def test_new_receipt_with_other_links_keeps_the_earlier_state(store: Store, take: Take) -> None:
    third = make_record(
        None, REVIEW, signer=OTHERS, clock=FrozenClock(START + DAY), profile=Profile("https://third.example")
    )
    assert actions(take(theirs(), third)) == ["imported", "updated"]
    assert stored_json(store) == third.to_json()
    assert (count(store, receipts), count(store, earlier_blocks)) == (2, 1)


def test_receipt_of_the_history_never_comes_back(store: Store, take: Take) -> None:
    corrected = with_paper(REDATED, authors_text="Grace Hopper")
    assert actions(take(theirs(), REISSUED, REDATED, corrected)) == ["imported", "updated", "stored", "stored"]
    assert stored_json(store) == REISSUED.to_json()
    assert count(store, receipts) == 2


@pytest.mark.parametrize(("state", "action"), [("retired", "stored"), ("active", "updated")])
def test_retired_key_never_takes_the_place_of_an_active_one(take: Take, state: Any, action: str) -> None:
    ring = verifier(OTHERS).with_key(RingKey.of(THEIRS.key_id, THEIRS.public_key, state, "verify"))
    assert actions(take(REISSUED, REDATED, ring=ring)) == ["imported", action]


def test_update_keeps_the_mark_of_a_withdrawn_record(store: Store, take: Take) -> None:
    take(theirs())
    withdraw(store, "2601.00001", "wrong", FrozenClock(NOW))
    assert actions(take(CORRECTED)) == ["updated"]
    assert store.get("2601.00001").withdrawn is not None


@pytest.fixture
def issued(store: Store) -> PithRecord:
    """A record of ours."""
    return store.issue(make_metadata(), Provenance("test"), Issuer(OURS, clock=FrozenClock())).record


@pytest.mark.parametrize("copy", ["theirs", "altered", "older key"])
def test_what_is_ours_is_never_replaced(store: Store, take: Take, issued: PithRecord, copy: str) -> None:
    altered = later(with_paper(issued, authors_text="Mallory"))
    given = {"theirs": CORRECTED, "altered": altered, "older key": theirs(days=1)}[copy]
    [refused] = take(given)
    assert refused.code == "record_differs"
    assert "paper" in refused.message or "receipt" in refused.message
    assert stored_json(store) == issued.to_json()


def test_key_of_ours_is_ours_when_it_is_retired_too(store: Store, take: Take, issued: PithRecord) -> None:
    ring = KeyRing.empty().with_key(RingKey.of(OURS.key_id, OURS.public_key, "retired", "receipts"))
    ring = ring.with_key(RingKey.of(THEIRS.key_id, THEIRS.public_key, "active", "verify"))
    assert actions(take(CORRECTED, ring=ring)) == ["record_differs"]


def test_our_own_record_comes_back_as_stored(take: Take, issued: PithRecord) -> None:
    assert actions(take(issued)) == ["stored"]


def test_key_that_was_ours_in_another_ring_is_anothers_here(store: Store, take: Take, issued: PithRecord) -> None:
    ring = KeyRing.empty()
    for signer in (OURS, THEIRS):
        ring = ring.with_key(RingKey.of(signer.key_id, signer.public_key, "active", "verify"))
    assert actions(take(CORRECTED, ring=ring)) == ["updated"]


# --- issuing and reissuing what was imported --------------------------------------------------------------------


@pytest.fixture
def issue(store: Store) -> Callable[..., Any]:
    def call(enrichment: Enrichment | None = None, **changes: Any) -> Any:
        issuer = Issuer(OURS, clock=FrozenClock(NOW))
        return store.issue(make_metadata(**changes), Provenance("test", "2026-03-01T00:00:00Z"), issuer, enrichment)

    return call


def test_issuing_an_imported_paper_gives_the_stored_record(store: Store, take: Take, issue: Any) -> None:
    take(theirs())
    outcome = issue()
    assert (outcome.action, outcome.record.to_json()) == ("stored", theirs().to_json())


def test_issuing_other_authors_keeps_the_review_of_an_imported_record(store: Store, take: Take, issue: Any) -> None:
    take(theirs())
    outcome = issue(authors="Grace Hopper")
    assert outcome.action == "updated"
    expected = with_paper(theirs(), authors_text="Grace Hopper").replace(updated_at=outcome.record.updated_at)
    assert stored_json(store) == expected.to_json()
    assert verify(store.get("2601.00001").record, RING).ok


def test_enrichment_of_ours_replaces_theirs_and_theirs_is_kept(store: Store, take: Take, issue: Any) -> None:
    take(theirs())
    outcome = issue(Enrichment.from_json('{"headline":"Ours"}'))
    assert outcome.action == "updated"
    record = store.get("2601.00001").record
    assert (record.paper.headline, record.graph_snapshot.claims.count, record.events) == ("Ours", 0, [])
    with reading(store.engine) as connection:
        kept = connection.execute(sa.select(earlier_blocks.c.paper, earlier_blocks.c.snapshot)).one()
    assert json.loads(kept.paper)["headline"] == "Reviewed"
    assert json.loads(kept.snapshot)["claims"]["count"] == 1


def test_imported_record_can_be_made_ours_and_keeps_its_review(store: Store, take: Take, issue: Any) -> None:
    take(theirs())
    run = Reissue(store, RING, OURS, Profile(), FrozenClock(NOW))
    *_, progress = run.run_named([store.row_of("2601.00001")])
    assert progress.reissued == 1
    assert issue(authors="Grace Hopper").record.paper.headline == "Reviewed"
    assert actions(take(CORRECTED)) == ["record_differs"]


def test_reissue_leaves_imported_records_alone(store: Store, take: Take) -> None:
    take(theirs())
    assert Reissue(store, RING, OURS, Profile(), FrozenClock(NOW)).pending() == 0


# --- batches and others at work ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("batch", "size"), [(2, 2**24), (500, 1)], ids=["by number", "by bytes"])
def test_batches_lose_nothing(store: Store, take: Take, monkeypatch: pytest.MonkeyPatch, batch: int, size: int) -> None:
    monkeypatch.setattr(importing, "BATCH", batch)
    monkeypatch.setattr(importing, "_BATCH_BYTES", size)
    results = take(*[theirs(make_metadata(arxiv_id=f"2601.{n:05}")) for n in range(1, 6)])
    assert actions(results) == ["imported"] * 5
    assert store.count() == 5


def test_results_come_in_the_order_of_the_file(take: Take) -> None:
    given = [theirs(make_metadata(arxiv_id=f"2601.{n:05}")) for n in range(1, 20)]
    assert [result.pith_number for result in take(*given)] == [record.pith_number for record in given]


def test_record_that_came_in_meanwhile_is_compared_with(
    store: Store, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = importing._rows, []

    def rows(connection: Any, given: Any) -> Any:
        found = real(connection, given)
        if not calls:  # after our look, before we insert
            recorded_at = "2026-04-01T00:00:00.000000Z"
            insert_record(connection, theirs(), None, Provenance("the other process"), recorded_at)
        calls.append("looked")
        return found

    monkeypatch.setattr(importing, "_rows", rows)
    assert actions(take(CORRECTED, theirs(make_metadata(arxiv_id="2601.00002")))) == ["updated", "imported"]
    assert stored_json(store) == CORRECTED.to_json()


def test_number_that_stands_in_another_row_is_the_stores_failure(store: Store, take: Take) -> None:
    take(theirs(make_metadata(arxiv_id="2601.00002")))
    with writing(store.engine) as connection:
        connection.execute(records.update().values(suffix=theirs().number.suffix))
    with pytest.raises(StoreFailed, match="stands in another row"):
        take(theirs())


def test_damaged_row_stops_the_import(store: Store, take: Take) -> None:
    take(theirs())
    with writing(store.engine) as connection:
        connection.execute(records.update().values(paper=b"{"))
    with pytest.raises(StoreFailed, match="is damaged"):
        take(CORRECTED)
