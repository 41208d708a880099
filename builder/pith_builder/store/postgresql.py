"""A store in a PostgreSQL database: many writers side by side, each holding no more than the rows that it changes.

A transaction that writes sees what others committed before each of its statements (READ COMMITTED), so what it reads
and then writes it locks first: the lock of a record is its row of `current`. One that only reads sees one state of the
store (REPEATABLE READ).
"""

from __future__ import annotations

import os
import secrets
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from pith_builder.errors import StoreFailed, shown

FORM = "postgresql://user@host/database"
_GIVE_IT = f"give it as {FORM}"
READ: dict[str, Any] = {"isolation_level": "REPEATABLE READ"}
WRITE: dict[str, Any] = {}
HOLD: dict[str, Any] = READ

_LOCK_TIMEOUT_MS = 60_000
_MIGRATION_LOCK = 0x7069_7468_2D62_6C64  # "pith-bld": any number that no one else in the database takes

#: Parameters of a connection that say where it goes and are no secret; the others stay out of what is printed.
_PLACES = ("host", "port")

#: What to do next, by the beginning of the error's SQLSTATE.
_HINTS = {
    "08": "look after the server and run the same command again; nothing was half-written",
    "28": "look at user and password; a password may be in ~/.pgpass",
    "25006": "the server takes no writes; name the one that does",
    "3D000": "make the database first: createdb NAME",
    "40": "another process was in the way; run the same command again, nothing was half-written",
    "42501": "the user may not do this; make the database its own: createdb --owner USER NAME",
    "53100": "make room on the server's disk; nothing was half-written",
    "53": "the server has no more to give; try again when others are done",
    "55P03": "another process holds it; try again when it is done",
    "57": "look after the server and run the same command again; nothing was half-written",
    "XX001": "restore the store from a backup, or name another with --store",
}
#: The same where it has none, since there was no connection, or is none any more.
_UNREACHABLE = (
    "is the server running, and does the URL name its host, user and database? createdb makes a database, a password "
    "may be in ~/.pgpass; nothing was half-written, and the same command can be run again"
)

#: The connections of each engine, and those that a child process has of its parent, who alone may use and close them.
_connections: weakref.WeakKeyDictionary[sa.Engine, set[Any]] = weakref.WeakKeyDictionary()
_of_parent: list[Any] = []


def make_engine(url: sa.URL) -> sa.Engine:
    """An engine that has not connected yet. Raises StoreFailed for a URL that libpq does not take."""
    if url.drivername not in ("postgresql", "postgresql+psycopg"):
        raise StoreFailed(f"{url.drivername} is no driver that this version knows", hint=_GIVE_IT)
    try:
        from psycopg import pq
    except ImportError as error:
        raise StoreFailed(
            f"a store on PostgreSQL needs psycopg: {error}", hint="pip install 'pith-build[postgres]'"
        ) from None
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    unknown = {name: value for name, value in url.query.items() if name not in known}
    if "@" in f"{url.host}{url.database}{unknown}":  # what stands before it may be a password, or a part of one
        raise StoreFailed(
            "the store's URL has an @ where none can be", hint=f"{_GIVE_IT}; write the @ of a password as %40"
        )
    for name in unknown:
        raise StoreFailed(f"the store {place(url)}: {shown(name)} is no parameter of a connection", hint=_GIVE_IT)
    engine = sa.create_engine(
        _without_secrets(url).set(drivername="postgresql+psycopg", password=url.password),
        connect_args={
            "fallback_application_name": "pith-build",
            "client_encoding": "UTF8",
            **{name: value for name, value in url.query.items() if name not in _PLACES},
        },
        isolation_level="READ COMMITTED",  # whatever the server's default is
        pool_size=1,
        max_overflow=3,
        pool_pre_ping=True,  # the server may have gone and come back while papers were read or a passphrase typed
    )
    _follow(engine)
    event.listen(engine, "connect", _configure)
    return engine


def place(url: sa.URL) -> str:
    """Its URL, without what is secret."""
    return _without_secrets(url).set(drivername="postgresql").render_as_string()


def exists(_: sa.Engine) -> bool:
    """Always: where there is no database, connecting says so."""
    return True


def is_begun(_: sa.Engine) -> bool:
    """Never: the schema is made in one transaction, and a database without it is no store yet."""
    return False


@contextmanager
def migrating(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction in which no other process makes or migrates the store."""
    with engine.begin() as connection:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        yield connection


def insert_new(table: sa.Table) -> sa.Insert:
    """An INSERT that passes over a row that is there already."""
    from sqlalchemy.dialects.postgresql import insert  # needed with such a store alone

    return insert(table).on_conflict_do_nothing()


def moment(connection: sa.Connection) -> str:
    """The name of what the transaction sees, for others while it lasts."""
    return str(connection.scalar(sa.text("SELECT pg_export_snapshot()")))


def begin_at(connection: sa.Connection, moment: str) -> None:
    """See what that transaction sees; nothing was read in this one yet."""
    connection.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{moment}'")


def is_same(one: sa.Connection, other: sa.Connection) -> bool:
    """Whether both are to one database and its same tables: then a lock that one has keeps the other out.

    The lock is of this call alone, by a number that no one else draws, and needs no privilege.
    """
    key = {"drawn": secrets.randbits(31)}
    one.execute(sa.text("SELECT pg_advisory_xact_lock(:drawn, 'records'::regclass::oid::int)"), key)
    return not other.scalar(sa.text("SELECT pg_try_advisory_xact_lock(:drawn, 'records'::regclass::oid::int)"), key)


def explained(error: BaseException) -> tuple[str, str]:
    """What the server or libpq says, on one line and without the values of a row, and what to do next."""
    import psycopg

    if not isinstance(error, psycopg.Error):
        return str(error), ""
    reason = error.diag.message_primary or " ".join(str(error).split())
    if error.sqlstate is None:
        is_of_connection = isinstance(error, psycopg.OperationalError | psycopg.ProgrammingError)
        return reason, _UNREACHABLE if is_of_connection else ""
    codes = (error.sqlstate, error.sqlstate[:2])
    return reason, next((_HINTS[code] for code in codes if code in _HINTS), "")


def _without_secrets(url: sa.URL) -> sa.URL:
    return url.set(query={name: url.query[name] for name in _PLACES if name in url.query})


def _configure(connection: Any, _: object) -> None:
    # A lock is not waited for for ever, and a commit is on the disk when it returns, unless the administrator has
    # chosen more than that.
    with connection.cursor() as cursor:
        for name, weak, strong in (("lock_timeout", "0", f"{_LOCK_TIMEOUT_MS}ms"), ("synchronous_commit", "off", "on")):
            cursor.execute(
                "SELECT set_config(%s, %s, false) WHERE current_setting(%s) = %s", (name, strong, name, weak)
            )
    connection.commit()


def _follow(engine: sa.Engine) -> None:
    """Close the connections of an engine when nobody needs it any more, or when the process ends."""
    connections: set[Any] = set()
    event.listen(engine, "connect", lambda connection, _: connections.add(connection))
    event.listen(engine, "close", lambda connection, _: connections.discard(connection))
    weakref.finalize(engine, _close, connections)
    _connections[engine] = connections


def _close(connections: set[Any]) -> None:
    for connection in connections:
        connection.close()


def _leave_to_parent() -> None:
    for engine, connections in _connections.items():
        _of_parent.extend(connections)
        connections.clear()
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_leave_to_parent)
