"""Others' published records, taken into the store: verified before they are kept, and kept whole.

Nothing is known of their enrichment, so it is null, and what is around the paper stays until the issuer or an
enrichment of ours says otherwise. A batch is one transaction. In it the records that are there are locked before any
is inserted, and both are done in one order for all, so that two importers never wait for each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from pith_builder import text, times
from pith_builder.errors import InvalidInput, InvalidJson, PithError, Refused, StoreFailed, cleaned
from pith_builder.keyring import KeyRing
from pith_builder.metadata import Provenance
from pith_builder.published import PithRecord
from pith_builder.receipt import Receipt
from pith_builder.sources.pieces import Piece, batches
from pith_builder.sources.published import record_pieces
from pith_builder.store.aliases import damaged
from pith_builder.store.database import writing
from pith_builder.store.schema import current, receipts, records
from pith_builder.store.store import (
    WHOLE,
    Store,
    append_receipt,
    blocks,
    insert_record,
    keep_blocks,
    locked,
    said_at_of,
    stored_record,
)
from pith_builder.times import Clock
from pith_builder.verify import verify

BATCH = 500
_BATCH_BYTES = 2**24
_CONTENT = ("paper", "snapshot", "surroundings")

#: How far a record's times may be ahead of our clock.
_SKEW = timedelta(days=1)


class RecordDiffers(Refused):
    """A record of ours that comes back from elsewhere with another content; what we have stays."""

    code = "record_differs"


class RecordOfTheFuture(Refused):
    """A record whose times are ahead of the clock: nothing that is true could ever take its place."""

    code = "record_of_the_future"


class Taken(msgspec.Struct, frozen=True):
    """What became of a record: new to the store, there already, or later than what was there."""

    action: Literal["imported", "stored", "updated"]
    pith_number: str


class _Given(msgspec.Struct, frozen=True):
    """A verified record, where it stood, and where it came from."""

    place: str
    record: PithRecord
    provenance: Provenance


class Import:
    """One run of taking records in."""

    def __init__(self, store: Store, ring: KeyRing, clock: Clock) -> None:
        """`ring` is what records are verified with; its keys of use `receipts` are ours."""
        self._engine = store.engine
        self._ring, self._clock = ring, clock
        self._ours = {key.fingerprint for key in ring.keys if key.use == "receipts"}

    def run(self, name: str) -> Iterator[tuple[str, Taken | PithError]]:
        """Take in the records of a file or of standard input (`-`); gives each with its place, when it is committed.

        Raises FileFailed, or StoreFailed where the store fails or a row of it is damaged.
        """
        found = False
        for batch in batches(record_pieces(name), BATCH, _BATCH_BYTES):
            found = True
            read = {f"{name}:{piece.line}": self._read(piece, name) for piece in batch}
            given = [_Given(place, *item) for place, item in read.items() if not isinstance(item, PithError)]
            taken = self._take(given)
            for place, item in read.items():
                yield place, item if isinstance(item, PithError) else taken[place]
        if not found:
            yield name, InvalidJson("there is no record in it").at(file=name)

    def _read(self, piece: Piece, name: str) -> tuple[PithRecord, Provenance] | PithError:
        now = self._clock()
        try:
            verify(piece.data, self._ring).require()
            record = PithRecord.from_json(piece.data)
            text.check_text(record.receipt.builder_version)  # the one column of free text; PostgreSQL takes no U+0000
            check_times(record, now + _SKEW)
        except (InvalidInput, Refused) as error:
            return error.at(file=name, line=piece.line)
        return record, Provenance(
            source=f"import:{cleaned(Path(name).name)}",
            source_time=_made_at(record),
            fetched_at=times.seconds(now),
            raw_sha256=hashlib.sha256(piece.data).hexdigest(),
        )

    def _take(self, given: list[_Given]) -> dict[str, Taken | PithError]:
        """What became of each, by its place."""
        taken: dict[str, Taken | PithError] = {}
        waiting, idle = sorted(given, key=lambda item: item.record.canonical_sha256), 0
        while waiting:
            self._take_once(waiting, taken)
            left = [item for item in waiting if item.place not in taken]
            idle = idle + 1 if len(left) == len(waiting) else 0
            if idle > 1:  # once another process was faster; but what stands in the way now is no record of that digest
                raise StoreFailed(
                    f"{left[0].record.pith_number} can't be stored: its number stands in another row",
                    hint="find the damaged row with: pith-build store check",
                )
            waiting = left
        return taken

    def _take_once(self, given: list[_Given], taken: dict[str, Taken | PithError]) -> None:
        """In one transaction; what another process put in since we looked, or stands here twice, is left over."""
        with writing(self._engine) as connection:
            recorded_at = times.receipt_time(self._clock())
            rows = _rows(connection, given)
            for item in given:
                if row := rows.pop(item.record.canonical_sha256, None):
                    taken[item.place] = self._compare(connection, row, item, recorded_at)
            for item in given:
                if item.place not in taken and insert_record(
                    connection, item.record, None, item.provenance, recorded_at
                ):
                    taken[item.place] = Taken("imported", item.record.pith_number)

    def _compare(
        self, connection: sa.Connection, row: sa.Row[Any], item: _Given, recorded_at: str
    ) -> Taken | RecordDiffers:
        stored, record = stored_record(row).record, item.record
        number = record.pith_number
        if not (differs := _differing(stored, record)):
            return Taken("stored", number)
        if row.key_fingerprint in self._ours:
            return RecordDiffers(
                f"{number} is stored under our own key, {stored.receipt.key_id}, and differs in {', '.join(differs)}",
                hint="what is stored stays; metadata are corrected with: pith-build issue",
            )
        new_receipt = _signature(record.receipt) != _signature(stored.receipt)
        if record.updated_at <= stored.updated_at or (
            new_receipt and self._is_passed(connection, row, stored.receipt, record.receipt)
        ):
            return Taken("stored", number)
        changed = _replace(connection, row, stored, item, recorded_at, new_receipt=new_receipt)
        return Taken("updated" if changed else "stored", number)

    def _is_passed(self, connection: sa.Connection, row: sa.Row[Any], newest: Receipt, given: Receipt) -> bool:
        """Whether a receipt is older than the newest, whatever its times say: nobody has signed those."""
        history = connection.scalars(sa.select(receipts.c.receipt).where(receipts.c.record_id == row.id))
        try:
            known = {_signature(msgspec.json.decode(receipt, type=Receipt)) for receipt in history}
        except (msgspec.MsgspecError, UnicodeError, TypeError) as error:
            raise damaged(row, str(error)) from None
        now, then = (self._ring.find(r.key_id, r.public_key_fingerprint) for r in (newest, given))
        is_retired = now is not None and then is not None and now.state == "active" != then.state
        return _signature(given) in known or is_retired


def check_times(record: PithRecord, latest: datetime) -> None:
    """Raise RecordOfTheFuture for a record that says that it was made or signed after `latest`."""
    updated_at, signed_at = (
        times.parse_record_time(record.updated_at),
        times.parse_receipt_time(record.receipt.signed_at),
    )
    if updated_at is None or signed_at is None or max(updated_at, signed_at) > latest:
        raise RecordOfTheFuture(
            f"{record.pith_number} says that it was made at {record.updated_at}", hint="look at the clock"
        )


def _made_at(record: PithRecord) -> str | None:
    """When the record says that the paper was so: when it was made, since later times may be those of a new receipt."""
    created_at = times.parse_record_time(record.created_at)
    return None if created_at is None else times.seconds(created_at)


def _differing(a: PithRecord, b: PithRecord) -> list[str]:
    """The top-level fields in which two records differ as JSON; the order of keys doesn't count."""
    one, other = (msgspec.json.decode(record.to_json(), type=dict[str, Any]) for record in (a, b))
    return [name for name in {**one, **other} if name not in one or name not in other or one[name] != other[name]]


