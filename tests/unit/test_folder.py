"""A folder of fixtures is whole, or has no manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pith_builder import files
from pith_builder.errors import FileFailed
from pith_builder.testing import folder
from pith_builder.testing.generate import MANIFEST, File, fixtures


def stands(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_a_new_folder_holds_what_was_generated_and_nothing_else(tmp_path: Path) -> None:
    generated = dict(fixtures(1, 1, ["minimal"]))
    written = folder.write(tmp_path / "a" / "b", generated.items())
    assert stands(tmp_path / "a" / "b") == generated
    assert written.files == len(generated)


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "manifest.json"])
def test_a_folder_that_is_not_empty_is_refused_and_left_as_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(FileFailed, match="not empty") as failure:
        folder.write(tmp_path, fixtures(1, 1, ["minimal"]))
    assert "--force" in failure.value.hint
    assert stands(tmp_path) == {name: b"mine"}


def test_force_takes_earlier_files_away_and_leaves_those_of_others(tmp_path: Path) -> None:
    folder.write(tmp_path, fixtures(1, 1, ["minimal", "v10"]))
    (tmp_path / "records" / "mine.txt").write_text("mine")
    generated = dict(fixtures(2, 1, ["minimal"]))
    folder.write(tmp_path, generated.items(), force=True)
    assert stands(tmp_path) == generated | {"records/mine.txt": b"mine"}


def test_force_takes_nothing_away_outside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / MANIFEST).write_text(json.dumps({"files": {"../mine.txt": "", str(tmp_path / "mine.txt"): ""}}))
    folder.write(out, fixtures(1, 1, ["minimal"]), force=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("manifest", ["[]", "{", '{"files": []}'])
def test_force_goes_past_a_manifest_that_cannot_be_read(tmp_path: Path, manifest: str) -> None:
    (tmp_path / MANIFEST).write_text(manifest)
    generated = dict(fixtures(1, 1, ["minimal"]))
    folder.write(tmp_path, generated.items(), force=True)
    assert stands(tmp_path) == generated


def interrupted(after: int) -> Iterator[File]:
    for n, file in enumerate(fixtures(2, 1, ["minimal"])):
        if n == after:
            raise KeyboardInterrupt
        yield file


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_run_that_ends_early_leaves_no_manifest_and_a_later_one_goes_through(tmp_path: Path, after: int) -> None:
    folder.write(tmp_path, fixtures(1, 1, ["minimal"]))
    with pytest.raises(KeyboardInterrupt):
        folder.write(tmp_path, interrupted(after), force=True)
    assert MANIFEST not in stands(tmp_path)
    generated = dict(fixtures(3, 1, ["minimal"]))
    folder.write(tmp_path, generated.items(), force=True)
    assert stands(tmp_path) == generated


def test_two_runs_at_once_do_not_mix(tmp_path: Path) -> None:
    with files.locked(tmp_path / ".generate.lock"), pytest.raises(FileFailed, match="lock") as failure:
        folder.write(tmp_path, fixtures(1, 1, ["minimal"]))
    assert "another run" in failure.value.hint
    assert MANIFEST not in stands(tmp_path)


def test_a_place_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    for force in (False, True):
        with pytest.raises(FileFailed):
            folder.write(tmp_path / "out", fixtures(1, 1, ["minimal"]), force=force)
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("name", ["precious.txt", "a\u0000b", "x" * 5000, "loop"])
def test_force_takes_nothing_away_that_it_did_not_write(tmp_path: Path, name: str) -> None:
    (tmp_path / "precious.txt").write_text("precious")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "manifest.json").write_text(json.dumps({"files": {name: "0" * 64}}))
    folder.write(tmp_path, fixtures(0, 1, ["minimal"]), force=True)
    assert (tmp_path / "precious.txt").read_text() == "precious"
