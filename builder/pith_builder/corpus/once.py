"""Whether each number stands once in a corpus whose files are in no order, found in bounded memory."""

from __future__ import annotations

import contextlib
import struct
import tempfile
from collections.abc import Iterator
from typing import NamedTuple, Self

from pith_builder import files
from pith_builder.corpus.repeats import entries_in, may_be_twice
from pith_builder.number import SUFFIX_LENGTH

#: The suffix of a number, which file it stands in, and on which line.
_ENTRY = struct.Struct(f">{SUFFIX_LENGTH}sIQ")


class Place(NamedTuple):
    """A file by its place in the manifest, from 0, and a line or row of it, from 1."""

    file: int
    line: int


class Places:
    """Where each number stands, in a file without a name that is gone at the end."""

    def __enter__(self) -> Self:
        with files.failing("make a file in the folder", tempfile.gettempdir()):
            self._entries = tempfile.TemporaryFile()  # closed at the end
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # what is still to be written is of no use any more
            self._entries.close()

    def add(self, suffix: str, place: Place) -> None:
        """Note where a number stands. Raises FileFailed."""
        with files.failing("write a file in the folder", tempfile.gettempdir()):
            self._entries.write(_ENTRY.pack(suffix.encode(), *place))

    def repeated(self) -> Iterator[tuple[str, Place, Place]]:
        """The numbers that stand a second time, with that place and the first one. Raises FileFailed."""
        twice = may_be_twice(suffix for suffix, _, _ in self._all())
        first: dict[bytes, Place] = {}
        for suffix, *stands in self._all() if twice else ():
            if suffix in twice:
                place = Place(*stands)
                if (before := first.setdefault(suffix, place)) != place:
                    yield suffix.decode(), place, before

    def _all(self) -> Iterator[tuple[bytes, int, int]]:
        with files.failing("read a file in the folder", tempfile.gettempdir()):
            self._entries.seek(0)
            yield from entries_in(self._entries, _ENTRY)
