"""`pith-build store withdraw`: a record issued in error stays, and says so wherever it is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import canonical_record
from pith_builder.testing import make_metadata

Run = Callable[..., Any]
NUMBER = str(canonical_record(make_metadata()).number())


@pytest.fixture
def stored(with_key: Run, papers: Run) -> Run:
    """`run` with a paper in the store."""
    assert with_key("issue", "--metadata", papers(make_metadata())).code == 0
    return with_key


@pytest.fixture
def withdrawn(stored: Run) -> Run:
    assert stored("store", "withdraw", NUMBER, "--reason", "wrong title").code == 0
    return stored


def test_number_is_printed_and_the_event_logged(stored: Run) -> None:
    result = stored("store", "withdraw", NUMBER, "--reason", "wrong title")
    assert (result.code, result.out) == (0, f"{NUMBER}\n")
    assert f'event=record_withdrawn pith_number={NUMBER} reason="wrong title"' in result.err


def test_mark_as_json(stored: Run) -> None:
    [line] = stored("store", "withdraw", NUMBER, "--reason", "wrong title", "--json").lines
    assert line["withdrawn"].pop("at").endswith("Z")
    assert line == {"pith_number": NUMBER, "withdrawn": {"reason": "wrong title"}, "already": False}


def test_withdrawing_twice_says_that_the_first_mark_stays(withdrawn: Run) -> None:
    result = withdrawn("store", "withdraw", NUMBER, "--reason", "another")
    assert (result.code, result.out) == (0, f"{NUMBER}\n")
    assert "the first mark stays\n" in result.err
    assert ": wrong title\n" in result.err
    assert "record_withdrawn" not in result.err


@pytest.mark.parametrize("command", ["show", "resolve"])
def test_withdrawn_record_is_shown_and_resolved_with_the_notice(withdrawn: Run, command: str) -> None:
    result = withdrawn(command, "2601.00001")
    assert result.code == 0
    assert NUMBER in result.out
    assert result.err.startswith("withdrawn on ")
    assert result.err.endswith(": wrong title\n")


def test_withdrawn_record_verifies_from_its_file(withdrawn: Run, tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text(withdrawn("show", NUMBER, "--json").out)
    assert withdrawn("verify", tmp_path / "record.json", "--quiet").out == f"ok: {NUMBER}\n"


def test_withdrawn_record_passes_the_check_of_the_store(withdrawn: Run) -> None:
    assert withdrawn("store", "check").out == "1 records, 0 failed\n"


@pytest.mark.parametrize("reason", [(), ("--reason", ""), ("--reason", "  ")], ids=["none", "empty", "blank"])
def test_reason_is_needed(stored: Run, reason: tuple[str, ...]) -> None:
    result = stored("store", "withdraw", NUMBER, *reason)
    assert (result.code, result.out) == (2, "")
    assert "--reason" in result.err


def test_reason_that_is_no_text_is_3(stored: Run) -> None:
    assert stored("store", "withdraw", NUMBER, "--reason", "\udcff").code == 3


def test_reason_reaches_no_terminal_as_an_escape(stored: Run) -> None:
    assert "\x1b" not in stored("store", "withdraw", NUMBER, "--reason", "\x1b[31mred").err
    assert "\x1b" not in stored("show", NUMBER).err


@pytest.mark.parametrize(("alias", "code"), [("2601.00009", 1), ("hello", 3)])
def test_what_means_no_record(stored: Run, alias: str, code: int) -> None:
    result = stored("store", "withdraw", alias, "--reason", "x")
    assert (result.code, result.out) == (code, "")


def test_paper_with_several_numbers_lists_them(stored: Run, papers: Run) -> None:
    stored("issue", "--metadata", papers(make_metadata(version=2)))
    result = stored("store", "withdraw", "2601.00001", "--reason", "x")
    assert (result.code, result.out) == (1, "")
    assert f"  {NUMBER} 2601.00001v1\n" in result.err


def test_without_a_store_there_is_nothing_to_withdraw(run: Run, home: Path) -> None:
    assert run("store", "withdraw", NUMBER, "--reason", "x").code == 1
    assert not home.exists()
