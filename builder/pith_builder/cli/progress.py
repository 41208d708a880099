"""Progress of a long run on standard error: a line that changes on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pith_builder.store.reissue import Progress, time_left
from pith_builder.times import Clock


def shown(steps: Iterator[Progress], clock: Clock) -> Iterator[Progress]:
    """The steps of a run, each shown as it comes."""
    begun = clock()
    visible = sys.stderr.isatty()
    for progress in steps:
        if visible:
            now = clock()
            done = progress.reissued + progress.refused
            rate = done / max((now - begun).total_seconds(), 0.001)
            left = time_left(progress, begun, now)
            rest = "" if left is None else f", {left:.0f} s left"
            sys.stderr.write(f"\r{done} of {progress.total}, {rate:.0f} a second, {progress.refused} refused{rest}  ")
            sys.stderr.flush()
        yield progress
    if visible:
        sys.stderr.write("\n")


@contextmanager
def line() -> Iterator[Callable[[str], None]]:
    """What shows a text in the place of the one before, and ends the line at the end."""
    visible = sys.stderr.isatty()

    def show(text: str) -> None:
        if visible:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    yield show
    if visible:
        sys.stderr.write("\n")
