"""`pith-build compute`: every form of metadata, one line a paper, no key and no store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import canonical_record
from pith_builder.testing import make_metadata

Run = Callable[..., Any]
NUMBER = str(canonical_record(make_metadata()).number())


def own(**changes: Any) -> dict[str, Any]:
    return msgspec.to_builtins(make_metadata(**changes))


def snapshot_row(**changes: Any) -> dict[str, Any]:
    """The same paper as `make_metadata()`, as a row of the metadata snapshot."""
    paper = make_metadata()
    row = {
        "id": paper.arxiv_id,
        "title": paper.title,
        "abstract": f"  {paper.abstract}\n",
        "authors": paper.authors,
        "categories": paper.categories,
        "license": paper.license,
        "versions": [{"version": "v1", "created": "Thu, 1 Jan 2026 12:00:00 GMT"}],
    }
    return row | changes


def test_line_has_exactly_the_promised_fields(run: Run, papers: Run) -> None:
    [line] = run("compute", "--json", "--metadata", papers(make_metadata())).lines
    record = canonical_record(make_metadata())
    assert line == {
        "arxiv_id": "2601.00001",
        "version": 1,
        "pith_number": NUMBER,
        "canonical_sha256": record.digest().hex(),
        "canonical_record": json.loads(record.to_bytes()),
    }


def test_real_paper_has_its_published_number(run: Run, root: Path) -> None:
    result = run("compute", "--metadata", root / "fixtures" / "metadata" / "2403.07648v2.json")
    assert (result.code, result.out, result.err) == (0, "pith:2024:BMWHAH2DRYP4HKSVZEJ4AAHEZE\n", "")


def test_all_real_snapshot_rows_have_a_record(run: Run, registry: Path) -> None:
    source = registry / "snapshot_rows.jsonl"
    result = run("compute", "--json", "--metadata", source)
    asked = [json.loads(line)["id"] for line in source.read_text().splitlines()]
    assert result.code == 0
    assert [line["arxiv_id"] for line in result.lines] == asked


def test_neither_home_nor_key_nor_store_is_made(run: Run, home: Path, papers: Run) -> None:
    assert run("compute", "--metadata", papers(make_metadata())).code == 0
    assert not home.exists()


FORMS = {
    "own form on one line": json.dumps(own()).encode(),
    "own form, pretty-printed": json.dumps(own(), indent=2).encode(),
    "snapshot row": json.dumps(snapshot_row()).encode(),
    "snapshot row, pretty-printed": json.dumps(snapshot_row(), indent=4).encode(),
    "byte order mark": b"\xef\xbb\xbf" + json.dumps(own()).encode(),
    "byte order mark, pretty-printed": b"\xef\xbb\xbf" + json.dumps(own(), indent=1).encode(),
    "CRLF": json.dumps(own()).encode() + b"\r\n",
    "CRLF, pretty-printed": json.dumps(own(), indent=1).replace("\n", "\r\n").encode(),
    "blank lines around": b"\n\r\n  \n" + json.dumps(own()).encode() + b"\n\n\n",
    "equal rows twice, with CRLF": (json.dumps(own()).encode() + b"\r\n") * 2,
    "both forms of the same paper": json.dumps(own()).encode() + b"\n\n" + json.dumps(snapshot_row()).encode(),
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("way", ["file", "standard input"])
def test_forms_are_told_apart_by_themselves(run: Run, tmp_path: Path, data: bytes, way: str) -> None:
    (tmp_path / "input").write_bytes(data)
    if way == "file":
        result = run("compute", "--metadata", tmp_path / "input")
    else:
        result = run("compute", "--metadata", "-", stdin=data)
    assert result.code == 0
    assert set(result.out.splitlines()) == {NUMBER}


def test_one_json_line_an_input_line_in_their_order(run: Run) -> None:
    lines = [
        json.dumps(own()),
        "{",
        json.dumps(own(arxiv_id="2601.00002")),
        json.dumps(own(arxiv_id="2601.00003", license=None)),
        "[]",
        json.dumps(own(arxiv_id="2601.00004") | {"version": 0}),
    ]
    result = run("compute", "--json", "--metadata", "-", stdin="\n".join(lines).encode())
    assert result.code == 1
    assert [line.get("arxiv_id") or line["error"]["code"] for line in result.lines] == [
        "2601.00001",
        "invalid_json",
        "2601.00002",
        "license_unknown",
        "invalid_metadata",
        "invalid_metadata",
    ]


def test_failure_line_says_where_what_and_what_next(run: Run, papers: Run) -> None:
    source = papers(make_metadata(), own(arxiv_id="2601.00002", version=2) | {"submitted_at": "yesterday"})
    line = run("compute", "--json", "--metadata", source).lines[1]
    assert line.keys() == {"input", "error"}
    assert line["input"] == f"{source}:2"
    assert line["error"].keys() == {"code", "message", "field", "line", "hint", "file"}
    assert line["error"]["code"] == "invalid_metadata"
    assert line["error"]["field"] == "submitted_at"
    assert line["error"]["line"] == 2
    assert "yesterday" in line["error"]["message"]


def test_failure_without_json_goes_to_standard_error(run: Run, papers: Run) -> None:
    source = papers(make_metadata(), {"arxiv_id": "2601.00002"})
    result = run("compute", "--metadata", source)
    assert result.out == f"{NUMBER}\n"
    assert f"pith-build: {source}:2: " in result.err


BROKEN = {
    "nothing but braces": b"{}",
    "a list": b"[1, 2]",
    "no JSON": b"hello, world",
    "binary": bytes(range(256)),
    "cut": json.dumps(own()).encode()[:-30],
    "duplicate key": b'{"arxiv_id":"2601.00001",' + json.dumps(own()).encode()[1:],
    "NaN": json.dumps(own() | {"version": float("nan")}).encode(),
    "lone surrogate": json.dumps(own() | {"title": "\ud800"}).encode(),
    "NUL in the title": json.dumps(own() | {"title": "a\0b"}).encode(),
    "trailing data": json.dumps(own()).encode() + b" x",
    "UTF-16": json.dumps(own()).encode("utf-16"),
    "deep": b"[" * 100_000,
    "number of many digits": json.dumps(own()).replace('"version": 1', '"version": ' + "9" * 5000).encode(),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_file_in_which_nothing_can_be_read_is_3(run: Run, data: bytes) -> None:
    result = run("compute", "--json", "--metadata", "-", stdin=data)
    assert result.code == 3
    assert all(line["error"]["message"] for line in result.lines)


def test_file_in_which_nothing_can_be_read_is_3_for_an_id_too(run: Run) -> None:
    result = run("compute", "2601.00001", "--metadata", "-", stdin=b"no JSON")
    assert result.code == 3


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_file_without_papers_is_3(run: Run, data: bytes) -> None:
    assert run("compute", "--metadata", "-", stdin=data).code == 3


def test_bad_row_among_good_ones_is_1(run: Run, papers: Run) -> None:
    assert run("compute", "--metadata", papers(make_metadata(), {})).code == 1


def test_id_whose_row_cannot_be_read_beside_a_good_one_is_1(run: Run, papers: Run) -> None:
    source = papers(make_metadata(), own(arxiv_id="2601.00002") | {"title": 7})
    assert run("compute", "2601.00001", "2601.00002", "--metadata", source).code == 1
    assert run("compute", "2601.00002", "--metadata", source).code == 3


def test_text_that_is_no_id_beside_good_ones_is_3(run: Run, papers: Run) -> None:
    result = run("compute", "2601.00001", "2613.00001", "--metadata", papers(make_metadata()))
    assert result.code == 3
    assert result.out == f"{NUMBER}\n"
    assert "2613.00001" in result.err


def test_of_several_items_the_highest_code_counts(run: Run, papers: Run) -> None:
    result = run("compute", "2601.00009", "2613.00001", "2601.00001", "--metadata", papers(make_metadata()))
    assert result.code == 3


def test_file_that_is_not_there_is_5(run: Run, tmp_path: Path) -> None:
    result = run("compute", "--metadata", tmp_path / "none.json")
    assert result.code == 5
    assert "none.json: can't read the file: No such file or directory" in result.err


def test_folder_as_metadata_is_5(run: Run, tmp_path: Path) -> None:
    assert run("compute", "--metadata", tmp_path).code == 5


def test_failure_that_ends_the_command_is_a_json_line_too(run: Run, tmp_path: Path) -> None:
    [line] = run("compute", "--json", "--metadata", tmp_path / "none.json").lines
    assert line["error"]["code"] == "file_failed"


def test_paper_that_is_nowhere_is_1_and_says_where_was_looked(run: Run) -> None:
    result = run("compute", "2601.00009")
    assert result.code == 1
    assert "2601.00009" in result.err
    assert "never fetched" in result.err


def test_metadata_file_is_the_only_place_looked_at(run: Run, papers: Run) -> None:
    catalog = papers(make_metadata(), name="catalog.jsonl")
    source = papers(make_metadata(arxiv_id="2601.00002"))
    result = run("compute", "2601.00001", "--metadata", source, "--catalog", catalog)
    assert result.code == 1
    assert "--metadata is the only place that was looked at" in result.err


def test_ids_select_from_the_metadata_file(run: Run, papers: Run) -> None:
    source = papers(*(make_metadata(arxiv_id=f"2601.{n:05}") for n in range(1, 5)))
    result = run("compute", "--json", "2601.00003", "2601.00001", "--metadata", source)
    assert [line["arxiv_id"] for line in result.lines] == ["2601.00003", "2601.00001"]


def test_without_version_the_highest_is_used(run: Run, papers: Run) -> None:
    source = papers(*(make_metadata(version=version) for version in (2, 10, 9)))
    [line] = run("compute", "--json", "2601.00001", "--metadata", source).lines
    assert line["version"] == 10


def test_version_asked_for_is_used(run: Run, papers: Run) -> None:
    source = papers(*(make_metadata(version=version) for version in (1, 2, 3)))
    [line] = run("compute", "--json", "2601.00001v2", "--metadata", source).lines
    assert line["version"] == 2


@pytest.mark.parametrize("way", ["--metadata", "--catalog"])
def test_version_that_the_metadata_do_not_describe_is_refused(run: Run, papers: Run, way: str) -> None:
    result = run("compute", "--json", "2601.00001v3", way, papers(make_metadata(), make_metadata(version=2)))
    assert result.code == 1
    [line] = result.lines
    assert line["input"] == "2601.00001v3"
    assert line["error"]["code"] == "version_mismatch"
    assert "v1, v2" in line["error"]["message"]


@pytest.mark.parametrize("row", [own(license=None), {k: v for k, v in own().items() if k != "license"}])
def test_unknown_licence_is_refused(run: Run, papers: Run, row: dict[str, Any]) -> None:
    file = papers(row)
    [line] = run("compute", "--json", "--metadata", file).lines
    error = line["error"]
    assert (error["code"], error["file"], error["line"]) == ("license_unknown", str(file), 1)
    assert error["hint"]


def test_null_licence_of_a_snapshot_row_is_none(run: Run, papers: Run) -> None:
    [line] = run("compute", "--json", "--metadata", papers(snapshot_row(license=None))).lines
    assert line["canonical_record"]["metadata"]["license"] == ""


@pytest.mark.parametrize(
    ("way", "asked"), [("--metadata", ()), ("--metadata", ("2601.00001",)), ("--catalog", ("2601.00001",))]
)
def test_two_differing_rows_of_one_paper_are_refused_both(
    run: Run, papers: Run, way: str, asked: tuple[str, ...]
) -> None:
    source = papers(make_metadata(), make_metadata(title="Another Title"))
    result = run("compute", "--json", *asked, way, source)
    assert result.code == 1
    assert [line["error"]["code"] for line in result.lines] == ["conflicting_metadata"] * (1 if asked else 2)


def test_differing_rows_harm_no_other_row(run: Run, papers: Run) -> None:
    source = papers(make_metadata(), make_metadata(arxiv_id="2601.00002"), make_metadata(license=""))
    lines = run("compute", "--json", "--metadata", source).lines
    assert ["error" in line for line in lines] == [True, False, True]


def test_rows_of_two_versions_do_not_conflict(run: Run, papers: Run) -> None:
    assert run("compute", "--metadata", papers(make_metadata(), make_metadata(version=2, title="Another"))).code == 0


@pytest.mark.parametrize(
    "other", [make_metadata(), make_metadata(title="A  Made-Up\n  Paper"), snapshot_row()], ids=["same", "wrap", "form"]
)
def test_two_equal_rows_are_not_refused(run: Run, papers: Run, other: Any) -> None:
    result = run("compute", "2601.00001", "--metadata", papers(make_metadata(), other))
    assert (result.code, result.out) == (0, f"{NUMBER}\n")


# --- catalogue --------------------------------------------------------------------------------------------------


def test_catalogue_is_a_file(run: Run, papers: Run) -> None:
    result = run("compute", "2601.00001", "--catalog", papers(make_metadata()))
    assert (result.code, result.out) == (0, f"{NUMBER}\n")


def test_catalogue_is_a_folder(run: Run, papers: Run, tmp_path: Path) -> None:
    (tmp_path / "catalog").mkdir()
    for n, suffix in enumerate(("json", "jsonl", "ndjson"), 1):
        papers(make_metadata(arxiv_id=f"2601.{n:05}"), name=f"catalog/{n}.{suffix}")
    papers(make_metadata(arxiv_id="2601.00004"), name="catalog/notes.txt")
    ids = [f"2601.{n:05}" for n in range(1, 5)]
    result = run("compute", "--json", *ids, "--catalog", tmp_path / "catalog")
    assert ["error" in line for line in result.lines] == [False, False, False, True]


def test_several_catalogues_are_one(run: Run, papers: Run) -> None:
    first = papers(make_metadata(), name="first.jsonl")
    second = papers(make_metadata(version=2), name="second.jsonl")
    [line] = run("compute", "--json", "2601.00001", "--catalog", first, "--catalog", second).lines
    assert line["version"] == 2


def test_catalogue_from_the_environment(run: Run, papers: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first = papers(make_metadata(), name="first.jsonl")
    second = papers(make_metadata(arxiv_id="2601.00002"), name="second.jsonl")
    monkeypatch.setenv("PITH_CATALOG", f"{first}:{second}")
    assert run("compute", "2601.00001", "2601.00002").code == 0


def test_catalogue_that_is_not_there_is_5(run: Run, tmp_path: Path) -> None:
    result = run("compute", "2601.00001", "--catalog", tmp_path / "none")
    assert result.code == 5
    assert "none: can't read the catalogue" in result.err


def test_paper_not_in_the_catalogue_names_the_catalogue(run: Run, papers: Run) -> None:
    source = papers(make_metadata())
    result = run("compute", "2601.00009", "--catalog", source)
    assert result.code == 1
    assert f"not in the catalogue ({source})" in result.err
