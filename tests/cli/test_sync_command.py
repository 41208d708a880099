"""`pith-build sync`: the store follows a server that plays arXiv."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine

import arxiv_server as play
from arxiv_server import ArxivServer, ServedPaper
from pith_builder import PaperMetadata, canonical_record, files
from pith_builder.store import Store
from pith_builder.testing import make_metadata

Run = Callable[..., Any]
DOWN = play.retry_later(100_000)
DAYS = ("2026-01-02", "2026-01-03", "2026-01-03", "2026-02-01", "2026-11-30")


def paper(n: int, **changes: Any) -> PaperMetadata:
    return make_metadata(arxiv_id=f"2601.{n:05}", title=f"Paper {n}", **changes)


@pytest.fixture
def served(arxiv: ArxivServer) -> ArxivServer:
    """Five papers that changed on several days, on pages of two."""
    arxiv.page_size = 2
    arxiv.add(*(ServedPaper.of(paper(n), day) for n, day in enumerate(DAYS, 1)))
    return arxiv


@pytest.fixture
def sync(with_key: Run) -> Run:
    """Run sync, and give its summary; `code` is what it must end with."""

    def call(*arguments: str, code: int = 0) -> dict[str, Any]:
        result = with_key("sync", "--json", *arguments)
        assert result.code == code, result.err
        summary: dict[str, Any] = result.lines[-1]
        return summary

    return call


@pytest.fixture
def stored(home: Path) -> Callable[[], set[str]]:
    """The papers in the store, as ids with versions."""

    def call() -> set[str]:
        store = Store(f"sqlite:///{home / 'pith.db'}")
        ids = (f"2601.{n:05}" for n in range(1, 10))
        return {str(found.record.canonical_record.arxiv_id) for arxiv_id in ids for found in store.find(arxiv_id)}

    return call


def what(summary: dict[str, Any], *names: str) -> list[int]:
    return [summary[name] for name in names]


def requests(served: ArxivServer) -> list[str]:
    return [request.key for request in served.requests]


ALL = {f"2601.{n:05}v1" for n in range(1, 6)}


def test_sync_issues_all_that_changed_since_the_day(sync: Run, served: ArxivServer, stored: Run) -> None:
    assert what(sync("--from", "2026-01-01"), "issued", "records", "pages") == [5, 5, 3]
    assert stored() == ALL


def test_numbers_are_those_of_the_metadata(sync: Run, served: ArxivServer, with_key: Run) -> None:
    sync("--from", "2026-01-01")
    assert with_key("resolve", "2601.00003").out == f"{canonical_record(paper(3)).number()}\n"


def test_days_bound_what_is_asked_for(sync: Run, served: ArxivServer, stored: Run) -> None:
    sync("--from", "2026-01-03", "--until", "2026-02-01")
    assert stored() == {"2601.00002v1", "2601.00003v1", "2601.00004v1"}


def test_set_bounds_what_is_asked_for(sync: Run, served: ArxivServer, stored: Run) -> None:
    served.add(ServedPaper.of(paper(9, categories="hep-th")))
    sync("--from", "2026-01-01", "--set", "physics:hep-th")
    assert stored() == {"2601.00009v1"}


def test_sync_again_changes_nothing(sync: Run, served: ArxivServer, with_key: Run) -> None:
    sync("--from", "2026-01-01")
    before = with_key("show", "2601.00003", "--json").out
    assert what(sync("--from", "2026-01-01"), "issued", "updated", "stored") == [0, 0, 5]
    assert with_key("show", "2601.00003", "--json").out == before


def test_new_versions_and_corrections_are_told_apart(
    sync: Run, served: ArxivServer, stored: Run, with_key: Run
) -> None:
    sync("--from", "2026-01-01")
    served.add(ServedPaper.of(paper(2, version=2), "2026-11-30"))
    served.add(ServedPaper.of(paper(3, authors="A Corrected Name"), "2026-11-30"))
    assert what(sync(), "issued", "updated", "stored") == [1, 1, 1]
    assert stored() == ALL | {"2601.00002v2"}
    [authors] = [json.loads(with_key("show", "2601.00003", "--part", "paper").out)["authors_text"]]
    assert authors == "A Corrected Name"


def test_enrichment_that_was_given_stays(
    sync: Run, served: ArxivServer, with_key: Run, papers: Run, root: Path
) -> None:
    enrichment = root / "fixtures" / "enrichment.json"
    with_key("issue", "--metadata", papers(paper(1)), "--enrichment", enrichment)
    served.add(ServedPaper.of(paper(1, authors="A Corrected Name"), "2099-01-01"))
    assert sync("--from", "2026-01-01")["updated"] == 1
    assert json.loads(with_key("show", "2601.00001", "--part", "paper").out)["headline"]


def authors_of(run: Run) -> str:
    return str(json.loads(run("show", "2601.00001", "--part", "paper").out)["authors_text"])


def test_what_arxiv_says_now_takes_the_place_of_what_a_file_said(
    sync: Run, served: ArxivServer, with_key: Run, papers: Run
) -> None:
    with_key("issue", "--metadata", papers(paper(1, authors="Of A File")))
    assert sync("--from", "2026-01-01", "--until", "2026-01-02")["updated"] == 1
    assert authors_of(with_key) == "Ada Lovelace, Charles Babbage, Emmy Noether"


def test_word_of_an_older_snapshot_changes_nothing_that_arxiv_said(
    sync: Run, served: ArxivServer, with_key: Run, papers: Run
) -> None:
    sync("--from", "2026-01-01")
    metadata = paper(1)
    row = {name: getattr(metadata, name) for name in ("title", "abstract", "categories", "license")}
    row |= {"id": metadata.arxiv_id, "authors": "Of An Old Snapshot", "update_date": "2026-11-01"}
    row |= {"versions": [{"version": "v1", "created": "Thu, 1 Jan 2026 12:00:00 GMT"}]}
    assert "event=record_stored" in with_key("issue", "--metadata", papers(row)).err
    assert authors_of(with_key) == "Ada Lovelace, Charles Babbage, Emmy Noether"


def test_atom_never_takes_the_place_of_what_oai_said(sync: Run, served: ArxivServer, with_key: Run) -> None:
    sync("--from", "2026-01-01")
    served.papers["2601.00001"].authors = 'Erwin Schr\\"odinger'
    licence = ("--license", str(make_metadata().license))
    assert "event=record_stored" in with_key("issue", "2601.00001", "--source", "atom", *licence).err


def test_correction_that_is_taken_back_makes_the_first_number_the_newest_again(
    sync: Run, served: ArxivServer, with_key: Run
) -> None:
    numbers = []
    for n, text in enumerate(["Paper 1", "Another", "Paper 1", "Another"]):
        served.papers["2601.00001"].title = text
        with time_machine.travel(datetime.now(UTC) + timedelta(minutes=n)):
            sync("--from", "2026-01-01")
        numbers.append(with_key("resolve", "2601.00001").out)
    assert numbers[0] != numbers[1]
    assert numbers[2:] == numbers[:2]


def test_source_whose_days_are_ahead_can_still_be_corrected(sync: Run, served: ArxivServer, with_key: Run) -> None:
    served.papers["2601.00001"].datestamp = "2099-01-01"
    sync("--from", "2026-01-01")
    served.papers["2601.00001"].authors = "A Corrected Name"
    served.papers["2601.00001"].datestamp = "2026-11-30"
    assert sync("--from", "2026-01-01")["updated"] == 1


# --- going on -----------------------------------------------------------------------------------------------------


def test_next_sync_begins_a_day_before_what_the_last_one_covers(sync: Run, served: ArxivServer) -> None:
    sync("--from", "2026-01-01")
    served.requests.clear()
    sync()
    assert requests(served) == ["from=2026-11-29&metadataPrefix=arXivRaw&verb=ListRecords"]


def test_next_sync_after_a_window_begins_at_its_end(sync: Run, served: ArxivServer) -> None:
    sync("--from", "2026-01-01", "--until", "2026-01-31")
    served.requests.clear()
    sync()
    assert requests(served)[0] == "from=2026-01-30&metadataPrefix=arXivRaw&verb=ListRecords"


def test_source_whose_clock_is_ahead_makes_nothing_be_skipped(sync: Run, served: ArxivServer) -> None:
    served.today = "2099-01-01"
    sync("--from", "2026-01-01")
    served.requests.clear()
    sync()
    assert requests(served)[0] < "from=2098"


def test_first_sync_needs_a_day(with_key: Run, arxiv: ArxivServer) -> None:
    result = with_key("sync")
    assert result.code == 2
    assert "--from" in result.err
    assert arxiv.requests == []


def test_sets_and_sources_go_on_apart(sync: Run, served: ArxivServer, with_key: Run) -> None:
    sync("--from", "2026-01-01")
    assert with_key("sync", "--set", "cs").code == 2
    assert with_key("sync", "--oai-url", f"{served.oai_url}2").code == 2


def test_interrupted_sync_goes_on_behind_its_last_page(sync: Run, served: ArxivServer, stored: Run) -> None:
    served.script += [play.normal(), play.normal(), DOWN]
    assert sync("--from", "2026-01-01", code=5)["error"]["code"] == "source_throttled"
    assert len(stored()) == 4
    asked = requests(served)
    served.requests.clear()
    assert what(sync("--from", "2026-01-01"), "issued", "records") == [1, 1]
    assert requests(served) == asked[-1:]
    assert stored() == ALL


def test_summary_of_an_interrupted_sync_comes_before_its_error(with_key: Run, served: ArxivServer) -> None:
    served.script += [play.normal(), DOWN]
    first, last = with_key("sync", "--from", "2026-01-01", "--json").lines
    assert (first["issued"], last["error"]["code"]) == (2, "source_throttled")


def test_sync_without_a_day_ends_what_was_interrupted_and_then_goes_on(
    sync: Run, served: ArxivServer, stored: Run
) -> None:
    served.script += [play.normal(), DOWN]
    sync("--from", "2026-01-01", code=5)
    served.requests.clear()
    assert sync()["issued"] == 3
    assert stored() == ALL
    assert requests(served)[-1] == "from=2026-11-29&metadataPrefix=arXivRaw&verb=ListRecords"


def test_interrupted_sync_is_not_lost_behind_another_one(sync: Run, served: ArxivServer, stored: Run) -> None:
    served.script += [play.normal(), DOWN]
    sync("--from", "2026-01-01", code=5)
    sync("--from", "2026-11-30")
    sync()
    assert stored() == ALL


def test_token_that_expired_starts_the_list_over(sync: Run, served: ArxivServer, stored: Run) -> None:
    served.script += [play.normal(), DOWN]
    sync("--from", "2026-01-01", code=5)
    served.expire_tokens()
    assert what(sync("--from", "2026-01-01"), "issued", "stored", "restarted") == [3, 2, 1]
    assert stored() == ALL


def test_tokens_that_always_expire_end_in_an_error_that_says_what_to_do(with_key: Run, served: ArxivServer) -> None:
    def expiring(exchange: play.Exchange) -> None:
        served.expire_tokens()
        play.normal()(exchange)

    served.script_forever = expiring
    result = with_key("sync", "--from", "2026-01-01")
    assert result.code == 5
    assert "--until" in result.err
    assert len(served.requests) == 8  # the first page four times, and four refusals


def test_source_that_asks_to_wait_is_waited_for(sync: Run, served: ArxivServer, stored: Run) -> None:
    served.script += [play.retry_later(1), play.normal(), play.retry_later(1)]
    assert sync("--from", "2026-01-01")["issued"] == 5


def test_page_that_was_cut_is_asked_for_again(sync: Run, served: ArxivServer, stored: Run) -> None:
    served.script += [play.truncated(1500, declared=False), play.normal(), play.reset_after(900)]
    assert sync("--from", "2026-01-01")["issued"] == 5


def test_record_on_two_pages_is_one(sync: Run, served: ArxivServer, stored: Run) -> None:
    served.script += [play.normal(), play.changed(lambda body: body.replace(b"2601.00003", b"2601.00001"))]
    summary = sync("--from", "2026-01-01")
    assert summary["records"] == 5
    assert stored() == ALL - {"2601.00003v1"}


# --- what can't be issued -----------------------------------------------------------------------------------------


def test_record_that_can_not_be_issued_is_told_and_the_others_go_on(
    with_key: Run, served: ArxivServer, stored: Run
) -> None:
    served.papers["2601.00002"].categories = "nothing; of the kind"
    result = with_key("sync", "--from", "2026-01-01", "--json")
    refused, summary = result.lines
    assert (refused["input"], refused["error"]["code"]) == ("2601.00002", "source_malformed")
    assert (result.code, *what(summary, "issued", "refused")) == (1, 4, 1)
    assert "event=record_refused" in result.err
    assert stored() == ALL - {"2601.00002v1"}


def test_day_that_the_source_refuses_does_not_stand_in_the_way_later(
    sync: Run, served: ArxivServer, with_key: Run
) -> None:
    sync("--from", "2026-01-01")
    served.script.append(play.status(400))
    sync("--from", "1026-01-01", code=5)
    assert sync()["pages"] == 1


def test_list_that_fails_does_not_stop_the_next_one(sync: Run, served: ArxivServer, stored: Run) -> None:
    served.script += [play.normal(), DOWN]
    sync("--from", "2026-01-01", code=5)
    served.add(ServedPaper.of(paper(9), "2026-11-30"))
    broken = play.changed(lambda body: body.replace(b"<ListRecords>", b"<ListRecords>?"))
    served.script.append(broken)
    assert sync(code=5)["error"]["code"] == "source_malformed"
    assert "2601.00009v1" in stored()
    assert sync("--restart")["restarted"] == 0
    assert stored() == ALL | {"2601.00009v1"}


def test_list_can_be_read_from_its_beginning(sync: Run, served: ArxivServer) -> None:
    served.script += [play.normal(), DOWN]
    sync("--from", "2026-01-01", code=5)
    assert what(sync("--from", "2026-01-01", "--restart"), "records", "stored") == [5, 2]


@pytest.mark.parametrize("refusal", [400, 404, 410, "badArgument", "noRecordsMatch"])
def test_token_that_is_refused_in_another_way_starts_the_list_over_too(
    sync: Run, served: ArxivServer, stored: Run, refusal: int | str, root: Path
) -> None:
    error = (root / "tests" / "wire" / "oai_error.xml").read_bytes()
    answer = (
        play.status(refusal)
        if isinstance(refusal, int)
        else play.body(error.replace(b"idDoesNotExist", refusal.encode()))
    )
    served.script += [play.normal(), answer]
    assert sync("--from", "2026-01-01")["restarted"] == 1
    assert stored() == ALL


def test_deleted_record_is_told_and_nothing_is_deleted(
    sync: Run, served: ArxivServer, stored: Run, with_key: Run
) -> None:
    sync("--from", "2026-01-01")
    served.papers["2601.00005"].deleted = True
    result = with_key("sync")
    assert (result.code, "deleted at arXiv 1" in result.out) == (0, True)
    assert "event=record_deleted_at_source" in result.err
    assert stored() == ALL


def test_withdrawn_paper_is_issued_with_a_notice(with_key: Run, served: ArxivServer, stored: Run) -> None:
    served.papers["2601.00001"].source_type = "I"
    result = with_key("sync", "--from", "2026-01-01")
    assert "withdrawn" in result.err
    assert stored() == ALL


# --- dry run ------------------------------------------------------------------------------------------------------


def test_dry_run_without_a_store_or_a_key_tells_what_would_be_and_writes_nothing(
    run: Run, served: ArxivServer, home: Path
) -> None:
    result = run("sync", "--from", "2026-01-01", "--dry-run")
    assert (result.code, result.out[:18]) == (0, "dry run: issued 5,")
    assert not (home / "pith.db").exists()
    assert not (home / "cache").exists()


def test_dry_run_tells_new_changed_and_unchanged_apart(sync: Run, served: ArxivServer, with_key: Run) -> None:
    sync("--from", "2026-01-01")
    served.add(ServedPaper.of(paper(2, version=2), "2026-11-30"))
    served.add(ServedPaper.of(paper(3, authors="A Corrected Name"), "2026-11-30"))
    before = with_key("show", "2601.00003", "--json").out
    for _ in range(2):
        assert what(sync("--dry-run"), "issued", "updated", "stored", "dry_run") == [1, 1, 1, True]
    assert with_key("show", "2601.00003", "--json").out == before
    assert what(sync(), "issued", "updated") == [1, 1]


def test_dry_run_leaves_an_interrupted_sync_where_it_was(sync: Run, served: ArxivServer) -> None:
    served.script += [play.normal(), DOWN]
    sync("--from", "2026-01-01", code=5)
    assert sync("--from", "2026-01-01", "--dry-run")["issued"] == 3
    assert sync("--from", "2026-01-01")["issued"] == 3


# --- usage and surroundings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("--from", "yesterday"),
        ("--from", "2026-02-30"),
        ("--from", "20260101"),
        ("--from", "2026-W01-1"),
        ("--until", "2026-01-01"),
        ("--from", "2026-01-02", "--until", "2026-01-01"),
        ("--from", "2026-01-02", "--set", "cs & more"),
        ("--from", "2026-01-02", "--offline"),
    ],
)
def test_wrong_usage_is_2_and_asks_nothing(with_key: Run, arxiv: ArxivServer, arguments: tuple[str, ...]) -> None:
    assert with_key("sync", *arguments).code == 2
    assert arxiv.requests == []


def test_sync_without_a_key_is_4_before_anything_is_asked(run: Run, arxiv: ArxivServer) -> None:
    result = run("sync", "--from", "2026-01-01")
    assert result.code == 4
    assert arxiv.requests == []


def test_two_syncs_at_once_are_refused(with_key: Run, arxiv: ArxivServer, home: Path) -> None:
    with files.locked(home / "sync.lock"):
        result = with_key("sync", "--from", "2026-01-01")
    assert result.code == 5
    assert "another sync of this home is running" in result.err


def test_records_know_the_page_that_they_came_from(sync: Run, served: ArxivServer, with_key: Run) -> None:
    sync("--from", "2026-01-01")
    provenance = json.loads(with_key("show", "2601.00004", "--provenance").out)
    assert provenance["source"] == f"oai:{served.oai_url}"
    raw = with_key("show", "2601.00004", "--raw").out
    assert "oai:arXiv.org:2601.00004" in raw
    assert "oai:arXiv.org:2601.00001" not in raw
