"""Progress of a long run on standard error: a line that changes on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from pith_builder.corpus.progress import duration


class Show(Protocol):
    """Shows a text in the place of the one before, and the pace at which so many of a total were done."""

    def __call__(self, text: str, done: int = 0, total: int = 0) -> None: ...


@contextmanager
def line(clock: Callable[[], float] = time.monotonic) -> Iterator[Show]:
    """What shows texts on one line, which ends at the end; `clock` gives seconds."""
    visible, begun = sys.stderr.isatty(), clock()

    def show(text: str, done: int = 0, total: int = 0) -> None:
        if visible:
            sys.stderr.write(f"\r\x1b[K{text}{_pace(done, total, clock() - begun)}")
            sys.stderr.flush()

    yield show
    if visible:
        sys.stderr.write("\n")


def _pace(done: int, total: int, seconds: float) -> str:
    if not done or seconds <= 0:
        return ""
    rate = done / seconds
    return f", {rate:.0f} a second, {duration(max(total - done, 0) / rate)} left"
