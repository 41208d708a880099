"""A stream of JSON, cut into its documents: one document, or JSON Lines, told apart by themselves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from pith_builder.documents import MAX_DOCUMENT, loads
from pith_builder.errors import InvalidJson

_BOM = b"\xef\xbb\xbf"


class Piece(NamedTuple):
    """One document of a stream: the line (from 1) and byte offset where it begins, and its bytes."""

    line: int
    offset: int
    data: bytes


def pieces(stream: BinaryIO) -> Iterator[Piece]:
    """The documents of a stream, in order, none longer than `MAX_DOCUMENT` (a longer one comes cut, and fails).

    A stream whose first line is a JSON value is JSON Lines; any other is one document, unless it can't be read
    as one and a later line can.
    """
    lines = _lines(stream)
    first = next(lines, None)
    if first is None:
        return
    head, size = [first], len(first.data)
    if not _is_json(first.data):
        for piece in lines:
            head.append(piece)
            size += len(piece.data)
            if size > MAX_DOCUMENT:
                break
        whole = first._replace(data=b"".join(piece.data for piece in head))
        if len(head) == 1 or _is_json(whole.data) or not any(_is_object(piece.data) for piece in head[1:]):
            yield whole._replace(data=whole.data.rstrip())
            return
    for piece in itertools.chain(head, lines):
        if piece.data.strip():
            yield piece._replace(data=piece.data.rstrip())


def _lines(stream: BinaryIO) -> Iterator[Piece]:
    """The lines from the first that isn't blank, as they are; a byte order mark at the start is skipped."""
    number, offset, begun = 0, 0, False
    while line := stream.readline(MAX_DOCUMENT + 1):
        number += 1
        begins = offset
        offset += len(line)
        while len(line) > MAX_DOCUMENT and not line.endswith(b"\n") and (rest := stream.readline(2**20)):
            offset += len(rest)  # the tail of an overlong line is passed over
            if rest.endswith(b"\n"):
                break
        if number == 1 and line.startswith(_BOM):
            line, begins = line[len(_BOM) :], len(_BOM)
        begun = begun or bool(line.strip())
        if begun:
            yield Piece(number, begins, line)


def _is_json(data: bytes) -> bool:
    try:
        loads(data)
    except InvalidJson:
        return False
    return True


def _is_object(data: bytes) -> bool:
    return data.lstrip().startswith(b"{") and _is_json(data)
