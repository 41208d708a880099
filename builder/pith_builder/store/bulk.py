"""Many new records in one transaction, several times as fast as one by one.

The rows come ready from the processes that signed them, in the order of their digests: neighbours in an index are then
written together, and writers beside each other never wait in a circle. On SQLite the ids are given here, which nobody
else can do meanwhile; on PostgreSQL the rows come by COPY into a table of the session, and one statement takes them
over.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from pith_builder.store.schema import current, earlier_blocks, records
from pith_builder.store.store import locked

_ASKED_AT_ONCE = 500
_WRITTEN_AT_ONCE = 2000


class NewRecord(NamedTuple):
    """A record's columns; digest of 32 bytes, `created_at` in record form, `recorded_at` in receipt form."""

    digest: bytes
    suffix: str
    arxiv_id: str
    version: int
    created_at: str
    said_at: str | None
    recorded_at: str
    canonical: bytes
    provenance: bytes
    paper: bytes
    snapshot: bytes
    receipt: bytes


class Common(msgspec.Struct, frozen=True):
    """What all records of a run have in common."""

    base_url: str
    surroundings: bytes
    key_fingerprint: str
    builder_version: str


class Known(NamedTuple):
    """What is there already of a paper; `is_plain` where nothing but its paper block could differ."""

    row_id: int
    digest: bytes
    paper: bytes
    said_at: str | None
    is_plain: bool


_KNOWN = (
    "SELECT id, canonical_sha256, paper, said_at, enrichment IS NULL AND layout IS NULL, arxiv_id "
    "FROM records WHERE arxiv_id"
)


def known(connection: sa.Connection, arxiv_ids: Iterable[str]) -> dict[str, list[Known]]:
    """The records of these papers that are in the store, by arXiv id."""
    found: dict[str, list[Known]] = {}
    for ids in _portions(sorted(set(arxiv_ids))):  # text of our own, since it is several times as fast
        if connection.dialect.name == "postgresql":
            rows = connection.exec_driver_sql(f"{_KNOWN} = ANY(%s)", (ids,))
        else:
            rows = connection.exec_driver_sql(f"{_KNOWN} IN ({', '.join('?' * len(ids))})", tuple(ids))
        for *row, arxiv_id in rows:
            found.setdefault(arxiv_id, []).append(Known(*row))
    return found


def insert(connection: sa.Connection, rows: Iterable[NewRecord], common: Common) -> set[bytes]:
    """Insert records in a transaction that writes; gives the digests of those that were new.

    The digests are all different, and the rows in their order. What others have put in meanwhile is passed over.
    """
    if connection.dialect.name == "postgresql":
        return _copy(connection, rows, common)
    return _insert_as_sole_writer(connection, rows, common)


def row_ids(connection: sa.Connection, digests: Iterable[bytes]) -> list[int]:
    """The rows of records with these digests."""
    query: sa.Select[Any] = sa.select(records.c.id).where(
        records.c.canonical_sha256.in_(sa.bindparam("digests", expanding=True))
    )
    return [
        row_id for asked in _portions(sorted(set(digests))) for row_id in connection.scalars(query, {"digests": asked})
    ]


def lock(connection: sa.Connection, ids: Iterable[int]) -> None:
    """Lock records by their row ids, in the order of these, until the transaction ends."""
    for some in _portions(sorted(set(ids))):
        locked(connection, current.c.record_id.in_(some))


def _portions(items: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), _ASKED_AT_ONCE):
        yield items[start : start + _ASKED_AT_ONCE]


def earlier_provenance(connection: sa.Connection, digest: bytes, before: str) -> list[bytes]:
    """Where earlier blocks of a record came from, if it came in before a time (receipt form)."""
    query = (
        sa.select(earlier_blocks.c.provenance)
        .join(records, records.c.id == earlier_blocks.c.record_id)
        .where(records.c.canonical_sha256 == digest, records.c.recorded_at < before)
    )
    return list(connection.scalars(query))


def say_again(connection: sa.Connection, said: list[tuple[str, int]]) -> None:
    """Note for each `(said_at, row id)` that the source of a record has said the same again, if later than before."""
    if said:
        mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
        later = f"said_at IS NULL OR said_at < {mark}"
        rows = [(said_at, row_id, said_at) for said_at, row_id in said]
        connection.exec_driver_sql(f"UPDATE records SET said_at = {mark} WHERE id = {mark} AND ({later})", rows)


