"""What a run has to tell of single rows: those that gave no record, and those that repeat an earlier one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal, Self

import msgspec

from pith_builder.errors import PithError, cleaned, cut
from pith_builder.sources.papers import claimed_in
from pith_builder.sources.pieces import Piece

_encode = msgspec.json.encode


class _Coded(msgspec.Struct):
    code: str


#: A note's line, at most, in bytes.
_LONGEST = 2**16
_CODE = msgspec.json.Decoder(_Coded)


class Reject(msgspec.Struct, frozen=True):
    """A row that gave no record: its line (from 1) and byte offset in the unpacked input, its paper, and why.

    `id` is null where the row names no paper; `code` is that of the error, `field` empty where it is of the whole row.
    """

    line: int
    offset: int
    id: str | None
    code: str
    field: str
    reason: str

    @classmethod
    def of(cls, piece: Piece, error: PithError) -> Self:
        """The note on a row that gave an error."""
        place = (piece.line, piece.offset, claimed_in(piece.data))
        return cls(*place, error.code, cleaned(cut(error.field)), cleaned(cut(error.message, 500)))


class Repeat(msgspec.Struct, frozen=True):
    """A row that is not the first of its kind: `repeated_row` for a number that an earlier row of the input gave too.

    `conflicting_metadata` is another description of a paper and version, with another number than that of `first_line`.
    """

    line: int
    offset: int
    id: str
    code: Literal["repeated_row", "conflicting_metadata"]
    number: str
    first_line: int


def by_code(path: Path) -> dict[str, int]:
    """How many notes in a file have each code, the most frequent first; none where it was altered or taken away."""
    found: Counter[str] = Counter()
    try:
        with open(path, "rb") as stream:
            for line in stream:
                found[_CODE.decode(line).code] += 1
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return {}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def is_list(path: Path, kind: type[Reject | Repeat]) -> bool:
    """Whether a file is empty, or begins with a note of a kind. Raises OSError."""
    with open(path, "rb") as stream:
        first = stream.readline(_LONGEST)
    try:
        if first:
            msgspec.json.decode(first, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return True


def lines(notes: list[Reject] | list[Repeat]) -> bytes:
    """The notes as JSON Lines."""
    return b"".join([_encode(note) + b"\n" for note in notes])
