"""The three published forms of a time, and clock readings in order (PROTOCOL §2, §4, §6)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from pith_builder import times
from pith_builder.testing import START, FrozenClock

EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize("time", [START, START.astimezone(EAST)])
@pytest.mark.parametrize(
    ("write", "form"),
    [
        (times.seconds, "2026-01-02T03:04:05Z"),
        (times.receipt_time, "2026-01-02T03:04:05.678901Z"),
        (times.record_time, "2026-01-02T03:04:05.678901+00:00"),
    ],
)
def test_a_time_is_written_in_utc(write: Callable[[datetime], str], form: str, time: datetime) -> None:
    assert write(time) == form


def test_six_digits_are_written_even_for_whole_seconds() -> None:
    whole = START.replace(microsecond=0)
    assert times.receipt_time(whole).endswith("05.000000Z")
    assert times.record_time(whole).endswith("05.000000+00:00")


@pytest.mark.parametrize(
    ("parse", "write"),
    [
        (times.parse_seconds, times.seconds),
        (times.parse_receipt_time, times.receipt_time),
        (times.parse_record_time, times.record_time),
    ],
)
def test_a_written_time_is_read_as_itself(
    parse: Callable[[str], datetime | None], write: Callable[[datetime], str]
) -> None:
    found = parse(write(START))
    assert found is not None
    assert write(found) == write(START)
    assert found.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-03-12T13:31:14",
        "2024-03-12T13:31:14z",
        "2024-03-12t13:31:14Z",
        "2024-03-12 13:31:14Z",
        "2024-03-12T13:31:14+00:00",
        "2024-03-12T13:31:14.0Z",
        "2024-03-12T13:31Z",
        "2024-03-12T24:00:00Z",
        "2024-03-12T13:60:14Z",
        "2024-03-12T13:31:60Z",
        "2023-02-29T13:31:14Z",
        "2024-13-12T13:31:14Z",
        "2024-00-12T13:31:14Z",
        "0000-01-01T00:00:00Z",
        "2024-W11-2T13:31:14Z",
        "2024-03-12T13:31:14Z\n",
        " 2024-03-12T13:31:14Z",
        "２024-03-12T13:31:14Z",
    ],
    ids=ascii,
)
def test_no_other_form_is_read_as_seconds(text: str) -> None:
    assert times.parse_seconds(text) is None


@pytest.mark.parametrize("fraction", ["", ".", ".67890", ".6789012", ",678901"])
def test_a_receipt_or_record_time_has_six_digits(fraction: str) -> None:
    assert times.parse_receipt_time(f"2026-01-02T03:04:05{fraction}Z") is None
    assert times.parse_record_time(f"2026-01-02T03:04:05{fraction}+00:00") is None


def test_receipt_and_record_times_are_not_each_others() -> None:
    assert times.parse_record_time(times.receipt_time(START)) is None
    assert times.parse_receipt_time(times.record_time(START)) is None


def test_leap_day_is_a_day() -> None:
    assert times.parse_seconds("2024-02-29T00:00:00Z") == datetime(2024, 2, 29, tzinfo=UTC)


def test_a_reading_that_goes_backwards_is_raised_to_the_one_before() -> None:
    readings = times.Readings(FrozenClock(step=timedelta(seconds=-1)))
    assert [readings.next() for _ in range(3)] == [START] * 3


def test_a_reading_before_the_given_time_is_raised_to_it() -> None:
    later = START + timedelta(days=1)
    assert times.Readings(FrozenClock(), not_before=later).next() == later


def test_readings_that_go_on_stay_as_they_are() -> None:
    readings = times.Readings(FrozenClock(step=timedelta(seconds=1)))
    assert [readings.next() for _ in range(2)] == [START, START + timedelta(seconds=1)]


def test_a_naive_reading_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        times.Readings(lambda: START.replace(tzinfo=None)).next()
