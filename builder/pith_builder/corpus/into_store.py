"""A corpus into a store: what is signed goes into a spool, and from there, sorted, into the tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder import times
from pith_builder.corpus.beside import Beside
from pith_builder.corpus.checkpoint import Checkpoint, Counts
from pith_builder.corpus.snapshot import CHUNK
from pith_builder.corpus.spool import Spool, frame
from pith_builder.corpus.targets import Batch, counted
from pith_builder.corpus.work import Item
from pith_builder.issue import Signed
from pith_builder.metadata import PaperMetadata, Provenance
from pith_builder.published import Profile, Surroundings
from pith_builder.record import Paper
from pith_builder.signing import Signer, fingerprint
from pith_builder.snapshot import build_snapshot
from pith_builder.sources.papers import provenance
from pith_builder.sources.pieces import Piece
from pith_builder.store import bulk, runs
from pith_builder.store.bulk import NewRecord
from pith_builder.store.database import writing
from pith_builder.store.store import Change, Store, paper_and_snapshot
from pith_builder.times import Clock

#: After so many bytes of input its records are taken over into the tables, about 150,000 together.
MERGE = 240 * CHUNK

_LOOKED_UP_AT_ONCE = 2000


def store_item(name: str, begun: datetime) -> Item:
    """The shape of items that go into a store: a record as it stands in the spool."""
    fetched_at, recorded_at = times.seconds(begun), times.receipt_time(begun)

    def item(signed: Signed, metadata: PaperMetadata, value: dict[str, Any], piece: Piece) -> bytes:
        canonical, digest, receipt, created_at = signed
        paper = Paper.of(metadata, canonical)
        said = provenance(value, piece.data, name, fetched_at)
        record = NewRecord(
            digest,
            signed.number.suffix,
            canonical.source.id,
            canonical.source.version,
            created_at,
            said.said_at,
            recorded_at,
            canonical.to_bytes(),
            msgspec.json.encode(said),
            *paper_and_snapshot(build_snapshot(paper, canonical, None, receipt.builder_version)),
            msgspec.json.encode(receipt),
        )
        return frame(record)

    return item


class IntoStore:
    """A store as the target of a run."""

    shape = staticmethod(store_item)

    def __init__(self, store: Store, signer: Signer, profile: Profile, clock: Clock) -> None:
        self._engine, self._profile, self._clock = store.engine, profile, clock
        self._common = bulk.Common(
            profile.base_url,
            msgspec.json.encode(Surroundings.of(None)),
            fingerprint(signer.public_key),
            profile.builder_version,
        )
        self._open = contextlib.ExitStack()

    def begin(self, fresh: Checkpoint, *, restart: bool) -> Checkpoint:
        kept = runs.latest(self._engine)
        if kept is None or kept.finished_at is not None or restart:
            kept = runs.begin(self._engine, fresh.to_json(), fresh.begun_at)
        checkpoint = Checkpoint.read(kept.checkpoint)
        checkpoint.check_same(fresh)
        self._run = kept
        rejects = Path(checkpoint.rejects)
        self._beside, self._spool = Beside(rejects), Spool(rejects.with_name(f".{rejects.name}.records"))
        self._open.callback(self._beside.close)
        self._beside.open(checkpoint.sizes)
        self._open.callback(self._spool.close)
        self._spool.open(checkpoint.sizes.get("records", 0))
        return checkpoint

    def commit(self, batch: Batch, reached: Checkpoint) -> Checkpoint:
        sizes = self._beside.write(batch)
        sizes["records"] = self._spool.add(frame for _, done in batch for frame in done.items)
        reached = msgspec.structs.replace(reached, counts=reached.counts.plus(counted(batch)), sizes=sizes)
        begin, end = batch[0][0].begin.offset, batch[-1][0].end.offset
        if begin // MERGE != end // MERGE:
            return self._merge(reached)
        with writing(self._engine) as connection:
            self._run = runs.move(connection, self._run, reached.to_json(), None)
        return reached

    def pause(self, reached: Checkpoint) -> Checkpoint:
        return self._merge(reached) if len(self._spool) else reached

    def finish(self, last: Checkpoint) -> Checkpoint:
        found = self._beside.find_repeats()
        counts = msgspec.structs.replace(last.counts, repeated=len(found.repeats))
        last = msgspec.structs.replace(last, counts=counts)
        self._beside.finish()
        with writing(self._engine) as connection:
            self._run = runs.move(connection, self._run, last.to_json(), last.finished_at)
        self._beside.clear()
        self._spool.discard()
        return last

    def close(self) -> None:
        self._open.close()

    # --- into the tables ---

    def _merge(self, reached: Checkpoint) -> Checkpoint:
        """Take over what is in the spool; the checkpoint says in the same transaction that it is done."""
        with writing(self._engine) as connection:
            counts = reached.counts.plus(self._take_over(connection, reached.begun_at))
            reached = msgspec.structs.replace(reached, counts=counts, sizes=reached.sizes | {"records": 0})
            self._run = runs.move(connection, self._run, reached.to_json(), None)
        self._spool.clear()
        return reached

    def _take_over(self, connection: sa.Connection, begun_at: str) -> Counts:
        spool = self._spool
        new: dict[bytes, int] = {}
        again: list[tuple[str, int]] = []
        to_compare: set[int] = set()
        for n, there in enumerate(self._known(connection)):
            if there is None:
                if new.setdefault(spool.digests[n], n) != n:
                    to_compare.add(n)
                continue
            record = spool.record(n)
            if not there.is_plain or there.paper != record.paper:
                to_compare.add(n)
            elif record.said_at is not None and record.said_at > (there.said_at or ""):
                again.append((record.said_at, there.row_id))
        rows = spool.records(new[digest] for digest in sorted(new))
        inserted = bulk.insert(connection, rows, self._common)
        if raced := new.keys() - inserted:  # others have put these in since we looked
            to_compare |= {n for n, digest in enumerate(spool.digests) if digest in raced}
        compared = bulk.row_ids(connection, [spool.digests[n] for n in to_compare])
        bulk.lock(connection, [*compared, *(row_id for _, row_id in again)])
        bulk.say_again(connection, again)
        updated = sum(self._changes(connection, record, begun_at) for record in spool.records(sorted(to_compare)))
        return Counts(issued=len(inserted), updated=updated, stored=len(spool) - len(inserted) - updated)

    def _known(self, connection: sa.Connection) -> Iterator[bulk.Known | None]:
        """For each record of the spool, in order, the one of its digest that is in the store already."""
        spool = self._spool
        for start in range(0, len(spool), _LOOKED_UP_AT_ONCE):
            some = range(start, min(start + _LOOKED_UP_AT_ONCE, len(spool)))
            known = bulk.known(connection, [spool.arxiv_ids[n] for n in some])
            for n in some:
                of_paper = known.get(spool.arxiv_ids[n], ())
                yield next((there for there in of_paper if there.digest == spool.digests[n]), None)

    def _changes(self, connection: sa.Connection, record: NewRecord, begun_at: str) -> bool:
        """Whether a record changes the one of its digest that is in the store; then that is changed."""
        paper = msgspec.json.decode(record.paper, type=Paper)
        said = msgspec.json.decode(record.provenance, type=Provenance)
        change = Change(
            *(connection, record.digest, paper, said, self._profile, self._clock, None), input_since=begun_at
        )
        if not change.is_none:
            change.write(connection)
        return change.after is not change.before
