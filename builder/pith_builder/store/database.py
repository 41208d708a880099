"""The database behind a store: opening it, and bringing it to the newest schema, one process at a time.

What differs between the databases is in `sqlite.py` and `postgresql.py`, two modules of one shape.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from pith_builder.errors import NotFound, StoreFailed
from pith_builder.store import postgresql, sqlite

#: The newest migration in migrations/versions.
NEWEST = "0004"

logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)  # an interrupt is no news to log with a traceback


class Kind(Protocol):
    """A kind of database that a store may be in."""

    FORM: str
    READ: dict[str, Any]
    WRITE: dict[str, Any]
    HOLD: dict[str, Any]

    def make_engine(self, url: sa.URL) -> sa.Engine: ...

    def place(self, url: sa.URL) -> str: ...

    def exists(self, engine: sa.Engine) -> bool: ...

    def is_begun(self, engine: sa.Engine) -> bool: ...

    def migrating(self, engine: sa.Engine) -> AbstractContextManager[sa.Connection]: ...

    def insert_new(self, table: sa.Table) -> sa.Insert: ...

    def moment(self, connection: sa.Connection) -> str: ...

    def begin_at(self, connection: sa.Connection, moment: str) -> None: ...

    def is_same(self, one: sa.Connection, other: sa.Connection) -> bool: ...

    def explained(self, error: BaseException) -> tuple[str, str]: ...


_KINDS: dict[str, Kind] = {"sqlite": sqlite, "postgresql": postgresql}
_FORMS = " or ".join(kind.FORM for kind in _KINDS.values())


@contextmanager
def failing(url: sa.URL) -> Iterator[None]:
    """Turn the database's errors inside into StoreFailed."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        kind = _KINDS[url.get_backend_name()]
        reason, hint = kind.explained(getattr(error, "orig", None) or error)
        raise StoreFailed(f"the store {kind.place(url)}: {reason}", hint=hint) from None


def open_engine(url_text: str, *, create: bool = True) -> sa.Engine:
    """An engine on the store's database, migrated where needed.

    Raises StoreFailed, or NotFound where there is no store and none is to be created.
    """
    kind, engine = _unopened(url_text)
    with failing(engine.url):
        found = _found_revision(kind, engine)
        if found is None and not create and not kind.is_begun(engine):
            raise NotFound(
                f"there is no store yet at {kind.place(engine.url)}",
                hint="issuing a paper makes one: pith-build issue ID",
            )
        if found != NEWEST:
            _migrate(engine, kind)
    return engine


def revision(url_text: str) -> str | None:
    """The revision of a store's schema, None where there is no store; nothing is made. Raises StoreFailed."""
    kind, engine = _unopened(url_text)
    with failing(engine.url):
        return _found_revision(kind, engine)


def place(engine: sa.Engine) -> str:
    """Where a store is, without what is secret."""
    return _KINDS[engine.dialect.name].place(engine.url)


def is_same(one: sa.Connection, other: sa.Connection) -> bool:
    """Whether two connections, each in a transaction, are to one store, whatever its URLs are."""
    name = one.dialect.name
    return name == other.dialect.name and _KINDS[name].is_same(one, other)


def _unopened(url_text: str) -> tuple[Kind, sa.Engine]:
    try:
        url = sa.make_url(url_text)
    except (SQLAlchemyError, ValueError):
        raise StoreFailed("this is no store URL", hint=f"give it as {_FORMS}") from None
    kind = _KINDS.get(url.get_backend_name())
    if kind is None:
        raise StoreFailed(f"{url.drivername} is no store that this version knows", hint=f"give it as {_FORMS}")
    return kind, kind.make_engine(url)


def _found_revision(kind: Kind, engine: sa.Engine) -> str | None:
    if not kind.exists(engine):
        return None
    with engine.begin() as connection:
        return _revision(connection, kind)


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that writes.

    On SQLite it holds the write lock from its beginning. On PostgreSQL others write beside it: what it reads and then
    writes it locks first, by `locked`.
    """
    with _transaction(engine, _KINDS[engine.dialect.name].WRITE) as connection:
        yield connection


@contextmanager
def reading(engine: sa.Engine, at: str | None = None) -> Iterator[sa.Connection]:
    """A transaction that sees one state of the store; that of a `moment` which still lasts, where one is given."""
    kind = _KINDS[engine.dialect.name]
    with _transaction(engine, kind.READ) as connection:
        if at is not None:
            kind.begin_at(connection, at)
        yield connection


@contextmanager
def moment(engine: sa.Engine) -> Iterator[tuple[str, sa.Connection]]:
    """A moment whose one state many transactions see, in whatever processes: those of `reading` that begin meanwhile.

    Gives its name, and a connection that sees it too. On SQLite nobody writes while it lasts.
    """
    kind = _KINDS[engine.dialect.name]
    with _transaction(engine, kind.HOLD) as connection:
        yield kind.moment(connection), connection


@contextmanager
def _transaction(engine: sa.Engine, options: dict[str, Any]) -> Iterator[sa.Connection]:
    with failing(engine.url), engine.connect() as connection:
        connection.execution_options(**options)
        with connection.begin():
            yield connection


def insert_new(connection: sa.Connection, table: sa.Table) -> sa.Insert:
    """An INSERT that passes over a row that is there already (ON CONFLICT DO NOTHING)."""
    return _KINDS[connection.dialect.name].insert_new(table)


def _revision(connection: sa.Connection, kind: Kind) -> str | None:
    names = sa.inspect(connection).get_table_names()
    if names and "alembic_version" not in names:
        raise StoreFailed(
            f"{kind.place(connection.engine.url)} is a database of something else", hint="name another with --store"
        )
    return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() if names else None


def _migrate(engine: sa.Engine, kind: Kind) -> None:
    from alembic import command  # heavy, and only needed here
    from alembic.config import Config
    from alembic.util import CommandError

    with kind.migrating(engine) as connection:
        if _revision(connection, kind) == NEWEST:  # another process was here first
            return
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, NEWEST)
        except CommandError as error:
            raise StoreFailed(
                f"the store {kind.place(engine.url)} has a schema that this version doesn't know: {error}",
                hint="use the version of pith-build that wrote it, or a newer one",
            ) from None
