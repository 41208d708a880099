"""`pith-build diff`: aliases and files, and the exit code that tells whether they differ."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pith_builder import canonical_record
from pith_builder.testing import make_metadata, make_record

Run = Callable[..., Any]
OLD, NEW = make_metadata(), make_metadata(version=2, title="Another")
NUMBERS = [str(canonical_record(metadata).number()) for metadata in (OLD, NEW)]
LINES = ["version: 1 -> 2", "title_canon_sha256: ", "  title: A Made-Up Paper -> Another"]


@pytest.fixture
def stored(with_key: Run, papers: Run) -> Run:
    """`run` with two versions of a paper in the store."""
    assert with_key("issue", "--metadata", papers(OLD, NEW)).code == 0
    return with_key


@pytest.fixture
def record_file(tmp_path: Path) -> Path:
    """A file that holds the record of the newer version."""
    path = tmp_path / "record.json"
    path.write_bytes(make_record(NEW).to_json())
    return path


def check(result: Any) -> None:
    assert (result.code, result.err) == (1, "")
    for line, begins in zip(result.out.splitlines(), LINES, strict=True):
        assert line.startswith(begins)


def test_two_aliases(stored: Run) -> None:
    check(stored("diff", "2601.00001v1", "2601.00001"))


def test_alias_and_file(stored: Run, record_file: Path) -> None:
    check(stored("diff", NUMBERS[0], record_file))


def test_two_files_need_no_store(run: Run, home: Path, tmp_path: Path, record_file: Path) -> None:
    (tmp_path / "old.json").write_bytes(make_record(OLD).to_json())
    check(run("diff", tmp_path / "old.json", record_file))
    assert not home.exists()


def test_standard_input(stored: Run, record_file: Path) -> None:
    check(stored("diff", "2601.00001v1", "-", stdin=record_file.read_bytes()))


def test_file_goes_before_an_alias_and_a_folder_does_not(
    stored: Run, record_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record_file.rename("2601.00001v1")
    assert stored("diff", "2601.00001v1", "2601.00001").code == 0
    (tmp_path / "2601.00001v1").unlink()
    (tmp_path / "2601.00001v1").mkdir()
    check(stored("diff", "2601.00001v1", "2601.00001"))


def test_the_same_is_0_and_nothing_is_printed(stored: Run, record_file: Path) -> None:
    result = stored("diff", "2601.00001", record_file)
    assert (result.code, result.out, result.err) == (0, "", "")


def test_as_json(stored: Run) -> None:
    result = stored("diff", "2601.00001v1", "2601.00001", "--json")
    [line] = result.lines
    assert result.code == 1
    assert (line["a"], line["b"]) == tuple(NUMBERS)
    version, title = line["differs"]
    assert version == {"field": "version", "a": 1, "b": 2}
    assert (title["field"], title["a_text"], title["b_text"]) == ("title_canon_sha256", "A Made-Up Paper", "Another")


def test_the_same_as_json_is_a_line_without_differences(stored: Run) -> None:
    result = stored("diff", "2601.00001v1", NUMBERS[0], "--json")
    assert (result.code, result.lines) == (0, [{"a": NUMBERS[0], "b": NUMBERS[0], "differs": []}])


@pytest.mark.parametrize(
    ("name", "code"), [("2601.00009", 1), ("hello", 3), ("x" * 300, 3), ("pith:AAAAAAAA", 1)], ids=lambda v: str(v)[:9]
)
def test_what_is_neither_file_nor_stored_alias(stored: Run, name: str, code: int) -> None:
    result = stored("diff", "2601.00001", name)
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith("pith-build: ")


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "no record in it"), (b"{}", "missing"), (b"xx", "line 1"), (b"{}\n{}\n", "more than one")],
    ids=["empty", "no record", "no JSON", "two"],
)
def test_file_that_is_no_record_is_3_and_named(stored: Run, tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    result = stored("diff", "2601.00001", tmp_path / "bad.json")
    assert (result.code, result.out) == (3, "")
    assert str(tmp_path / "bad.json") in result.err
    assert why in result.err


def test_failure_as_json_names_its_input(stored: Run) -> None:
    [line] = stored("diff", "2601.00001", "2601.00009", "--json").lines
    assert (line["input"], line["error"]["code"]) == ("2601.00009", "not_found")


def test_standard_input_cannot_be_both(run: Run) -> None:
    assert run("diff", "-", "-").code == 2


def test_record_issued_in_error_is_compared_with_the_notice(stored: Run, home: Path) -> None:
    with closing(sqlite3.connect(home / "pith.db")) as connection, connection:
        connection.execute(
            """UPDATE records SET withdrawn = '{"at":"2026-02-03","reason":"wrong"}' WHERE version = 1"""
        )
    result = stored("diff", "2601.00001v1", "2601.00001")
    assert (result.code, result.err) == (1, "withdrawn on 2026-02-03: wrong\n")
