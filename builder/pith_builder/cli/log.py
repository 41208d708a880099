"""Structured logs on standard error: one event a line with stable names, as key=value."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any


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
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    return structlog.get_logger()
