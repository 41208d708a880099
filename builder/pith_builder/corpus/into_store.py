"""A corpus into a store: a batch and its checkpoint in one transaction."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from pith_builder import times
from pith_builder.corpus import repeats
from pith_builder.corpus.beside import Beside
from pith_builder.corpus.checkpoint import Checkpoint, Counts
from pith_builder.corpus.targets import Batch, counted
from pith_builder.corpus.work import Item
from pith_builder.issue import Signed
from pith_builder.metadata import PaperMetadata, Provenance
from pith_builder.published import Profile, Surroundings
from pith_builder.record import Paper
from pith_builder.signing import Signer, fingerprint
from pith_builder.snapshot import build_snapshot
from pith_builder.sources.papers import provenance, read_value
from pith_builder.sources.pieces import Piece
from pith_builder.store import bulk, runs
from pith_builder.store.bulk import NewRecord
from pith_builder.store.database import writing
from pith_builder.store.store import Change, Store, paper_and_snapshot
from pith_builder.times import Clock


class StoreItem(NamedTuple):
    """A paper's columns, its entry for finding repeats, and where its row stands in the chunk."""

    record: NewRecord
    entry: bytes
    offset: int
    size: int


def store_item(name: str, begun: datetime) -> Item:
    """The shape of items that go into a store."""
    fetched_at, recorded_at = times.seconds(begun), times.receipt_time(begun)

    def item(signed: Signed, metadata: PaperMetadata, value: dict[str, Any], piece: Piece) -> StoreItem:
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
        entry = repeats.entry(digest, canonical.arxiv_id, piece.line, piece.offset)
        return StoreItem(record, entry, piece.offset, len(piece.data))

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
        unfinished = None if kept is None or kept.finished_at is not None or restart else kept
        checkpoint = fresh if unfinished is None else Checkpoint.read(unfinished.checkpoint)
        checkpoint.check_same(fresh)
        self._beside = Beside(Path(checkpoint.rejects))
        self._open.callback(self._beside.close)
        self._beside.lock()
        if runs.latest(self._engine) != kept:
            raise runs.elsewhere()
        self._run = unfinished or runs.begin(self._engine, fresh.to_json(), fresh.begun_at)
        self._beside.open(checkpoint.sizes)
        return checkpoint

    def commit(self, batch: Batch, reached: Checkpoint) -> Checkpoint:
        sizes = self._beside.write(batch)
        with writing(self._engine) as connection:
            counts = reached.counts.plus(counted(batch)).plus(self._write(connection, batch, reached))
            reached = msgspec.structs.replace(reached, counts=counts, sizes=sizes)
            self._run = runs.move(connection, self._run, reached.to_json(), None)
        return reached

    def finish(self, last: Checkpoint) -> Checkpoint:
        found = self._beside.find_repeats()
        counts = msgspec.structs.replace(last.counts, repeated=len(found.repeats))
        last = msgspec.structs.replace(last, counts=counts)
        self._beside.finish()
        with writing(self._engine) as connection:
            self._run = runs.move(connection, self._run, last.to_json(), last.finished_at)
        self._beside.clear()
        return last

    def close(self) -> None:
        self._open.close()

    # --- one batch ---

    def _write(self, connection: sa.Connection, batch: Batch, reached: Checkpoint) -> Counts:
        items: list[StoreItem] = [item for _, done in batch for item in done.items]
        known = bulk.known(connection, [item.record.arxiv_id for item in items])
        new: dict[bytes, NewRecord] = {}
        again: list[tuple[str, int]] = []
        to_compare: list[int] = []
        for n, item in enumerate(items):
            record = item.record
            there = next((k for k in known.get(record.arxiv_id, ()) if k.digest == record.digest), None)
            if there is None and record.digest not in new:
                new[record.digest] = record
            elif there is None or not there.is_plain or there.paper != record.paper:
                to_compare.append(n)
            elif record.said_at is not None and record.said_at > (there.said_at or ""):
                again.append((record.said_at, there.row_id))
        inserted = bulk.insert(connection, list(new.values()), self._common)
        if raced := new.keys() - inserted:  # others have put these in since we looked
            to_compare = [n for n, item in enumerate(items) if n in to_compare or item.record.digest in raced]
        compared = bulk.row_ids(connection, [items[n].record.digest for n in to_compare])
        bulk.lock(connection, [*compared, *(row_id for _, row_id in again)])
        bulk.say_again(connection, again)
        rows = _Rows(batch)
        updated = sum(self._compare(connection, items[n], rows, reached.begun_at) for n in to_compare)
        return Counts(issued=len(inserted), updated=updated, stored=len(items) - len(inserted) - updated)

    def _compare(self, connection: sa.Connection, item: StoreItem, rows: _Rows, begun_at: str) -> bool:
        """Whether the row changes its record, which is there already; then it is changed."""
        _, metadata = read_value(rows.of(item))
        said = msgspec.json.decode(item.record.provenance, type=Provenance)
        change = Change(
            *(connection, item.record.digest, metadata, said, self._profile, self._clock, None), input_since=begun_at
        )
        if not change.is_none:
            change.write(connection)
        return change.after is not change.before


class _Rows:
    """The rows of a batch as they stand in the input."""

    def __init__(self, batch: Batch) -> None:
        self._chunks = [chunk for chunk, _ in batch]
        self._begins = [chunk.begin.offset for chunk in self._chunks]

    def of(self, item: StoreItem) -> bytes:
        chunk = self._chunks[bisect_right(self._begins, item.offset) - 1]
        start = item.offset - chunk.begin.offset
        return chunk.data[start : start + item.size]
