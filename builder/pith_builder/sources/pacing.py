"""Turns of all processes of a machine at one source: one request at a time, and one in some seconds.

The turn is a lock on a file in the system's folder for temporary files, which holds when the last request began. It is
nobody's secret and nobody's property: a file that says nonsense makes no one wait longer than the interval.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pith_builder import files
from pith_builder.errors import SourceUnreachable

_POLL_SECONDS = 0.05
_TIME = re.compile(rb"\d{1,12}\.\d{1,9}")


class Pace:
    """The turns at the source `name`, `interval` seconds apart, from the beginning of one to that of the next."""

    def __init__(self, name: str, interval: float) -> None:
        self._interval = interval
        self._path = Path(tempfile.gettempdir()) / f"pith-build-{name}.pace"

    @contextlib.contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Wait for the next turn and hold it. `deadline` is in seconds of `time.monotonic()`.

        Raises SourceUnreachable if other processes hold the turn until then, FileFailed where there can be no file.
        """
        with files.failing("open the file that keeps requests apart", self._path):
            descriptor = self._opened()
        try:
            self._lock(descriptor, deadline)
            time.sleep(self._remaining(os.pread(descriptor, 32, 0)))
            with files.failing("write the file that keeps requests apart", self._path):
                os.pwrite(descriptor, f"{time.time():.6f}\n".encode(), 0)
            yield
        finally:
            os.close(descriptor)

    def _opened(self) -> int:
        """The file's descriptor; whoever makes the file lets all users of the machine write it."""
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        with contextlib.suppress(FileNotFoundError):
            return os.open(self._path, flags)
        try:
            descriptor = os.open(self._path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:  # another process was faster
            return os.open(self._path, flags)
        os.fchmod(descriptor, 0o666)  # whatever the umask is
        return descriptor

    def _lock(self, descriptor: int, deadline: float) -> None:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise SourceUnreachable(
                        "other processes of this machine were asking all the time",
                        hint=f"try again when they are done; they hold {self._path}",
                    ) from None
                time.sleep(_POLL_SECONDS)
            else:
                return

    def _remaining(self, content: bytes) -> float:
        match = _TIME.match(content)
        passed = time.time() - float(match[0]) if match else self._interval
        return self._interval - passed if 0 <= passed < self._interval else 0.0
