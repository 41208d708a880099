"""The numbers of a store."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pith_builder import Issuer, KeyRing, Provenance
from pith_builder.store import Store
from pith_builder.store.database import NEWEST, revision
from pith_builder.store.stats import OfKey, stats
from pith_builder.store.withdraw import withdraw
from pith_builder.testing import START, FrozenClock, make_keyring, make_metadata, make_signer


@pytest.fixture
def store(store_url: str) -> Store:
    return Store(store_url)


def issue(store: Store, *, signer: Any = None, days: int = 0, **changes: Any) -> str:
    issuer = Issuer(signer or make_signer(), clock=FrozenClock(START + timedelta(days=days)))
    return store.issue(make_metadata(**changes), Provenance("test"), issuer).record.pith_number


def test_empty_store(store: Store) -> None:
    found = stats(store, make_keyring())
    assert (found.records, found.papers, found.keys, found.receipts) == (0, 0, [], 0)
    assert (found.first_recorded_at, found.last_recorded_at, found.bytes_per_record) == (None, None, None)
    assert (found.schema_revision, found.bytes > 0) == (NEWEST, True)


def test_what_is_counted(store: Store) -> None:
    issue(store)
    issue(store, authors="Grace Hopper")
    issue(store, version=2, days=3)
    withdraw(store, issue(store, arxiv_id="2601.00002", days=1), "wrong", FrozenClock())
    found = stats(store, make_keyring())
    assert (found.records, found.papers, found.receipts) == (3, 2, 3)
    assert (found.earlier_blocks, found.withdrawn) == (1, 1)
    assert found.first_recorded_at == "2026-01-02T03:04:05.678901Z"
    assert found.last_recorded_at == "2026-01-05T03:04:05.678901Z"
    assert found.bytes_per_record == found.bytes // 3


def test_records_are_counted_by_key_with_its_state(store: Store) -> None:
    ours, unknown = make_signer(1), make_signer(2)
    for n in range(3):
        issue(store, arxiv_id=f"2601.0000{n + 1}", signer=unknown if n else ours)
    keys = {key.key_id: key for key in stats(store, make_keyring(ours)).keys}
    [fingerprint] = [key.fingerprint for key in make_keyring(ours).keys]
    [other] = [key.fingerprint for key in make_keyring(unknown).keys]
    assert keys[ours.key_id] == OfKey(ours.key_id, fingerprint, "active", "receipts", 1)
    assert keys[unknown.key_id] == OfKey(unknown.key_id, other, "unknown", "unknown", 2)


def test_key_of_a_damaged_receipt_has_no_name(store: Store, sql: Any) -> None:
    issue(store)
    sql("INSERT INTO receipts (record_id, receipt, recorded_at) VALUES (1, :receipt, '')", receipt=b"{")
    sql("UPDATE current SET receipt_id = 2")
    [key] = stats(store, KeyRing.empty()).keys
    assert (key.key_id, key.state) == (None, "unknown")


def test_revision_of_a_store_that_is_not_there_makes_none(store_url: str) -> None:
    assert revision(store_url) is None
    assert revision(store_url) is None
    Store(store_url)
    assert revision(store_url) == NEWEST
