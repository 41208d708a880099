"""An export that is stopped, at any moment and for whatever reason, is none: the next one makes it whole."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def stored(with_key: Run, home: Path, registry: Path) -> Iterator[Run]:
    """`run` with a hundred papers in the store, which another process reads too."""
    assert with_key("issue", "--metadata", registry / "snapshot_rows.jsonl").code == 0
    connection = sqlite3.connect(home / "pith.db")
    connection.execute("SELECT count(*) FROM records").fetchall()  # its files are there, and need not grow
    yield with_key
    connection.close()


@pytest.fixture
def finish(stored: Run, tmp_path: Path) -> Callable[[], None]:
    """Export into the same folder again, and look at all that is there then."""

    def call() -> None:
        assert stored("corpus", "export", "--out", tmp_path / "out", "--workers", 1).code == 0
        result = stored("corpus", "verify", tmp_path / "out", "--workers", 1)
        assert result.out.startswith("100 records, 0 failed; ")
        assert result.code == 0

    return call


def no_larger_than(size: int) -> Callable[[], None]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.parametrize("form", ["records", "table"])
@pytest.mark.parametrize(("size", "workers"), [(0, 1), (3_000, 2)])
def test_disk_that_is_full_is_5_and_leaves_no_manifest(
    run_process: Run, finish: Any, tmp_path: Path, form: str, size: int, workers: int
) -> None:
    arguments = ("corpus", "export", "--out", tmp_path / "out", "--form", form, "--workers", workers)
    result = run_process(*arguments, preexec_fn=no_larger_than(size))
    assert (result.code, result.out) == (5, "")
    assert "File too large" in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "out" / "manifest.json").exists()
    finish()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_stop_at_any_moment_leaves_no_manifest_or_all(
    start: Run, finish: Any, tmp_path: Path, number: signal.Signals
) -> None:
    """The moment is a number of files; the last ones may be done before the signal comes."""
    folder, stopped = tmp_path / "out", 0
    for files in (1, 12):
        process = start("corpus", "export", "--out", folder, "--workers", 2)
        while process.poll() is None and (not folder.exists() or len(os.listdir(folder)) < files):
            pass
        os.killpg(process.pid, number)
        out, err = process.communicate()
        assert b"Traceback" not in err
        if process.returncode:
            stopped += 1
            assert process.returncode == (130 if number == signal.SIGINT else -number)
            assert out == b""
            assert not (folder / "manifest.json").exists()
        else:
            break
    assert stopped
    if not (folder / "manifest.json").exists():
        finish()
