"""Turns of all processes of a machine at one source: one request at a time, and one in some seconds.

The turn is a lock on a file in the system's folder for temporary files, which holds when the last request began. All
users of the machine share it: what it says makes no one wait longer than the interval, but who holds the lock makes the
others wait, at most until their deadline. Where it isn't a plain file, each user has one of their own instead.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
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

    def __init__(self, name: str, interval: float, own: Path) -> None:
        """`own` is a folder of this user, for where the shared file can't be used."""
        self._interval = interval
        self._path = Path(tempfile.gettempdir()) / f"pith-build-{name}.pace"
        self._own = own

    @contextlib.contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Wait for the next turn and hold it. `deadline` is in seconds of `time.monotonic()`.

        Raises SourceUnreachable if the turn doesn't come until then, FileFailed where there can be no file.
        """
        descriptor = self._opened()
        try:
            self._lock(descriptor, deadline)
            with files.failing("use the file that keeps requests apart", self._path):
                remaining = self._remaining(os.pread(descriptor, 32, 0))
                if time.monotonic() + remaining > deadline:
                    raise SourceUnreachable(
                        f"the next request may go out in {remaining:.0f} s", hint="lower PITH_OAI_INTERVAL"
                    )
                time.sleep(remaining)
                os.pwrite(descriptor, f"{time.time():.6f}\n".encode(), 0)
            yield
        finally:
            os.close(descriptor)

    def _opened(self) -> int:
        try:
            return _open_plain(self._path)
        except OSError:
            files.make_folder(self._own)
            self._path = self._own / self._path.name
        with files.failing("open the file that keeps requests apart", self._path):
            return _open_plain(self._path)

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


def _open_plain(path: Path) -> int:
    """The descriptor of a plain file, made where there is none so that all users may write it. Raises OSError."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        try:
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:  # another process was faster
            return _open_plain(path)
        os.fchmod(descriptor, 0o666)  # whatever the umask is
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:  # a link would have another file written
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no plain file")
    return descriptor
