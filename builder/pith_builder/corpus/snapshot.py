"""A snapshot of many papers as a stream of chunks: JSON Lines, plain or packed, in a file or on standard input.

A chunk holds the lines that begin in one mebibyte of the unpacked stream, or some thousands of them where they are
short, so where chunks end follows from the content alone. Nothing larger than a chunk and one document is ever in
memory, whatever is packed in the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, NamedTuple

import msgspec

from pith_builder import files
from pith_builder.documents import MAX_DOCUMENT
from pith_builder.errors import FileFailed, InvalidMetadata
from pith_builder.sources import packed

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK = 2**20
_MOST_LINES = 2**13

#: How a Parquet table begins.
TABLE = b"PAR1"

#: How much of each end of a file tells it from others.
_END = 2**16
_LONGEST = MAX_DOCUMENT + 3  # as in sources/pieces.py: with its end, or one byte too long
_READ = 2**20


#: A number of bytes, lines or rows, as a checkpoint may have it.
Number = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class Identity(msgspec.Struct, frozen=True):
    """What tells an input from others: its size, and the SHA-256 of its ends; of a stream its beginning alone."""

    size: Number | None
    head_sha256: str
    tail_sha256: str | None


class Place(msgspec.Struct, frozen=True):
    """How far an input is read: lines and bytes, unpacked, and where that is in the file.

    `sha256` is of all that was read of a stream, by which its beginning is known again; a file has its identity.
    """

    line: Number = 0
    offset: Number = 0
    file_offset: Number = 0
    sha256: str | None = None


class Chunk(NamedTuple):
    """Whole lines of an input, the place before them, and the one behind. A line that is too long comes cut."""

    begin: Place
    data: bytes
    end: Place


class InputChanged(FileFailed):
    """The input is another one than when the run began, or has changed while it was read."""

    code = "input_changed"


class Snapshot:
    """An input that is open."""

    def __init__(self, name: str, stream: BinaryIO, *, is_file: bool) -> None:
        self.name = name
        self._is_file = is_file
        with packed.failing(name):
            head = stream.read(_END)
            self._is_table = head.startswith(TABLE)
            size = tail = None
            if is_file:
                size = os.fstat(stream.fileno()).st_size
                stream.seek(max(0, size - _END))
                tail = hashlib.sha256(stream.read(_END)).hexdigest()
                stream.seek(0)
            else:
                stream = io.BufferedReader(_Replayed(head, stream), _READ)
        self.identity = Identity(size, hashlib.sha256(head).hexdigest(), tail)
        self._file = stream
        self._lines = packed.unpacked(stream, head)
        self._sha256 = None if is_file else hashlib.sha256()
        self._held = b""  # was read already, for the next chunk

    def chunks(self, start: Place, size: int | None = None) -> Iterator[Chunk]:
        """The chunks from a place on at which one ended, of `CHUNK` bytes or `size`.

        Raises FileFailed, or InputChanged.
        """
        with packed.failing(self.name):
            self._skip(start)
            place = start
            while chunk := self._next(place, size or CHUNK):
                yield chunk
                place = chunk.end
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Raise InputChanged where a file has another size now than when it was opened."""
        if self._is_file and (now := os.fstat(self._file.fileno()).st_size) != self.identity.size:
            raise InputChanged(
                f"it had {self.identity.size} bytes when it was opened, and has {now} now",
                hint="write a snapshot under another name, and rename it when it is whole",
            ).at(file=self.name)

    def check_whole(self, place: Place) -> None:
        """Raise InputChanged where a stream is not just what was read up to a place; a file is known by its identity.

        Raises FileFailed where it can't be read.
        """
        if not self._is_file:
            with packed.failing(self.name):
                if not self._holds(place) or self._lines.read(1):
                    hint = "name another folder with --out"
                    raise InputChanged("it is not what the finished run has read", hint=hint).at(file=self.name)

    def check_lines(self) -> None:
        """Raise InvalidMetadata for a file that holds no lines, but a table."""
        if self._is_table:
            raise InvalidMetadata([("", "this is a Parquet table")], hint="--engine ray reads it").at(file=self.name)

    def _skip(self, start: Place) -> None:
        if self._lines is self._file and self._is_file:
            self._file.seek(start.offset)
            return
        if not self._holds(start):
            raise InputChanged(
                "it does not begin with what the run has read already",
                hint="give the same input again, or begin anew with --restart",
            ).at(file=self.name)

    def _holds(self, start: Place) -> bool:
        """Read up to a place; whether what stands before it is what was read then."""
        left = start.offset
        while left and (part := self._taken(self._lines.read(min(left, _READ)))):
            left -= len(part)
        return not left and start.sha256 in (None, self._hash())

    def _next(self, place: Place, chunk: int) -> Chunk | None:
        """The lines that begin before the next multiple of a chunk's size, or the first of them."""
        wanted = chunk - place.offset % chunk
        data = self._held or self._lines.read(wanted)
        whole, self._held = _first_lines(data)
        size = len(whole)
        if size == wanted and not whole.endswith(b"\n"):
            begun = size - whole.rfind(b"\n") - 1
            whole += self._lines.readline(_LONGEST - begun)
        if not whole:
            return None
        size = len(self._taken(whole))
        if not whole.endswith(b"\n"):  # the rest of an overlong line is passed over
            while rest := self._taken(self._lines.readline(_READ)):
                size += len(rest)
                if rest.endswith(b"\n"):
                    break
        lines = whole.count(b"\n") + (not whole.endswith(b"\n"))
        end = Place(place.line + lines, place.offset + size, self._file.tell(), self._hash())
        return Chunk(place, whole, end)

    def _taken(self, data: bytes) -> bytes:
        if self._sha256 is not None:
            self._sha256.update(data)
        return data

    def _hash(self) -> str | None:
        return None if self._sha256 is None else self._sha256.copy().hexdigest()


def _first_lines(data: bytes) -> tuple[bytes, bytes]:
    """The first lines, as many as a chunk may have, and the rest."""
    if data.count(b"\n") <= _MOST_LINES:
        return data, b""
    end = 0
    for _ in range(_MOST_LINES):
        end = data.index(b"\n", end) + 1
    return data[:end], data[end:]


@contextlib.contextmanager
def opened(name: str) -> Iterator[Snapshot]:
    """The input of that name, or standard input as `-`. Raises FileFailed."""
    if name == "-":
        yield Snapshot(name, sys.stdin.buffer, is_file=False)
        return
    hint = "a folder of files goes with --engine ray" if Path(name).is_dir() else ""
    with files.failing("open the snapshot", name, hint=hint):
        stream = open(name, "rb")  # noqa: SIM115  # closed below
    with stream:
        yield Snapshot(name, stream, is_file=Path(name).is_file())


class _Replayed(io.RawIOBase):
    """A stream of which the beginning was read already, from its beginning."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head, self._stream, self._offset = head, stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data, self._head = self._head[: len(view)], self._head[len(view) :]
        data = data or self._stream.read(len(view))
        view[: len(data)] = data
        self._offset += len(data)
        return len(data)

    def tell(self) -> int:
        return self._offset
