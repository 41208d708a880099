"""The catalogue: found by id through an index that is made anew when a file changes, and isn't needed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import ArxivId
from pith_builder.errors import ConflictingMetadata, FileFailed, VersionMismatch
from pith_builder.sources import catalog as catalog_module
from pith_builder.sources.catalog import Catalog
from pith_builder.sources.papers import FoundPaper
from pith_builder.testing import FrozenClock, make_metadata

Papers = Callable[..., Path]
PAPER = ArxivId("2601.00001")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def select(cache: Path) -> Callable[..., Any]:
    """What a catalogue of these paths, opened anew, has for one id."""

    def call(*paths: Path, asked: ArxivId = PAPER, cache: Path | None = cache) -> Any:
        return Catalog(paths, cache, FrozenClock()).select([asked]).get(asked)

    return call


@pytest.fixture
def read_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by the line of every row that is read."""
    lines: list[int] = []
    real = catalog_module.read_piece

    def counted(piece: Any, *rest: Any) -> Any:
        lines.append(piece.line)
        return real(piece, *rest)

    monkeypatch.setattr(catalog_module, "read_piece", counted)
    return lines


def test_paper_is_found_whole(papers: Papers, select: Callable[..., Any]) -> None:
    path = papers(make_metadata(arxiv_id="2601.00002"), make_metadata(title="Ü"))
    assert select(path).metadata == make_metadata(title="Ü")
    assert select(path).provenance.source == "json:papers.jsonl"


def test_paper_that_is_not_there_is_not_found(papers: Papers, select: Callable[..., Any]) -> None:
    assert select(papers(make_metadata(arxiv_id="2601.00002"))) is None


def test_index_saves_reading_the_file_again(papers: Papers, select: Callable[..., Any], read_rows: list[int]) -> None:
    path = papers(*(make_metadata(arxiv_id=f"2601.{n:05}") for n in range(1, 8)))
    select(path)
    read_rows.clear()
    assert select(path, asked=ArxivId("2601.00005")).metadata.arxiv_id == "2601.00005"
    assert read_rows == [5]


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbf%s", b"%s", b"\n\r\n%s\r\n", b"{}\n%s\n{", b"%s\r\n%s\r\n"],
    ids=["byte order mark", "no line end", "blank lines", "bad rows around", "CRLF, twice"],
)
def test_rows_are_found_where_they_begin(tmp_path: Path, select: Callable[..., Any], content: bytes) -> None:
    (tmp_path / "rows").write_bytes(content.replace(b"%s", msgspec.json.encode(make_metadata())))
    for _ in range(2):  # with the index made, and with the index there
        assert select(tmp_path / "rows").metadata == make_metadata()


def test_pretty_printed_object_is_found(root: Path, select: Callable[..., Any]) -> None:
    found = select(root / "fixtures" / "metadata", asked=ArxivId("2407.14645"))
    assert found.metadata.arxiv_id == "2407.14645"


def test_index_is_made_anew_after_a_change(papers: Papers, select: Callable[..., Any]) -> None:
    path = papers(make_metadata())
    select(path)
    papers(make_metadata(arxiv_id="2601.00002"), make_metadata(version=2))
    assert select(path).metadata.version == 2
    assert select(path, asked=ArxivId("2601.00002")) is not None


def test_index_is_made_anew_after_a_change_of_the_same_size(papers: Papers, select: Callable[..., Any]) -> None:
    path = papers(make_metadata(arxiv_id="2601.00002"))
    os.utime(path, ns=(1, 1))
    assert select(path) is None
    papers(make_metadata(arxiv_id="2601.00001"))
    os.utime(path, ns=(2, 2))
    assert select(path) is not None


def test_each_file_has_one_index_whatever_it_is_called_by(
    papers: Papers, select: Callable[..., Any], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = papers(make_metadata())
    monkeypatch.chdir(path.parent)
    select(path)
    select(Path(path.name))
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("damage", [b"", b"no database" * 1000])
def test_damaged_index_is_made_anew(papers: Papers, select: Callable[..., Any], cache: Path, damage: bytes) -> None:
    path = papers(make_metadata())
    select(path)
    [index] = cache.iterdir()
    index.write_bytes(damage)
    assert select(path) is not None
    assert index.read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize("where", ["none", "a file", "below a file"])
def test_no_place_for_the_index_costs_nothing_but_time(
    papers: Papers, select: Callable[..., Any], tmp_path: Path, where: str
) -> None:
    (tmp_path / "file").touch()
    cache = {"none": None, "a file": tmp_path / "file", "below a file": tmp_path / "file" / "cache"}[where]
    assert select(papers(make_metadata()), cache=cache).metadata == make_metadata()


def test_cache_may_have_any_name(
    papers: Papers, select: Callable[..., Any], tmp_path: Path, read_rows: list[int]
) -> None:
    cache, path = tmp_path / "a b?c=d#e%41é", papers(make_metadata(), make_metadata(arxiv_id="2601.00002"))
    select(path, cache=cache)
    read_rows.clear()
    select(path, cache=cache)
    assert read_rows == [1]


def test_indexing_that_fails_leaves_no_file(
    papers: Papers, select: Callable[..., Any], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pith_builder.sources.catalog.os.replace", fail)
    assert select(papers(make_metadata())) is not None
    assert list(cache.iterdir()) == []


def test_folder_gives_its_files_of_metadata_alone(papers: Papers, select: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for n, name in enumerate(("a.json", "b.jsonl", "c.ndjson", "d.txt", "e.json.bak"), 1):
        papers(make_metadata(arxiv_id=f"2601.{n:05}"), name=f"folder/{name}")
    found = [select(tmp_path / "folder", asked=ArxivId(f"2601.{n:05}")) is not None for n in range(1, 6)]
    assert found == [True, True, True, False, False]


def test_highest_version_of_all_files_is_used(papers: Papers, select: Callable[..., Any]) -> None:
    files = [papers(make_metadata(version=v), name=f"{v}.json") for v in (2, 10, 9)]
    assert select(*files).metadata.version == 10


def test_files_that_contradict_each_other_are_refused(papers: Papers, select: Callable[..., Any]) -> None:
    files = [papers(make_metadata(title=title), name=f"{title}.json") for title in ("A", "B")]
    assert isinstance(select(*files), ConflictingMetadata)


def test_version_that_no_file_describes_is_refused(papers: Papers, select: Callable[..., Any]) -> None:
    found = select(papers(make_metadata()), asked=ArxivId("2601.00001", 2))
    assert isinstance(found, VersionMismatch)
    assert "the catalogue" in found.message


def test_unknown_licence_is_found_as_such(papers: Papers, select: Callable[..., Any]) -> None:
    found = select(papers(make_metadata(license=None)))
    assert isinstance(found, FoundPaper)
    assert found.metadata.license is None


def test_file_that_is_not_there_is_told(select: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(FileFailed, match="No such file") as caught:
        select(tmp_path / "none.jsonl")
    assert caught.value.file == str(tmp_path / "none.jsonl")
