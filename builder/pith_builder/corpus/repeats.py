"""Which rows of an input say again what another one said, found at the end of a run in bounded memory.

Every paper leaves an entry of fixed size in a file. Two passes over it find the few that are not alone: the first marks
bits, and so finds all that may be; the second looks at just those.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pith_builder import files
from pith_builder.arxiv_id import ArxivId
from pith_builder.corpus.notes import Repeat
from pith_builder.number import PithNumber

#: The digest's beginning, the id with its version, line and byte offset.
_ENTRY = struct.Struct(">20s24sQQ")
_AT_ONCE = 2**14
_BITS = 2**27


def entry(digest: bytes, paper: ArxivId, line: int, offset: int) -> bytes:
    """The entry of a paper: its digest (32 bytes), its id with the version, and where its row stands."""
    return _ENTRY.pack(digest[:20], paper.versioned.encode(), line, offset)


class Found(NamedTuple):
    """What repeats, in the order of the input, and which entries (from 0) a later row of the same number follows."""

    repeats: list[Repeat]
    superseded: set[int]


def find(path: Path) -> Found:
    """What repeats among the entries of a file. Raises FileFailed."""
    digests, papers = _marked_twice(path)
    first: dict[bytes, tuple[int, bytes]] = {}
    last: dict[bytes, int] = {}
    found = Found([], set())
    if not (digests or papers):
        return found
    for n, (digest, name, line, offset) in enumerate(_entries(path)):
        if digest not in digests and name not in papers:
            continue
        paper = name.rstrip(b"\0").decode()
        number = str(PithNumber.from_digest(digest.ljust(32, b"\0"), 0).suffix)
        if digest in last:
            found.superseded.add(last[digest])
            found.repeats.append(Repeat(line, offset, paper, "repeated_row", f"pith:{number}", first[digest][0]))
        elif name in first and first[name][1] != digest:
            first_line = first[name][0]
            found.repeats.append(Repeat(line, offset, paper, "conflicting_metadata", f"pith:{number}", first_line))
        first.setdefault(digest, (line, digest))
        first.setdefault(name, (line, digest))
        last[digest] = n
    return found


def _marked_twice(path: Path) -> tuple[set[bytes], set[bytes]]:
    """The digests and papers whose bit was marked before: all that stand twice, and a few others."""
    digests: set[bytes] = set()
    papers: set[bytes] = set()
    of_digests, of_papers = bytearray(_BITS // 8), bytearray(_BITS // 8)
    for digest, name, _, _ in _entries(path):
        for key, number, marks, twice in (
            (digest, int.from_bytes(digest[:4]), of_digests, digests),
            (name, zlib.crc32(name), of_papers, papers),
        ):
            place, bit = number % _BITS >> 3, 1 << (number & 7)
            if marks[place] & bit:
                twice.add(key)
            marks[place] |= bit
    return digests, papers


def _entries(path: Path) -> Iterator[tuple[bytes, bytes, int, int]]:
    with files.failing("read the file", path), open(path, "rb") as stream:
        while block := stream.read(_ENTRY.size * _AT_ONCE):
            yield from _ENTRY.iter_unpack(block)
