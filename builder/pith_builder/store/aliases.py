"""Which stored records an alias means, decided from the few columns that are left of a damaged row too."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder.alias import parse_alias
from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import Ambiguous, InvalidRecord, NotFound, StoreFailed
from pith_builder.number import SUFFIX_LENGTH, PithNumber
from pith_builder.record import CanonicalRecord
from pith_builder.store.schema import current, records

#: Newest of a paper: the highest version, then the latest time at which its source said so (DESIGN).
NEWEST_FIRST = (records.c.version.desc(), records.c.said_at.desc().nulls_last(), records.c.id.desc())

_NAMING: sa.Select[Any] = sa.select(
    records.c.id, records.c.suffix, records.c.arxiv_id, records.c.version, records.c.canonical, current.c.record_id
).outerjoin(current, current.c.record_id == records.c.id)


def named(meant: ArxivId | PithNumber) -> sa.ColumnElement[bool]:
    """The condition for the records that a parsed alias means, but for the year of a number."""
    if isinstance(meant, ArxivId):
        of_paper = records.c.arxiv_id == meant.id
        return of_paper if meant.version is None else of_paper & (records.c.version == meant.version)
    # A short form is a prefix: a range over the suffix, whose last symbol in order is Z.
    return records.c.suffix.between(meant.suffix, meant.suffix.ljust(SUFFIX_LENGTH, "Z"))


def the_one(connection: sa.Connection, alias: str, *, newest: bool = True) -> sa.Row[Any]:
    """Id, suffix, paper and version of the one record that an alias means; of a paper with several, the newest.

    Without `newest`, a paper with several is as ambiguous as a short form. A row that is damaged is found too. Raises
    NotFound, Ambiguous with the candidates, InvalidAlias, or StoreFailed where the copy of the record is unfinished.
    """
    meant = parse_alias(alias)
    found = connection.execute(_NAMING.where(named(meant)).order_by(*NEWEST_FIRST)).all()
    if isinstance(meant, PithNumber) and meant.year is not None:
        found = [row for row in found if number_of(row).year in (None, meant.year)]
    if not found:
        raise NotFound(f"the store has no record of {alias}", hint="issue it with: pith-build issue ID")
    if len(found) > 1 and (isinstance(meant, PithNumber) or not newest):
        candidates = [f"{number_of(row)} {ArxivId(row.arxiv_id, row.version)}" for row in found]
        raise Ambiguous(
            f"{alias} stands for {len(found)} numbers", candidates, hint="give more of the number, or all of it"
        )
    if found[0].record_id is None:
        raise unfinished(found[0].suffix)
    return found[0]


def number_of(row: sa.Row[Any]) -> PithNumber:
    """The number of a row; without its year where the canonical bytes are damaged."""
    try:
        return msgspec.json.decode(row.canonical, type=CanonicalRecord).number()
    except (msgspec.MsgspecError, UnicodeError, TypeError, InvalidRecord):
        return PithNumber(row.suffix)


def canonical_of(row: sa.Row[Any]) -> CanonicalRecord:
    """The canonical record of a row. Raises StoreFailed where its bytes don't give its digest."""
    if not isinstance(row.canonical, bytes) or hashlib.sha256(row.canonical).digest() != row.canonical_sha256:
        raise damaged(row, "its canonical bytes don't give its digest")
    try:
        return msgspec.json.decode(row.canonical, type=CanonicalRecord)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise damaged(row, str(error)) from None


def unfinished(suffix: str) -> StoreFailed:
    """The error of a record without its row of `current`, which a copy brings last."""
    return StoreFailed(f"pith:{suffix} has no newest receipt", hint="an unfinished copy: run store copy again")


def damaged(row: sa.Row[Any], why: str) -> StoreFailed:
    """The error of a row that can't be what was written."""
    return StoreFailed(f"the row of pith:{row.suffix} is damaged: {why}", hint="restore the store from a backup")
