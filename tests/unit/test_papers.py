"""Papers in files of metadata: all of them, those asked for, and those that contradict each other."""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import ArxivId
from pith_builder.errors import ConflictingMetadata, FileFailed, InvalidInput, VersionMismatch
from pith_builder.sources.papers import FoundPaper, PaperFile, read_piece
from pith_builder.sources.pieces import Piece
from pith_builder.testing import FrozenClock, make_metadata

Papers = Callable[..., Path]


def paper_file(path: Path | str) -> PaperFile:
    return PaperFile(str(path), FrozenClock())


def outcomes(file: PaperFile) -> list[str]:
    """`id` of each paper, or the code of each error."""
    return [str(e.found.metadata.id) if isinstance(e.found, FoundPaper) else e.found.code for e in file]


def test_papers_come_in_order_with_their_places(papers: Papers) -> None:
    path = papers(make_metadata(), make_metadata(version=2))
    assert [entry.line for entry in paper_file(path)] == [1, 2]
    assert outcomes(paper_file(path)) == ["2601.00001v1", "2601.00001v2"]


def test_file_is_read_as_often_as_needed(papers: Papers) -> None:
    file = paper_file(papers(make_metadata()))
    assert list(file) == list(file)


def test_standard_input_is_read_as_often_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = msgspec.json.encode(make_metadata())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    file = paper_file("-")
    assert outcomes(file) == outcomes(file) == ["2601.00001v1"]


def test_bad_row_names_file_and_line(papers: Papers) -> None:
    path = papers(make_metadata(), {"arxiv_id": "2601.00002"})
    error = list(paper_file(path))[1].found
    assert isinstance(error, InvalidInput)
    assert (error.file, error.line) == (str(path), 2)


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Another"},
        {"abstract": "Another"},
        {"authors": "B"},
        {"categories": "cs.CR cs.DL"},
        {"license": ""},
        {"license": None},
        {"submitted_at": "2026-01-01T12:00:01Z"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_two_descriptions_that_differ_anywhere_are_refused_both(papers: Papers, change: dict[str, Any]) -> None:
    path = papers(make_metadata(), make_metadata(**change), make_metadata(arxiv_id="2601.00002"))
    assert outcomes(paper_file(path)) == ["conflicting_metadata", "conflicting_metadata", "2601.00002v1"]


def test_conflict_is_found_however_far_apart(papers: Papers) -> None:
    between = [make_metadata(arxiv_id=f"2601.{n:05}") for n in range(2, 50)]
    found = outcomes(paper_file(papers(make_metadata(), *between, make_metadata(license=""))))
    assert [place for place, code in enumerate(found) if code == "conflicting_metadata"] == [0, 49]


def test_old_id_with_and_without_subject_class_is_one_paper(papers: Papers) -> None:
    one = make_metadata(arxiv_id="math/0309136", submitted_at="2003-09-08T00:00:00Z")
    other = msgspec.to_builtins(one) | {"arxiv_id": "math.GT/0309136", "title": "Another"}
    assert outcomes(paper_file(papers(one, other))) == ["conflicting_metadata"] * 2


@pytest.mark.parametrize(
    "same",
    [
        {},
        {"title": " A Made-Up\n  Paper "},
        {"authors": "Charles Babbage,Ada Lovelace and Emmy Noether"},
        {"categories": "  cs.DL   cs.CR "},
    ],
    ids=["equal", "wrapped", "other order of authors", "blanks"],
)
def test_two_descriptions_that_show_the_same_do_not_conflict(papers: Papers, same: dict[str, Any]) -> None:
    assert outcomes(paper_file(papers(make_metadata(), make_metadata(**same)))) == ["2601.00001v1"] * 2


def test_select_gives_only_what_was_asked_for(papers: Papers) -> None:
    file = paper_file(papers(make_metadata(), make_metadata(arxiv_id="2601.00002")))
    assert list(file.select([ArxivId("2601.00002"), ArxivId("2601.00003")])) == [ArxivId("2601.00002")]


@pytest.mark.parametrize(("asked", "version"), [(None, 10), (9, 9), (10, 10)])
def test_select_takes_the_version_asked_for_or_the_highest(papers: Papers, asked: int | None, version: int) -> None:
    file = paper_file(papers(*(make_metadata(version=v) for v in (2, 10, 9))))
    found = file.select([ArxivId("2601.00001", asked)])[ArxivId("2601.00001", asked)]
    assert isinstance(found, FoundPaper)
    assert found.metadata.version == version


def test_select_of_a_version_that_is_not_there_lists_those_that_are(papers: Papers) -> None:
    asked = ArxivId("2601.00001", 3)
    found = paper_file(papers(*(make_metadata(version=v) for v in (10, 2)))).select([asked])[asked]
    assert isinstance(found, VersionMismatch)
    assert "v2, v10 of 2601.00001, not v3" in found.message


def test_select_refuses_a_version_described_twice(papers: Papers) -> None:
    asked = ArxivId("2601.00001")
    found = paper_file(papers(make_metadata(), make_metadata(title="Another"))).select([asked])[asked]
    assert isinstance(found, ConflictingMetadata)


def test_conflict_in_another_version_does_not_count(papers: Papers) -> None:
    file = paper_file(papers(make_metadata(), make_metadata(title="Another"), make_metadata(version=2)))
    assert isinstance(file.select([ArxivId("2601.00001")])[ArxivId("2601.00001")], FoundPaper)


def test_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileFailed, match="No such file"):
        list(paper_file(tmp_path / "none"))


# --- provenance -------------------------------------------------------------------------------------------------


def read(value: dict[str, Any], name: str = "folder/rows.jsonl") -> FoundPaper:
    found = read_piece(Piece(1, 0, json.dumps(value).encode()), name, FrozenClock()).found
    assert isinstance(found, FoundPaper)
    return found


SNAPSHOT_ROW = {
    "id": "2601.00001",
    "title": "T",
    "abstract": "A",
    "authors": "A",
    "categories": "cs.DL",
    "license": None,
    "comments": None,
    "versions": [{"version": "v1", "created": "Thu, 1 Jan 2026 12:00:00 GMT"}],
    "update_date": "2026-02-03",
}


def test_provenance_of_a_snapshot_row() -> None:
    provenance = read(SNAPSHOT_ROW).provenance
    assert provenance.source == "snapshot:rows.jsonl"
    assert provenance.source_time == "2026-02-03T00:00:00Z"
    assert provenance.fetched_at == "2026-01-02T03:04:05Z"
    assert provenance.raw_sha256 == hashlib.sha256(json.dumps(SNAPSHOT_ROW).encode()).hexdigest()
    assert provenance.withdrawn is False


def test_provenance_of_our_own_form_has_no_time_of_the_source() -> None:
    provenance = read(msgspec.to_builtins(make_metadata()), "-").provenance
    assert (provenance.source, provenance.source_time, provenance.withdrawn) == ("json:-", None, False)


@pytest.mark.parametrize("date", [None, "", "yesterday", "2026-02-30", 7])
def test_update_date_that_is_none_is_not_known(date: object) -> None:
    assert read(SNAPSHOT_ROW | {"update_date": date}).provenance.source_time is None


@pytest.mark.parametrize(
    ("comments", "withdrawn"),
    [("This paper has been withdrawn", True), ("Withdrawn: see v2", True), ("12 pages", False), (None, False)],
)
def test_withdrawal_is_told_by_the_comment(comments: str | None, withdrawn: bool) -> None:
    assert read(SNAPSHOT_ROW | {"comments": comments}).provenance.withdrawn is withdrawn
