"""What the fault tests share: a store looked at from outside, past the builder's own store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from pith_builder import KeyRing, verify
from pith_builder.store import Store


@pytest.fixture
def sound_records(home: Path) -> Callable[[], int]:
    """How many records the store has, after checking that each is whole, has one receipt and verifies."""

    def count() -> int:
        url = os.environ.get("PITH_STORE", f"sqlite:///{home / 'pith.db'}")
        engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
        with engine.begin() as connection:
            if url.startswith("sqlite"):
                assert connection.exec_driver_sql("PRAGMA integrity_check").all() == [("ok",)]
                assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
            numbers = connection.exec_driver_sql("SELECT suffix FROM records").scalars().all()
            receipts = connection.exec_driver_sql(
                "SELECT r.suffix FROM receipts JOIN records r ON r.id = receipts.record_id"
            )
            assert sorted(receipts.scalars()) == sorted(numbers)
        store = Store(url)
        ring = KeyRing.from_json((home / "keys" / "keyring.json").read_bytes())
        for number in numbers:
            assert verify(store.get(number).record.to_json(), ring).ok
        return len(numbers)

    return count
