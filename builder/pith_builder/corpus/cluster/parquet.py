"""Parquet tables of metadata, read a range of rows at a time, and tables of numbers, written whole or not at all."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pith_builder import files
from pith_builder.corpus import arrow, table
from pith_builder.corpus.table import pa
from pith_builder.errors import InvalidMetadata

_ROWS_PER_BATCH = 1024
_ROWS_PER_GROUP = 2**14


class RowGroup(NamedTuple):
    """Rows of a row group, and their bytes, unpacked."""

    rows: int
    bytes: int


def row_groups(path: str) -> list[RowGroup]:
    """The row groups of a table of metadata. Raises FileFailed, or InvalidMetadata where its columns are of no form."""
    with _opened(path) as file:
        try:
            arrow.form_of(file.schema_arrow)
        except InvalidMetadata as error:
            raise error.at(file=path) from None
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        return [RowGroup(group.num_rows, group.total_byte_size) for group in groups]


def batches(path: str, begin: int, end: int) -> Iterator[pa.RecordBatch]:
    """The rows from `begin` to before `end` of a table of metadata, the columns that count alone. Raises FileFailed."""
    with _opened(path) as file:
        first = skipped = 0
        while skipped + (rows := file.metadata.row_group(first).num_rows) <= begin:
            first, skipped = first + 1, skipped + rows
        skip, left = begin - skipped, end - begin
        for batch in file.iter_batches(
            _ROWS_PER_BATCH,
            row_groups=range(first, file.metadata.num_row_groups),
            columns=arrow.form_of(file.schema_arrow).columns,
        ):
            wanted = batch.slice(skip, left) if skip < batch.num_rows else batch.slice(0, 0)
            skip, left = max(0, skip - batch.num_rows), left - wanted.num_rows
            if wanted.num_rows:
                yield wanted
            if not left:
                return


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    hint = "fetch or write it again, if it is damaged"
    with files.failing("read the file", path, hint=hint):
        try:
            with pq.ParquetFile(path) as file:
                yield file
        except pa.ArrowException as error:
            raise OSError(str(error).splitlines()[0]) from None


def drop(path: Path, rows: set[int]) -> None:
    """Write a table of numbers anew without these rows, counted from 0. Raises FileFailed."""
    writer, first = NumbersWriter(path), 0
    try:
        with _opened(str(path)) as file:
            for batch in file.iter_batches(_ROWS_PER_BATCH):
                kept = [n for n in range(batch.num_rows) if first + n not in rows]
                writer.write(batch.take(pa.array(kept, pa.int64())))
                first += batch.num_rows
        writer.finish()
    finally:
        writer.discard()


class NumbersWriter:
    """Writes a table of numbers beside its place; `finish` gives it its name."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._path = path
        self._temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
        self._held: list[pa.RecordBatch] = []
        with files.failing("write the file", path):
            self._writer = pq.ParquetWriter(
                self._temporary, table.SCHEMA, version="2.6", compression="zstd", compression_level=3
            )

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows of `table.SCHEMA`. Raises FileFailed."""
        self._held.append(batch)
        if sum(held.num_rows for held in self._held) >= _ROWS_PER_GROUP:
            self._flush()

    def finish(self) -> None:
        """Put the file in its place, also of another. Raises FileFailed."""
        self._flush()
        with files.failing("write the file", self._path):
            self._writer.close()
        files.adopt(self._temporary, self._path, replace=True)

    def discard(self) -> None:
        """Take away what was written, if it isn't finished."""
        with contextlib.suppress(OSError, pa.ArrowException):
            self._writer.close()
        with contextlib.suppress(OSError):
            self._temporary.unlink()

    def _flush(self) -> None:
        with files.failing("write the file", self._path):
            if self._held:
                self._writer.write_table(pa.Table.from_batches(self._held))
            self._held = []
