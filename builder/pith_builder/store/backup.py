"""A backup of a whole store: one SQLite file, of one moment, there whole or not at all.

It is made in a folder beside its place, checked, and only then given its name. It is a store itself.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import sqlalchemy as sa

from pith_builder import files
from pith_builder.errors import FileFailed, StoreFailed
from pith_builder.store.copying import Copy
from pith_builder.store.database import failing, open_engine, reading

_PAGES_A_STEP = 4096

#: What SQLite keeps beside a database, and would replay into another that gets its name.
_LEFT_BESIDE = ("-wal", "-shm", "-journal")


class BackedUp(msgspec.Struct, frozen=True):
    """What a backup holds, and how large its file is."""

    file: str
    records: int
    bytes: int


def back_up(engine: sa.Engine, path: Path, *, force: bool, show: Callable[[str], None]) -> BackedUp:
    """Back a store up into a file, while others write; with `force` in the place of one that is there.

    `show` is told how it goes. Raises FileFailed, StoreFailed.
    """
    _check_place(engine, path, force=force)
    with _folder_beside(path) as folder:
        made = folder / "pith.db"
        if engine.dialect.name == "sqlite":
            _back_up_online(engine, made, show)
        else:
            for table in Copy(engine, open_engine(_url(made))).run():
                show(f"{table.table}: {table.rows}")
        found = BackedUp(str(path), _checked_count(made), made.stat().st_size)
        files.adopt(made, path, replace=force)
    return found


def _check_place(engine: sa.Engine, path: Path, *, force: bool) -> None:
    with files.failing("look at the file", path):
        if path.is_dir():
            raise FileFailed("it is a folder", hint="name a file in it").at(file=str(path))
        if path.exists():
            if not force:
                hint = "name another, or put the backup in its place with --force"
                raise FileFailed("there is such a file already", hint=hint).at(file=str(path))
            if engine.dialect.name == "sqlite" and path.samefile(str(engine.url.database)):
                raise FileFailed("it is a store in use", hint="name another").at(file=str(path))
        for ending in _LEFT_BESIDE:
            if (left := path.with_name(path.name + ending)).exists():
                hint = f"name another, or, once the store of that name is in use no more, move {left.name} away"
                raise FileFailed(f"{left.name} is there, of a store in use or one that is gone", hint=hint).at(
                    file=str(path)
                )


@contextlib.contextmanager
def _folder_beside(path: Path) -> Iterator[Path]:
    folder = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    with files.failing("make the folder", folder):
        folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _url(path: Path) -> str:
    return f"sqlite:///{quote(str(path.absolute()))}"


def _back_up_online(engine: sa.Engine, made: Path, show: Callable[[str], None]) -> None:
    """SQLite's own way, inside a transaction: what others write meanwhile does not make it begin anew."""
    with reading(engine) as connection, _opened(made) as target:
        connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")  # the transaction begins with the first read
        source: Any = connection.connection.driver_connection
        source.backup(
            target,
            pages=_PAGES_A_STEP,
            progress=lambda _, left, total: show(f"{total - left} of {total} pages"),
        )


def _checked_count(made: Path) -> int:
    """How many records a backup has. Raises StoreFailed where it is damaged, as the store then is too."""
    with _opened(made) as connection:
        [(found,), *_] = connection.execute("PRAGMA quick_check").fetchall()
        if found != "ok":
            raise StoreFailed(f"the store is damaged, and no backup was made: {found}", hint="keep the earlier backup")
        return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with failing(sa.make_url(_url(path))), contextlib.closing(sqlite3.connect(path)) as connection:
        yield connection
