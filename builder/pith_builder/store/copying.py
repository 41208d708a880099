"""A whole store in another database: all but its checks and corpus runs, ids kept, whichever two databases they are.

The source is read in one transaction, so that the copy is of one moment although others write on. The target gets
batches in the order of ids, each a transaction of its own; after a kill the same run goes on. What the target has
must be a part of the source: its rows stand in the source too, and are the same there, or earlier states of those rows
that a store changes. At the end both sides are compared, row by row, through a SHA-256 over each table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder.errors import StoreFailed
from pith_builder.store.database import is_same, place, reading, writing
from pith_builder.store.schema import metadata

BATCH = 500

#: What is true of one database alone: it was checked, and a corpus run that stopped goes on in it.
_OF_ONE_DATABASE = ("checks", "corpus_runs")

#: In an order that keys allow, and `current` last: in a copy that is not done, a record that is found is whole.
TABLES = sorted(
    (table for table in metadata.sorted_tables if table.name not in _OF_ONE_DATABASE),
    key=lambda table: table.name == "current",
)

#: What a store changes in a row that it has. Everything else, and all of the tables that aren't here, stays for ever.
_CHANGING = {
    "records": {
        *("base_url", "created_at", "said_at", "withdrawn"),
        *("provenance", "paper", "snapshot", "surroundings", "enrichment", "layout"),
    },
    "current": {"receipt_id", "updated_at", "key_fingerprint", "receipt_builder"},
    "harvests": {"token", "covers_to", "pages", "records", "finished_at"},
}


class TargetDiffers(StoreFailed):
    """The target of a copy holds what is no part of the source, or came out different."""

    code = "target_differs"


class Copied(msgspec.Struct):
    """How a table went: rows of the source so far, of which so many were new to the target or changed in it."""

    table: str
    rows: int = 0
    new: int = 0
    changed: int = 0
    sha256: str = ""


class Copy:
    """One run. `tables` are those that are done, and the one that is being copied."""

    def __init__(self, source: sa.Engine, target: sa.Engine) -> None:
        self._source, self._target = source, target
        self.tables: list[Copied] = []

    def run(self) -> Iterator[Copied]:
        """Copy everything; gives the table as it stands after each batch.

        Raises TargetDiffers before anything is written, or at the end if the two are not the same; StoreFailed, also
        where the target is the source.
        """
        with reading(self._source) as source:
            self._refuse_itself(source)
            self._check_target(source)
            for table in TABLES:
                yield from self._copy(source, table)
        self._compare()

    def _refuse_itself(self, source: sa.Connection) -> None:
        with reading(self._target) as target:
            if is_same(source, target):
                raise StoreFailed(
                    f"{place(self._target)} is the store that is to be copied", hint="name another database"
                )

    def _check_target(self, source: sa.Connection) -> None:
        with reading(self._target) as target:
            for table in TABLES:
                key = _key(table)
                for theirs in _batches(target, table):
                    ours = _by_key(source, table, key.in_([row[0] for row in theirs]))
                    for row in theirs:
                        if objection := _objection(table, row, ours.get(row[0])):
                            raise TargetDiffers(
                                f"{place(self._target)} is no copy of this store: row {row[0]} of its table "
                                f"{table.name} {objection}",
                                hint="name a database that is empty, or in which an earlier copy stopped",
                            )

    def _copy(self, source: sa.Connection, table: sa.Table) -> Iterator[Copied]:
        copied = Copied(str(table.name))
        self.tables.append(copied)
        digest = hashlib.sha256()
        for rows in _batches(source, table):
            with writing(self._target) as target:
                _put(target, table, rows, copied)
            copied.rows += len(rows)
            _update(digest, rows)
            yield copied
        copied.sha256 = digest.hexdigest()
        self._set_sequence(table)

    def _set_sequence(self, table: sa.Table) -> None:
        """PostgreSQL gives ids from a sequence, which knows nothing of ids that came along."""
        if self._target.dialect.name == "postgresql" and table.columns[0].identity is not None:
            with writing(self._target) as target:
                target.exec_driver_sql(
                    f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), max(id)) FROM {table.name}"
                )

    def _compare(self) -> None:
        with reading(self._target) as target:
            for table, copied in zip(TABLES, self.tables, strict=True):
                digest, count = hashlib.sha256(), 0
                for rows in _batches(target, table):
                    count += len(rows)
                    _update(digest, rows)
                if (count, digest.hexdigest()) != (copied.rows, copied.sha256):
                    raise TargetDiffers(
                        f"the table {table.name} has {copied.rows} rows and {count} in the copy, or they differ",
                        hint="let nobody write into the copy, and run the same command again",
                    )


def _key(table: sa.Table) -> sa.Column[int]:
    [key] = table.primary_key.columns
    return key


def _batches(connection: sa.Connection, table: sa.Table) -> Iterator[list[sa.Row[Any]]]:
    """All rows of a table in the order of their key, which is their first column."""
    key = _key(table)
    query: sa.Select[Any] = sa.select(table).order_by(key).limit(BATCH)
    rows = list(connection.execute(query))
    while rows:
        yield rows
        rows = list(connection.execute(query.where(key > rows[-1][0])))


def _by_key(connection: sa.Connection, table: sa.Table, condition: sa.ColumnElement[bool]) -> dict[int, sa.Row[Any]]:
    query: sa.Select[Any] = sa.select(table).where(condition)
    return {row[0]: row for row in connection.execute(query)}


def _objection(table: sa.Table, theirs: sa.Row[Any], ours: sa.Row[Any] | None) -> str | None:
    """Why a row of the target is no part of the source; None if it is."""
    if ours is None:
        return "is not in the source"
    changing = _CHANGING.get(table.name, set())
    for column, a, b in zip(table.columns.keys(), theirs, ours, strict=True):
        if a != b and column not in changing:
            return f"is another one in the source: its {column} differs"
    return "is newer there" if _is_ahead(table, theirs, ours) else None


def _is_ahead(table: sa.Table, theirs: sa.Row[Any], ours: sa.Row[Any]) -> bool:
    """Whether a row of the target was changed there in a way that leaves no row of its own, as all others do."""
    if table.name == "records":
        is_withdrawn = theirs.withdrawn is not None and theirs.withdrawn != ours.withdrawn
        return is_withdrawn or str(theirs.said_at or "") > str(ours.said_at or "")  # a damaged one is of any type
    return table.name == "harvests" and (theirs.pages, theirs.finished_at or "") > (ours.pages, ours.finished_at or "")


def _put(target: sa.Connection, table: sa.Table, rows: list[sa.Row[Any]], copied: Copied) -> None:
    """Bring these rows of the source, neighbours in the order of the key, into the target."""
    name, key = table.name, _key(table)
    if target.dialect.name == "postgresql":
        target.exec_driver_sql(f"LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE")  # what is read stays so
    there = _by_key(target, table, key.between(rows[0][0], rows[-1][0]))
    columns = table.columns.keys()
    new = [dict(row._mapping) for row in rows if row[0] not in there]
    changed = [dict(row._mapping) for row in rows if row[0] in there and tuple(there[row[0]]) != tuple(row)]
    if new:
        overriding = " OVERRIDING SYSTEM VALUE" if target.dialect.name == "postgresql" else ""
        values = ", ".join(f":{column}" for column in columns)
        target.execute(sa.text(f"INSERT INTO {name} ({', '.join(columns)}){overriding} VALUES ({values})"), new)
    if changed:
        if name not in _CHANGING:
            raise TargetDiffers(f"somebody else writes into {name} of the copy", hint="let nobody write into it")
        changes = ", ".join(f"{column} = :{column}" for column in columns if column in _CHANGING[name])
        target.execute(sa.text(f"UPDATE {name} SET {changes} WHERE {key.name} = :{key.name}"), changed)
    copied.new += len(new)
    copied.changed += len(changed)


def _update(digest: Any, rows: list[sa.Row[Any]]) -> None:
    for row in rows:
        digest.update(msgspec.msgpack.encode(tuple(row)))
