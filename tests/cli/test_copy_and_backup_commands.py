"""`pith-build store backup` and `store copy`, and a store that is destroyed and comes back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder.testing import make_metadata

Run = Callable[..., Any]


def paper(n: int, **changes: Any) -> Any:
    return make_metadata(arxiv_id=f"2601.{n:05}", **changes)


@pytest.fixture
def issue(with_key: Run, papers: Run) -> Callable[..., None]:
    """Issue papers into the store of the settings."""

    def call(*metadata: Any) -> None:
        assert with_key("issue", "--metadata", papers(*metadata)).code == 0

    return call


# --- copy -------------------------------------------------------------------------------------------------------


@pytest.fixture
def other(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'other.db'}"


def test_copy_tells_what_it_did_with_each_table(run: Run, issue: Any, other: str, tmp_path: Path) -> None:
    issue(paper(1), paper(2))
    result = run("store", "copy", other)
    assert result.code == 0
    rows = {line.split()[0]: line.split()[1:4] for line in result.out.splitlines()}
    assert rows["records"] == rows["receipts"] == rows["current"] == ["2", "new", "2"]
    assert rows["earlier_blocks"] == ["0", "new", "0"]
    assert f"event=store_copied to={tmp_path / 'other.db'}" in result.err
    assert run("resolve", "2601.00002", "--store", other).code == 0


def test_copy_as_json_is_a_line_a_table_and_the_same_again(run: Run, issue: Any, other: str) -> None:
    issue(paper(1))
    first, again = run("store", "copy", other, "--json").lines, run("store", "copy", other, "--json").lines
    assert {line["table"]: (line["rows"], line["new"], line["changed"]) for line in first}["records"] == (1, 1, 0)
    assert [line["sha256"] for line in again] == [line["sha256"] for line in first]
    assert {line["new"] for line in again} == {0}


def test_target_with_something_else_is_5_and_stays(run: Run, issue: Any, papers: Run, other: str) -> None:
    issue(paper(1))
    run("issue", "--store", other, "--metadata", papers(paper(2)))
    result = run("store", "copy", other, "--json")
    assert result.code == 5
    assert [line["error"]["code"] for line in result.lines] == ["target_differs"]
    assert run("store", "stats", "--store", other, "--json").lines[0]["records"] == 1


@pytest.mark.parametrize("url", ["hello", "mysql://host/db"])
def test_url_of_no_store_is_5(run: Run, issue: Any, url: str) -> None:
    issue(paper(1))
    assert run("store", "copy", url).code == 5


def test_without_a_store_nothing_is_copied_and_none_made(run: Run, other: str, tmp_path: Path) -> None:
    assert run("store", "copy", other).code == 1
    assert not (tmp_path / "other.db").exists()


# --- backup -----------------------------------------------------------------------------------------------------


def test_backup_tells_what_it_holds(run: Run, issue: Any, tmp_path: Path) -> None:
    issue(paper(1))
    result = run("store", "backup", tmp_path / "pith.backup")
    size = (tmp_path / "pith.backup").stat().st_size
    assert (result.code, result.out) == (0, f"1 records, {size} bytes\n")
    assert f"event=store_backed_up file={tmp_path / 'pith.backup'} records=1" in result.err


def test_backup_as_json(run: Run, issue: Any, tmp_path: Path) -> None:
    issue(paper(1))
    [line] = run("store", "backup", tmp_path / "b", "--json").lines
    assert line == {"file": str(tmp_path / "b"), "records": 1, "bytes": (tmp_path / "b").stat().st_size}


def test_backup_over_a_file_needs_force(run: Run, issue: Any, tmp_path: Path) -> None:
    issue(paper(1))
    run("store", "backup", tmp_path / "b")
    result = run("store", "backup", tmp_path / "b")
    assert (result.code, result.out) == (5, "")
    assert "--force" in result.err
    assert run("store", "backup", tmp_path / "b", "--force").code == 0


def test_without_a_store_there_is_no_backup(run: Run, tmp_path: Path) -> None:
    assert run("store", "backup", tmp_path / "b").code == 1
    assert not (tmp_path / "b").exists()


# --- the drill --------------------------------------------------------------------------------------------------


def test_store_that_is_destroyed_comes_back_and_goes_on(
    run: Run, issue: Any, papers: Run, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: Run
) -> None:
    """On each database: issue, back up, issue more, destroy, restore, check, issue what was lost, rotate, reissue."""
    monkeypatch.setenv("PITH_STORE", store_url)
    issue(paper(1), paper(2, title="Wrong"))
    issue(paper(1, authors="Grace Hopper"))
    assert run("store", "withdraw", "2601.00002", "--reason", "wrong title").code == 0
    assert run("store", "backup", tmp_path / "pith.backup").code == 0
    before = run("store", "stats", "--json").lines
    issue(paper(3))

    if store_url.startswith("sqlite"):
        for path in tmp_path.glob("pith.db*"):
            path.unlink()
    else:
        sql("DROP SCHEMA public CASCADE")
        sql("CREATE SCHEMA public")
    assert run("store", "copy", store_url, "--store", f"sqlite:///{tmp_path / 'pith.backup'}").code == 0

    after = run("store", "stats", "--json").lines
    for line in (*before, *after):
        del line["bytes"], line["bytes_per_record"]
    assert after == before
    assert run("store", "check").out == "2 records, 0 failed\n"
    assert run("show", "2601.00002", "--part", "source").err.endswith(": wrong title\n")
    issue(paper(3), paper(4))
    assert run("keys", "rotate", "--unencrypted").code == 0
    assert run("reissue").out == "reissued 4, refused 0\n"
    assert run("store", "check").out == "4 records, 0 failed\n"


def test_backup_put_in_the_place_of_the_store_is_the_store(run: Run, issue: Any, home: Path, tmp_path: Path) -> None:
    issue(paper(1))
    run("store", "backup", tmp_path / "pith.backup")
    issue(paper(2))
    for path in home.glob("pith.db*"):
        path.unlink()
    (tmp_path / "pith.backup").rename(home / "pith.db")
    issue(paper(2), paper(3))
    assert run("store", "check").out == "3 records, 0 failed\n"
