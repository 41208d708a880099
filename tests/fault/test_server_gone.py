"""A PostgreSQL server that crashes while processes work: exit 5 and a next step, nothing lost and nothing twice."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import PithNumber
from pith_builder.store import Store
from postgresql_server import Server

Run = Callable[..., Any]
pytestmark = pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)


def test_crash_of_the_server_while_papers_are_issued_loses_nothing_that_was_told(
    with_key: Run,
    start: Run,
    at_store: str,
    registry: Path,
    postgresql: Server,
    sound_records: Callable[[], int],
) -> None:
    """What was told of is stored; a commit whose answer was lost may be stored too."""
    source = registry / "snapshot_rows.jsonl"
    chance = random.Random(5)
    before, crashed = 0, 0
    for n in range(6):
        process = start("issue", "--metadata", source)
        for _ in range(chance.randrange(1, 16 * n + 3)):
            process.stderr.readline()
        postgresql.stop("immediate")
        out, err = process.communicate(timeout=60)
        postgresql.start()
        store = Store(at_store)
        assert all(store.receipts_of(PithNumber.parse(number)) for number in out.decode().split())
        assert b"Traceback" not in err
        if process.returncode:
            crashed += 1
            assert process.returncode == 5
            assert b"look after the server" in err or b"is the server running" in err
        stored = sound_records()
        told = len(out.split())
        assert max(before, told) <= stored <= max(before, told) + 1
        before = stored
    assert crashed > 2  # the last ones may be done before the crash
    assert with_key("issue", "--metadata", source).code == 0
    assert sound_records() == 100


def test_server_that_is_down_is_5_with_a_next_step(
    with_key: Run, at_store: str, registry: Path, postgresql: Server
) -> None:
    source = registry / "snapshot_rows.jsonl"
    postgresql.stop()
    try:
        for command in (["issue", "--metadata", source], ["resolve", "0704.0001"], ["store", "check"], ["reissue"]):
            result = with_key(*command)
            assert (result.code, result.out) == (5, "")
            assert "is the server running" in result.err
    finally:
        postgresql.start()
