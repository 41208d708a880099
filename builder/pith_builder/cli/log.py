"""Structured logs on standard error: one event a line with stable names, as key=value."""

from __future__ import annotations

import contextlib
import sys
from functools import cache
from typing import Any


class _Unfailing:
    """Standard error, where a full disk or a closed terminal stops no work."""

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()


@cache
def logger() -> Any:
    """The logger of this process, configured on first use, since structlog takes its time to load."""
    import structlog

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], drop_missing=True),
        ],
        logger_factory=structlog.WriteLoggerFactory(file=_Unfailing()),  # type: ignore[arg-type]  # two methods are used
        cache_logger_on_first_use=False,
    )
    return structlog.get_logger()
