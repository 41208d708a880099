"""The line that shows progress."""

from __future__ import annotations

import io
import itertools
import sys
from collections.abc import Iterator

import pytest

from pith_builder.cli.progress import line


class Terminal(io.StringIO):
    """A standard error that is a terminal, or none."""

    def __init__(self, *, is_one: bool) -> None:
        super().__init__()
        self._is_one = is_one

    def isatty(self) -> bool:
        return self._is_one


def at(terminal: Terminal, *shown: tuple[str, int, int], seconds: Iterator[float]) -> str:
    """What a terminal gets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        with line(lambda: next(seconds)) as show:
            for text, done, total in shown:
                show(text, done, total)
    return terminal.getvalue()


def test_a_terminal_shows_pace_and_time_left_on_one_line() -> None:
    shown = ("nothing done", 0, 1000), ("100 of 1000", 100, 1000), ("1000 of 1000", 1000, 1000)
    told = at(Terminal(is_one=True), *shown, seconds=iter([100.0, 110.0, 120.0, 121.0]))
    assert told.split("\r\x1b[K") == [
        "",
        "nothing done",
        "100 of 1000, 5 a second, 3 min 0 s left",
        "1000 of 1000, 48 a second, 0 s left\n",
    ]


def test_a_clock_that_stands_gives_no_pace() -> None:
    told = at(Terminal(is_one=True), ("1 of 2", 1, 2), seconds=itertools.repeat(1.0))
    assert told == "\r\x1b[K1 of 2\n"


def test_nothing_goes_into_a_file() -> None:
    assert at(Terminal(is_one=False), ("1 of 2", 1, 2), seconds=itertools.count(1.0)) == ""
