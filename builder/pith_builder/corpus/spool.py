"""Records that are signed and not yet in the store: a file that grows with each batch, and what is needed to sort it.

A store takes them over by the hundred thousand, in the order of their digests: a page of its indexes is then written
once for many records, however large the indexes are.
"""

from __future__ import annotations

import contextlib
import os
import struct
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from pith_builder import files
from pith_builder.corpus.growing import Growing
from pith_builder.errors import FileFailed
from pith_builder.store.bulk import NewRecord

#: Before each record: its size without this, the digest and the length of the arXiv id, which follows.
_HEAD = struct.Struct(">I32sB")
_SIZE = struct.Struct(">I")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[bytes, str, str, int, str, str | None, str, bytes, bytes, bytes, bytes, bytes])


def frame(record: NewRecord) -> bytes:
    """A record as it stands in the file."""
    arxiv_id, data = record.arxiv_id.encode(), _encode(record)
    return (
        _HEAD.pack(_HEAD.size + len(arxiv_id) + len(data) - _SIZE.size, record.digest, len(arxiv_id)) + arxiv_id + data
    )


class Spool:
    """The file, with the digest, the arXiv id and the place of each record in memory."""

    def __init__(self, path: Path) -> None:
        self._file = Growing(path)
        self._forget()

    def _forget(self) -> None:
        self.digests: list[bytes] = []
        self.arxiv_ids: list[str] = []
        self._begins = array("Q")
        self._end = 0

    def __len__(self) -> int:
        return len(self.digests)

    def open(self, size: int) -> None:
        """Go on behind the first `size` bytes. Raises FileFailed."""
        self._file.open(size)
        self._forget()
        with self._reading() as stream:
            while self._end < size:
                head = stream.read(_SIZE.size)
                self._note(head + stream.read(*_SIZE.unpack(head)))

    @contextlib.contextmanager
    def _reading(self) -> Iterator[BinaryIO]:
        """The file, to be read. Raises FileFailed, also where what stands in it is no record."""
        path = self._file.partial
        with files.failing("read the file", path), open(path, "rb") as stream:
            try:
                yield stream
            except (struct.error, UnicodeError, msgspec.MsgspecError, TypeError):
                hint = "begin anew with --restart"
                raise FileFailed("it was altered since the run stopped", hint=hint).at(file=str(path)) from None

    def add(self, joined: Iterable[bytes]) -> int:
        """Append records, many in each of these; gives the size on the disk. Raises FileFailed."""
        for frames in joined:
            self._file.write(frames)
            self._note(frames)
        return self._file.sync()

    def _note(self, frames: bytes) -> None:
        begin = 0
        while begin < len(frames):
            size, digest, length = _HEAD.unpack_from(frames, begin)
            name = begin + _HEAD.size
            self.digests.append(digest)
            self.arxiv_ids.append(frames[name : name + length].decode())
            self._begins.append(self._end)
            begin += _SIZE.size + size
            self._end += _SIZE.size + size

    def record(self, n: int) -> NewRecord:
        """The n-th record, from 0."""
        return next(self.records([n]))

    def records(self, which: Iterable[int]) -> Iterator[NewRecord]:
        """The records with these numbers, in this order. Raises FileFailed."""
        with self._reading() as stream:
            descriptor = stream.fileno()
            for n in which:
                begin = self._begins[n]
                end = self._begins[n + 1] if n + 1 < len(self._begins) else self._end
                skipped = _HEAD.size + len(self.arxiv_ids[n])
                yield NewRecord._make(_decode.decode(os.pread(descriptor, end - begin - skipped, begin + skipped)))

    def discard(self) -> None:
        """Take the file away, and forget what was in it. Raises FileFailed."""
        self._file.discard()
        self._forget()

    def close(self) -> None:
        self._file.close()
