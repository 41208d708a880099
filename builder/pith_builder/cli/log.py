"""Structured logs on standard error: one event a line with stable names, as key=value."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import MutableMapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pith_builder.errors import cleaned, cut

if TYPE_CHECKING:
    from pith_builder.metadata import Provenance
    from pith_builder.store import Outcome


class _Unfailing:
    """Standard error, where a full disk or a closed terminal stops no work."""

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()


def _cleaned(_: Any, __: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """Values may come from outside: none floods a log or brings escapes into a terminal."""
    return {name: cleaned(cut(value, 500)) if isinstance(value, str) else value for name, value in event.items()}


@cache
def logger() -> Any:
    """The logger of this process, configured on first use, since structlog takes its time to load."""
    import structlog

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            _cleaned,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], drop_missing=True),
        ],
        logger_factory=structlog.WriteLoggerFactory(file=_Unfailing()),  # type: ignore[arg-type]  # two methods are used
        cache_logger_on_first_use=False,
    )
    return structlog.get_logger()


def log_outcome(outcome: Outcome, provenance: Provenance) -> None:
    """What became of a paper that was issued."""
    record = outcome.record
    logger().info(
        f"record_{outcome.action}",
        pith_number=record.pith_number,
        paper=str(record.canonical_record.arxiv_id),
        key_id=record.receipt.key_id,
        **({"follows": outcome.follows, "differs": ",".join(outcome.differs)} if outcome.follows else {}),
        **({"notice": "the source calls this paper withdrawn"} if provenance.withdrawn else {}),
    )
