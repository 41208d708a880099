"""A disk that is full: exit 5, nothing half-written, and a later run goes on."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import files
from pith_builder.errors import FileFailed

Run = Callable[..., Any]


def no_larger_than(size: int) -> Callable[[], None]:
    """In a child process: files can't grow beyond `size` bytes, and writing on gives an error."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.parametrize("size", [0, 8_000, 60_000, 200_000])
def test_store_that_cannot_grow_is_5_and_a_later_run_goes_on(
    with_key: Run, run_process: Run, home: Path, registry: Path, sound_records: Callable[[], int], size: int
) -> None:
    source = registry / "snapshot_rows.jsonl"
    result = run_process("issue", "--metadata", source, preexec_fn=no_larger_than(size))
    assert result.code == 5
    assert "Traceback" not in result.err
    assert "make room on the disk" in result.err
    printed = len(result.out.splitlines())
    assert with_key("resolve", "2601.00009").code == 1  # the store can be opened
    assert sound_records() == printed
    assert with_key("issue", "--metadata", source).code == 0
    assert sound_records() == 100


@pytest.mark.parametrize("size", [0, 100, 300])
def test_keys_that_find_no_room_leave_ring_and_folder_as_they_were(
    with_key: Run, run_process: Run, home: Path, size: int
) -> None:
    before = (home / "keys" / "keyring.json").read_bytes()
    keys = set((home / "keys" / "private").iterdir())
    result = run_process("keys", "generate", "--unencrypted", preexec_fn=no_larger_than(size))
    assert (result.code, result.out) == (5, "")
    assert (home / "keys" / "keyring.json").read_bytes() == before
    assert not list(home.rglob("*.partial"))
    added = set((home / "keys" / "private").iterdir()) - keys
    assert all(path.stat().st_size for path in added)  # a key without an entry is harmless, half a key isn't


@pytest.mark.parametrize("size", [0, 1_000, 4_000, 6_000])
def test_fixtures_that_find_no_room_have_no_manifest(run_process: Run, tmp_path: Path, size: int) -> None:
    generate = ("fixtures", "generate", "--out", tmp_path / "out", "--kind", "everything")
    result = run_process(*generate, preexec_fn=no_larger_than(size))
    assert (result.code, result.out) == (5, "")
    assert "Traceback" not in result.err
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert not list(tmp_path.rglob("*.partial"))
    assert run_process(*generate, "--force").code == 0


def test_standard_input_that_finds_no_room_is_5(run_process: Run, registry: Path) -> None:
    data = (registry / "snapshot_rows.jsonl").read_bytes()
    result = run_process("compute", "--metadata", "-", stdin=data, preexec_fn=no_larger_than(1000))
    assert (result.code, result.out) == (5, "")
    assert "Traceback" not in result.err


def test_catalogue_index_that_finds_no_room_is_made_in_memory(run_process: Run, home: Path, registry: Path) -> None:
    source = registry / "snapshot_rows.jsonl"
    result = run_process("compute", "0704.0001", "--catalog", source, preexec_fn=no_larger_than(1000))
    assert (result.code, result.err) == (0, "")
    assert not list((home / "cache").iterdir())


def _failing(name: str, code: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code), name)

    return fail


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_replacing_that_fails_keeps_the_old_file_and_leaves_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(f"pith_builder.files.os.{call}", _failing(call, errno.ENOSPC))
    with pytest.raises(FileFailed, match="No space left"):
        files.replace(tmp_path / "file", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_creating_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setattr(f"pith_builder.files.os.{call}", _failing(call, errno.EIO))
    with pytest.raises(FileFailed):
        files.create(tmp_path / "file", b"new")
    assert list(tmp_path.iterdir()) == []
