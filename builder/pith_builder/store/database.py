"""The database behind a store: opening it, and bringing it to the newest schema, one process at a time."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from pith_builder import files
from pith_builder.errors import NotFound, StoreFailed

#: The newest migration in migrations/versions.
NEWEST = "0002"

logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)  # an interrupt is no news to log with a traceback

_BUSY_TIMEOUT_MS = 60_000


@contextmanager
def failing(url: sa.URL) -> Iterator[None]:
    """Turn the database's errors inside into StoreFailed."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        reason = str(getattr(error, "orig", None) or error)
        raise StoreFailed(f"the store {url.render_as_string()}: {reason}", hint=_hint(reason)) from None


def _hint(reason: str) -> str:
    if "locked" in reason:
        return "another process holds it; try again when it is done"
    if "full" in reason or "disk I/O" in reason:
        return "make room on the disk; nothing was half-written"
    if "not a database" in reason or "malformed" in reason:
        return "restore the store from a backup, or name another with --store"
    return ""


def open_engine(url_text: str, *, create: bool = True) -> sa.Engine:
    """An engine on the store's database, migrated where needed.

    Raises StoreFailed, or NotFound where there is no store and none is to be created.
    """
    try:
        url = sa.make_url(url_text)
    except (SQLAlchemyError, ValueError):
        raise StoreFailed("this is no store URL", hint="give it as sqlite:////absolute/path/pith.db") from None
    is_sqlite = url.drivername in ("sqlite", "sqlite+pysqlite") and not (url.query or url.host or url.port)
    if not is_sqlite or not url.database or url.database == ":memory:":
        raise StoreFailed(
            f"{url.render_as_string()} is no store that this version knows",
            hint="give it as sqlite:////absolute/path/pith.db",
        )
    path = Path(url.database)
    if not create and not path.exists():
        raise NotFound(f"there is no store yet at {path}", hint="issuing a paper makes one: pith-build issue ID")
    files.make_folder(path.parent)
    with failing(url):
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        event.listen(engine, "connect", _configure)
        event.listen(engine, "begin", _begin)
        if _revision(engine, path) != NEWEST:
            _migrate(engine, path)
    return engine


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that holds the write lock from its beginning: what it read can't change before it writes."""
    with failing(engine.url), engine.execution_options(write=True).begin() as connection:
        yield connection


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that sees one state of the store."""
    with failing(engine.url), engine.begin() as connection:
        yield connection


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


def _revision(engine: sa.Engine, path: Path) -> str | None:
    if not path.exists() or path.stat().st_size == 0:
        return None
    with engine.begin() as connection:
        names = set(connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars())
        if names and "alembic_version" not in names:
            raise StoreFailed(f"{path} is a database of something else", hint="name another with --store")
        return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() if names else None


def _migrate(engine: sa.Engine, path: Path) -> None:
    from alembic import command  # heavy, and only needed here
    from alembic.config import Config
    from alembic.util import CommandError

    with files.locked(path.with_name(f"{path.name}.lock")):
        if _revision(engine, path) == NEWEST:
            return
        with engine.connect() as connection:  # WAL is kept in the file, and can't be set in a transaction
            connection.connection.execute("PRAGMA journal_mode = WAL")
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
        with engine.execution_options(write=True).begin() as connection:
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, NEWEST)
            except CommandError as error:
                raise StoreFailed(
                    f"the store {path} has a schema that this version doesn't know: {error}",
                    hint="use the version of pith-build that wrote it, or a newer one",
                ) from None
