"""How a run goes, told from its checkpoint."""

from __future__ import annotations

import os

import msgspec
import pytest

from pith_builder.corpus.checkpoint import Checkpoint, Counts, RunSettings
from pith_builder.corpus.progress import progress
from pith_builder.corpus.snapshot import Identity, Place

BEGUN, LATER = "2026-11-30T12:00:00.000000Z", "2026-11-30T12:00:10.000000Z"
FRESH = Checkpoint(
    "/snapshot",
    Identity(1000, "0" * 64, "0" * 64),
    RunSettings("TEST-v1", "0" * 32, "https://pith.science", "builder"),
    "/rejects.jsonl",
    *(BEGUN, BEGUN, BEGUN),
)


def at(rows: int, offset: int, checkpoint: Checkpoint = FRESH) -> Checkpoint:
    counts, place = Counts(rows=rows, rejected=2), Place(rows, offset, offset)
    return msgspec.structs.replace(checkpoint, counts=counts, place=place, saved_at=LATER)


def test_rate_and_time_left_follow_from_what_is_done() -> None:
    now = progress(at(50, 250))
    assert (now.rows, now.rejected, now.rows_per_second, now.percent, now.seconds_left) == (50, 2, 5.0, 25.0, 30.0)
    assert str(now) == "50 rows (25.0 %), 5 a second, 30 s left, 2 rejected"


def test_a_clock_that_was_set_back_gives_no_rate() -> None:
    now = progress(msgspec.structs.replace(at(50, 250), resumed_at="2026-12-01T00:00:00.000000Z"))
    assert (now.rows_per_second, now.seconds_left) == (None, None)


def test_only_what_this_process_did_counts_for_its_rate() -> None:
    resumed = msgspec.structs.replace(at(50, 250), saved_at=BEGUN).resumed(BEGUN)
    now = progress(at(70, 500, resumed))
    assert (now.rows_per_second, now.seconds_left) == (2.0, 20.0)


def test_of_a_stream_nobody_knows_what_is_left() -> None:
    stream = msgspec.structs.replace(FRESH, input=Identity(None, "0" * 64, None))
    now = progress(at(50, 250, stream))
    assert (now.percent, now.seconds_left) == (None, None)
    assert str(now) == "50 rows, 5 a second, 2 rejected"


def test_before_the_first_batch_there_is_no_rate() -> None:
    now = progress(FRESH)
    assert (now.rows, now.rows_per_second, now.percent, now.seconds_left) == (0, None, 0.0, None)


@pytest.mark.skipif(not os.path.exists(f"/proc/{os.getpid()}/smaps_rollup"), reason="only Linux tells this")
def test_memory_is_that_of_all_processes_that_there_are() -> None:
    one = progress(FRESH, [os.getpid()]).memory_mb
    assert one is not None
    assert one > 10
    both = progress(FRESH, [os.getpid(), os.getpid(), 2**22 + 1]).memory_mb
    assert both is not None
    assert both > 1.9 * one


def test_long_times_are_told_in_minutes() -> None:
    assert "3 min 10 s left" in str(progress(at(50, 50)))
