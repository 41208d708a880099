"""Copying and backing up thousands of records while processes are killed, disks fill up and others write."""

from __future__ import annotations

import os
import random
import resource
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pith_builder import Issuer, Provenance
from pith_builder.store import Store
from pith_builder.store.database import writing
from pith_builder.store.store import insert_record
from pith_builder.testing import FrozenClock, make_metadata, make_signer

Run = Callable[..., Any]
RECORDS = 4000


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a SQLite store of thousands of records."""
    url = f"sqlite:///{tmp_path_factory.mktemp('filled') / 'pith.db'}"
    issuer = Issuer(make_signer(), clock=FrozenClock(step=timedelta(milliseconds=1)))
    with writing(Store(url).engine) as connection:
        for n in range(1, RECORDS + 1):
            record = issuer.issue(make_metadata(arxiv_id=f"2601.{n:05}"))
            assert insert_record(connection, record, None, Provenance("test"), record.receipt.signed_at)
    return url


@pytest.fixture
def copied(store_url: str, sql: Run) -> Callable[[], int]:
    """How many rows the target has."""
    Store(store_url)
    tables = ("records", "receipts", "current")
    return lambda: sum(sql(f"SELECT count(*) FROM {table}")[0][0] for table in tables)


def test_kill_at_any_moment_of_a_copy_is_continued(
    run: Run, start: Run, filled: str, store_url: str, copied: Callable[[], int]
) -> None:
    chance = random.Random(6)
    seen, killed = [0], 0
    for _ in range(8):
        process = start("store", "copy", store_url, "--store", filled)
        wanted = seen[-1] + chance.randrange(0, RECORDS)
        while process.poll() is None and copied() < wanted:
            pass
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        seen.append(copied())
    assert killed  # most of them, but for a machine that is done before the signal comes
    assert len(set(seen)) > 2  # a busy machine looks too seldom to see many
    assert seen == sorted(seen)
    result = run("store", "copy", store_url, "--store", filled, "--json")
    assert result.code == 0
    assert sum(line["new"] for line in result.lines) == 3 * RECORDS - seen[-1]
    assert copied() == 3 * RECORDS


def test_two_copies_at_once_end_with_one_whole_copy(
    run: Run, start: Run, filled: str, store_url: str, copied: Callable[[], int]
) -> None:
    processes = [start("store", "copy", store_url, "--store", filled) for _ in range(2)]
    outcomes = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outcomes
    assert copied() == 3 * RECORDS


def test_kill_during_a_backup_leaves_no_file_of_its_name(start: Run, filled: str, tmp_path: Path) -> None:
    """Each process is killed as soon as the folder that it works in appears."""
    for n in range(5):
        process = start("store", "backup", tmp_path / f"{n}.backup", "--store", filled)
        while process.poll() is None and not list(tmp_path.glob(f".{n}.backup.*/pith.db")):
            pass
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL or (tmp_path / f"{n}.backup").exists()
        if process.returncode == -signal.SIGKILL and (path := tmp_path / f"{n}.backup").exists():
            assert Store(f"sqlite:///{path}").count() == RECORDS  # it was done just before the signal came


def no_larger_than(size: int) -> Callable[[], None]:
    """In a child process: files can't grow beyond `size` bytes, and writing on gives an error."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.parametrize("size", [0, 40_000, 2_000_000])
def test_disk_that_is_full_is_5_and_leaves_no_backup(run_process: Run, filled: str, tmp_path: Path, size: int) -> None:
    (tmp_path / "backups").mkdir()
    result = run_process(
        "store", "backup", tmp_path / "backups" / "b", "--store", filled, preexec_fn=no_larger_than(size)
    )
    assert (result.code, result.out) == (5, "")
    assert "Traceback" not in result.err
    assert os.listdir(tmp_path / "backups") == []


@pytest.mark.parametrize("size", [40_000, 2_000_000])
def test_disk_that_is_full_during_a_copy_is_5_and_the_next_run_goes_on(
    run: Run, run_process: Run, filled: str, tmp_path: Path, size: int
) -> None:
    target = f"sqlite:///{tmp_path / 'copy.db'}"
    result = run_process("store", "copy", target, "--store", filled, preexec_fn=no_larger_than(size))
    assert (result.code, result.out) == (5, "")
    assert "Traceback" not in result.err
    assert run("store", "copy", target, "--store", filled).code == 0
    assert Store(target).count() == RECORDS
