"""Files that appear whole or not at all, and locks between processes."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from pith_builder.errors import FileFailed


@contextlib.contextmanager
def failing(action: str, path: Path | str, *, hint: str = "") -> Iterator[None]:
    """Turn an OSError inside into FileFailed: what was tried, on which file, and why it failed."""
    try:
        yield
    except OSError as error:
        raise FileFailed(f"can't {action}: {error.strerror or error}", hint=hint).at(file=str(path)) from None


def read(path: Path) -> bytes:
    """The bytes of a file. Raises FileFailed."""
    with failing("read the file", path):
        return path.read_bytes()


def as_text(path: str | Path) -> str:
    """A whole path as text that can be kept in a file. Raises FileFailed where it is no UTF-8."""
    name = str(Path(path).absolute())
    try:
        name.encode()
    except UnicodeEncodeError:
        hint = "give the file, or the folder, another name"
        raise FileFailed("its path is no UTF-8", hint=hint).at(file=name) from None
    return name


def make_folder(path: Path, mode: int = 0o700) -> None:
    """Make a folder and its parents, for its owner alone unless `mode` says otherwise. Raises FileFailed."""
    with failing("make the folder", path):
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=mode, exist_ok=True)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is no folder")


def replace(path: Path, data: bytes, mode: int = 0o644, *, sync: bool = True) -> None:
    """Put `data` in the place of a file: a reader sees the old or the new one, whole. Raises FileFailed.

    Without `sync` it may be lost when the power fails, which is for whoever syncs many files at once.
    """
    with failing("write the file", path), _written_beside(path, data, mode, sync=sync) as temporary:
        os.replace(temporary, path)
        if sync:
            _sync_folder(path.parent)


def remove(path: Path) -> None:
    """Take a file away, if it is there, and what killed processes have left of putting it there. Raises FileFailed."""
    with failing("remove the file", path):
        path.unlink(missing_ok=True)
        for other in path.parent.iterdir():
            if re.fullmatch(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.partial", other.name):
                other.unlink(missing_ok=True)


def rename(path: Path, to: Path) -> None:
    """Give a file another name, for good. Raises FileFailed."""
    with failing("rename the file", path):
        os.replace(path, to)
        _sync_folder(to.parent)


def adopt(temporary: Path, path: Path, *, replace: bool) -> None:
    """Give a finished file its name, for good; without `replace` never in the place of another. Raises FileFailed."""
    with failing("create the file", path):
        descriptor = os.open(temporary, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if replace:
            os.replace(temporary, path)
        else:
            os.link(temporary, path)
        _sync_folder(path.parent)


def create(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Make a new file with `data`, whole. Raises FileFailed, also where there is one already."""
    with failing("create the file", path), _written_beside(path, data, mode) as temporary:
        os.link(temporary, path)  # unlike a rename, this never takes the place of another file
        _sync_folder(path.parent)


@contextlib.contextmanager
def _written_beside(path: Path, data: bytes, mode: int, *, sync: bool = True) -> Iterator[Path]:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool | None:
    """Whether a process on this machine holds this lock file; None where another user's can't be looked at."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except PermissionError:
        return None
    except OSError:
        return False
    return False


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True, hint: str = "") -> Iterator[None]:
    """Hold the lock file `path` against other processes; it is freed even by kill -9.

    Raises FileFailed, without `wait` also where another process holds it; `hint` is then what to tell.
    """
    with failing("open the lock file", path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with failing("lock the file", path, hint=hint):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BlockingIOError(errno.EAGAIN, "another process holds it") from None
            if os.fstat(descriptor).st_nlink == 0:  # its last holder took it away when it was done
                raise BlockingIOError(errno.EAGAIN, "another process has just finished here")
        yield
    finally:
        os.close(descriptor)
