"""The check of a whole store: every record as `verify` sees it, and every earlier receipt against its digest.

A check that runs to its end is recorded in the store, with the newest receipt that it saw, so that a reissue may be
told to trust it. In an unfinished copy it is not: a row that the source doesn't have would keep the copy from going on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder import times
from pith_builder.errors import PithError
from pith_builder.keyring import KeyRing
from pith_builder.published import PithRecord
from pith_builder.receipt import Receipt
from pith_builder.store.aliases import unfinished
from pith_builder.store.database import reading, writing
from pith_builder.store.schema import checks, receipts, records
from pith_builder.store.store import EVERY, Store, stored_record
from pith_builder.times import Clock
from pith_builder.verify import verify

BATCH = 500


class Counts(msgspec.Struct):
    """How a check goes: records so far, those that failed among them, and how many there were when it began."""

    total: int
    checked: int = 0
    failed: int = 0


def check_store(store: Store, ring: KeyRing, clock: Clock, failed: Callable[[str, str], None]) -> Iterator[Counts]:
    """Check all records; `failed` is told number and reason of each that fails. Gives the counts after each batch."""
    begun = times.receipt_time(clock())
    with reading(store.engine) as connection:
        _settle(connection)
        newest = connection.scalar(sa.select(sa.func.max(receipts.c.id))) or 0
        counts = Counts(connection.scalar(sa.select(sa.func.count()).select_from(records)) or 0)
    last, is_whole = 0, True
    while True:
        with reading(store.engine) as connection:
            rows = rows_behind(connection, last)
            for number, reason in faults(connection, rows, ring):
                counts.failed += 1
                failed(number, reason)
        counts.checked += len(rows)
        is_whole = is_whole and all(row.record_id is not None for row in rows)
        yield counts
        if not rows:
            break
        last = rows[-1].id
    if not (is_whole and counts.checked):  # a copy that has not come to its records is empty
        return
    with writing(store.engine) as connection:
        connection.execute(
            checks.insert().values(
                checked_at=begun, last_receipt_id=newest, records=counts.checked, failed=counts.failed
            )
        )


def _settle(connection: sa.Connection) -> None:
    """Wait until no transaction is open that has added a receipt; then every receipt up to the newest is seen.

    On PostgreSQL ids come from a sequence, and one that is given first may be committed last: a receipt that the check
    never saw, since its record came in behind it, would stand below the newest and count as checked for ever. SHARE
    excludes everyone who inserts, from the INSERT to the end of the transaction, and the id is given by the INSERT
    itself (GENERATED ALWAYS), after it has its lock on the table. So under this lock all lower ids are committed or
    void, and all later ones will be higher than the newest. The lock comes before the first SELECT, which fixes what
    this transaction sees. SQLite has one writer, and gives ids in the order of commits.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE receipts IN SHARE MODE")


def rows_behind(connection: sa.Connection, last: int, until: int | None = None) -> Sequence[sa.Row[Any]]:
    """The next rows of records in the order of their id, behind this one and up to that; none at the end."""
    query = EVERY.where(records.c.id > last).order_by(records.c.id).limit(BATCH)
    return connection.execute(query if until is None else query.where(records.c.id <= until)).all()


def faults(connection: sa.Connection, rows: Sequence[sa.Row[Any]], ring: KeyRing) -> Iterator[tuple[str, str]]:
    """Number and reason of each that fails of these rows, which are neighbours by id."""
    histories = _histories(connection, rows)
    for row in rows:
        if reason := _fault(row, histories.get(row.id, []), ring):
            yield f"pith:{row.suffix}", reason


def _histories(connection: sa.Connection, rows: Sequence[sa.Row[Any]]) -> dict[int, list[sa.Row[Any]]]:
    """Id and receipt of all receipts of these records, oldest first, by the record's id."""
    if not rows:
        return {}
    order = (receipts.c.record_id, receipts.c.id)
    of_these: sa.Select[Any] = sa.select(*order, receipts.c.receipt).order_by(*order)
    found: dict[int, list[sa.Row[Any]]] = {}
    for receipt in connection.execute(of_these.where(receipts.c.record_id.between(rows[0].id, rows[-1].id))):
        found.setdefault(receipt.record_id, []).append(receipt)
    return found


def _fault(row: sa.Row[Any], history: list[sa.Row[Any]], ring: KeyRing) -> str | None:
    if row.record_id is None:
        return f"has no newest receipt; {unfinished(row.suffix).hint}"
    try:
        record = stored_record(row).record
    except PithError as error:
        return error.message
    if reason := _misplaced(row, record):
        return reason
    report = verify(record, ring)
    if not report.ok:
        return "; ".join(f"{check.name}: {check.reason}" for check in report.failed)
    if (record.receipt.public_key_fingerprint, record.receipt.builder_version) != (
        row.key_fingerprint,
        row.receipt_builder,
    ):
        return "the row names another key or builder than its newest receipt"
    if not history or row.receipt_id != history[-1].id:
        return "the row names a receipt that is not its newest"
    for earlier in history:
        try:
            receipt = msgspec.json.decode(earlier.receipt, type=Receipt)
        except (msgspec.MsgspecError, UnicodeError, TypeError):
            return "a receipt of its history can't be read"
        key = ring.find(receipt.key_id, receipt.public_key_fingerprint)
        if key is not None and not receipt.is_signed_by(key.public_key, row.canonical_sha256):
            return f"a receipt of its history is not {key.key_id}'s over its digest"
    return None


def _misplaced(row: sa.Row[Any], record: PithRecord) -> str | None:
    """What is wrong with the columns by which a record is found and ordered."""
    source = record.canonical_record.source
    if record.number.suffix != row.suffix:
        return "the row stands under another number"
    if (source.id, source.version) != (row.arxiv_id, row.version):
        return "the row stands under another paper"
    if times.parse_receipt_time(row.recorded_at) is None:
        return "the row's recorded_at is no time"
    if row.said_at is not None and times.parse_seconds(row.said_at) is None:
        return "the row's said_at is no time"
    return None
