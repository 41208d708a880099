"""Importing thousands of records while processes are killed, and two at once."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pith_builder import Issuer
from pith_builder.store import Store
from pith_builder.testing import FrozenClock, make_keyring, make_metadata, make_signer

Run = Callable[..., Any]
RECORDS = 2000


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
def whole(home: Path, store_url: str, sql: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many records a store has, after checking that each has its row of `current` and its one receipt.

    The ring of the home has the other issuer's key; that it says it is ours makes no difference here.
    """
    (home / "keys").mkdir(parents=True)
    (home / "keys" / "keyring.json").write_bytes(make_keyring().to_json())
    monkeypatch.setenv("PITH_STORE", store_url)
    Store(store_url)

    def count() -> int:
        [(found, receipts, current)] = sql(
            "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM receipts), (SELECT count(*) FROM current)"
        )
        assert found == receipts == current
        return int(found)

    return count


def test_kill_at_any_moment_leaves_whole_records_and_the_next_run_completes_it(
    run: Run, start: Run, whole: Callable[[], int], published: Path
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
        seen.append(whole())
    assert killed > 3
    assert seen == sorted(seen)
    result = run("store", "import", published, "--json")
    assert result.code == 0
    assert result.lines[-1] == {"imported": RECORDS - seen[-1], "updated": 0, "stored": seen[-1], "failed": 0}
    assert whole() == RECORDS
    assert run("store", "check").out == f"{RECORDS} records, 0 failed\n"


def test_two_at_once_take_each_record_once(
    start: Run, whole: Callable[[], int], published: Path, tmp_path: Path
) -> None:
    backwards = tmp_path / "backwards.jsonl"
    backwards.write_bytes(b"".join(line + b"\n" for line in reversed(published.read_bytes().splitlines())))
    processes = [start("store", "import", path, "--json") for path in (published, backwards)]
    outs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    summaries = [json.loads(out.splitlines()[-1]) for out in outs]
    assert sum(summary["imported"] for summary in summaries) == RECORDS
    assert sum(summary["stored"] for summary in summaries) == RECORDS
    assert whole() == RECORDS