def _signature(receipt: Receipt) -> tuple[str, str]:
    """What makes a receipt what it is: a key has one signature over a digest, and all the rest is unsigned."""
    return receipt.public_key_fingerprint, receipt.signature_b64


def _rows(connection: sa.Connection, given: list[_Given]) -> dict[str, sa.Row[Any]]:
    """The rows of the records that are there already, locked, by their digest in hex."""
    digests = [bytes.fromhex(item.record.canonical_sha256) for item in given]
    known = sa.select(records.c.id).where(records.c.canonical_sha256.in_(digests))
    found = WHOLE.where(records.c.id.in_(locked(connection, current.c.record_id.in_(known))))
    return {row.canonical_sha256.hex(): row for row in connection.execute(found)}


def _replace(
    connection: sa.Connection,
    row: sa.Row[Any],
    stored: PithRecord,
    item: _Given,
    recorded_at: str,
    *,
    new_receipt: bool,
) -> bool:
    """Put a later record of the same digest in the place of a row, `stored`; whether there is anything later in it.

    Whatever changes leaves a receipt or earlier blocks behind, by which a copy that went on by itself is known.
    """
    record, new = item.record, blocks(item.record, None, item.provenance)
    if all(new[name] == getattr(row, name) for name in _CONTENT):
        same_fields = stored.with_layout(record.layout).to_json() == stored.to_json()
        new = {} if same_fields else {"layout": new["layout"]}  # the blocks came from where they came
    if new_receipt:
        new |= {"base_url": record.base_url, "created_at": record.created_at}
    is_other = any(value != getattr(row, name) for name, value in new.items())
    if not (is_other or new_receipt):
        return False
    if is_other:
        keep_blocks(connection, row, record.updated_at)
    changes: dict[str, Any] = {"updated_at": record.updated_at}
    if new_receipt:
        new["said_at"] = max(said_at_of(row) or "", item.provenance.said_at or "") or None
        changes |= {
            "receipt_id": append_receipt(connection, row.id, record.receipt, recorded_at),
            "key_fingerprint": record.receipt.public_key_fingerprint,
            "receipt_builder": record.receipt.builder_version,
        }
    connection.execute(records.update().where(records.c.id == row.id).values(**new))
    connection.execute(current.update().where(current.c.record_id == row.id).values(**changes))
    return True
