"""The records of a store in the order of their suffix, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from pith_builder.number import SUFFIX_LENGTH
from pith_builder.store.aliases import unfinished
from pith_builder.store.schema import records

BATCH = 500

#: What a suffix may begin with, in the order of suffixes, which is that of code points.
SYMBOLS = "234567ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def in_order(connection: sa.Connection, query: sa.Select[Any], beginning: str) -> Iterator[Sequence[sa.Row[Any]]]:
    """The rows of a query over records whose suffix has this beginning, batch by batch in the order of suffixes.

    Raises StoreFailed for a record whose copy is unfinished.
    """
    last, end = beginning, beginning.ljust(SUFFIX_LENGTH, "Z")
    ordered = query.where(records.c.suffix <= end).order_by(records.c.suffix).limit(BATCH)
    while rows := connection.execute(ordered.where(records.c.suffix > last)).all():
        for row in rows:
            if row.record_id is None:
                raise unfinished(row.suffix)
        yield rows
        last = rows[-1].suffix
