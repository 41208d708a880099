"""A stream of JSON, cut into its documents: one document, or JSON Lines, told apart by themselves."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple, Protocol

from pith_builder.documents import MAX_DOCUMENT, loads
from pith_builder.errors import InvalidJson

_BOM = b"\xef\xbb\xbf"
_LINES_LOOKED_AT = 100


class Piece(NamedTuple):
    """One document of a stream: the line (from 1) and byte offset where it begins, its bytes, the offset behind it."""

    line: int
    offset: int
    data: bytes
    end: int = 0


class _Lines(Protocol):
    def readline(self, size: int, /) -> bytes: ...


def pieces(stream: BinaryIO) -> Iterator[Piece]:
    """The documents of a stream, in order, none longer than `MAX_DOCUMENT` (a longer one comes cut, and fails).

    A stream whose first line is a JSON value is JSON Lines; any other is one document, unless it can't be read
    as one and a line soon after the first can.
    """
    first = next((piece for piece in _lines(stream) if piece.data.strip()), None)
    if first is None:
        return
    source = _PutBack(b"", stream)
    if not _is_json(first.data):
        rest = stream.read(MAX_DOCUMENT)
        rest += stream.readline(MAX_DOCUMENT) if len(rest) == MAX_DOCUMENT else b""
        whole = _stripped(first.data + rest)
        if _is_json(whole) or not _is_row_before_rows(first.data, rest):
            yield first._replace(data=whole)
            return
        source = _PutBack(rest, stream)
    yield from _rows(itertools.chain([first], _lines(source, first.line, first.end)))


def rows(stream: BinaryIO, line: int = 0, offset: int = 0) -> Iterator[Piece]:
    """The documents of JSON Lines, from where the stream stands: behind `line` lines, at byte `offset`."""
    return _rows(_lines(stream, line, offset))


def batches(pieces: Iterable[Piece], most: int, most_bytes: int) -> Iterator[list[Piece]]:
    """Documents in lists of `most`, or of fewer where they have so many bytes together."""
    batch: list[Piece] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece.data)
        if len(batch) == most or size >= most_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _rows(lines: Iterable[Piece]) -> Iterator[Piece]:
    for piece in lines:
        if data := _stripped(piece.data):
            yield Piece(piece.line, piece.offset, data, piece.end)


def _lines(stream: _Lines, number: int = 0, offset: int = 0) -> Iterator[Piece]:
    """The lines as they are; a byte order mark at the start of all is skipped."""
    longest = MAX_DOCUMENT + 3  # with its end, or one byte too long
    while line := stream.readline(longest):
        number += 1
        begins = offset
        offset += len(line)
        while len(line) == longest and not line.endswith(b"\n") and (rest := stream.readline(2**20)):
            offset += len(rest)  # the tail of an overlong line is passed over
            if rest.endswith(b"\n"):
                break
        if begins == 0 and line.startswith(_BOM):
            line, begins = line[len(_BOM) :], len(_BOM)
        yield Piece(number, begins, line, offset)


class _PutBack:
    """A stream to which whole lines that were read are put back."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._stream = stream

    def readline(self, size: int, /) -> bytes:
        return self._head.readline(size) or self._stream.readline(size)


def _is_json(data: bytes) -> bool:
    try:
        loads(data)
    except InvalidJson:
        return False
    return True


def _stripped(data: bytes) -> bytes:
    """Without white space at the end; but what was cut for its length stays too long, and so fails."""
    line = data.removesuffix(b"\n").removesuffix(b"\r")
    return line if len(line) > MAX_DOCUMENT else line.rstrip()


def _is_row_before_rows(first: bytes, rest: bytes) -> bool:
    """Whether a line that can't be read looks like a damaged row: nothing but objects stands in the lines behind it."""
    lines = [line for line in itertools.islice(io.BytesIO(rest), _LINES_LOOKED_AT) if line.strip()]
    return first.startswith(b"{") and all(line.startswith(b"{") for line in lines) and any(map(_is_json, lines))
