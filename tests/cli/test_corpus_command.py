"""`pith-build corpus issue` and `corpus status`, with real processes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import files
from pith_builder.testing.corpus import rows

Run = Callable[..., Any]


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A snapshot of a few rows in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "snapshot.jsonl"
    path.write_bytes(b"".join(rows(30)))
    return path


def test_a_corpus_goes_into_the_store(with_key: Run, snapshot: Path) -> None:
    result = with_key("corpus", "issue", snapshot)
    assert (result.code, result.out) == (
        0,
        "30 rows: issued 30, updated 0, stored 0, rejected 0, repeated 0\n",
    )
    assert with_key("store", "check").out == "30 records, 0 failed\n"
    again = with_key("corpus", "issue", snapshot, "--json", "--workers", "1")
    assert again.lines == [{"rows": 30, "issued": 0, "updated": 0, "stored": 30, "rejected": 0, "repeated": 0}]


def test_a_corpus_goes_into_a_folder(with_key: Run, snapshot: Path, tmp_path: Path) -> None:
    result = with_key("corpus", "issue", snapshot, "--out", tmp_path / "out")
    assert result.code == 0
    found = [
        json.loads(line)["pith_number"] for line in (tmp_path / "out" / "receipts.jsonl").read_bytes().splitlines()
    ]
    computed = with_key("compute", "--metadata", snapshot)
    assert found == computed.out.split()
    assert with_key("store", "stats").code == 1  # there is no store


def test_a_corpus_comes_from_standard_input_and_packed(with_key: Run, snapshot: Path, tmp_path: Path) -> None:
    packed = gzip.compress(snapshot.read_bytes())
    assert with_key("corpus", "issue", "-", stdin=packed).code == 0
    (tmp_path / "snapshot.gz").write_bytes(packed)
    assert " stored 30," in with_key("corpus", "issue", "snapshot.gz").out


def test_rejects_are_listed_and_make_exit_code_1(with_key: Run, snapshot: Path, tmp_path: Path) -> None:
    with snapshot.open("ab") as file:
        file.write(b"{}\nnot json\n")
    result = with_key("corpus", "issue", snapshot)
    assert (result.code, "rejected 2" in result.out) == (1, True)
    assert [json.loads(line)["line"] for line in (tmp_path / "rejects.jsonl").read_bytes().splitlines()] == [31, 32]
    named = with_key("corpus", "issue", snapshot, "--rejects", tmp_path / "elsewhere.jsonl")
    assert named.code == 1
    assert (tmp_path / "elsewhere.jsonl").read_bytes() == (tmp_path / "rejects.jsonl").read_bytes()


def test_too_many_rejects_end_the_run(with_key: Run, snapshot: Path) -> None:
    with snapshot.open("ab") as file:
        file.write(b"{}\n" * 5)
    result = with_key("corpus", "issue", snapshot, "--max-errors", "4")
    assert (result.code, result.out) == (1, "")
    assert "no more than 4 were allowed" in result.err
    status = with_key("corpus", "status")
    assert "stopped; the same command goes on" in status.out
    assert "35 rows (100.0 %)" in status.out
    again = with_key("corpus", "issue", snapshot, "--max-errors", "4")
    assert (again.code, again.err) == (1, result.err)
    assert with_key("corpus", "issue", snapshot, "--max-errors", "5").code == 1
    assert ": finished\n" in with_key("corpus", "status").out


@pytest.mark.parametrize("where", ["store", "folder"])
def test_status_tells_of_the_newest_run(with_key: Run, snapshot: Path, tmp_path: Path, where: str) -> None:
    place = [] if where == "store" else [str(tmp_path / "out")]
    assert with_key("corpus", "status", *place).code == 1
    with_key("corpus", "issue", snapshot, *(["--out", *place] if place else []))
    result = with_key("corpus", "status", *place)
    assert result.code == 0
    assert result.out.startswith(f"{snapshot}: finished\nkey local-v1-")
    [told] = with_key("corpus", "status", *place, "--json").lines
    assert (told["counts"]["issued"], told["input_name"]) == (30, str(snapshot))


def test_status_of_a_store_without_a_run_says_so(with_key: Run, snapshot: Path) -> None:
    with_key("issue", "--metadata", snapshot)
    result = with_key("corpus", "status")
    assert (result.code, "no corpus run here" in result.err) == (1, True)


def test_without_a_key_nothing_begins(run: Run, snapshot: Path, home: Path) -> None:
    result = run("corpus", "issue", snapshot)
    assert (result.code, "keys generate" in result.err) == (4, True)
    assert not (home / "pith.db").exists()


def test_rejects_of_a_folder_are_in_the_folder(with_key: Run, snapshot: Path) -> None:
    result = with_key("corpus", "issue", snapshot, "--out", "out", "--rejects", "elsewhere.jsonl")
    assert (result.code, "they are in that folder" in result.err) == (2, True)


def test_too_many_rejects_are_named_where_they_are(with_key: Run, snapshot: Path, tmp_path: Path) -> None:
    with snapshot.open("ab") as file:
        file.write(b"{}\n")
    result = with_key("corpus", "issue", snapshot, "--out", "out", "--max-errors", "0")
    assert f"look at {tmp_path}/out/rejects.jsonl.partial;" in result.err
    assert (tmp_path / "out" / "rejects.jsonl.partial").stat().st_size


def test_a_snapshot_that_is_not_there_is_an_error(with_key: Run, tmp_path: Path) -> None:
    result = with_key("corpus", "issue", tmp_path / "nowhere.jsonl")
    assert (result.code, "No such file" in result.err) == (5, True)


def test_an_empty_snapshot_is_an_error(with_key: Run, snapshot: Path) -> None:
    snapshot.write_bytes(b"")
    result = with_key("corpus", "issue", snapshot)
    assert (result.code, "no paper in it" in result.err) == (3, True)


def test_names_that_are_no_text_are_refused(with_key: Run, snapshot: Path) -> None:
    name = snapshot.rename(snapshot.with_name("\udcff.jsonl"))
    for arguments in ([name], [name, "--out", "out"], [__file__, "--rejects", "\udcff"]):
        result = with_key("corpus", "issue", *arguments)
        assert (result.code, "is no UTF-8" in result.err) == (5, True)
    assert with_key("corpus", "issue", "-", "--out", "\udcff", stdin=name.read_bytes()).code == 0


def test_a_summary_names_the_files_that_tell_more(with_key: Run, snapshot: Path, tmp_path: Path) -> None:
    lines = snapshot.read_bytes().splitlines(keepends=True)
    snapshot.write_bytes(b"".join([*lines, b"{}\n", b"x\n", b"[]\n", lines[0]]))
    told = with_key("corpus", "issue", snapshot).err
    rejects, repeats = (tmp_path / f"{name}.jsonl" for name in ("rejects", "repeats"))
    assert f"rejects: {rejects} (2 invalid_metadata, 1 invalid_json)\nrepeated rows: {repeats}\n" in told
    told = with_key("corpus", "issue", snapshot, "--out", "out").err
    assert "rejects: out/rejects.jsonl (2 invalid_metadata, 1 invalid_json)\n" in told
    assert "repeated rows: out/repeats.jsonl\n" in told


@pytest.mark.parametrize(
    "damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes() + b"x")]
)
def test_a_finished_run_whose_rejects_were_taken_away_is_told_all_the_same(
    with_key: Run, snapshot: Path, tmp_path: Path, damage: Callable[[Path], Any]
) -> None:
    with snapshot.open("ab") as file:
        file.write(b"{}\n")
    assert with_key("corpus", "issue", snapshot, "--out", "out").code == 1
    damage(tmp_path / "out" / "rejects.jsonl")
    result = with_key("corpus", "issue", snapshot, "--out", "out")
    assert (result.code, result.err) == (1, "the run was finished already\nrejects: out/rejects.jsonl\n")


@pytest.mark.usefixtures("snapshot")
def test_a_finished_run_over_a_stream_is_of_that_stream_alone(with_key: Run) -> None:
    lines = list(rows(100))  # more than is looked at of a stream's beginning
    given = b"".join(lines)
    first = with_key("corpus", "issue", "-", "--out", "out", stdin=given)
    assert (first.code, first.err) == (0, "")
    again = with_key("corpus", "issue", "-", "--out", "out", stdin=given)
    assert (again.code, again.out, again.err) == (0, first.out, "the run was finished already\n")
    for other in (b"".join(lines[:99]), given + lines[0], given[:-9] + b"x" + given[-8:], b""):
        result = with_key("corpus", "issue", "-", "--out", "out", stdin=other)
        assert (result.code, result.out, "name another folder with --out" in result.err) == (5, "", True)


@pytest.mark.usefixtures("snapshot")
def test_what_holds_no_lines_is_refused_with_the_way_to_read_it(with_key: Run, tmp_path: Path) -> None:
    table, folder = tmp_path / "rows.parquet", tmp_path / "folder"
    table.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    folder.mkdir()
    for path, code in ((table, 3), (folder, 5)):
        result = with_key("corpus", "issue", path, "--out", "out")
        assert (result.code, result.out, "--engine ray" in result.err) == (code, "", True)
        assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("snapshot")
def test_a_cluster_cannot_read_standard_input(with_key: Run) -> None:
    result = with_key("corpus", "issue", "-", "--engine", "ray", "--out", "out", stdin=b"")
    assert (result.code, "standard input" in result.err) == (2, True)


def test_status_names_the_folder_that_holds_no_run(with_key: Run, tmp_path: Path) -> None:
    result = with_key("corpus", "status", tmp_path)
    assert (result.code, f"no corpus run in {tmp_path}" in result.err) == (1, True)
    assert f"--out {tmp_path}" in result.err


def test_status_of_anothers_run_is_unknown(
    with_key: Run, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with snapshot.open("ab") as file:
        file.write(b"{}\n")
    with_key("corpus", "issue", snapshot, "--out", "out", "--max-errors", "0")
    monkeypatch.setattr(files, "is_locked", lambda _: None)
    assert ": unknown\n" in with_key("corpus", "status", tmp_path / "out").out


def test_a_run_that_goes_on_keeps_its_list_of_rejects(with_key: Run, snapshot: Path) -> None:
    with snapshot.open("ab") as file:
        file.write(b"{}\n")
    with_key("corpus", "issue", snapshot, "--max-errors", "0")
    result = with_key("corpus", "issue", snapshot, "--rejects", "elsewhere.jsonl")
    assert (result.code, "lists its rejects in" in result.err) == (1, True)
    assert with_key("corpus", "issue", snapshot).code == 1
    assert with_key("corpus", "status", "--json").lines[0]["state"] == "finished"


def test_status_knows_a_run_that_is_running(with_key: Run, snapshot: Path, tmp_path: Path) -> None:
    with snapshot.open("ab") as file:
        file.write(b"{}\n")
    with_key("corpus", "issue", snapshot, "--max-errors", "0")
    with files.locked(tmp_path / ".rejects.jsonl.lock"):
        assert ": running\n" in with_key("corpus", "status").out
    assert ": stopped; " in with_key("corpus", "status").out


def test_no_collisions_are_told_as_none(with_key: Run, snapshot: Path) -> None:
    with_key("corpus", "issue", snapshot)
    result = with_key("corpus", "status", "--collisions")
    assert (result.code, result.out, "no short form" in result.err) == (0, "", True)
