"""What a store holds, in numbers."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from pith_builder.keyring import KeyRing
from pith_builder.receipt import Receipt
from pith_builder.store.database import NEWEST, reading
from pith_builder.store.schema import current, earlier_blocks, receipts, records
from pith_builder.store.store import Store

_BYTES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}


class OfKey(msgspec.Struct, frozen=True):
    """How many records have their newest receipt under a key, whose state and use are those of the ring.

    Both are `unknown` for a key that the ring doesn't have; its id is then what a receipt says.
    """

    key_id: str | None
    fingerprint: str
    state: str
    use: str
    records: int


class Stats(msgspec.Struct, frozen=True):
    """The numbers of one moment. `bytes` are those of the whole database; times are in receipt form."""

    records: int
    papers: int
    keys: list[OfKey]
    receipts: int
    earlier_blocks: int
    withdrawn: int
    first_recorded_at: str | None
    last_recorded_at: str | None
    bytes: int
    bytes_per_record: int | None
    schema_revision: str


def stats(store: Store, ring: KeyRing) -> Stats:
    """The numbers of a store, and the keys of its records as the ring knows them. Raises StoreFailed."""
    with reading(store.engine) as connection:
        of_records = connection.execute(
            sa.select(
                sa.func.count(),
                sa.func.count(records.c.arxiv_id.distinct()),
                sa.func.count(records.c.withdrawn),
                sa.func.min(records.c.recorded_at),
                sa.func.max(records.c.recorded_at),
            ).select_from(records)
        ).one()
        count, papers, withdrawn, first, last = of_records
        size = int(connection.exec_driver_sql(_BYTES[connection.dialect.name]).scalar_one())
        return Stats(
            count,
            papers,
            _of_keys(connection, ring),
            _count(connection, receipts),
            _count(connection, earlier_blocks),
            withdrawn,
            first,
            last,
            size,
            size // count if count else None,
            NEWEST,
        )


def _count(connection: sa.Connection, table: sa.Table) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def _of_keys(connection: sa.Connection, ring: KeyRing) -> list[OfKey]:
    known = {key.fingerprint: key for key in ring.keys}
    columns = (current.c.key_fingerprint, sa.func.count(), sa.func.min(current.c.receipt_id))
    found = []
    for fingerprint, count, receipt in connection.execute(
        sa.select(*columns).group_by(columns[0]).order_by(columns[0])
    ):
        if key := known.get(fingerprint):
            found.append(OfKey(key.key_id, fingerprint, key.state, key.use, count))
        else:
            found.append(OfKey(_named_by(connection, receipt), fingerprint, "unknown", "unknown", count))
    return found


def _named_by(connection: sa.Connection, receipt_id: int) -> str | None:
    receipt = connection.scalar(sa.select(receipts.c.receipt).where(receipts.c.id == receipt_id))
    try:
        return msgspec.json.decode(receipt or b"", type=Receipt).key_id
    except (msgspec.MsgspecError, UnicodeError):  # a damaged row; the check of the store names it
        return None
