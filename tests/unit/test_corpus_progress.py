"""How a run goes, told from its checkpoint."""

from __future__ import annotations

import os

import msgspec
import pytest

from pith_builder.corpus.checkpoint import Checkpoint, CheckpointDiffers, Counts, RunSettings
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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"size":1000', b'"size":1' + b"0" * 400),
        (b'"size":1000', b'"size":-1'),
        (b'"rows":50', b'"rows":1' + b"0" * 400),
        (b'"file_offset":250', b'"file_offset":-1'),
        (b'"input_name"', b'"input_name":"","x":' + b"[" * 100_000),
    ],
    ids=["size", "less than none", "rows", "place", "deep"],
)
def test_a_checkpoint_with_numbers_that_cannot_be_is_refused(old: bytes, new: bytes) -> None:
    data = at(50, 250).to_json()
    assert old in data
    with pytest.raises(CheckpointDiffers, match="can't be read"):
        Checkpoint.read(data.replace(old, new, 1))


def test_long_times_are_told_in_minutes() -> None:
    assert "3 min 10 s left" in str(progress(at(50, 50)))
