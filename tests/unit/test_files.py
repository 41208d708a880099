"""Files that appear whole or not at all, and locks between processes. (What fails in between: tests/fault.)"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pith_builder import files
from pith_builder.errors import FileFailed


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_read_gives_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\0\r\n\xff")
    assert files.read(tmp_path / "file") == b"\0\r\n\xff"


@pytest.mark.parametrize("what", ["nothing", "folder"])
def test_reading_what_is_no_file_names_it_and_the_reason(tmp_path: Path, what: str) -> None:
    path = tmp_path / "file"
    if what == "folder":
        path.mkdir()
    with pytest.raises(FileFailed) as caught:
        files.read(path)
    assert caught.value.file == str(path)
    assert caught.value.message.startswith("can't read the file: ")


def test_replace_makes_a_file(tmp_path: Path) -> None:
    files.replace(tmp_path / "file", b"data")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"data")]


def test_replace_puts_another_file_in_the_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        files.replace(path, b"new")
        assert reader.read() == b"old"  # who had it open still reads the old one, whole
    assert path.read_bytes() == b"new"


def test_create_makes_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        files.create(tmp_path / "file", b"data")
    finally:
        os.umask(old)
    assert (tmp_path / "file").read_bytes() == b"data"
    assert mode(tmp_path / "file") == 0o600


@pytest.mark.parametrize("what", ["file", "folder", "dangling link"])
def test_create_never_takes_the_place_of_another(tmp_path: Path, what: str) -> None:
    path = tmp_path / "there"
    if what == "file":
        path.write_bytes(b"old")
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileFailed, match="File exists"):
        files.create(path, b"new")
    assert list(tmp_path.iterdir()) == [path]
    assert what != "file" or path.read_bytes() == b"old"


@pytest.mark.parametrize("write", [files.create, files.replace])
def test_writing_into_no_folder_names_the_file(tmp_path: Path, write: object) -> None:
    path = tmp_path / "none" / "file"
    with pytest.raises(FileFailed) as caught:
        write(path, b"data")  # type: ignore[operator]
    assert caught.value.file == str(path)


def test_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    files.make_folder(tmp_path / "a" / "b")
    assert mode(tmp_path / "a" / "b") == 0o700


def test_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)
    files.make_folder(tmp_path / "a")
    assert mode(tmp_path / "a") == 0o755


def test_folder_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileFailed):
        files.make_folder(tmp_path / "file" / "folder")


HOLDER = """
import sys
from pathlib import Path
from pith_builder import files
with files.locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def _holder(path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_lock_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    """The second process says that it holds the lock only after the first one has been let go."""
    with _holder(tmp_path / "lock") as first:
        assert first.stdout is not None
        assert first.stdin is not None
        assert first.stdout.readline() == "held\n"
        with _holder(tmp_path / "lock") as second:
            assert second.stdout is not None
            assert second.poll() is None
            first.stdin.close()
            assert second.stdout.readline() == "held\n"
            assert first.wait(timeout=60) == 0


def test_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    with _holder(tmp_path / "lock") as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        first.send_signal(signal.SIGKILL)
        first.wait(timeout=60)
        with files.locked(tmp_path / "lock"):
            assert (tmp_path / "lock").exists()


def test_lock_is_freed_by_an_exception(tmp_path: Path) -> None:
    def fail() -> None:
        with files.locked(tmp_path / "lock"):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with files.locked(tmp_path / "lock"):
        assert (tmp_path / "lock").exists()


def test_lock_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFailed), files.locked(tmp_path / "none" / "lock"):
        pytest.fail("nothing is held")


def test_remove_takes_away_what_kills_have_left_of_a_file(tmp_path: Path) -> None:
    for name in ("a", ".a.12345678.partial", ".ab.12345678.partial", "a.partial"):
        (tmp_path / name).write_bytes(b"")
    files.remove(tmp_path / "a")
    files.remove(tmp_path / "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".ab.12345678.partial", "a.partial"]
