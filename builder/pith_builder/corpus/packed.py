"""Files packed with Zstandard: written so that the same lines give the same bytes, read within bounds."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import zstandard

from pith_builder import files
from pith_builder.errors import InvalidInput

ENDING = ".zst"

_LEVEL = 3

#: What unpacking may keep of what it has unpacked (bytes): as much as every reader of the format should grant.
_WINDOW = 8 * 2**20

#: Packed bytes that are unpacked at once: they can't become more than 32 MB, whatever they are.
_PART = 1024


@contextmanager
def packing(path: Path) -> Iterator[BinaryIO]:
    """A new file that packs what is written into it. Raises FileFailed, also where there is one already."""
    packer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    with files.failing("write the file", path), open(path, "xb") as file, packer.stream_writer(file) as stream:
        yield stream


class Source(Protocol):
    """Where packed bytes come from."""

    def read(self, size: int, /) -> bytes: ...


def unpacking(source: Source) -> io.BufferedReader:
    """The bytes that are packed in a source, within bounds. Reading raises InvalidInput for what is no such file."""
    return io.BufferedReader(_Unpacked(source))


class _Unpacked(io.RawIOBase):
    """One frame that ends where the source does: the library's own reader misses a lost end and what is behind it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._frame = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed's buffer has no length
        while not self._left and (part := self._source.read(_PART)):
            self._left = memoryview(self._unpacked(part))
        if not self._left and not self._frame.eof:
            raise InvalidInput("it ends before what is packed in it does")
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size

    def _unpacked(self, part: bytes) -> bytes:
        if self._frame.eof:
            raise InvalidInput("there is something behind the end of what is packed in it")
        try:
            unpacked = self._frame.decompress(part)
        except zstandard.ZstdError as error:
            raise InvalidInput(f"it can't be unpacked: {error}") from None
        if self._frame.unused_data:
            raise InvalidInput("there is something behind the end of what is packed in it")
        return unpacked
