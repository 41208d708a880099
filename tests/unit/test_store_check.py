"""The check of a whole store finds what is wrong with a row, and remembers a check that ran to its end."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pith_builder import Issuer, Provenance
from pith_builder.store import Store
from pith_builder.store.check import check_store
from pith_builder.testing import FrozenClock, make_keyring, make_metadata, make_signer

PAPERS = 3


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store = Store(f"sqlite:///{tmp_path / 'pith.db'}")
    issuer = Issuer(make_signer(), clock=FrozenClock())
    for n in range(1, PAPERS + 1):
        store.issue(make_metadata(arxiv_id=f"2601.{n:05}"), Provenance("test"), issuer)
    return tmp_path / "pith.db"


def run(path: Path) -> tuple[int, int, list[str]]:
    reasons: list[str] = []
    store = Store(f"sqlite:///{path}")
    *_, counts = check_store(store, make_keyring(), FrozenClock(), lambda _, reason: reasons.append(reason))
    return counts.checked, counts.failed, reasons


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER IF EXISTS receipts_no_update")
        connection.execute(statement)


def recorded(path: Path) -> list[tuple[int, int, int]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT last_receipt_id, records, failed FROM checks").fetchall()


def test_a_sound_store_passes_and_the_check_is_remembered(path: Path) -> None:
    assert run(path) == (PAPERS, 0, [])
    assert recorded(path) == [(PAPERS, PAPERS, 0)]


def test_an_empty_store_passes(tmp_path: Path) -> None:
    Store(f"sqlite:///{tmp_path / 'pith.db'}")
    assert run(tmp_path / "pith.db") == (0, 0, [])


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE records SET canonical = x'7b' WHERE id = 2", "don't give its digest"),
        ("UPDATE records SET suffix = 'AAAAAAAAAAAAAAAAAAAAAAAAAA' WHERE id = 2", "under another number"),
        ("UPDATE records SET paper = x'7b' WHERE id = 2", "is damaged"),
        ("UPDATE current SET updated_at = 'soon' WHERE record_id = 2", "times_in_order"),
        ("UPDATE current SET key_fingerprint = '00' WHERE record_id = 2", "another key or builder"),
        ("UPDATE current SET receipt_builder = 'x' WHERE record_id = 2", "another key or builder"),
        (
            "UPDATE receipts SET receipt = (SELECT receipt FROM receipts WHERE record_id = 1) WHERE record_id = 2",
            "digest",
        ),
        (
            "INSERT INTO receipts (id, record_id, receipt, recorded_at) "
            "SELECT -1, 2, receipt, recorded_at FROM receipts WHERE record_id = 1",
            "a receipt of its history is not TEST-v1-2026-01's over its digest",
        ),
        (
            "INSERT INTO receipts (id, record_id, receipt, recorded_at) VALUES (-1, 2, x'ff', '')",
            "a receipt of its history can't be read",
        ),
    ],
)
def test_a_fault_is_found_and_named(path: Path, statement: str, reason: str) -> None:
    change(path, statement)
    checked, failed, reasons = run(path)
    assert (checked, failed) == (PAPERS, 1)
    assert reason in reasons[0]
    assert recorded(path)[0][1:] == (PAPERS, 1)
