"""The check of a whole store finds what is wrong with a row, and remembers a check that ran to its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from pith_builder import Issuer, Profile, Provenance
from pith_builder.errors import StoreFailed
from pith_builder.store import Store
from pith_builder.store.check import check_store
from pith_builder.store.database import writing
from pith_builder.store.resolve import resolve
from pith_builder.store.store import insert_record
from pith_builder.store.withdraw import withdraw
from pith_builder.testing import FrozenClock, make_keyring, make_metadata, make_signer
from postgresql_server import Server

Sql = Callable[..., list[Any]]
PAPERS = 3


@pytest.fixture
def store(store_url: str) -> Store:
    """A store of some records, with row ids from 1."""
    store = Store(store_url)
    issuer = Issuer(make_signer(), clock=FrozenClock())
    for n in range(1, PAPERS + 1):
        store.issue(make_metadata(arxiv_id=f"2601.{n:05}"), Provenance("test"), issuer)
    return store


def run(store: Store) -> tuple[int, int, list[str]]:
    reasons: list[str] = []
    *_, counts = check_store(store, make_keyring(), FrozenClock(), lambda _, reason: reasons.append(reason))
    return counts.checked, counts.failed, reasons


def recorded(sql: Sql) -> list[tuple[int, int, int]]:
    return sql("SELECT last_receipt_id, records, failed FROM checks")


def test_a_sound_store_passes_and_the_check_is_remembered(store: Store, sql: Sql) -> None:
    assert run(store) == (PAPERS, 0, [])
    assert recorded(sql) == [(PAPERS, PAPERS, 0)]


def test_a_time_that_no_source_told_is_no_fault(store: Store, sql: Sql) -> None:
    sql("UPDATE records SET said_at = NULL")
    assert run(store) == (PAPERS, 0, [])


def test_an_empty_store_passes(store_url: str) -> None:
    assert run(Store(store_url)) == (0, 0, [])


#: Gives the second record so many receipts more: what is added first is earlier.
APPEND = "INSERT INTO receipts (record_id, receipt, recorded_at) "
OF_FIRST = APPEND + "SELECT 2, receipt, recorded_at FROM receipts WHERE record_id = 1"
ITS_OWN = APPEND + "SELECT 2, receipt, recorded_at FROM receipts WHERE id = 2"
NEWEST = "UPDATE current SET receipt_id = (SELECT max(id) FROM receipts) WHERE record_id = 2"


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (["UPDATE records SET canonical = :brace WHERE id = 2"], "don't give its digest"),
        (["UPDATE records SET suffix = 'AAAAAAAAAAAAAAAAAAAAAAAAAA' WHERE id = 2"], "under another number"),
        (["UPDATE records SET arxiv_id = '2601.00009' WHERE id = 2"], "under another paper"),
        (["UPDATE records SET version = 9 WHERE id = 2"], "under another paper"),
        (["UPDATE records SET recorded_at = 'soon' WHERE id = 2"], "recorded_at is no time"),
        (["UPDATE records SET said_at = 'soon' WHERE id = 2"], "said_at is no time"),
        (["UPDATE records SET paper = :brace WHERE id = 2"], "is damaged"),
        (["UPDATE current SET updated_at = 'soon' WHERE record_id = 2"], "times_in_order"),
        (["UPDATE current SET key_fingerprint = '00' WHERE record_id = 2"], "another key or builder"),
        (["UPDATE current SET receipt_builder = 'x' WHERE record_id = 2"], "another key or builder"),
        ([OF_FIRST, NEWEST], "digest"),
        ([ITS_OWN], "a receipt that is not its newest"),
        ([OF_FIRST, ITS_OWN, NEWEST], "a receipt of its history is not TEST-v1-2026-01's over its digest"),
        ([APPEND + "VALUES (2, :brace, '')", ITS_OWN, NEWEST], "a receipt of its history can't be read"),
    ],
)
def test_a_fault_is_found_and_named(store: Store, sql: Sql, statements: list[str], reason: str) -> None:
    for statement in statements:
        sql(statement, **({"brace": b"{"} if ":brace" in statement else {}))
    checked, failed, reasons = run(store)
    assert (checked, failed) == (PAPERS, 1)
    assert reason in reasons[0]
    assert recorded(sql)[0][1:] == (PAPERS, 1)


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_a_receipt_that_is_committed_late_is_never_counted_as_checked(
    store: Store, sql: Sql, postgresql: Server
) -> None:
    """Its id was given before that of the newest receipt that the check sees, and it comes in behind the check."""
    issuer = Issuer(make_signer(), clock=FrozenClock())
    late = issuer.issue(make_metadata(arxiv_id="2601.00098"))
    checked: list[int] = []
    check = threading.Thread(target=lambda: checked.append(run(store)[0]))
    with writing(store.engine) as connection:
        assert insert_record(connection, late, None, Provenance("test"), late.receipt.signed_at)
        store.issue(make_metadata(arxiv_id="2601.00099"), Provenance("test"), issuer)
        check.start()
        while check.is_alive() and not postgresql.waiting():
            pass
    check.join()
    [(last, _, _)] = recorded(sql)
    [(of_late,)] = sql(
        "SELECT receipts.id FROM receipts JOIN records ON records.id = record_id WHERE arxiv_id = '2601.00098'"
    )
    assert checked == [PAPERS + 2] or of_late > last


# --- an unfinished copy -----------------------------------------------------------------------------------------


@pytest.fixture
def unfinished(store: Store, sql: Sql) -> Store:
    """The store as a copy leaves it that stops before the last row of `current`."""
    sql("DELETE FROM current WHERE record_id = 3")
    return store


def test_a_record_without_newest_receipt_is_a_fault_and_the_check_leaves_no_row(unfinished: Store, sql: Sql) -> None:
    checked, failed, [reason] = run(unfinished)
    assert (checked, failed) == (PAPERS, 1)
    assert "has no newest receipt; an unfinished copy: run store copy again" in reason
    assert recorded(sql) == []


def test_a_check_before_the_copy_came_to_its_records_leaves_no_row(store_url: str, sql: Sql) -> None:
    run(Store(store_url))
    assert recorded(sql) == []


@pytest.mark.parametrize("does", ["get", "resolve", "withdraw", "issue", "would"])
def test_what_needs_such_a_record_tells_that_the_copy_is_unfinished(unfinished: Store, does: str) -> None:
    alias, metadata, provenance = "2601.00003", make_metadata(arxiv_id="2601.00003"), Provenance("test")
    calls: dict[str, Callable[[], object]] = {
        "get": lambda: unfinished.get(alias),
        "resolve": lambda: resolve(unfinished, alias),
        "withdraw": lambda: withdraw(unfinished, alias, "wrong", FrozenClock()),
        "issue": lambda: unfinished.issue(metadata, provenance, Issuer(make_signer(), clock=FrozenClock())),
        "would": lambda: unfinished.would(metadata, provenance, Profile(), FrozenClock()),
    }
    with pytest.raises(StoreFailed, match="no newest receipt") as caught:
        calls[does]()
    assert caught.value.hint == "an unfinished copy: run store copy again"


def test_a_paper_with_an_unfinished_number_is_not_resolved(unfinished: Store, sql: Sql) -> None:
    sql("UPDATE records SET arxiv_id = '2601.00001', said_at = NULL WHERE id = 3")
    with pytest.raises(StoreFailed, match="no newest receipt"):
        resolve(unfinished, "2601.00001")
