"""`pith-build show` and `resolve`: everything that people call a paper, and what they get."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import PithNumber, canonical_record
from pith_builder.testing import make_metadata

Run = Callable[..., Any]
NUMBER = canonical_record(make_metadata()).number()
SUFFIX = NUMBER.suffix
OLD_ID = make_metadata(arxiv_id="hep-th/9901001", submitted_at="1999-01-01T00:00:00Z")

ALIASES = {
    "id": "2601.00001",
    "id with version": "2601.00001v1",
    "arXiv: form": "arXiv:2601.00001v1 [cs.DL]",
    "abs URL": "https://arxiv.org/abs/2601.00001",
    "DOI": "10.48550/arXiv.2601.00001",
    "DOI in lower case": "10.48550/arxiv.2601.00001",
    "number": f"pith:2026:{SUFFIX}",
    "number in lower case": f"pith:2026:{SUFFIX}".lower(),
    "short 8": f"pith:{SUFFIX[:8]}",
    "short 12": f"pith:{SUFFIX[:12]}",
    "short 16": f"pith:{SUFFIX[:16]}",
    "short in lower case": f"pith:{SUFFIX[:8]}".lower(),
    "suffix": SUFFIX,
    "suffix in lower case": SUFFIX.lower(),
    "bare short 8": SUFFIX[:8],
    "transcription": NUMBER.transcription(),
    "transcription as typed": NUMBER.transcription().lower().replace("-", " "),
    "record URL": f"https://pith.science/pith/{SUFFIX}",
    "JSON URL": f"https://pith.science/pith/{SUFFIX}.json",
    "paper URL": f"https://pith.science/paper/{SUFFIX[:8]}",
    "API URL": f"https://pith.science/api/pith-number/{SUFFIX}/graph.json",
}


pytestmark = pytest.mark.usefixtures("at_store")


@pytest.fixture
def stored(with_key: Run, papers: Run) -> Run:
    """`run` with two papers in the store."""
    assert with_key("issue", "--metadata", papers(make_metadata(), OLD_ID)).code == 0
    return with_key


@pytest.mark.parametrize("alias", ALIASES.values(), ids=ALIASES.keys())
def test_every_alias_resolves_to_the_number(stored: Run, alias: str) -> None:
    result = stored("resolve", alias)
    assert (result.code, result.out, result.err) == (0, f"{NUMBER}\n", "")


@pytest.mark.parametrize("alias", ["hep-th/9901001", "hep-th/9901001v1", "10.48550/arxiv.hep-th/9901001"])
def test_old_ids_resolve(stored: Run, alias: str) -> None:
    assert stored("resolve", alias).out == f"{canonical_record(OLD_ID).number()}\n"


@pytest.mark.parametrize("form", ["arxiv", "arxiv_version", "doi", "pith_short_8", "pith_short_12", "pith_short_16"])
def test_aliases_that_a_record_prints_resolve_to_it(stored: Run, form: str) -> None:
    aliases = json.loads(stored("show", "2601.00001", "--part", "aliases", "--json").out)
    [value] = [alias["alias_value"] for alias in aliases if alias["alias_kind"] == form]
    assert stored("resolve", value).out == f"{NUMBER}\n"


def test_resolve_as_json_tells_all_forms(stored: Run) -> None:
    [line] = stored("resolve", "2601.00001", "--json").lines
    assert line == {
        "input": "2601.00001",
        "pith_number": str(NUMBER),
        "arxiv_id": "2601.00001",
        "version": 1,
        "transcription": NUMBER.transcription(),
        "url": f"https://pith.science/pith/{SUFFIX}",
        "withdrawn": None,
        "others": [],
    }


@pytest.mark.parametrize("command", ["show", "resolve"])
@pytest.mark.parametrize(
    "alias",
    [
        "2601.00009",
        "2601.00001v2",
        f"pith:2025:{SUFFIX}",
        "pith:2026:AAAAAAAAAAAAAAAAAAAAAAAAAA",
        "pith:AAAAAAAA",
        PithNumber("A" * 26).transcription(),
    ],
    ids=["id", "version", "wrong year", "number", "short", "transcription"],
)
def test_alias_found_nowhere_is_1(stored: Run, command: str, alias: str) -> None:
    result = stored(command, alias)
    assert (result.code, result.out) == (1, "")
    assert f"the store has no record of {alias}" in result.err


@pytest.mark.parametrize("command", ["show", "resolve"])
@pytest.mark.parametrize(
    "alias", ["", "hello", "pith:26:XYZ", f"pith:2026:{SUFFIX[:8]}", SUFFIX[:9], "2613.00001", "é"]
)
def test_text_that_is_no_alias_is_3(stored: Run, command: str, alias: str) -> None:
    result = stored(command, alias)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("pith-build: ")


@pytest.mark.parametrize(("alias", "code"), [("2601.00009", "not_found"), ("hello", "invalid_alias")])
@pytest.mark.parametrize("command", ["show", "resolve"])
def test_failure_as_json_names_its_input(stored: Run, command: str, alias: str, code: str) -> None:
    [line] = stored(command, alias, "--json").lines
    assert line["error"]["code"] == code
    assert line["input"] == alias


@pytest.fixture
def neighbour(stored: Run, sql: Run) -> None:
    """The second paper's suffix shares the beginning of the first one's."""
    sql("UPDATE records SET suffix = :suffix WHERE arxiv_id = 'hep-th/9901001'", suffix=SUFFIX[:8] + "7" * 18)


@pytest.mark.parametrize("command", ["show", "resolve"])
def test_ambiguous_short_form_lists_the_candidates(stored: Run, neighbour: None, command: str) -> None:
    result = stored(command, f"pith:{SUFFIX[:8]}")
    assert (result.code, result.out) == (1, "")
    assert f"  {NUMBER} 2601.00001v1\n" in result.err
    assert " hep-th/9901001v1\n" in result.err


def test_ambiguous_short_form_as_json_lists_the_candidates(stored: Run, neighbour: None) -> None:
    [line] = stored("resolve", SUFFIX[:8], "--json").lines
    assert line["error"]["code"] == "ambiguous"
    assert len(line["error"]["candidates"]) == 2


@pytest.mark.parametrize("length", [12, 16, 26])
def test_more_of_the_number_settles_it(stored: Run, neighbour: None, length: int) -> None:
    assert stored("resolve", SUFFIX[:length]).out == f"{NUMBER}\n"


def test_paper_with_several_versions_means_the_newest(with_key: Run, papers: Run) -> None:
    metadata = [make_metadata(version=version) for version in (2, 10, 9)]
    assert with_key("issue", "--metadata", papers(*metadata)).code == 0
    assert with_key("resolve", "2601.00001").out == f"{canonical_record(metadata[1]).number()}\n"


def test_version_asked_for_is_the_one_shown(with_key: Run, papers: Run) -> None:
    metadata = [make_metadata(version=version) for version in (1, 2)]
    assert with_key("issue", "--metadata", papers(*metadata)).code == 0
    assert with_key("resolve", "2601.00001v1").out == f"{canonical_record(metadata[0]).number()}\n"


def test_shown_record_is_the_issued_one_byte_for_byte(with_key: Run, root: Path, papers: Run) -> None:
    issued = with_key(
        "issue", "--json", "--metadata", papers(make_metadata()), "--enrichment", root / "fixtures" / "enrichment.json"
    )
    assert with_key("show", "2601.00001", "--json").out == issued.out


def test_shown_record_for_a_person_is_the_same_with_line_breaks(stored: Run) -> None:
    result = stored("show", "2601.00001")
    assert len(result.out.splitlines()) > 100
    assert json.loads(result.out) == stored("show", "2601.00001", "--json").lines[0]


def test_part_of_a_record(stored: Run) -> None:
    [whole] = stored("show", "2601.00001", "--json").lines
    assert stored("show", "2601.00001", "--part", "receipt", "--json").lines == [whole["receipt"]]


def test_part_that_records_do_not_have_is_wrong_usage(stored: Run) -> None:
    result = stored("show", "2601.00001", "--part", "nonsense")
    assert (result.code, result.out) == (2, "")
    assert "receipt" in result.err


def test_provenance_tells_where_the_metadata_came_from(stored: Run) -> None:
    provenance = json.loads(stored("show", "2601.00001", "--provenance").out)
    assert provenance["source"] == "json:papers.jsonl"
    assert len(provenance["raw_sha256"]) == 64
    assert provenance["withdrawn"] is False
    assert provenance["recorded_at"] == json.loads(stored("show", "2601.00001").out)["receipt"]["signed_at"]


@pytest.mark.parametrize("command", ["show", "resolve"])
def test_record_issued_in_error_is_shown_with_the_notice(stored: Run, sql: Run, command: str) -> None:
    notice = json.dumps({"at": "2026-02-03T00:00:00Z", "reason": "wrong title"}).encode()
    sql("UPDATE records SET withdrawn = :notice WHERE suffix = :suffix", notice=notice, suffix=SUFFIX)
    result = stored(command, "2601.00001", "--json")
    assert (result.code, result.err) == (0, "withdrawn on 2026-02-03T00:00:00Z: wrong title\n")
    assert result.lines[0]["pith_number"] == str(NUMBER)


# --- a paper with several numbers ------------------------------------------------------------------------------

SEVERAL = [
    make_metadata(),
    make_metadata(title="Another", license=""),
    make_metadata(version=2, title="Another", license=""),
]
NUMBERS = [str(canonical_record(metadata).number()) for metadata in SEVERAL]
DIFFERS = [[], ["license", "title_canon_sha256"], ["version"]]


@pytest.fixture
def several(with_key: Run, papers: Run) -> Run:
    """`run` with three numbers of a paper in the store, the last the newest."""
    for metadata in SEVERAL:
        assert with_key("issue", "--metadata", papers(metadata)).code == 0
    return with_key


def test_several_numbers_are_noted_beside_the_newest(several: Run) -> None:
    result = several("resolve", "2601.00001")
    assert (result.code, result.out) == (0, f"{NUMBERS[2]}\n")
    assert result.err == "2601.00001 has 2 other numbers; --all lists them\n"


@pytest.mark.parametrize("alias", [NUMBERS[0], NUMBERS[0][-26:][:8]])
def test_older_number_is_resolved_with_the_newest_beside_it(several: Run, alias: str) -> None:
    result = several("resolve", alias)
    assert result.out == f"{NUMBERS[0]}\n"
    assert f"the newest is {NUMBERS[2]}" in result.err


def test_version_with_two_numbers_is_the_one_that_was_said_last(several: Run) -> None:
    assert several("resolve", "2601.00001v1").out == f"{NUMBERS[1]}\n"


@pytest.mark.parametrize("alias", ["2601.00001", "2601.00001v1", NUMBERS[0]])
def test_all_numbers_are_listed_newest_first_with_what_they_differ_in(several: Run, alias: str) -> None:
    result = several("resolve", alias, "--all")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        f"{NUMBERS[2]} 2601.00001v2 differs in version",
        f"{NUMBERS[1]} 2601.00001v1 differs in license, title_canon_sha256",
        f"{NUMBERS[0]} 2601.00001v1",
    ]


def test_all_numbers_as_json_are_a_line_each(several: Run) -> None:
    lines = several("resolve", "2601.00001", "--all", "--json").lines
    assert [line["pith_number"] for line in lines] == NUMBERS[::-1]
    assert [line["differs"] for line in lines] == DIFFERS[::-1]
    assert [line["version"] for line in lines] == [2, 1, 1]
    assert {line["input"] for line in lines} == {"2601.00001"}


def test_others_are_in_the_line_of_the_one_that_is_meant(several: Run) -> None:
    result = several("resolve", NUMBERS[1], "--json")
    [line] = result.lines
    assert (line["pith_number"], result.err) == (NUMBERS[1], "")
    assert [other.pop("said_at") is None for other in line["others"]] == [False, False]
    assert line["others"] == [
        {"pith_number": NUMBERS[2], "version": 2, "differs": ["version"]},
        {"pith_number": NUMBERS[0], "version": 1, "differs": []},
    ]


def test_all_of_a_paper_with_one_number(stored: Run) -> None:
    assert stored("resolve", "2601.00001", "--all").out == f"{NUMBER} 2601.00001v1\n"


def test_withdrawn_among_all_is_marked(several: Run, sql: Run) -> None:
    sql("UPDATE records SET withdrawn = :mark WHERE version = 2", mark=b'{"at":"2026-02-03","reason":"wrong"}')
    result = several("resolve", "2601.00001", "--all")
    assert result.out.splitlines()[0] == f"{NUMBERS[2]} 2601.00001v2 differs in version; withdrawn: wrong"
    assert several("resolve", "2601.00001", "--all", "--json").lines[0]["withdrawn"]["reason"] == "wrong"


def test_ambiguous_short_form_stays_ambiguous_with_all(stored: Run, neighbour: None) -> None:
    assert stored("resolve", SUFFIX[:8], "--all").code == 1
