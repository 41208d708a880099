"""`pith-build corpus export`, `corpus verify` and `corpus status --collisions`."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pith_builder.testing import make_metadata

Run = Callable[..., Any]
PAPERS = 5


@pytest.fixture
def stored(with_key: Run, papers: Run) -> Run:
    """`run` with some papers in the store."""
    metadata = [make_metadata(arxiv_id=f"2601.{n:05}") for n in range(1, PAPERS + 1)]
    assert with_key("issue", "--metadata", papers(*metadata)).code == 0
    return with_key


@pytest.fixture
def exported(stored: Run, tmp_path: Path) -> Path:
    """The folder of an export."""
    assert stored("corpus", "export", "--out", tmp_path / "out", "--workers", 1).code == 0
    return tmp_path / "out"


def lines(folder: Path) -> list[bytes]:
    packed = [zstandard.ZstdDecompressor().stream_reader(path.read_bytes()) for path in sorted(folder.glob("*.zst"))]
    return [line for stream in packed for line in io.BufferedReader(stream)]


# --- export -----------------------------------------------------------------------------------------------------


def test_export_tells_what_it_holds(stored: Run, tmp_path: Path) -> None:
    result = stored("corpus", "export", "--out", tmp_path / "out", "--workers", 1)
    files = len(list((tmp_path / "out").glob("*.zst")))
    assert (result.code, result.out) == (0, f"{PAPERS} records, 0 withdrawn, in {files} files\n")
    assert f"event=corpus_exported out={tmp_path / 'out'} form=records records={PAPERS}" in result.err
    assert "\r" not in result.err  # progress is for terminals


def test_records_are_what_show_prints(stored: Run, exported: Path) -> None:
    shown = [stored("show", f"2601.{n:05}", "--json").out.encode() for n in range(1, PAPERS + 1)]
    assert sorted(lines(exported)) == sorted(shown)


@pytest.mark.parametrize("workers", [(), ("--workers", 2)], ids=["usual", "two"])
def test_table_as_json(stored: Run, tmp_path: Path, workers: tuple[str, int]) -> None:
    result = stored("corpus", "export", "--out", tmp_path / "out", "--form", "table", "--json", *workers)
    files = len(list((tmp_path / "out").glob("*.parquet")))
    assert result.code == 0
    assert result.lines == [{"records": PAPERS, "withdrawn": 0, "files": files}]


def test_withdrawn_records_are_counted_and_listed(stored: Run, tmp_path: Path) -> None:
    assert stored("store", "withdraw", "2601.00001", "--reason", "wrong title").code == 0
    result = stored("corpus", "export", "--out", tmp_path / "out", "--workers", 1, "--json")
    assert result.lines[0]["withdrawn"] == 1
    assert json.loads((tmp_path / "out" / "withdrawn.jsonl").read_bytes())["reason"] == "wrong title"
    assert stored("corpus", "verify", tmp_path / "out", "--workers", 1).code == 0


def test_folder_with_a_corpus_is_5_and_says_what_to_do(stored: Run, exported: Path) -> None:
    result = stored("corpus", "export", "--out", exported, "--workers", 1)
    assert (result.code, result.out) == (5, "")
    assert "a corpus is there already" in result.err
    assert "name another folder" in result.err


def test_folder_must_be_named(stored: Run) -> None:
    assert stored("corpus", "export").code == 2
    assert stored("corpus", "export", "--out", "x", "--form", "pdf").code == 2
    assert stored("corpus", "export", "--out", "x", "--workers", 0).code == 2


def test_no_store_is_1(run: Run, tmp_path: Path) -> None:
    for command in (("export", "--out", tmp_path / "out"), ("verify",), ("status", "--collisions")):
        assert run("corpus", *command).code == 1
    assert not (tmp_path / "out").exists()


# --- verify -----------------------------------------------------------------------------------------------------


def test_sound_export_passes(run: Run, exported: Path) -> None:
    files = len(list(exported.glob("*.zst")))
    result = run("corpus", "verify", exported, "--workers", 1)
    assert (result.code, result.out) == (0, f"{PAPERS} records, 0 failed; {files} files, 0 failed\n")
    [summary] = run("corpus", "verify", exported, "--workers", 2, "--json").lines
    assert summary == {"records": PAPERS, "failed": 0, "files": files, "files_failed": 0}


def test_altered_file_is_1_with_the_place_of_each_failure(run: Run, exported: Path) -> None:
    path = min(exported.glob("*.zst"))
    first, *rest = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).readall().splitlines(keepends=True)
    altered = first.replace(b'"title":"', b'"title":"\\u001b[31m')
    path.write_bytes(zstandard.ZstdCompressor().compress(b"".join([altered, *rest])))
    result = run("corpus", "verify", exported, "--workers", 1)
    assert result.code == 1
    [record, file, summary] = result.out.splitlines()
    number = json.loads(first)["pith_number"]
    assert record.startswith(f"FAILED {path.name}:1: {number}: paper: ")
    assert "\x1b" not in record
    assert file.startswith(f"FAILED {path.name}: has ")
    assert summary.startswith(f"{PAPERS} records, 1 failed; ")
    [as_record, as_file, _] = run("corpus", "verify", exported, "--workers", 1, "--json").lines
    assert (as_record["file"], as_record["line"], as_record["pith_number"]) == (path.name, 1, number)
    assert (as_file["file"], as_file["line"], as_file["pith_number"]) == (path.name, None, None)


def test_ring_is_the_one_that_is_named(run: Run, exported: Path, root: Path) -> None:
    result = run("corpus", "verify", exported, "--workers", 1, "--keyring", root / "keys" / "keyring.json")
    assert result.code == 1
    assert result.out.count("the key ring has no key") == PAPERS


def test_manifest_that_can_not_be_followed_is_3(run: Run, exported: Path) -> None:
    (exported / "manifest.json").write_bytes((exported / "manifest.json").read_bytes().replace(b"records-", b"../"))
    result = run("corpus", "verify", exported, "--workers", 1, "--json")
    assert result.code == 3
    assert result.lines[0]["error"]["code"] == "invalid_manifest"


def test_folder_that_is_no_corpus_is_5(run: Run, tmp_path: Path) -> None:
    assert run("corpus", "verify", tmp_path).code == 5
    assert run("corpus", "verify", tmp_path / "nowhere").code == 5


def test_store_is_checked_where_no_folder_is_named(stored: Run, home: Path) -> None:
    result = stored("corpus", "verify", "--workers", 1)
    assert (result.code, result.out) == (0, f"{PAPERS} records, 0 failed\n")
    with sqlite3.connect(home / "pith.db") as connection:
        connection.execute("UPDATE records SET version = 9 WHERE id = 2")
    result = stored("corpus", "verify", "--json")
    assert result.code == 1
    assert result.lines[0]["reason"] == "the row stands under another paper"
    assert result.lines[1] == {"records": PAPERS, "failed": 1, "files": 0, "files_failed": 0}


def test_what_a_run_into_a_folder_gives_passes(with_key: Run, registry: Path, tmp_path: Path) -> None:
    source = registry / "snapshot_rows.jsonl"
    assert with_key("corpus", "issue", source, "--out", tmp_path / "out", "--workers", 1).code == 0
    result = with_key("corpus", "verify", tmp_path / "out", "--workers", 1)
    assert (result.code, result.out) == (0, "100 records, 0 failed; 1 files, 0 failed\n")


# --- collisions -------------------------------------------------------------------------------------------------


def test_ambiguous_short_forms_are_listed(stored: Run, home: Path) -> None:
    result = stored("corpus", "status", "--collisions")
    assert (result.code, result.out) == (0, "")
    with sqlite3.connect(home / "pith.db") as connection:
        connection.execute("UPDATE records SET suffix = 'BMWHAH2D' || substr(suffix, 9) WHERE id < 3")
    result = stored("corpus", "status", "--collisions")
    short_form, *numbers = result.out.splitlines()
    assert short_form == "pith:BMWHAH2D"
    assert sorted(line.split()[1] for line in numbers) == ["2601.00001v1", "2601.00002v1"]
    [line] = stored("corpus", "status", "--collisions", "--json").lines
    assert line["short_form"] == "pith:BMWHAH2D"
    assert [number["arxiv_id"] for number in line["numbers"]] == [row.split()[1][:-2] for row in numbers]


def test_collisions_go_with_no_folder(stored: Run, tmp_path: Path) -> None:
    assert stored("corpus", "status", tmp_path, "--collisions").code == 2
