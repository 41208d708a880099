"""Times in their three published forms, all UTC (PROTOCOL §2, §4, §6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

#: What gives the time: an aware datetime in UTC. The core never asks a clock of its own.
Clock = Callable[[], datetime]


def no_clock() -> datetime:
    """The clock of those who were given none: refuses to tell the time."""
    raise TypeError("a clock is needed, for example: clock=lambda: datetime.now(UTC)")


_TO_SECONDS = r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d"
_SECONDS = re.compile(_TO_SECONDS + "Z", re.ASCII)
_RECEIPT = re.compile(_TO_SECONDS + r"\.\d{6}Z", re.ASCII)
_RECORD = re.compile(_TO_SECONDS + r"\.\d{6}\+00:00", re.ASCII)


def parse_seconds(text: str) -> datetime | None:
    """`2024-03-12T13:31:14Z` (submitted_at, key ring) as a datetime; None if it is not exactly that."""
    return _parse(_SECONDS, text)


def parse_receipt_time(text: str) -> datetime | None:
    """`2026-07-05T08:04:18.798449Z` as a datetime; None if it is not exactly that."""
    return _parse(_RECEIPT, text)


def parse_record_time(text: str) -> datetime | None:
    """`2026-07-05T08:04:18.798449+00:00` as a datetime; None if it is not exactly that."""
    return _parse(_RECORD, text)


def _parse(form: re.Pattern[str], text: str) -> datetime | None:
    if not isinstance(text, str) or form.fullmatch(text) is None:  # a damaged store may hold anything
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # no such day, minute or second
        return None


def seconds(time: datetime) -> str:
    """`time` as `2024-03-12T13:31:14Z`; fractions are cut off."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def receipt_time(time: datetime) -> str:
    """`time` as `2026-07-05T08:04:18.798449Z`: the form of a receipt (PROTOCOL §4)."""
    return record_time(time)[:-6] + "Z"


@lru_cache(maxsize=16)  # many records may be of one reading
def record_time(time: datetime) -> str:
    """`time` as `2026-07-05T08:04:18.798449+00:00`: the form of a record and its aliases (PROTOCOL §4)."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


class Readings:
    """Clock readings in order: one that is earlier than the one before is raised to it."""

    def __init__(self, clock: Clock, *, not_before: datetime | None = None) -> None:
        self._clock = clock
        self._latest = not_before

    def next(self) -> datetime:
        """The next reading. Raises ValueError for a naive datetime: its zone would be a guess."""
        now = self._clock()
        if now.tzinfo is None:
            raise ValueError("the clock must give aware datetimes, in UTC")
        self._latest = now if self._latest is None else max(now, self._latest)
        return self._latest
