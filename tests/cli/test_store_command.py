"""`pith-build store check`, `stats` and `migrate`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder.store.database import NEWEST
from pith_builder.testing import make_metadata

Run = Callable[..., Any]


pytestmark = pytest.mark.usefixtures("at_store")


def test_a_sound_store_passes(with_key: Run, papers: Run) -> None:
    with_key("issue", "--metadata", papers(make_metadata(), make_metadata(arxiv_id="2601.00002")))
    result = with_key("store", "check")
    assert (result.code, result.out) == (0, "2 records, 0 failed\n")


def test_a_fault_is_a_line_and_exit_1(with_key: Run, papers: Run, sql: Run) -> None:
    with_key("issue", "--metadata", papers(make_metadata()))
    sql("UPDATE records SET canonical = :it", it=b"{")
    result = with_key("store", "check", "--json")
    assert result.code == 1
    failure, summary = result.lines
    assert failure["reason"]
    assert summary == {"records": 1, "failed": 1}


def test_without_a_store_there_is_nothing_to_check(run: Run, home: Path) -> None:
    assert run("store", "check").code == 1
    assert not home.exists()


# --- stats ------------------------------------------------------------------------------------------------------


def test_stats_are_a_line_each(with_key: Run, papers: Run) -> None:
    with_key("issue", "--metadata", papers(make_metadata(), make_metadata(version=2)))
    result = with_key("store", "stats")
    lines = dict(line.split(maxsplit=1) for line in result.out.splitlines())
    assert (lines["records"], lines["papers"], lines["withdrawn"]) == ("2", "1", "0")
    assert lines["key"].startswith("local-v1-")
    assert lines["key"].endswith("  active  receipts  2")


def test_stats_as_json(with_key: Run, papers: Run) -> None:
    with_key("issue", "--metadata", papers(make_metadata()))
    [line] = with_key("store", "stats", "--json").lines
    assert (line["records"], line["receipts"], line["earlier_blocks"]) == (1, 1, 0)
    assert [(key["state"], key["records"]) for key in line["keys"]] == [("active", 1)]
    assert line["bytes"] == line["bytes_per_record"]


def test_stats_of_an_empty_store_have_no_times(run: Run) -> None:
    run("store", "migrate")
    assert "first_recorded_at  -\n" in run("store", "stats").out


def test_stats_make_no_store(run: Run, home: Path) -> None:
    assert run("store", "stats").code == 1
    assert not home.exists()


# --- migrate ----------------------------------------------------------------------------------------------------


def test_migrate_makes_an_empty_store_and_then_changes_nothing(run: Run, sql: Run) -> None:
    first = run("store", "migrate")
    assert (first.code, first.out) == (0, f"none -> {NEWEST}\n")
    assert sql("SELECT count(*) FROM records") == [(0,)]
    assert run("store", "migrate").out == f"{NEWEST} -> {NEWEST}\n"


def test_migrate_as_json(run: Run) -> None:
    assert run("store", "migrate", "--json").lines == [{"from": None, "to": NEWEST}]


def test_migrate_leaves_a_schema_of_the_future_alone(run: Run, sql: Run) -> None:
    run("store", "migrate")
    sql("UPDATE alembic_version SET version_num = '9999'")
    result = run("store", "migrate")
    assert (result.code, result.out) == (5, "")
    assert "a newer one" in result.err
