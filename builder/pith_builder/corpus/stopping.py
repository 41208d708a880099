"""Ending a run when asked: the first Ctrl-C or SIGTERM lets the batch end, a second Ctrl-C ends at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """While it is entered, the first signal is only noted; `told` is called then."""

    def __init__(self, told: Callable[[], None] = lambda: None) -> None:
        self._asked = False
        self._told = told
        self._before: dict[int, Any] = {}

    def is_asked(self) -> bool:
        """Whether a signal has come."""
        return self._asked

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self._told()
