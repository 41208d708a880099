"""Files that only grow at their end, and are cut back to a checkpoint before a run goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from pith_builder import files
from pith_builder.errors import FileFailed


class Growing:
    """A file that is called `NAME.partial` until it is finished."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partial = path.with_name(f"{path.name}.partial")
        self._file: BinaryIO | None = None

    def open(self, size: int) -> None:
        """Go on behind the first `size` bytes, of the finished file too.

        Raises FileFailed, also where so many bytes are not there.
        """
        with files.failing("write the file", self.partial):
            if size and not self.partial.exists() and self.path.exists():
                self.path.rename(self.partial)  # it was the end of the run that was interrupted
            descriptor = os.open(self.partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._file = os.fdopen(descriptor, "r+b")
        with files.failing("write the file", self.partial):
            if os.fstat(descriptor).st_size < size:
                raise FileFailed(
                    f"it had {size} bytes when the run stopped, and is shorter now",
                    hint="begin anew with --restart",
                ).at(file=str(self.partial))
            self._file.truncate(size)
            self._file.seek(size)

    def write(self, data: bytes) -> None:
        """Append `data`. Raises FileFailed."""
        with files.failing("write the file", self.partial):
            self._opened.write(data)

    def sync(self) -> int:
        """Bring everything to the disk; gives the size. Raises FileFailed."""
        with files.failing("write the file", self.partial):
            self._opened.flush()
            os.fsync(self._opened.fileno())
            return self._opened.tell()

    @property
    def _opened(self) -> BinaryIO:
        assert self._file is not None  # noqa: S101  # open() comes first
        return self._file

    def close(self) -> None:
        """Leave the file as it is, if it is open; what was not synced may be lost."""
        if self._file is not None:
            with files.failing("write the file", self.partial):
                self._file.close()

    def finish(self) -> None:
        """Give the file its name, in the place of one that is there. Raises FileFailed."""
        self.close()
        files.rename(self.partial, self.path)

    def discard(self) -> None:
        """Take the file away. Raises FileFailed."""
        self.close()
        with files.failing("remove the file", self.partial):
            self.partial.unlink(missing_ok=True)
