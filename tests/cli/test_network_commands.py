"""`issue`, `compute` and `show` with a server that plays arXiv."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import arxiv_server as play
from arxiv_server import ArxivServer, ServedPaper
from pith_builder import canonical_record
from pith_builder.testing import make_metadata

Run = Callable[..., Any]
NUMBER = str(canonical_record(make_metadata()).number())
LICENCE = make_metadata().license


@pytest.fixture
def served(arxiv: ArxivServer) -> ArxivServer:
    arxiv.add(ServedPaper.of(make_metadata()))
    return arxiv


def test_id_alone_is_all_that_a_connected_machine_needs(with_key: Run, served: ArxivServer) -> None:
    result = with_key("2601.00001")
    assert (result.code, result.out) == (0, f"{NUMBER}\n")
    assert "event=record_issued" in result.err


def test_one_request_serves_one_paper(with_key: Run, served: ArxivServer) -> None:
    with_key("2601.00001")
    assert [request.params["verb"] for request in served.requests] == ["GetRecord"]


def test_catalogue_and_metadata_file_need_no_network(run: Run, arxiv: ArxivServer, papers: Run) -> None:
    source = papers(make_metadata())
    assert run("compute", "2601.00001", "--catalog", source).out == f"{NUMBER}\n"
    assert run("compute", "2601.00001", "--metadata", source).out == f"{NUMBER}\n"
    assert arxiv.requests == []


def test_source_asked_for_by_name_goes_before_the_catalogue(run: Run, served: ArxivServer, papers: Run) -> None:
    catalog = papers(make_metadata(title="An Older Title"))
    assert run("compute", "2601.00001", "--catalog", catalog, "--source", "oai").out == f"{NUMBER}\n"


def test_offline_takes_what_was_fetched_before(run: Run, served: ArxivServer) -> None:
    assert run("compute", "2601.00001").code == 0
    result = run("compute", "2601.00001", "2601.00002", "--offline")
    assert (result.code, result.out) == (1, f"{NUMBER}\n")
    assert "never fetched" in result.err
    assert len(served.requests) == 1


def test_paper_that_arxiv_does_not_have_is_1(run: Run, arxiv: ArxivServer) -> None:
    [line] = run("compute", "2601.00009", "--json").lines
    assert line["error"]["code"] == "not_found"
    assert run("compute", "2601.00009").code == 1


def test_version_that_arxiv_no_longer_describes_is_1(run: Run, arxiv: ArxivServer) -> None:
    arxiv.add(ServedPaper.of(make_metadata(version=2)))
    result = run("compute", "2601.00001v1")
    assert result.code == 1
    assert "describes only the newest version of 2601.00001, v2, not v1" in result.err


def test_withdrawn_paper_is_issued_with_a_notice(with_key: Run, arxiv: ArxivServer) -> None:
    arxiv.add(ServedPaper.of(make_metadata(), source_type="I"))
    result = with_key("2601.00001")
    assert (result.code, result.out) == (0, f"{NUMBER}\n")
    assert 'notice="the source calls this paper withdrawn"' in result.err


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (play.refuse(), "source_unreachable"),
        (play.status(404), "source_refused"),
        (play.retry_later(100_000), "source_throttled"),
        (play.body(b"<html>", "text/html"), "source_malformed"),
        (play.truncated(500, declared=False), "source_malformed"),
    ],
)
def test_failure_of_the_network_is_5_and_says_what_to_do(
    run: Run, served: ArxivServer, answer: play.Answer, code: str
) -> None:
    served.script_forever = answer
    result = run("compute", "2601.00001", "--json")
    [line] = result.lines
    assert (result.code, line["input"], line["error"]["code"]) == (5, "2601.00001", code)
    assert line["error"]["hint"]


def test_retries_are_told_on_standard_error_alone(run: Run, served: ArxivServer) -> None:
    served.script.append(play.status(502))
    result = run("compute", "2601.00001")
    assert (result.code, result.out) == (0, f"{NUMBER}\n")
    assert "event=request_retried" in result.err


def test_papers_that_need_no_network_are_done_though_it_is_gone(with_key: Run, arxiv: ArxivServer, papers: Run) -> None:
    arxiv.script_forever = play.retry_later(100_000)
    result = with_key("2601.00009", "2601.00001", "2601.00008", "--catalog", papers(make_metadata()))
    assert (result.code, result.out) == (5, f"{NUMBER}\n")
    assert len(arxiv.requests) == 1


def test_last_good_state_is_kept_when_the_source_fails(with_key: Run, served: ArxivServer) -> None:
    assert with_key("2601.00001").code == 0
    before = with_key("show", "2601.00001", "--json").out
    served.script_forever = play.truncated(900, declared=False)
    assert with_key("2601.00001").code == 5
    assert with_key("show", "2601.00001", "--json").out == before
    assert with_key("2601.00001", "--offline").out == f"{NUMBER}\n"


# --- Atom -----------------------------------------------------------------------------------------------------------


def test_atom_is_refused_without_a_licence(with_key: Run, served: ArxivServer) -> None:
    [line] = with_key("issue", "2601.00001", "--source", "atom", "--json").lines
    assert line["error"]["code"] == "license_unknown"
    assert with_key("resolve", "2601.00001").code == 1


def test_atom_with_the_licence_gives_the_number_and_keeps_that_it_was_given(with_key: Run, served: ArxivServer) -> None:
    assert with_key("issue", "2601.00001", "--source", "atom", "--license", LICENCE).out == f"{NUMBER}\n"
    provenance = json.loads(with_key("show", "2601.00001", "--provenance").out)
    assert provenance["source"] == f"atom:{served.atom_url}"
    assert provenance["license_given"] is True


def test_licence_against_the_source_is_refused(run: Run, served: ArxivServer) -> None:
    [line] = run("compute", "2601.00001", "--license", "", "--json").lines
    assert line["error"]["code"] == "conflicting_metadata"


def test_licence_serves_files_too(run: Run, papers: Run) -> None:
    source = papers(make_metadata(license=None))
    assert run("compute", "--metadata", source, "--license", LICENCE).out == f"{NUMBER}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("2601.00001", "--license", "CC BY"),
        ("2601.00001", "--source", "rss"),
        ("--metadata", "x.json", "--source", "oai"),
    ],
)
def test_wrong_choice_of_source_or_licence_is_2(run: Run, arxiv: ArxivServer, arguments: tuple[str, ...]) -> None:
    assert run("compute", *arguments).code == 2
    assert arxiv.requests == []


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_number_can_be_explained_later_from_the_answer_as_it_came(with_key: Run, served: ArxivServer) -> None:
    with_key("2601.00001")
    provenance = json.loads(with_key("show", "2601.00001", "--provenance").out)
    raw = with_key("show", "2601.00001", "--raw").out
    assert hashlib.sha256(raw.encode()).hexdigest() == provenance["raw_sha256"]
    assert provenance["source"] == f"oai:{served.oai_url}"
    assert provenance["source_time"] == "2026-01-02T00:00:00Z"
    assert provenance["fetched_at"][:19] <= provenance["recorded_at"][:19]
    assert "<abstract>" in raw


def test_raw_form_that_was_not_fetched_or_was_taken_away_is_1(
    with_key: Run, served: ArxivServer, papers: Run, home: Path
) -> None:
    with_key("issue", "--metadata", papers(make_metadata(arxiv_id="2601.00002")))
    assert with_key("show", "2601.00002", "--raw").code == 1
    with_key("2601.00001")
    (home / "cache" / "fetched.db").unlink()
    assert with_key("show", "2601.00001", "--raw").code == 1


def test_cache_that_can_not_be_written_stops_nothing(with_key: Run, served: ArxivServer, home: Path) -> None:
    (home / "cache").mkdir(parents=True)
    (home / "cache" / "fetched.db").mkdir()
    result = with_key("2601.00001")
    assert (result.code, result.out) == (0, f"{NUMBER}\n")
    assert "event=answer_not_kept" in result.err


def test_contact_and_interval_are_settings(run: Run, served: ArxivServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PITH_CONTACT", "mailto:me@example.org")
    assert run("compute", "2601.00001").code == 0
    assert served.requests[0].headers["User-Agent"].endswith(" (mailto:me@example.org)")