# --- SQLite -----------------------------------------------------------------------------------------------------

_SQLITE_RECORDS = """
    INSERT INTO records (id, canonical_sha256, suffix, arxiv_id, version, base_url, created_at, said_at, recorded_at,
                         canonical, provenance, paper, snapshot, surroundings)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_SQLITE_RECEIPTS = "INSERT INTO receipts (id, record_id, receipt, recorded_at) VALUES (?, ?, ?, ?)"
_SQLITE_CURRENT = """
    INSERT INTO current (record_id, receipt_id, updated_at, key_fingerprint, receipt_builder) VALUES (?, ?, ?, ?, ?)"""


def _insert_as_sole_writer(connection: sa.Connection, rows: Iterable[NewRecord], common: Common) -> set[bytes]:
    first, receipt = (
        (connection.exec_driver_sql(f"SELECT max(id) FROM {table}").scalar() or 0) + 1
        for table in ("records", "receipts")
    )
    base_url, surroundings = common.base_url, common.surroundings
    key = (common.key_fingerprint, common.builder_version)
    inserted: set[bytes] = set()
    waiting = iter(rows)
    while some := list(itertools.islice(waiting, _WRITTEN_AT_ONCE)):
        connection.exec_driver_sql(
            _SQLITE_RECORDS, [(n, *row[:4], base_url, *row[4:11], surroundings) for n, row in enumerate(some, first)]
        )
        signed = [(receipt + n, first + n, row[11], row[6]) for n, row in enumerate(some)]
        connection.exec_driver_sql(_SQLITE_RECEIPTS, signed)
        named = [(first + n, receipt + n, row[4], *key) for n, row in enumerate(some)]
        connection.exec_driver_sql(_SQLITE_CURRENT, named)
        first, receipt = first + len(some), receipt + len(some)
        inserted.update(row.digest for row in some)
    return inserted


# --- PostgreSQL -------------------------------------------------------------------------------------------------

_STAGED = """
    CREATE TEMPORARY TABLE IF NOT EXISTS bulk_records (
        canonical_sha256 bytea, suffix text, arxiv_id text, version integer, created_at text, said_at text,
        recorded_at text, canonical bytea, provenance bytea, paper bytea, snapshot bytea, receipt bytea
    ) ON COMMIT DELETE ROWS"""
_TYPES = ("bytea", "text", "text", "int4", "text", "text", "text", "bytea", "bytea", "bytea", "bytea", "bytea")
_TAKE_OVER = """
    WITH new AS (
        INSERT INTO records (canonical_sha256, suffix, arxiv_id, version, base_url, created_at, said_at, recorded_at,
                             canonical, provenance, paper, snapshot, surroundings)
        SELECT canonical_sha256, suffix, arxiv_id, version, %(base_url)s, created_at, said_at, recorded_at,
               canonical, provenance, paper, snapshot, %(surroundings)s
        FROM bulk_records ORDER BY canonical_sha256
        ON CONFLICT DO NOTHING
        RETURNING id, canonical_sha256
    ), signed AS (
        INSERT INTO receipts (record_id, receipt, recorded_at)
        SELECT new.id, staged.receipt, staged.recorded_at
        FROM new JOIN bulk_records AS staged USING (canonical_sha256) ORDER BY new.id
        RETURNING id, record_id
    ), named AS (
        INSERT INTO current (record_id, receipt_id, updated_at, key_fingerprint, receipt_builder)
        SELECT new.id, signed.id, staged.created_at, %(key_fingerprint)s, %(builder_version)s
        FROM new JOIN signed ON signed.record_id = new.id JOIN bulk_records AS staged USING (canonical_sha256)
        ORDER BY new.id
    )
    SELECT canonical_sha256 FROM new"""


def _copy(connection: sa.Connection, rows: Iterable[NewRecord], common: Common) -> set[bytes]:
    connection.exec_driver_sql(_STAGED)
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy("COPY bulk_records FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(_TYPES)
        for row in rows:
            copy.write_row(row)
    new = connection.exec_driver_sql(_TAKE_OVER, msgspec.structs.asdict(common))
    return {bytes(digest) for digest in new.scalars()}
