"""Which rows of an input say again what another one said, found at the end of a run in bounded memory.

Every paper leaves an entry of fixed size in a file. Two passes over it find the few that are not alone: the first marks
bits, and so finds all that may be; the second looks at just those.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from pith_builder import files
from pith_builder.arxiv_id import ArxivId
from pith_builder.number import PithNumber

#: The digest's beginning, the id with its version, line and byte offset.
_ENTRY = struct.Struct(">20s24sQQ")
_AT_ONCE = 2**14
_BITS = 2**28


def entry(digest: bytes, paper: ArxivId, line: int, offset: int) -> bytes:
    """The entry of a paper: its digest (32 bytes), its id with the version, and where its row stands."""
    return _ENTRY.pack(digest[:20], paper.versioned.encode(), line, offset)


class Repeated(NamedTuple):
    """A row that is not the first of its kind, and where that stands; a part is one of the files of entries, from 0."""

    part: int
    line: int
    offset: int
    id: str
    code: Literal["repeated_row", "conflicting_metadata"]
    number: str
    first_part: int
    first_line: int


class Found(NamedTuple):
    """What repeats, in the order of the input, and which entries of which part a later row of the same number follows.

    Both are counted from 0.
    """

    repeats: list[Repeated]
    superseded: list[set[int]]


def find(paths: Sequence[Path]) -> Found:
    """What repeats among the entries of these files. Raises FileFailed."""
    twice = may_be_twice(key for path in paths for digest, name, _, _ in _entries(path) for key in (digest, name))
    first: dict[bytes, tuple[int, int, bytes]] = {}
    last: dict[bytes, tuple[int, int]] = {}
    found = Found([], [set() for _ in paths])
    for part, path in enumerate(paths if twice else ()):
        for n, (digest, name, line, offset) in enumerate(_entries(path)):
            if digest not in twice and name not in twice:
                continue
            paper = name.rstrip(b"\0").decode()
            number = f"pith:{PithNumber.from_digest(digest.ljust(32, bytes(1)), 0).suffix}"
            if digest in last:
                of_part, superseded = last[digest]
                found.superseded[of_part].add(superseded)
                found.repeats.append(Repeated(part, line, offset, paper, "repeated_row", number, *first[digest][:2]))
            elif name in first and first[name][2] != digest:
                found.repeats.append(
                    Repeated(part, line, offset, paper, "conflicting_metadata", number, *first[name][:2])
                )
            first.setdefault(digest, (part, line, digest))
            first.setdefault(name, (part, line, digest))
            last[digest] = part, n
    return found


def may_be_twice(keys: Iterable[bytes]) -> set[bytes]:
    """The keys whose bit was marked before: all that stand twice, but for the first time, and a few others."""
    marks, twice = bytearray(_BITS // 8), set()
    for key in keys:
        number = zlib.crc32(key) % _BITS
        place, bit = number >> 3, 1 << (number & 7)
        if marks[place] & bit:
            twice.add(key)
        marks[place] |= bit
    return twice


def _entries(path: Path) -> Iterator[tuple[bytes, bytes, int, int]]:
    with files.failing("read the file", path), open(path, "rb") as stream:
        yield from entries_in(stream, _ENTRY)


def entries_in(stream: BinaryIO, form: struct.Struct) -> Iterator[tuple[Any, ...]]:
    """The entries of a form in a file, many read at once. Raises OSError, or struct.error where the last is cut."""
    while block := stream.read(form.size * _AT_ONCE):
        yield from form.iter_unpack(block)
