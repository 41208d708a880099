"""Which rows repeat others, among the entries that they left."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pith_builder.arxiv_id import ArxivId
from pith_builder.corpus import repeats
from pith_builder.corpus.repeats import Found, entry, find
from pith_builder.errors import FileFailed
from pith_builder.number import PithNumber


def digest(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def found(folder: Path, *rows: tuple[str, str]) -> Found:
    """What repeats among rows of a text that gives the digest, and an id."""
    path = folder / "entries"
    path.write_bytes(
        b"".join(entry(digest(text), ArxivId.parse(name), n, 100 * n) for n, (text, name) in enumerate(rows, 1))
    )
    return find([path])


def test_rows_that_stand_alone_repeat_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, *((f"text {n}", f"2601.{n:05}v1") for n in range(1, 3000))) == Found([], [set()])


def test_a_number_that_comes_again_repeats_the_first_and_takes_the_place_of_the_last(tmp_path: Path) -> None:
    result = found(tmp_path, ("a", "2601.00001v1"), ("b", "2601.00002v1"), ("a", "2601.00001v1"), ("a", "2601.00001v1"))
    number = f"pith:{PithNumber.from_digest(digest('a'), 2026).suffix}"
    told = [(r.line, r.offset, r.id, r.code, r.number, r.first_line) for r in result.repeats]
    assert told == [
        (3, 300, "2601.00001v1", "repeated_row", number, 1),
        (4, 400, "2601.00001v1", "repeated_row", number, 1),
    ]
    assert result.superseded == [{0, 2}]


def test_another_number_of_one_version_contradicts_it(tmp_path: Path) -> None:
    result = found(tmp_path, ("a", "hep-th/9901001v12"), ("b", "hep-th/9901001v13"), ("c", "hep-th/9901001v12"))
    assert [(r.line, r.id, r.code, r.first_line) for r in result.repeats] == [
        (3, "hep-th/9901001v12", "conflicting_metadata", 1)
    ]
    assert result.superseded == [set()]


def test_rows_that_share_a_mark_by_chance_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "_BITS", 64)
    rows = [(f"text {n}", f"2601.{n:05}v1") for n in range(1, 200)]
    result = found(tmp_path, *rows, rows[50])
    assert [(r.line, r.first_line) for r in result.repeats] == [(200, 51)]


def test_what_repeats_is_found_across_files(tmp_path: Path) -> None:
    one, other = ("a", "2601.00001v1"), ("b", "2601.00002v1")
    paths = [tmp_path / name for name in ("first", "second", "third")]
    for path, rows in zip(paths, [[one, other], [one], [("c", "2601.00002v1"), one]], strict=True):
        path.write_bytes(
            b"".join(entry(digest(text), ArxivId.parse(name), n, 0) for n, (text, name) in enumerate(rows, 1))
        )
    result = find(paths)
    assert [(r.part, r.line, r.code, r.first_part, r.first_line) for r in result.repeats] == [
        (1, 1, "repeated_row", 0, 1),
        (2, 1, "conflicting_metadata", 0, 2),
        (2, 2, "repeated_row", 0, 1),
    ]
    assert result.superseded == [{0}, {0}, set()]


def test_the_longest_id_has_room(tmp_path: Path) -> None:
    name = "cond-mat/0309136v9999"
    assert [r.id for r in found(tmp_path, ("a", name), ("a", name)).repeats] == [name]


def test_entries_that_are_gone_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileFailed):
        find([tmp_path / "nowhere"])
