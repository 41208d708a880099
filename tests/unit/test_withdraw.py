"""A record that was issued in error is marked, and loses nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pith_builder import Issuer, KeyRing, PithRecord, Profile, Provenance, verify
from pith_builder.errors import Ambiguous, InvalidText, NotFound
from pith_builder.keyring import RingKey
from pith_builder.store import Store, Withdrawal
from pith_builder.store.check import check_store
from pith_builder.store.reissue import Reissue
from pith_builder.store.withdraw import withdraw
from pith_builder.testing import START, FrozenClock, make_keyring, make_metadata, make_signer

LATER = FrozenClock(START + timedelta(days=40))
MARK = Withdrawal("2026-01-02T03:04:05.678901Z", "wrong title")


@pytest.fixture
def store(store_url: str) -> Store:
    return Store(store_url)


@pytest.fixture
def record(store: Store) -> PithRecord:
    return issue(store)


def issue(store: Store, **changes: object) -> PithRecord:
    issuer = Issuer(make_signer(), clock=FrozenClock())
    return store.issue(make_metadata(**changes), Provenance("test"), issuer).record


@pytest.fixture
def withdrawn(store: Store, record: PithRecord) -> PithRecord:
    withdraw(store, record.pith_number, "wrong title", FrozenClock())
    return record


def test_withdrawn_record_stays_whole_and_has_the_mark(store: Store, withdrawn: PithRecord) -> None:
    stored = store.get(withdrawn.pith_number)
    assert stored.withdrawn == MARK
    assert stored.record.to_json() == withdrawn.to_json()
    assert verify(stored.record, make_keyring()).ok


def test_mark_is_given_back(store: Store, record: PithRecord) -> None:
    marked = withdraw(store, record.pith_number, "  wrong title\n", FrozenClock())
    assert (marked.pith_number, marked.withdrawn, marked.already) == (record.pith_number, MARK, False)


def test_first_mark_stays(store: Store, withdrawn: PithRecord) -> None:
    marked = withdraw(store, withdrawn.pith_number, "another reason", LATER)
    assert (marked.withdrawn, marked.already) == (MARK, True)
    assert store.get(withdrawn.pith_number).withdrawn == MARK


def test_other_records_are_not_marked(store: Store, withdrawn: PithRecord) -> None:
    assert store.get(issue(store, arxiv_id="2601.00002").pith_number).withdrawn is None


@pytest.mark.parametrize("of", ["number", "suffix", "short", "id", "version"])
def test_alias_that_means_one_record_is_enough(store: Store, record: PithRecord, of: str) -> None:
    suffix = record.number.suffix
    aliases = {"number": record.pith_number, "suffix": suffix, "short": suffix[:8], "id": "2601.00001"}
    assert withdraw(store, aliases.get(of, "2601.00001v1"), "x", LATER).pith_number == record.pith_number


def test_paper_with_several_numbers_is_ambiguous(store: Store, record: PithRecord) -> None:
    newer = issue(store, version=2)
    with pytest.raises(Ambiguous) as caught:
        withdraw(store, "2601.00001", "x", LATER)
    assert caught.value.candidates == [f"{newer.pith_number} 2601.00001v2", f"{record.pith_number} 2601.00001v1"]
    assert store.get(newer.pith_number).withdrawn is None
    assert withdraw(store, "2601.00001v2", "x", LATER).pith_number == newer.pith_number


def test_record_that_is_nowhere(store: Store, record: PithRecord) -> None:
    with pytest.raises(NotFound):
        withdraw(store, "2601.00009", "x", LATER)


@pytest.mark.parametrize(("reason", "error"), [(" \n", ValueError), ("\udcff", InvalidText), ("a\0b", InvalidText)])
def test_reason_that_says_nothing_or_cannot_be_written(
    store: Store, record: PithRecord, reason: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        withdraw(store, record.pith_number, reason, LATER)
    assert store.get(record.pith_number).withdrawn is None


@pytest.mark.parametrize("authors", [make_metadata().authors, "Grace Hopper"])
def test_issuing_the_same_number_again_keeps_the_mark(store: Store, withdrawn: PithRecord, authors: str) -> None:
    issue(store, authors=authors)
    assert store.get(withdrawn.pith_number).withdrawn == MARK


def test_it_is_still_the_newest_of_its_paper(store: Store, record: PithRecord) -> None:
    newer = issue(store, version=2)
    withdraw(store, newer.pith_number, "x", LATER)
    assert store.get("2601.00001").record.pith_number == newer.pith_number


def test_check_passes_it_as_any_record(store: Store, withdrawn: PithRecord) -> None:
    *_, counts = check_store(store, make_keyring(), LATER, lambda *_: None)
    assert (counts.checked, counts.failed) == (1, 0)


def test_reissue_treats_it_as_any_record(store: Store, withdrawn: PithRecord) -> None:
    old, new = make_signer(1), make_signer(2)
    ring = KeyRing.empty().with_key(RingKey.of(new.key_id, new.public_key, "active", "receipts"))
    ring = ring.with_key(RingKey.of(old.key_id, old.public_key, "retired", "receipts"))
    *_, progress = Reissue(store, ring, new, Profile(), LATER).run_all()
    assert (progress.reissued, progress.refused) == (1, 0)
    stored = store.get(withdrawn.pith_number)
    assert (stored.record.receipt.key_id, stored.withdrawn) == (new.key_id, MARK)
