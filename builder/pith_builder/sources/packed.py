"""Packed streams, gzip and zstd, unpacked as they are read: never more in memory than is asked for.

Told by their first bytes. A stream that ends too early is an error in both: zstandard itself says nothing of it, so a
small frame of our own is put behind the stream, which only comes out again where the last frame before it was whole.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

from pith_builder import files

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"

_LARGEST_WINDOW = 2**27  # what `zstd --long` packs with
_BUFFER = 2**18
_MARK = b"pith-build: the stream ended here"


def is_packed(head: bytes) -> bool:
    """Whether a stream that begins with `head` is packed in a way that `unpacked` knows."""
    return head.startswith((GZIP_MAGIC, ZSTD_MAGIC))


def unpacked(stream: BinaryIO, head: bytes) -> BinaryIO:
    """What is packed in a stream that begins with `head`, which has yet to be read; other streams as they are."""
    if head.startswith(GZIP_MAGIC):
        return cast(BinaryIO, gzip.GzipFile(fileobj=stream, mode="rb"))
    if head.startswith(ZSTD_MAGIC):
        return io.BufferedReader(_Zstd(stream), _BUFFER)
    return stream


@contextlib.contextmanager
def failing(name: str) -> Iterator[None]:
    """Turn what goes wrong in reading and unpacking the file `name` into FileFailed."""
    with files.failing("read the file", name, hint="fetch or write it again, if it is damaged"):
        try:
            yield
        except (EOFError, zlib.error) as error:
            raise OSError(f"it can't be unpacked: {error}") from None


class _Zstd(io.RawIOBase):
    def __init__(self, stream: BinaryIO) -> None:
        from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError

        with_mark = io.BufferedReader(_Followed(stream, ZstdCompressor().compress(_MARK)), _BUFFER)
        self._frames = ZstdDecompressor(max_window_size=_LARGEST_WINDOW).stream_reader(
            with_mark, read_across_frames=True
        )
        self._error = ZstdError
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        while True:
            try:
                read = self._frames.read(len(view))
            except self._error as error:
                raise OSError(f"it can't be unpacked: {error}") from None
            held = self._held + read
            if not read:
                if held != _MARK:
                    raise EOFError("it ends in the middle")
                return 0
            ready = len(held) - len(_MARK)
            if ready > 0:
                ready = min(ready, len(view))
                view[:ready] = held[:ready]
                self._held = held[ready:]
                return ready
            self._held = held


class _Followed(io.RawIOBase):
    """A stream and, behind it, some bytes."""

    def __init__(self, stream: BinaryIO, last: bytes) -> None:
        self._stream, self._last = stream, last

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self._stream.read(len(view))
        if not data:
            data, self._last = self._last[: len(view)], self._last[len(view) :]
        view[: len(data)] = data
        return len(data)
