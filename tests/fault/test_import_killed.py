"""Importing thousands of records while processes are killed, and two at once."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pith_builder import Issuer
from pith_builder.testing import FrozenClock, make_keyring, make_metadata, make_signer

Run = Callable[..., Any]
RECORDS = 3000


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of thousands of records of another issuer."""
    issuer = Issuer(make_signer(), clock=FrozenClock(step=timedelta(milliseconds=1)))
    path = tmp_path_factory.mktemp("published") / "records.jsonl"
    with path.open("wb") as file:
        for n in range(1, RECORDS + 1):
            file.write(issuer.issue(make_metadata(arxiv_id=f"2601.{n:05}")).to_json() + b"\n")
    return path


@pytest.fixture
def home_with_ring(home: Path) -> Path:
    """A home whose ring has the other issuer's key, which is whose it makes no difference here."""
    (home / "keys").mkdir(parents=True)
    (home / "keys" / "keyring.json").write_bytes(make_keyring().to_json())
    return home


def rows(home: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(home / "pith.db")) as connection:
        return connection.execute(statement).fetchall()


def whole(home: Path) -> int:
    """How many records there are, after checking that each has its row of `current` and its one receipt."""
    if not (home / "pith.db").exists() or not rows(home, "SELECT 1 FROM sqlite_master WHERE name = 'earlier_blocks'"):
        return 0
    [(found, receipts, current)] = rows(
        home, "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM receipts), (SELECT count(*) FROM current)"
    )
    assert found == receipts == current
    assert rows(home, "PRAGMA foreign_key_check") == []
    return int(found)


def test_kill_at_any_moment_leaves_whole_records_and_the_next_run_completes_it(
    run: Run, start: Run, home_with_ring: Path, published: Path
) -> None:
    chance = random.Random(5)
    seen, killed = [0], 0
    for n in range(10):
        process = start("store", "import", published, bufsize=0)
        for _ in range(chance.randrange(1, 100 * n + 3)):
            process.stderr.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        seen.append(whole(home_with_ring))
    assert killed > 3
    assert seen == sorted(seen)
    result = run("store", "import", published, "--json")
    assert result.code == 0
    assert result.lines[-1] == {"imported": RECORDS - seen[-1], "updated": 0, "stored": seen[-1], "failed": 0}
    assert whole(home_with_ring) == RECORDS
    assert run("store", "check").out == f"{RECORDS} records, 0 failed\n"


def test_two_at_once_take_each_record_once(start: Run, home_with_ring: Path, published: Path, tmp_path: Path) -> None:
    backwards = tmp_path / "backwards.jsonl"
    backwards.write_bytes(b"".join(line + b"\n" for line in reversed(published.read_bytes().splitlines())))
    processes = [start("store", "import", path, "--json") for path in (published, backwards)]
    outs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    summaries = [json.loads(out.splitlines()[-1]) for out in outs]
    assert sum(summary["imported"] for summary in summaries) == RECORDS
    assert sum(summary["stored"] for summary in summaries) == RECORDS
    assert whole(home_with_ring) == RECORDS
