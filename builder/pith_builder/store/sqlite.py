"""A store in a SQLite file: one writer at a time, any number of readers, and a lock file around its making."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects.sqlite import insert

from pith_builder import files
from pith_builder.errors import StoreFailed

FORM = "sqlite:////absolute/path/pith.db"
READ: dict[str, Any] = {}
WRITE: dict[str, Any] = {"write": True}
HOLD: dict[str, Any] = WRITE

_BUSY_TIMEOUT_MS = 60_000

#: Of new stores. A record's row has about 3 KB: in SQLite's usual pages of 4 KB, a quarter of each would stay empty.
_PAGE_BYTES = 16_384


def make_engine(url: sa.URL) -> sa.Engine:
    """An engine that makes no file before it is asked something. Raises StoreFailed for a URL of no file."""
    is_file = url.drivername in ("sqlite", "sqlite+pysqlite") and not (url.query or url.host or url.port)
    if not is_file or not url.database or url.database == ":memory:":
        raise StoreFailed(
            f"{url.set(query={}).render_as_string()} is no store that this version knows", hint=f"give it as {FORM}"
        )
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def place(url: sa.URL) -> str:
    """Its path."""
    return str(url.database)


def exists(engine: sa.Engine) -> bool:
    """Whether there is a file with anything in it."""
    path = Path(place(engine.url))
    return path.exists() and path.stat().st_size > 0


def is_begun(engine: sa.Engine) -> bool:
    """Whether someone has begun to make the store: there is a file, though it may be empty."""
    return Path(place(engine.url)).exists()


@contextmanager
def migrating(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction in which no other process makes or migrates the store."""
    path = Path(place(engine.url))
    files.make_folder(path.parent)
    with files.locked(path.with_name(f"{path.name}.lock")):
        with engine.connect() as connection:  # WAL is kept in the file, and can't be set in a transaction
            connection.connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # heeded while the file is empty
            connection.connection.execute("PRAGMA journal_mode = WAL")
        with engine.execution_options(**WRITE).begin() as connection:
            yield connection


def insert_new(table: sa.Table) -> sa.Insert:
    """An INSERT that passes over a row that is there already."""
    return insert(table).on_conflict_do_nothing()


def moment(_: sa.Connection) -> str:
    """Nothing: nobody writes while the transaction holds the write lock, so all who begin meanwhile see one state."""
    return ""


def begin_at(connection: sa.Connection, _: str) -> None:
    """Read something: what a transaction sees is fixed by its first read."""
    connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")


def is_same(one: sa.Connection, other: sa.Connection) -> bool:
    """Whether both are to one file, under whatever name."""
    return Path(place(one.engine.url)).samefile(place(other.engine.url))


def explained(error: BaseException) -> tuple[str, str]:
    """What SQLite says, and what to do next."""
    reason = str(error)
    if "locked" in reason:
        return reason, "another process holds it; try again when it is done"
    if "full" in reason or "disk I/O" in reason:
        return reason, "make room on the disk; nothing was half-written"
    if "not a database" in reason or "malformed" in reason:
        return reason, "restore the store from a backup, or name another with --store"
    return reason, ""


def _configure(connection: Any, _: object) -> None:
    connection.isolation_level = None  # BEGIN is ours: see _begin
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin(connection: sa.Connection) -> None:
    write = connection.get_execution_options().get("write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
