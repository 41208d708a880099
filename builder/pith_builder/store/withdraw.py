"""The mark of a record that was issued in error. It stays, resolves and verifies; nothing is deleted (DESIGN)."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder import text, times
from pith_builder.store.aliases import number_of, the_one
from pith_builder.store.database import writing
from pith_builder.store.schema import current, records
from pith_builder.store.store import Store, Withdrawal, locked, withdrawal_of
from pith_builder.times import Clock


class Marked(msgspec.Struct, frozen=True):
    """The mark that a record has now; `already` if it had it before."""

    pith_number: str
    withdrawn: Withdrawal
    already: bool


def withdraw(store: Store, alias: str, reason: str, clock: Clock) -> Marked:
    """Mark the record that `alias` means as issued in error; one that is marked keeps its first mark.

    A paper with several numbers is ambiguous here: an error is one number's. Raises NotFound, Ambiguous, InvalidAlias,
    InvalidText for a reason that can't be written, ValueError for a blank one, StoreFailed for a damaged mark.
    """
    text.check_text(reason)
    if not reason.strip():
        raise ValueError("a withdrawal needs a reason")
    mark = Withdrawal(times.receipt_time(clock()), reason.strip())
    with writing(store.engine) as connection:
        row = the_one(connection, alias, newest=False)
        locked(connection, current.c.record_id == row.id)
        of_record = records.c.id == row.id
        unmarked = records.update().where(of_record, records.c.withdrawn.is_(None))
        changed = connection.execute(unmarked.values(withdrawn=msgspec.json.encode(mark))).rowcount
        marked: sa.Select[Any] = sa.select(records.c.suffix, records.c.withdrawn).where(of_record)
        kept = withdrawal_of(connection.execute(marked).one())
    return Marked(str(number_of(row)), kept or mark, already=not changed)
