"""The made-up corpus has the shape of arXiv's metadata snapshot, and follows from seed and row number alone."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pith_builder import ArxivId, PaperMetadata, canonical_record
from pith_builder.documents import loads
from pith_builder.errors import InvalidJson, InvalidMetadata
from pith_builder.sources.rows import is_withdrawn, read_metadata, source_time
from pith_builder.testing import corpus
from pith_builder.testing.corpus import FAULTS, MOST, FaultyRow, rows, with_faults

FIRST_1000 = "4597dc4d0b3cc20f06c80dbe3d54d9fd2605bab07cdf901d93112f8fc9bd3ef7"


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return list(rows(4000))


@pytest.fixture(scope="module")
def values(lines: list[bytes]) -> list[Any]:
    return [loads(line) for line in lines]


@pytest.fixture(scope="module")
def papers(values: list[Any]) -> list[PaperMetadata]:
    return [read_metadata(value) for value in values]


# --- what they follow from -----------------------------------------------------------------------------------


def test_a_seed_gives_the_same_bytes_on_every_python(lines: list[bytes]) -> None:
    assert hashlib.sha256(b"".join(lines[:1000])).hexdigest() == FIRST_1000


@pytest.mark.parametrize("start", [1, 17, 1500])
def test_a_row_is_the_same_wherever_one_starts(lines: list[bytes], start: int) -> None:
    assert list(rows(40, start=start)) == lines[start : start + 40]


def test_another_seed_gives_other_papers_of_the_same_ids(papers: list[PaperMetadata]) -> None:
    others = [read_metadata(loads(line)) for line in rows(200, seed=1)]
    assert [paper.arxiv_id for paper in others] == [paper.arxiv_id for paper in papers[:200]]
    assert not {paper.abstract for paper in others} & {paper.abstract for paper in papers}


@pytest.mark.parametrize(("count", "start"), [(1, MOST), (2, MOST - 1), (1, -1), (-1, 5)])
def test_rows_that_would_repeat_an_id_are_refused(count: int, start: int) -> None:
    with pytest.raises(ValueError, match="a corpus has rows 0 to"):
        next(rows(count, start=start))


def test_the_last_row_is_like_the_others() -> None:
    (line,) = rows(1, start=MOST - 1)
    assert ArxivId.parse(read_metadata(loads(line)).arxiv_id).version is None


def test_the_module_writes_a_corpus(lines: list[bytes], root: Path) -> None:
    command = [sys.executable, "-m", "pith_builder.testing.corpus", "--rows", "30", "--start", "20"]
    done = subprocess.run(command, check=True, capture_output=True, env=os.environ, cwd=root)
    assert done.stdout == b"".join(lines[20:50])


# --- their shape ---------------------------------------------------------------------------------------------


def test_rows_are_spelt_as_json_dumps_does(lines: list[bytes], values: list[Any]) -> None:
    assert [json.dumps(value).encode() + b"\n" for value in values] == lines


def test_rows_have_the_fields_of_real_ones_in_their_order(values: list[Any], root: Path) -> None:
    with open(root / "fixtures" / "registry" / "snapshot_rows.jsonl", "rb") as real:
        fields = list(loads(next(real)))
    assert all(list(value) == fields for value in values)


def test_no_two_papers_have_one_id() -> None:
    last = MOST - 30_000
    ids = [corpus._paper(n)[1].replace(".GT/", "/") for n in (*range(170_000), *range(last, MOST))]
    assert len(set(ids)) == 200_000


def test_no_two_papers_have_one_digest(papers: list[PaperMetadata]) -> None:
    assert len({canonical_record(paper).digest() for paper in papers}) == len(papers)


def test_every_update_is_on_the_day_of_the_last_version_or_later(values: list[Any]) -> None:
    for value in values:
        created = [read_metadata(value | {"versions": [entry | {"version": "v1"}]}) for entry in value["versions"]]
        updated = source_time(value["update_date"])
        assert updated is not None
        assert max(paper.submitted_at for paper in created)[:10] <= updated[:10]


def test_lengths_are_spread_like_those_of_arxiv(lines: list[bytes], papers: list[PaperMetadata]) -> None:
    titles, abstracts = ([len(getattr(paper, name)) for paper in papers] for name in ("title", "abstract"))
    assert 1600 < statistics.mean(len(line) for line in lines) < 1700
    assert 60 < statistics.mean(titles) < 80
    assert 900 < statistics.mean(abstracts) < 1000
    assert min(abstracts) < 60
    assert sum(length > 1800 for length in abstracts) > 20


def test_lines_are_wrapped_as_in_arxiv(papers: list[PaperMetadata]) -> None:
    for paper in papers:
        assert paper.abstract.startswith("  ")
        assert paper.abstract.endswith(".\n")
        assert max(map(len, paper.abstract.splitlines())) <= 82
        assert all(line.startswith("  ") for line in paper.title.splitlines()[1:])


def share(found: list[bool]) -> float:
    return sum(found) / len(found)


def test_forms_of_ids_are_met_as_often_as_in_arxiv(papers: list[PaperMetadata]) -> None:
    digits = [len(paper.arxiv_id.partition(".")[2]) for paper in papers]
    assert [share([count == wanted for count in digits]) for wanted in (5, 4, 0)] == [11 / 16, 3 / 16, 2 / 16]


def test_licences_are_missing_in_old_papers_mostly(papers: list[PaperMetadata]) -> None:
    assert share([not paper.license for paper in papers if "/" in paper.arxiv_id]) > 0.9
    assert share([not paper.license for paper in papers if paper.arxiv_id[4:5] == "."]) < 0.15


# --- traps ---------------------------------------------------------------------------------------------------


def versions(value: Any) -> list[str]:
    return [entry["version"] for entry in value["versions"]]


TRAPS = {
    "old id with a subject class": lambda value: value["id"].startswith("math.GT/"),
    "ten versions or more, in their order": lambda value: versions(value)[9:10] == ["v10"],
    "versions in another order": lambda value: len(versions(value)) > 1 and versions(value)[-1] == "v1",
    "ten versions or more, in another order": lambda value: versions(value)[-2:] == ["v10", "v1"],
    "submitted in the month before the id": lambda value: (
        "." in value["id"] and read_metadata(value).submitted_at[5:7] != value["id"][2:4]
    ),
    "withdrawn": lambda value: is_withdrawn(value["comments"]),
    "wrapped title": lambda value: "\n  " in value["title"],
    "paragraphs": lambda value: "\n  " in value["abstract"],
    "very short abstract": lambda value: len(value["abstract"]) < 60,
    "TeX in the title": lambda value: "$" in value["title"] or "\\" in value["title"],
    "TeX in the abstract": lambda value: '\\"o' in value["abstract"] and "{\\it" in value["abstract"],
    "beyond ASCII in the title": lambda value: not value["title"].isascii(),
    "beyond ASCII in the abstract": lambda value: not value["abstract"].isascii(),
    "beyond ASCII in a name": lambda value: value["authors"].isascii() and "\\u" in json.dumps(value["authors_parsed"]),
    "affiliations": lambda value: len(value["authors_parsed"][0]) == 4 and "((1) " in value["authors"],
    "collaboration": lambda value: " Collaboration: " in value["authors"],
    "hundreds of authors": lambda value: len(value["authors_parsed"]) > 200,
    "no licence in a new paper": lambda value: (
        value["license"] is None and value["id"] > "15" and "/" not in value["id"]
    ),
    "no submitter": lambda value: value["submitter"] is None,
    "quotes in a comment": lambda value: '"' in (value["comments"] or ""),
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_few_thousand_rows_have_every_trap(values: list[Any], name: str) -> None:
    assert any(map(TRAPS[name], values))


# --- faults --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def faulty() -> list[FaultyRow]:
    return list(with_faults(240))


def of_kind(faulty: list[FaultyRow], kind: str) -> list[FaultyRow]:
    found = [row for row in faulty if row.fault == kind]
    assert found
    return found


def test_rows_with_faults_are_the_rows_and_faults_between(faulty: list[FaultyRow]) -> None:
    assert [row.line for row in faulty if row.fault is None] == list(rows(240))
    assert [row.fault for row in faulty if row.fault] == [*FAULTS] * 4


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [("no-v1", InvalidMetadata, "no v1"), ("not-json", InvalidJson, None)],
)
def test_a_broken_row_gives_no_metadata(
    faulty: list[FaultyRow], kind: str, error: type[Exception], message: str | None
) -> None:
    for row in of_kind(faulty, kind):
        with pytest.raises(error, match=message):
            read_metadata(loads(row.line))


def test_a_row_without_its_licence_is_of_an_unknown_one(faulty: list[FaultyRow]) -> None:
    for row in of_kind(faulty, "no-license"):
        assert read_metadata(loads(row.line)).license is None


@pytest.mark.parametrize(
    ("kind", "same_line", "same_digest"),
    [("duplicate", True, True), ("other-authors", False, True), ("other-title", False, False)],
)
def test_a_repeated_row_tells_which_it_repeats(
    faulty: list[FaultyRow], kind: str, same_line: bool, same_digest: bool
) -> None:
    for number, row in enumerate(faulty, 1):
        if row.fault == kind:
            assert row.repeats is not None
            assert row.repeats < number
            earlier = faulty[row.repeats - 1]
            one, other = (read_metadata(loads(line)) for line in (earlier.line, row.line))
            assert earlier.fault is None
            assert one.id == other.id
            assert (row.line == earlier.line) == same_line
            assert (canonical_record(one).digest() == canonical_record(other).digest()) == same_digest
            assert one != other or same_line
