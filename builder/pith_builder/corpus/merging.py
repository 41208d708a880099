"""From a spool into the tables: what is new is inserted, sorted; what is there already is compared. One transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import sqlalchemy as sa

from pith_builder.corpus.checkpoint import Counts
from pith_builder.corpus.spool import Spool
from pith_builder.metadata import Provenance
from pith_builder.published import Profile
from pith_builder.record import Paper
from pith_builder.store import bulk
from pith_builder.store.bulk import Known, NewRecord
from pith_builder.store.store import Change
from pith_builder.times import Clock

_LOOKED_UP_AT_ONCE = 2000


class Merging:
    """What all merges of a run have in common; records that came in after `begun_at` are of the same input."""

    def __init__(self, common: bulk.Common, profile: Profile, clock: Clock, begun_at: str) -> None:
        self._common, self._profile, self._clock, self._begun_at = common, profile, clock, begun_at

    def merge(self, connection: sa.Connection, spool: Spool) -> Counts:
        """Take over all records of a spool, in a transaction that writes; gives what became of them."""
        new: dict[bytes, int] = {}
        again: dict[int, int] = {}
        to_compare: set[int] = set()
        for n, there in _known(connection, spool, range(len(spool))):
            if there is None:
                if new.setdefault(spool.digests[n], n) != n:
                    to_compare.add(n)
                continue
            record = spool.record(n)
            if _may_differ(there, record):
                to_compare.add(n)
            elif (record.said_at or "") > (there.said_at or ""):
                again[n] = there.row_id
        inserted = bulk.insert(connection, spool.records(new[digest] for digest in sorted(new)), self._common)
        if raced := new.keys() - inserted:  # others have put these in since we looked
            to_compare |= {n for n, digest in enumerate(spool.digests) if digest in raced}
        compared = bulk.row_ids(connection, [spool.digests[n] for n in to_compare])
        bulk.lock(connection, [*compared, *again.values()])
        said: list[tuple[str, int]] = []
        for n, there in _known(connection, spool, list(again)):  # as they are now that nobody else changes them
            record = spool.record(n)
            if there is None or _may_differ(there, record):
                to_compare.add(n)
            elif record.said_at is not None:
                said.append((record.said_at, there.row_id))
        bulk.say_again(connection, said)
        updated = sum(self._changes(connection, record) for record in spool.records(sorted(to_compare)))
        return Counts(issued=len(inserted), updated=updated, stored=len(spool) - len(inserted) - updated)

    def _changes(self, connection: sa.Connection, record: NewRecord) -> bool:
        """Whether a record changes the one of its digest that is in the store; then that is changed."""
        paper = msgspec.json.decode(record.paper, type=Paper)
        said = msgspec.json.decode(record.provenance, type=Provenance)
        if self._was_replaced(connection, record.digest, said):
            return False
        change = Change(
            *(connection, record.digest, paper, said, self._profile, self._clock, None), input_since=self._begun_at
        )
        if not change.is_none:
            change.write(connection)
        return change.after is not change.before

    def _was_replaced(self, connection: sa.Connection, digest: bytes, said: Provenance) -> bool:
        """Whether an earlier run took in this very row, and then another one in its place: as it would again."""
        earlier = bulk.earlier_provenance(connection, digest, self._begun_at)
        return any(msgspec.json.decode(data, type=Provenance).raw_sha256 == said.raw_sha256 for data in earlier)


def _may_differ(there: Known, record: NewRecord) -> bool:
    """Whether it takes a closer look to tell if a record changes the one in the store."""
    return not there.is_plain or there.paper != record.paper


def _known(connection: sa.Connection, spool: Spool, which: Sequence[int]) -> Iterator[tuple[int, Known | None]]:
    """Records of the spool by their numbers, in order, each with the one of its digest that is in the store already."""
    for start in range(0, len(which), _LOOKED_UP_AT_ONCE):
        some = which[start : start + _LOOKED_UP_AT_ONCE]
        known = bulk.known(connection, [spool.arxiv_ids[n] for n in some])
        for n in some:
            of_paper = known.get(spool.arxiv_ids[n], ())
            yield n, next((there for there in of_paper if there.digest == spool.digests[n]), None)
