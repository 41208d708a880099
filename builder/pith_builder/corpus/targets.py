"""Where a run's papers go: a store, or a folder of files. Each keeps the run's checkpoint with what it checks."""

from __future__ import annotations

from typing import Protocol

from pith_builder.corpus.checkpoint import Checkpoint, Counts
from pith_builder.corpus.snapshot import Chunk
from pith_builder.corpus.work import Done, Shape

#: Chunks with what came of them, in the order of the input.
Batch = list[tuple[Chunk, Done]]


class Target(Protocol):
    """What takes papers batch by batch, and keeps the checkpoint."""

    @property
    def shape(self) -> Shape:
        """What an item is that goes here."""
        ...

    def begin(self, fresh: Checkpoint, *, restart: bool) -> Checkpoint:
        """The checkpoint from which to go on: `fresh`, or that of the run that stopped.

        Raises CheckpointDiffers where that one was of another input, key or settings; with `restart` it is given up.
        """
        ...

    def commit(self, batch: Batch, reached: Checkpoint) -> Checkpoint:
        """Keep a batch and, in one with it, the checkpoint `reached`, to which the counts of the batch are added."""
        ...

    def pause(self, reached: Checkpoint) -> Checkpoint:
        """Bring everything to where it goes: before a run stops in good order, and before it is finished."""
        ...

    def finish(self, last: Checkpoint) -> Checkpoint:
        """End the run, after `pause`: what was not whole before is whole now. Can be done again after a kill."""
        ...

    def close(self) -> None:
        """Leave everything as it is, for the run to go on later."""
        ...


def counted(batch: Batch) -> Counts:
    """Rows and rejects of a batch."""
    return Counts(rows=sum(done.rows for _, done in batch), rejected=sum(len(done.rejects) for _, done in batch))
