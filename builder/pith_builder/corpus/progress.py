"""How a run goes, from its checkpoint: for a line on the terminal, a line in a log, and `corpus status` elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from pith_builder import times
from pith_builder.corpus.checkpoint import Checkpoint


class Progress(msgspec.Struct, frozen=True):
    """Rows done and rejected, rows a second since this process began, and what is left.

    `percent` of the input's file and `seconds_left` are None where its size isn't known, or nothing is done yet;
    `memory_mb` is that of all processes, None where it isn't known.
    """

    rows: int
    rejected: int
    rows_per_second: float | None
    percent: float | None
    seconds_left: float | None
    memory_mb: float | None = None

    def __str__(self) -> str:
        parts = [f"{self.rows} rows"]
        if self.percent is not None:
            parts[0] += f" ({self.percent} %)"
        if self.rows_per_second is not None:
            parts.append(f"{self.rows_per_second:.0f} a second")
        if self.seconds_left is not None:
            parts.append(f"{duration(self.seconds_left)} left")
        parts.append(f"{self.rejected} rejected")
        if self.memory_mb is not None:
            parts.append(f"{self.memory_mb:.0f} MB")
        return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds in words: `2 min 5 s`, or `5 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def progress(checkpoint: Checkpoint, processes: Iterable[int] = ()) -> Progress:
    """How a run stands at its checkpoint; `processes` are the ids of those whose memory counts."""
    size, place = checkpoint.input.size, checkpoint.place
    begun, saved = times.parse_receipt_time(checkpoint.resumed_at), times.parse_receipt_time(checkpoint.saved_at)
    seconds = max((saved - begun).total_seconds(), 0.0) if begun and saved else 0.0  # a clock may be set back
    rows = checkpoint.counts.rows - checkpoint.resumed_rows
    read = place.file_offset - checkpoint.resumed_file_offset
    return Progress(
        checkpoint.counts.rows,
        checkpoint.counts.rejected,
        round(rows / seconds, 1) if seconds and rows else None,
        round(100 * min(place.file_offset / size, 1.0), 1) if size else None,
        round(seconds * max(size - place.file_offset, 0) / read, 1) if size and read > 0 and seconds else None,
        _memory(processes),
    )


def _memory(processes: Iterable[int]) -> float | None:
    """The memory of these processes, what they share counted once, in MB; None where the system doesn't tell."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError, ValueError):
            for line in Path(f"/proc/{process}/smaps_rollup").read_bytes().splitlines():
                if line.startswith(b"Pss:"):
                    total += int(line.split()[1])
    return round(total / 1024, 1) if total else None
