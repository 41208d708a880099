"""A run over a corpus: chunks go to the workers and come back, batches go to the target, and the checkpoint moves.

Batches end at multiples of a number of bytes, or where they have very many rows. Both follow from the input alone, so
the same rows are written together however often a run was interrupted and however many workers there are. (After half
a minute a batch ends sooner: a slow signer's work is not to be lost.)
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

import msgspec

from pith_builder import times
from pith_builder.corpus.checkpoint import Checkpoint
from pith_builder.corpus.snapshot import CHUNK, Chunk, Snapshot
from pith_builder.corpus.targets import Batch, Target
from pith_builder.corpus.work import Done
from pith_builder.errors import InvalidMetadata, Refused
from pith_builder.times import Clock

BATCH = 8  # chunks
_MOST_ROWS = 2**16
_LONGEST_SECONDS = 30

#: What comes of chunks, in their order, whoever does the work.
Results = Callable[[Iterator[Chunk]], Iterator[tuple[Chunk, Done]]]


class Interrupted(Exception):
    """No error: the run was asked to stop, and did so behind a whole batch."""


class TooManyRejects(Refused):
    """More rows gave no record than were allowed."""

    code = "too_many_rejects"


class Run:
    """One run, or what is left of it; `checkpoint` is where it is."""

    def __init__(
        self,
        snapshot: Snapshot,
        target: Target,
        results: Results,
        checkpoint: Checkpoint,
        clock: Clock,
        *,
        max_rejects: int | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """`checkpoint` is what the target has begun with, `results` does the work; `stop` tells whether to end."""
        self._snapshot, self._target, self._results, self._clock = snapshot, target, results, clock
        self._max_rejects, self._stop = max_rejects, stop
        self.checkpoint = checkpoint if checkpoint.finished_at else checkpoint.resumed(self._now())

    def go(self) -> Iterator[Checkpoint]:
        """Do what is left, giving the checkpoint after each batch.

        Raises Interrupted, TooManyRejects, KeyUnusable, StorageFailed; InvalidMetadata for an input without any row.
        What was committed is kept, and the next run goes on behind it.
        """
        if self.checkpoint.finished_at is not None:
            self._snapshot.check_whole(self.checkpoint.place)
            yield self.checkpoint
            return
        self._check_rejects()  # what ended a run ends the next one, too
        gc.set_threshold(200_000)  # as the workers: rows hold no cycles
        for batch in self._batches():
            reached = msgspec.structs.replace(self.checkpoint, place=batch[-1][0].end, saved_at=self._now())
            self._snapshot.check_unchanged()
            self.checkpoint = self._target.commit(batch, reached)
            yield self.checkpoint
            self._stop_where_asked()
        if self.checkpoint.counts.rows == 0:
            raise InvalidMetadata([("", "there is no paper in it")]).at(file=self._snapshot.name)
        self.checkpoint = self._target.pause(self.checkpoint)
        finished = msgspec.structs.replace(self.checkpoint, finished_at=self._now())
        self.checkpoint = self._target.finish(finished)
        yield self.checkpoint

    def _batches(self) -> Iterator[Batch]:
        batch: Batch = []
        rows, begun = 0, time.monotonic()
        for chunk, done in self._results(self._snapshot.chunks(self.checkpoint.place)):
            batch.append((chunk, done))
            rows += done.rows
            before, behind = (place.offset // (CHUNK * BATCH) for place in (chunk.begin, chunk.end))
            if before < behind or rows >= _MOST_ROWS or time.monotonic() - begun > _LONGEST_SECONDS:
                yield batch
                batch, rows, begun = [], 0, time.monotonic()
        if batch:
            yield batch

    def _stop_where_asked(self) -> None:
        if self._has_too_many_rejects() or self._stop():
            self.checkpoint = self._target.pause(self.checkpoint)
            self._check_rejects()
            raise Interrupted

    def _has_too_many_rejects(self) -> bool:
        return self._max_rejects is not None and self.checkpoint.counts.rejected > self._max_rejects

    def _check_rejects(self) -> None:
        if self._has_too_many_rejects():
            rejected = self.checkpoint.counts.rejected
            raise TooManyRejects(
                f"{rejected} rows gave no record, and no more than {self._max_rejects} were allowed",
                hint=f"look at {self.checkpoint.rejects}.partial; the same command with a larger --max-errors goes on",
            )

    def _now(self) -> str:
        return times.receipt_time(self._clock())
