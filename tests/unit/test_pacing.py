"""Turns at a source: one at a time and some seconds apart, for all processes of a machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from pith_builder.errors import FileFailed, SourceUnreachable
from pith_builder.sources.pacing import Pace

NOW = 1_800_000_000.0


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, of this test alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, on a clock that only they move."""
    pauses: list[float] = []
    monkeypatch.setattr(time, "time", lambda: NOW + sum(pauses))
    monkeypatch.setattr(time, "sleep", pauses.append)
    return pauses


def pace(name: str, interval: float) -> Pace:
    """The turns at a source; the folder of one's own is `own` beside the shared file."""
    return Pace(name, interval, Path(tempfile.gettempdir()) / "own")


def take(pace: Pace) -> None:
    with pace.turn(time.monotonic() + 60):
        pass


def test_first_turn_comes_at_once_and_each_further_one_after_the_interval(waited: list[float]) -> None:
    turns = pace("a", 3.0)
    for _ in range(3):
        take(turns)
    assert waited == [0.0, pytest.approx(3.0), pytest.approx(3.0)]


def test_interval_holds_between_processes_by_the_file(waited: list[float]) -> None:
    take(pace("a", 3.0))
    take(pace("a", 3.0))
    assert sum(waited) == pytest.approx(3.0)


def test_sources_have_turns_of_their_own(waited: list[float]) -> None:
    take(pace("a", 3.0))
    take(pace("b", 3.0))
    assert sum(waited) == 0


def test_what_passed_already_is_not_waited_for_again(waited: list[float]) -> None:
    take(pace("a", 3.0))
    waited.append(2.0)
    take(pace("a", 3.0))
    assert waited[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"9" * 40, f"{NOW + 1e6:.6f}".encode(), b"-1.0", b"\xff\xfe", b"0.0"]
)
def test_file_with_nonsense_or_a_time_ahead_delays_nobody(folder: Path, waited: list[float], content: bytes) -> None:
    (folder / "pith-build-a.pace").write_bytes(content)
    take(pace("a", 3.0))
    assert sum(waited) == 0
    take(pace("a", 3.0))
    assert sum(waited) == pytest.approx(3.0)


def test_file_may_be_written_by_all_users_of_the_machine(folder: Path) -> None:
    previous = os.umask(0o077)
    try:
        take(pace("a", 0))
    finally:
        os.umask(previous)
    assert (folder / "pith-build-a.pace").stat().st_mode & 0o777 == 0o666


def test_turn_that_others_hold_until_the_deadline_is_given_up() -> None:
    with pace("a", 0).turn(time.monotonic() + 60), pytest.raises(SourceUnreachable, match="other processes"):  # noqa: SIM117
        with pace("a", 0).turn(time.monotonic() + 0.1):
            pass


def test_turn_is_free_again_after_a_failure() -> None:
    turns = pace("a", 0)
    with pytest.raises(ZeroDivisionError), turns.turn(time.monotonic() + 60):
        raise ZeroDivisionError
    take(turns)


def test_turn_of_a_killed_process_is_free_again(folder: Path) -> None:
    program = (
        f"import pathlib, time, tempfile; tempfile.tempdir = {str(folder)!r}\n"
        "from pith_builder.sources.pacing import Pace\n"
        "turns = Pace('a', 0, pathlib.Path(tempfile.tempdir))\n"
        "with turns.turn(time.monotonic() + 60): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        process.kill()
    take(pace("a", 0))


def test_one_turn_at_a_time_among_processes(folder: Path) -> None:
    """Each process notes its beginning and end while it holds the turn: they never interleave."""
    program = (
        "import os, pathlib, time, tempfile; tempfile.tempdir = {!r}\n"
        "from pith_builder.sources.pacing import Pace\n"
        "turns = Pace('a', 0, pathlib.Path(tempfile.tempdir))\n"
        "for _ in range(20):\n"
        "    with turns.turn(time.monotonic() + 60), open({!r}, 'a', buffering=1) as notes:\n"
        "        notes.write('in ' + str(os.getpid()) + '\\n'); notes.write('out ' + str(os.getpid()) + '\\n')"
    ).format(str(folder), str(folder / "notes"))
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(3)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    notes = [line.split() for line in (folder / "notes").read_text().splitlines()]
    assert len(notes) == 120
    assert all(a[0] == "in" and b[0] == "out" and a[1] == b[1] for a, b in zip(notes[::2], notes[1::2], strict=True))


@pytest.mark.parametrize("kind", ["symbolic link", "hard link", "folder", "pipe"])
def test_what_is_no_plain_file_is_left_alone_for_one_of_ones_own(folder: Path, kind: str) -> None:
    shared, precious = folder / "pith-build-a.pace", folder / "precious"
    precious.write_bytes(b"precious")
    if kind == "symbolic link":
        shared.symlink_to(precious)
    elif kind == "hard link":
        shared.hardlink_to(precious)
    elif kind == "folder":
        shared.mkdir()
    else:
        os.mkfifo(shared)
    take(pace("a", 0))
    assert precious.read_bytes() == b"precious"
    assert (folder / "own" / "pith-build-a.pace").read_bytes()


def test_folder_for_temporary_files_that_is_not_there_is_done_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    take(Pace("a", 0, tmp_path / "own"))
    assert (tmp_path / "own" / "pith-build-a.pace").exists()


def test_no_place_at_all_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileFailed):
        take(Pace("a", 0, tmp_path / "file"))


def test_interval_beyond_the_deadline_is_told_at_once(waited: list[float]) -> None:
    turns = pace("a", 9999)
    take(turns)
    with pytest.raises(SourceUnreachable, match="9999 s") as caught:
        take(turns)
    assert "PITH_OAI_INTERVAL" in caught.value.hint
    assert sum(waited) == 0


def test_disk_that_is_full_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(FileFailed, match="No space left"):
        take(pace("a", 0))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc here")
def test_descriptor_is_closed_after_each_turn() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        take(pace("a", 0))
    assert len(os.listdir("/proc/self/fd")) == before
