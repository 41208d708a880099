"""What the fault tests share: a store looked at from outside, with sqlite3 and nothing of the builder's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pith_builder import KeyRing, verify
from pith_builder.store import Store


@pytest.fixture
def sound_records(home: Path) -> Callable[[], int]:
    """How many records the store has, after checking that each is whole, has one receipt and verifies."""

    def count() -> int:
        with closing(sqlite3.connect(home / "pith.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            numbers = [suffix for (suffix,) in connection.execute("SELECT suffix FROM records")]
            receipts = connection.execute(
                "SELECT r.suffix FROM receipts JOIN records r ON r.id = receipts.record_id"
            ).fetchall()
        assert sorted(suffix for (suffix,) in receipts) == sorted(numbers)
        store = Store(f"sqlite:///{home / 'pith.db'}")
        ring = KeyRing.from_json((home / "keys" / "keyring.json").read_bytes())
        for number in numbers:
            assert verify(store.get(number).record.to_json(), ring).ok
        return len(numbers)

    return count
