"""Reading shards, as batches to issue, with where each row stands."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from pith_builder.corpus.arrow import LINE, as_bytes
from pith_builder.corpus.cluster import parquet
from pith_builder.corpus.cluster.inputs import InputFile, Shard
from pith_builder.corpus.snapshot import Chunk, InputChanged, Place, Snapshot, opened
from pith_builder.corpus.table import pa
from pith_builder.sources.papers import claimed_in
from pith_builder.sources.pieces import Piece, rows
from pith_builder.sources.rows import claimed_id

_LINES_PER_BATCH = 1024


class Rows(NamedTuple):
    """Rows of a file as a batch: lines with their `pieces`, or rows of a table behind `before` others."""

    file: str
    batch: pa.RecordBatch
    pieces: list[Piece] | None
    before: int = 0

    def place(self, n: int) -> tuple[int, int | None]:
        """Where the n-th of them stands: its line (from 1), its byte offset if it has one."""
        if self.pieces is None:
            return self.before + n + 1, None
        return self.pieces[n].line, self.pieces[n].offset

    def claimed(self, n: int) -> str | None:
        """The id that the n-th of them names, None where it names none."""
        return _claimed(self.batch, n) if self.pieces is None else claimed_in(self.pieces[n].data)


class Reader:
    """Reads shards of these inputs, cut to `size`. A packed input stays open, since it can only be read forwards."""

    def __init__(self, inputs: list[InputFile], size: int) -> None:
        self._inputs, self._size = inputs, size
        self._open = contextlib.ExitStack()
        self._chunks: Iterator[Chunk] = iter(())
        self._at: tuple[int, int] | None = None  # which packed input is open, and how far it is read

    def close(self) -> None:
        """Close what is open."""
        self._at = None
        self._open.close()

    def read(self, shard: Shard) -> Iterator[Rows]:
        """The rows of a shard. Raises FileFailed, or InputChanged."""
        file = self._inputs[shard.input]
        return _of_table(file, shard) if file.form == "table" else _of_lines(file, self._chunk(shard))

    def _chunk(self, shard: Shard) -> Chunk:
        file = self._inputs[shard.input]
        if self._at is None or self._at[0] != shard.input or self._at[1] > shard.begin:
            self.close()
            snapshot = self._open.enter_context(_unchanged(file))
            start = Place() if file.form == "packed" else Place(shard.lines, shard.begin)
            self._chunks = snapshot.chunks(start, self._size)
        self._at = None  # until it is read
        chunk = next((chunk for chunk in self._chunks if chunk.begin.offset >= shard.begin), None)
        is_there = chunk is not None and (chunk.begin.offset, chunk.end.offset) == (shard.begin, shard.end)
        if is_there and file.form == "packed":
            self._at = shard.input, shard.end
        else:
            self.close()
        if chunk is None or not is_there:
            raise InputChanged("its lines are not where they were when the run began").at(file=file.path)
        return chunk


@contextlib.contextmanager
def _unchanged(file: InputFile) -> Iterator[Snapshot]:
    with opened(file.path) as snapshot:
        if snapshot.identity != file.identity:
            raise InputChanged(
                "it is not the file that it was when the run began",
                hint="give the same input again, or begin anew with --restart",
            ).at(file=file.path)
        yield snapshot


def _of_lines(file: InputFile, chunk: Chunk) -> Iterator[Rows]:
    pieces = rows(io.BytesIO(chunk.data), chunk.begin.line, chunk.begin.offset)
    while held := list(itertools.islice(pieces, _LINES_PER_BATCH)):
        column = pa.array([piece.data for piece in held], pa.large_binary())
        yield Rows(file.path, pa.record_batch([column], names=[LINE]), held)


def _of_table(file: InputFile, shard: Shard) -> Iterator[Rows]:
    with _unchanged(file):
        before = shard.begin
        for batch in parquet.batches(file.path, shard.begin, shard.end):
            yield Rows(file.path, batch, None, before)
            before += batch.num_rows


def _claimed(batch: pa.RecordBatch, n: int) -> str | None:
    """The id that a row of a table names, None where it names none."""
    if LINE in batch.schema.names:
        line = as_bytes(batch[LINE].slice(n, 1))[0].as_py()
        return None if line is None else claimed_in(line)
    for name in ("arxiv_id", "id"):
        if name in batch.schema.names:
            with contextlib.suppress(ValueError):  # no UTF-8
                return claimed_id({"id": batch[name][n].as_py()})
    return None
