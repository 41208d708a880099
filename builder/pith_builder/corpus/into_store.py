"""A corpus into a store: what is signed goes into a spool, and from there, sorted, into the tables.

A batch is on the disk when it is committed: in the spool, with a checkpoint in a file beside it. The records of a
quarter of a gigabyte of input then go into the tables together, in one transaction with a checkpoint in the store; this
is done in a thread, while the next batches come. Whoever goes on takes the later checkpoint, and what is in the spools.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import msgspec

from pith_builder import files, times
from pith_builder.corpus.beside import Beside, is_running
from pith_builder.corpus.checkpoint import Checkpoint, CheckpointDiffers, Counts
from pith_builder.corpus.merging import Merging
from pith_builder.corpus.snapshot import CHUNK
from pith_builder.corpus.spool import Spool, frame
from pith_builder.corpus.targets import Batch, counted
from pith_builder.corpus.work import Item
from pith_builder.errors import FileFailed
from pith_builder.issue import Signed
from pith_builder.published import Profile, Surroundings
from pith_builder.record import Paper
from pith_builder.signing import Signer, fingerprint
from pith_builder.snapshot import build_snapshot
from pith_builder.sources.papers import provenance
from pith_builder.sources.pieces import Piece
from pith_builder.sources.rows import Described
from pith_builder.store import bulk, runs
from pith_builder.store.bulk import NewRecord
from pith_builder.store.database import writing
from pith_builder.store.store import Store, paper_and_snapshot
from pith_builder.times import Clock

#: After so many bytes of input its records are taken over into the tables, about 150,000 together.
MERGE = 240 * CHUNK


def store_item(name: str, begun: datetime) -> Item:
    """The shape of items that go into a store: a record as it stands in the spool."""
    fetched_at, recorded_at = times.seconds(begun), times.receipt_time(begun)

    def item(signed: Signed, described: Described, piece: Piece) -> bytes:
        canonical, digest, receipt, created_at = signed
        paper = Paper.of(described.metadata, canonical)
        said = provenance(described, piece.data, name, fetched_at)
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


class Staged(msgspec.Struct, frozen=True):
    """How far a run is beyond its checkpoint in the store: `reached`, and `due`, up to where a merge was under way."""

    reached: Checkpoint
    due: Checkpoint | None

    def is_of(self, merged: Checkpoint) -> bool:
        """Whether this is about the run that has this checkpoint in its store."""
        return self.reached.begun_at == merged.begun_at

    def beyond(self, merged: Checkpoint) -> Staged | None:
        """What of this is not in the store yet; None where there is nothing, or the store was put back meanwhile."""
        due = self.due if self.due is not None and self.due.place.offset > merged.place.offset else None
        is_beyond = self.reached.place.offset > merged.place.offset
        return Staged(self.reached, due) if is_beyond and (due or self.reached).merges == merged.merges else None


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
        self._thread = ThreadPoolExecutor(1)
        self._under_way: tuple[Checkpoint, Spool, Future[Checkpoint]] | None = None

    def begin(self, fresh: Checkpoint, *, restart: bool) -> Checkpoint:
        kept = runs.latest(self._engine)
        unfinished = None if kept is None or kept.finished_at is not None or restart else kept
        merged = fresh if unfinished is None else Checkpoint.read(unfinished.checkpoint)
        given_up = None
        if unfinished is not None and _is_empty(merged) and is_running(Path(merged.rejects)) is False:
            unfinished, merged, given_up = None, fresh, merged.begun_at
        left_behind = _left_behind(kept) if restart and kept is not None and kept.finished_at is None else None
        merged.check_same(fresh)
        self._rejects = Path(merged.rejects)
        self._beside = Beside(self._rejects)
        self._open.callback(self._beside.close)
        self._beside.lock(fresh.input_name)
        if runs.latest(self._engine) != kept:
            raise runs.elsewhere()
        staged = read_staged(self._rejects)
        is_others = staged is not None and not staged.is_of(merged) and staged.reached.begun_at != given_up
        if staged is not None and is_others and not restart:
            raise FileFailed(
                f"a run over {staged.reached.input_name} into another store has stopped, and keeps its files here",
                hint="finish it, name another file with --rejects, or give it up with --restart",
            ).at(file=str(self._rejects))
        self._run = unfinished or runs.begin(self._engine, fresh.to_json(), fresh.begun_at)
        if left_behind is not None and left_behind != self._rejects:
            _discard_spools(left_behind, set())
            files.remove(_staged_path(left_behind))
            Beside(left_behind).discard()
        self._merged = merged
        self._merging = Merging(self._common, self._profile, self._clock, merged.begun_at)
        return self._go_on(_staged_of(merged))

    def commit(self, batch: Batch, reached: Checkpoint) -> Checkpoint:
        sizes = self._beside.write(batch)
        sizes["records"] = self._spool.add(done.items for _, done in batch)
        reached = msgspec.structs.replace(reached, counts=reached.counts.plus(counted(batch)), sizes=sizes)
        if batch[0][0].begin.offset // MERGE != reached.place.offset // MERGE:
            return self._hand_over(reached)
        self._stage(reached)
        if self._under_way is not None and self._under_way[2].done():
            self._await()  # a merge that failed ends the run now, not behind the next portion
        return reached

    def pause(self, reached: Checkpoint) -> Checkpoint:
        self._hand_over(reached)
        self._await()
        self._stage(self._merged)
        return self._merged

    def finish(self, last: Checkpoint) -> Checkpoint:
        found = self._beside.find_repeats()
        counts = msgspec.structs.replace(last.counts, repeated=len(found.repeats))
        last = msgspec.structs.replace(last, counts=counts)
        self._beside.finish()
        files.remove(_staged_path(self._rejects))
        with writing(self._engine) as connection:
            self._run = runs.move(connection, self._run, last.to_json(), last.finished_at)
        self._beside.clear()
        self._spool.discard()
        return last

    def close(self) -> None:
        with self._open:  # nobody else may go on while a merge is under way
            self._thread.shutdown()

    # --- between the batches and the tables ---

    def _go_on(self, staged: Staged | None) -> Checkpoint:
        """Open the files where the run stopped, and begin a merge again that was under way."""
        merged = self._merged
        reached, due = (merged, None) if staged is None else (staged.reached, staged.due)
        live = [merged.merges] if due is None else [merged.merges, merged.merges + 1]
        _discard_spools(self._rejects, {_spool_path(self._rejects, number).name for number in live})
        self._beside.open(reached.sizes)
        if due is not None:
            self._submit(self._opened(merged.merges, due), due)
        self._spool = self._opened(live[-1], reached)
        return reached

    def _opened(self, number: int, checkpoint: Checkpoint) -> Spool:
        spool = Spool(_spool_path(self._rejects, number))
        self._open.callback(spool.close)
        spool.open(checkpoint.sizes.get("records", 0))
        return spool

    def _stage(self, reached: Checkpoint) -> None:
        due = None if self._under_way is None else self._under_way[0]
        staged = Staged(reached, due)
        files.replace(_staged_path(self._rejects), msgspec.json.encode(staged))

    def _hand_over(self, reached: Checkpoint) -> Checkpoint:
        """Let the records of the spool go into the tables, and begin a new spool."""
        self._await()
        self._submit(self._spool, reached)
        number = self._merged.merges + 1
        reached = msgspec.structs.replace(reached, sizes=reached.sizes | {"records": 0}, merges=number)
        self._spool = self._opened(number, reached)
        self._stage(reached)
        return reached

    def _submit(self, spool: Spool, due: Checkpoint) -> None:
        self._under_way = due, spool, self._thread.submit(self._merge, spool, due, self._merged.counts)

    def _merge(self, spool: Spool, due: Checkpoint, before: Counts) -> Checkpoint:
        """In the thread: the records of a spool into the tables, and the checkpoint behind them."""
        with writing(self._engine) as connection:
            counts = self._merging.merge(connection, spool).plus(before)
            counts = msgspec.structs.replace(counts, rows=due.counts.rows, rejected=due.counts.rejected)
            sizes, number = due.sizes | {"records": 0}, self._merged.merges + 1
            merged = msgspec.structs.replace(due, counts=counts, sizes=sizes, merges=number)
            self._run = runs.move(connection, self._run, merged.to_json(), None)
        return merged

    def _await(self) -> None:
        """Wait for the merge that is under way. Raises what it has raised."""
        if self._under_way is not None:
            _, spool, future = self._under_way
            self._merged = future.result()
            self._under_way = None
            spool.discard()


def _left_behind(kept: runs.KeptRun) -> Path | None:
    """Where a run that is given up keeps its files, if it does so here. Raises StoreFailed where a process is at it."""
    try:
        merged = Checkpoint.read(kept.checkpoint)
    except CheckpointDiffers:
        return None
    rejects = Path(merged.rejects)
    if is_running(rejects) is not False:
        raise runs.elsewhere()
    staged = read_staged(rejects)
    return rejects if staged is not None and staged.is_of(merged) else None


def _is_empty(merged: Checkpoint) -> bool:
    """Whether an unfinished run has yet to read its first row: there is nothing to go on with."""
    staged = read_staged(Path(merged.rejects))
    return merged.is_empty and (staged is None or not staged.is_of(merged) or staged.reached.is_empty)


def newest_run(store: Store) -> Checkpoint | None:
    """How far the newest run of a store is, as well as can be told here; None where there was none."""
    kept = runs.latest(store.engine)
    if kept is None:
        return None
    merged = Checkpoint.read(kept.checkpoint)
    staged = _staged_of(merged)
    if staged is None or kept.finished_at is not None:
        return merged
    rows, rejected = staged.reached.counts.rows, staged.reached.counts.rejected
    counts = msgspec.structs.replace(merged.counts, rows=rows, rejected=rejected)
    return msgspec.structs.replace(staged.reached, counts=counts)


def read_staged(rejects: Path) -> Staged | None:
    """What a run that stopped has left beside its rejects; None where there is nothing, as on another machine."""
    try:
        return msgspec.json.decode(_staged_path(rejects).read_bytes(), type=Staged)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _staged_of(merged: Checkpoint) -> Staged | None:
    """How far the run of a store is beyond this checkpoint, as far as is known here."""
    found = read_staged(Path(merged.rejects))
    return found.beyond(merged) if found is not None and found.is_of(merged) else None


def _staged_path(rejects: Path) -> Path:
    return rejects.with_name(f".{rejects.name}.staged")


def _discard_spools(rejects: Path, live: set[str]) -> None:
    """Take spools away that were merged before they could be, or are of a run that was given up. Raises FileFailed."""
    with files.failing("remove the file", rejects.parent):
        for path in rejects.parent.iterdir():
            is_spool = path.name.startswith(_spool_path(rejects, 0).name.removesuffix("0"))
            if is_spool and path.name.removesuffix(".partial") not in live:
                path.unlink()


def _spool_path(rejects: Path, number: int) -> Path:
    return rejects.with_name(f".{rejects.name}.records-{number}")
