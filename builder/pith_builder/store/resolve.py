"""From what people call a paper to its number, and to the paper's other numbers."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder.diff import differing_fields
from pith_builder.published import build_links
from pith_builder.store.aliases import NEWEST_FIRST, canonical_of, the_one, unfinished
from pith_builder.store.database import reading
from pith_builder.store.schema import current, records
from pith_builder.store.store import Store, Withdrawal, said_at_of, withdrawal_of

_SHORT: sa.Select[Any] = sa.select(
    records.c.id,
    records.c.canonical_sha256,
    records.c.suffix,
    records.c.base_url,
    records.c.said_at,
    records.c.canonical,
    records.c.withdrawn,
    current.c.record_id,
).outerjoin(current, current.c.record_id == records.c.id)


class Numbered(msgspec.Struct, frozen=True):
    """A number of a paper.

    `differs` are the fields of the canonical record in which it differs from the paper's next older one; `said_at` is
    when the source last described the paper so (`YYYY-MM-DDTHH:MM:SSZ`), None where unknown.
    """

    pith_number: str
    arxiv_id: str
    version: int
    transcription: str
    url: str
    withdrawn: Withdrawal | None
    differs: tuple[str, ...]
    said_at: str | None


class Resolved(msgspec.Struct, frozen=True):
    """The number that an alias means, and all numbers of its paper, newest first, that one among them."""

    meant: Numbered
    all: list[Numbered]

    @property
    def others(self) -> list[Numbered]:
        """The paper's other numbers, newest first."""
        return [number for number in self.all if number is not self.meant]


def resolve(store: Store, alias: str) -> Resolved:
    """What an alias means in the store; of a paper with several numbers, the newest.

    Raises NotFound, Ambiguous with the candidates, InvalidAlias, or StoreFailed where a row of the paper is damaged or
    its copy unfinished.
    """
    with reading(store.engine) as connection:
        meant = the_one(connection, alias)
        of_paper = records.c.arxiv_id == meant.arxiv_id
        rows = connection.execute(_SHORT.where(of_paper).order_by(*NEWEST_FIRST)).all()
    for row in rows:
        if row.record_id is None:
            raise unfinished(row.suffix)
    canonical = [canonical_of(row) for row in rows]
    numbers = []
    for row, new, old in itertools.zip_longest(rows, canonical, canonical[1:]):
        number = new.number()
        numbers.append(
            Numbered(
                str(number),
                new.source.id,
                new.source.version,
                number.transcription(),
                build_links(row.base_url, number.suffix).html,
                withdrawal_of(row),
                () if old is None else differing_fields(old, new),
                said_at_of(row),
            )
        )
    [index] = [n for n, row in enumerate(rows) if row.id == meant.id]
    return Resolved(numbers[index], numbers)
