"""The files of an export, one for each symbol that a suffix may begin with: whole records, or the table of numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import sqlalchemy as sa

from pith_builder import files
from pith_builder.corpus.manifest import ListedFile, Withdrawn
from pith_builder.corpus.numbered import NumberedReceipt
from pith_builder.store.aliases import damaged, number_of
from pith_builder.store.ordered import in_order
from pith_builder.store.store import EVERY, PROOFS, record_of, signed_of, withdrawal_of

#: The forms of an export.
ExportForm = Literal["records", "table"]

#: Takes the next rows of a shard into its file.
Add = Callable[[Sequence[sa.Row[Any]]], None]

#: Batches of rows that become one row group of a Parquet file.
_GROUP = 20


class Shard(NamedTuple):
    """What is written of the records whose suffix has one beginning: a file, and which of them are withdrawn."""

    file: ListedFile
    withdrawn: list[Withdrawn]


def partial(path: Path) -> Path:
    """What a file is called until it is finished."""
    return path.with_name(f"{path.name}.partial")


def write_shard(connection: sa.Connection, form: ExportForm, beginning: str, folder: Path) -> Shard | None:
    """Write the shard of the records whose suffix has this beginning, under its partial name; None if there are none.

    Raises FileFailed, StoreFailed for a row that is damaged or whose copy is unfinished.
    """
    query, name, opened = _FORMS[form]
    batches = in_order(connection, query, beginning)
    if (first := next(batches, None)) is None:
        return None
    path = folder / name.format(beginning)
    count, withdrawn = 0, list[Withdrawn]()
    with opened(partial(path)) as add:
        for rows in itertools.chain([first], batches):
            add(rows)
            count += len(rows)
            withdrawn += _withdrawn(rows)
    written = ListedFile.of(folder, partial(path).name, count)
    return Shard(msgspec.structs.replace(written, path=path.name), withdrawn)


def _withdrawn(rows: Sequence[sa.Row[Any]]) -> Iterator[Withdrawn]:
    for row in rows:
        if mark := withdrawal_of(row):
            yield Withdrawn(str(number_of(row)), mark.at, mark.reason)


@contextmanager
def _records(path: Path) -> Iterator[Add]:
    import zstandard

    packer = zstandard.ZstdCompressor(level=3, write_checksum=True)
    with files.failing("write the file", path), open(path, "xb") as file, packer.stream_writer(file) as stream:

        def add(rows: Sequence[sa.Row[Any]]) -> None:
            for row in rows:
                record = record_of(row)
                _check_place(row, record.pith_number)
                stream.write(record.to_json() + b"\n")

        yield add


@contextmanager
def _table(path: Path) -> Iterator[Add]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pith_builder.corpus.table import SCHEMA, to_batch

    waiting: list[pa.RecordBatch] = []

    def write_group() -> None:
        writer.write_table(pa.Table.from_batches(waiting, SCHEMA))
        waiting.clear()

    def add(rows: Sequence[sa.Row[Any]]) -> None:
        numbered = [NumberedReceipt.of(signed_of(row)) for row in rows]
        for row, number in zip(rows, numbered, strict=True):
            _check_place(row, number.pith_number)
        waiting.append(to_batch(numbered))
        if len(waiting) == _GROUP:
            write_group()

    # Level and version are fixed, whatever the defaults are: the same rows are to give the same bytes.
    with (
        files.failing("write the file", path),
        open(path, "xb") as file,
        pq.ParquetWriter(file, SCHEMA, version="2.6", compression="zstd", compression_level=3) as writer,
    ):
        yield add
        if waiting:
            write_group()


def _check_place(row: sa.Row[Any], pith_number: str) -> None:
    if not pith_number.endswith(f":{row.suffix}"):
        raise damaged(row, "it stands under another number")


_FORMS: dict[ExportForm, tuple[sa.Select[Any], str, Callable[[Path], AbstractContextManager[Add]]]] = {
    "records": (EVERY, "records-{}.jsonl.zst", _records),
    "table": (PROOFS, "numbers-{}.parquet", _table),
}
