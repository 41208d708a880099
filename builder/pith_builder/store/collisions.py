"""The short forms of a store that stand for several numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder.store.aliases import number_of
from pith_builder.store.database import reading
from pith_builder.store.schema import records
from pith_builder.store.store import Store

_SYMBOLS = 8

#: Rows that are read ahead of where the scan is.
_AHEAD = 5000

_NAMING: sa.Select[Any] = sa.select(
    records.c.suffix, records.c.arxiv_id, records.c.version, records.c.canonical
).order_by(records.c.suffix)


class Meant(msgspec.Struct, frozen=True):
    """One of the numbers that a short form stands for, and its paper."""

    pith_number: str
    arxiv_id: str
    version: int


class Collision(msgspec.Struct, frozen=True):
    """An ambiguous short form, as `pith:BMWHAH2D`, and all that it stands for, in the order of suffixes."""

    short_form: str
    numbers: list[Meant]


def collisions(store: Store) -> Iterator[Collision]:
    """The ambiguous short forms of 8 symbols, in order; longer ones are among those of their first 8.

    One pass over the index of suffixes, which holds none of it in memory; the records of the few are read by it alone.
    Raises StoreFailed.
    """
    with reading(store.engine) as connection:
        in_order = sa.select(records.c.suffix).order_by(records.c.suffix)
        suffixes = connection.scalars(in_order, execution_options={"yield_per": _AHEAD})
        for shared, same in _neighbours(suffixes):
            found = connection.execute(_NAMING.where(records.c.suffix.in_(same)))
            meant = [Meant(str(number_of(row)), row.arxiv_id, row.version) for row in found]
            yield Collision(f"pith:{shared}", meant)


def _neighbours(suffixes: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """The first symbols that several suffixes share, and these, of suffixes in order."""
    shared, same = "", list[str]()
    for suffix in suffixes:
        if suffix.startswith(shared) and same:
            same.append(suffix)
            continue
        if len(same) > 1:
            yield shared, same
        shared, same = suffix[:_SYMBOLS], [suffix]
    if len(same) > 1:
        yield shared, same
