"""Inputs of a corpus run on a cluster, cut into shards: parts that any worker can do by itself, in any order.

Where shards end follows from the inputs and the size that is asked for. JSON Lines are cut at the same places whether
they are packed or not; tables where row groups end, and large row groups into a few ranges of rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from pith_builder import files
from pith_builder.corpus.cluster import parquet
from pith_builder.corpus.snapshot import TABLE, Identity, Place, opened
from pith_builder.errors import FileFailed
from pith_builder.sources import packed

#: Bytes of input in a shard, at most and at least (but the last of a file).
LARGEST, SMALLEST = 8 * 2**20, 2**12

#: A small job is cut into so many shards for each worker, so that all of them have something to do.
_SHARDS_PER_WORKER = 8
_MOST_PER_ROW_GROUP = 8


class InputFile(msgspec.Struct, frozen=True):
    """A file that is read: JSON Lines, plain or packed, or a Parquet table; `identity` tells whether it changed."""

    path: str
    form: Literal["lines", "packed", "table"]
    identity: Identity


class Shard(msgspec.Struct, frozen=True):
    """A part of an input, by its place in the list of inputs.

    Of JSON Lines it begins behind so many `lines` at the byte `begin` of the unpacked stream, and the lines count that
    begin before `end`. Of a table `begin` and `end` are rows, from 0, and `lines` are those before it.
    """

    input: int
    lines: int
    begin: int
    end: int


def inputs(sources: Iterable[str | Path], out: Path) -> list[InputFile]:
    """The files of these paths; of a folder all below it, sorted, but those whose name begins with . or _.

    What is below the folder `out` is never an input. Raises FileFailed.
    """
    return [_input(path) for source in sources for path in _files(Path(source).absolute(), out.absolute())]


def _files(path: Path, out: Path) -> list[Path]:
    if path.name == "-":
        raise FileFailed("workers can't read standard input", hint="write it into a file, and name that")
    if not path.is_dir():
        if path.resolve().is_relative_to(out.resolve()):  # a run may clear its folder
            raise FileFailed("the input is in the folder of --out", hint="name another folder").at(file=str(path))
        return [path]
    with files.failing("read the folder", path):
        below = sorted(found for found in path.rglob("*") if found.is_file() and out not in found.parents)
    seen = [found for found in below if not any(part[0] in "._" for part in found.relative_to(path).parts)]
    if not seen:
        raise FileFailed("there is no file in the folder").at(file=str(path))
    return seen


def _input(path: Path) -> InputFile:
    name = files.as_text(path)
    with opened(name) as snapshot:
        identity = snapshot.identity
    with files.failing("read the file", name), open(path, "rb") as stream:
        head = stream.read(4)
    if head == TABLE:
        return InputFile(name, "table", identity)
    return InputFile(name, "packed" if packed.is_packed(head) else "lines", identity)


def shard_size(given: list[InputFile], workers: int) -> int:
    """How many bytes a shard should have, for so many workers."""
    total = sum(file.identity.size or 0 for file in given)
    return max(SMALLEST, min(LARGEST, total // (workers * _SHARDS_PER_WORKER)))


def cut(given: list[InputFile], size: int) -> list[Shard]:
    """The shards of these inputs, in their order; reads JSON Lines through once.

    Raises FileFailed, InputChanged, or InvalidMetadata for a table without columns of metadata.
    """
    return [
        shard
        for n, file in enumerate(given)
        for shard in (_cut_table(n, file, size) if file.form == "table" else _cut_lines(n, file, size))
    ]


def _cut_lines(n: int, file: InputFile, size: int) -> Iterator[Shard]:
    with opened(file.path) as snapshot:
        for chunk in snapshot.chunks(Place(), size):
            yield Shard(n, chunk.begin.line, chunk.begin.offset, chunk.end.offset)


def _cut_table(n: int, file: InputFile, size: int) -> Iterator[Shard]:
    begin = row = held = 0
    groups = parquet.row_groups(file.path)
    for i, group in enumerate(groups):
        row, held = row + group.rows, held + group.bytes
        if row == begin or (held < size and i + 1 < len(groups)):
            continue
        count = max(1, min(held // size, _MOST_PER_ROW_GROUP, row - begin))
        bounds = [begin + (row - begin) * k // count for k in range(count + 1)]
        yield from (Shard(n, first, first, last) for first, last in itertools.pairwise(bounds))
        begin, held = row, 0
