"""New receipts for stored records, after a rotation or under a new builder.

A batch is one transaction: the rows are read, checked, signed and written in it, so that a kill at any moment leaves
records that have their new receipt and records that have the old one, and nothing in between. Which ones still need it
is read off the records themselves; there is no state to lose. A receipt is only made for canonical bytes that give the
stored digest, and only where something vouches for the record (`evidence.py`).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder import times
from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import AlteredRecord, InvalidInput, KeyUnfit, KeyUnusable, NotFound, Refused
from pith_builder.issue import next_receipt, receipt_needs_reissue
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.number import PithNumber
from pith_builder.published import Profile
from pith_builder.receipt import Receipt
from pith_builder.record import CanonicalRecord
from pith_builder.signing import Signer, fingerprint
from pith_builder.store.database import reading, writing
from pith_builder.store.evidence import Evidence, NoEvidence
from pith_builder.store.schema import checks, current, receipts, records
from pith_builder.store.store import Store, locked
from pith_builder.times import Clock

BATCH = 500
_FAILURES_IN_A_ROW = 3

#: From the papers asked for to the digests that their metadata give now, where a source describes them.
Recompute = Callable[[list[ArxivId]], dict[ArxivId, bytes]]


class SignerFailed(KeyUnusable):
    """The signer failed several times in a row."""

    code = "signer_failed"


class Refusal(msgspec.Struct, frozen=True):
    """A record that was not signed, and why."""

    pith_number: str
    code: str
    reason: str


class Progress(msgspec.Struct):
    """How a run goes: counts so far, and how many records were to be looked at when it began.

    `signer_failed` are those of the refused that the signer, not the record, is to blame for.
    """

    total: int
    reissued: int = 0
    refused: int = 0
    signer_failed: int = 0

    def add(self, batch: Progress) -> None:
        """Count a batch that is committed."""
        self.reissued += batch.reissued
        self.refused += batch.refused
        self.signer_failed += batch.signer_failed


class Reissue:
    """One run over a store."""

    def __init__(
        self,
        store: Store,
        ring: KeyRing,
        signer: Signer,
        profile: Profile,
        clock: Clock,
        *,
        recompute: Recompute | None = None,
        trust_last_check: bool = False,
        refused: Callable[[Refusal], None] = lambda _: None,
    ) -> None:
        self._engine = store.engine
        self._ring, self._signer, self._profile, self._clock = ring, signer, profile, clock
        self._recompute = recompute
        self._refused = refused
        self._failures = 0
        self._signer_error: str | None = None
        self.trusted_check: str | None = None
        self._evidence = Evidence(ring, self._last_check() if trust_last_check else 0)

    # --- which records ---

    def pending(self, key_id: str | None = None) -> int:
        """How many stored records need a new receipt; of one key where it is named."""
        return sum(count for _, _, count in self._groups(key_id))

    def run_all(self, key_id: str | None = None, limit: int | None = None) -> Iterator[Progress]:
        """Reissue what needs it, of one key where it is named; gives the progress after each batch."""
        groups = self._groups(key_id)
        total = sum(count for _, _, count in groups)
        progress = Progress(total if limit is None else min(total, limit))
        for key_fingerprint, builder, _ in groups:
            last = 0
            while size := min(BATCH, BATCH if limit is None else limit - progress.reissued):
                with writing(self._engine) as connection:
                    condition = (current.c.key_fingerprint == key_fingerprint) & (current.c.receipt_builder == builder)
                    rows = self._read(connection, condition & (current.c.record_id > last), size)
                    counts = self._reissue(connection, rows, named=key_id is not None)
                progress.add(counts)
                self._stop_where_the_signer_is_broken()
                if not rows:
                    break
                last = rows[-1].id
                yield progress

    def pending_named(self, record_ids: list[int]) -> int:
        """How many of the records with these row ids need a new receipt, or are under other people's keys."""
        wanted = {(fingerprint, builder) for fingerprint, builder, _ in self._groups(None, named=True)}
        count = 0
        for start in range(0, len(record_ids), BATCH):
            query = sa.select(current.c.key_fingerprint, current.c.receipt_builder)
            with reading(self._engine) as connection:
                found = connection.execute(query.where(current.c.record_id.in_(record_ids[start : start + BATCH])))
                count += sum((row[0], row[1]) in wanted for row in found)
        return count

    def run_named(self, record_ids: list[int], limit: int | None = None) -> Iterator[Progress]:
        """Reissue the records with these row ids where they need it, those under other people's keys too."""
        progress = Progress(len(record_ids))
        start = 0
        while (size := min(BATCH, BATCH if limit is None else limit - progress.reissued)) and start < len(record_ids):
            with writing(self._engine) as connection:
                rows = self._read(connection, current.c.record_id.in_(record_ids[start : start + size]), BATCH)
                counts = self._reissue(connection, rows, named=True)
            progress.add(counts)
            self._stop_where_the_signer_is_broken()
            yield progress
            start += size

    def _groups(self, key_id: str | None, *, named: bool = False) -> list[tuple[str, str, int]]:
        columns = (current.c.key_fingerprint, current.c.receipt_builder)
        with reading(self._engine) as connection:
            found = connection.execute(sa.select(*columns, sa.func.count()).group_by(*columns).order_by(*columns))
            groups = [(row[0], row[1], row[2]) for row in found]
        known = {name for key in self._ring.keys for name in (key.key_id, key.fingerprint)}
        if key_id is not None and key_id not in known | {fingerprint for fingerprint, _, _ in groups}:
            raise NotFound(f"no key {key_id} in the ring nor in the store", hint="pith-build keys list")
        return [
            (fingerprint, builder, count)
            for fingerprint, builder, count in groups
            if (key_id is None or key_id in self._names(fingerprint))
            and self._needs(self._key(fingerprint), builder, named=named or key_id is not None)
        ]

    def _key(self, key_fingerprint: str) -> RingKey | None:
        return next((key for key in self._ring.keys if key.fingerprint == key_fingerprint), None)

    def _names(self, key_fingerprint: str) -> tuple[str, ...]:
        key = self._key(key_fingerprint)
        return (key_fingerprint,) if key is None else (key_fingerprint, key.key_id)

    def _needs(self, key: RingKey | None, builder: str, *, named: bool) -> bool:
        others = key is not None and key.use == "verify"
        return (named and others) or receipt_needs_reissue(key, builder, self._profile)

    # --- one batch ---

    def _read(self, connection: sa.Connection, condition: sa.ColumnElement[bool], size: int) -> list[sa.Row[Any]]:
        """The first so many records for which this holds, in order and locked."""
        # Two statements, since one that waits for a lock then sees the locked row as it is, but all others as they
        # were before: here, the receipt that another run has just replaced.
        if not (ids := locked(connection, condition, size)):
            return []
        others = receipts.alias()
        first: sa.ColumnElement[Any] = sa.null()
        if self._evidence.needs_origin:
            of_record = sa.select(others.c.receipt).where(others.c.record_id == records.c.id)
            first = of_record.order_by(others.c.id).limit(1).scalar_subquery()
        query: sa.Select[Any] = (
            sa.select(
                records.c.id,
                records.c.canonical_sha256,
                records.c.suffix,
                records.c.canonical,
                current.c.updated_at,
                records.c.recorded_at,
                receipts.c.id.label("receipt_id"),
                receipts.c.receipt,
                first.label("first_receipt"),
            )
            .select_from(current)
            .join(records, records.c.id == current.c.record_id)
            .join(receipts, receipts.c.id == current.c.receipt_id, isouter=True)
            .where(condition & (current.c.record_id <= ids[-1]))
            .order_by(current.c.record_id)
        )
        held = set(ids)  # a record that came in between the two statements is left for the next run
        return [row for row in connection.execute(query) if row.id in held]

    def _reissue(self, connection: sa.Connection, rows: list[sa.Row[Any]], *, named: bool) -> Progress:
        """Reissue these rows; gives their counts, which hold once the transaction is committed."""
        recomputed = self._recomputed(rows)
        counts = Progress(len(rows))
        made = []
        for row in rows:
            try:
                if (new := self._next(row, recomputed, named=named)) is not None:
                    made.append(new)
            except (Refused, KeyUnusable) as error:
                counts.refused += 1
                self._refused(Refusal(_number_of(row), error.code, error.message))
                if isinstance(error, KeyUnusable):
                    counts.signer_failed += 1
                    self._failures += 1
                if self._failures == _FAILURES_IN_A_ROW:
                    self._signer_error = error.message
                    break
        self._write(connection, made)
        counts.reissued = len(made)
        return counts

    def _stop_where_the_signer_is_broken(self) -> None:
        """After the batch is committed: what was signed is kept."""
        if self._signer_error is not None:
            raise SignerFailed(
                f"the signer failed {_FAILURES_IN_A_ROW} times in a row: {self._signer_error}",
                hint="mend the signer and run the same command again; what was signed is kept",
            )

    def _next(self, row: sa.Row[Any], recomputed: set[bytes], *, named: bool) -> tuple[int, bytes, str, str] | None:
        digest = _checked_digest(row)
        try:
            receipt = msgspec.json.decode(row.receipt or b"", type=Receipt)
        except (msgspec.MsgspecError, UnicodeError):
            raise AlteredRecord("its stored receipt can't be read") from None
        key = self._ring.find(receipt.key_id, receipt.public_key_fingerprint)
        if not self._needs(key, receipt.builder_version, named=named):
            return None
        if digest not in recomputed and (objection := self._evidence.objection(row, digest, receipt, key)):
            raise NoEvidence(objection)
        new, updated_at = next_receipt(digest, receipt, row.updated_at, self._signer, self._profile, self._clock)
        signed_at, active = times.parse_receipt_time(new.signed_at), self._ring.by_public_key(self._signer.public_key)
        if signed_at and active and (objection := active.objection(signed_at)):
            raise KeyUnfit(f"the new receipt would not be valid: {objection}", hint="look at the clock")
        self._failures = 0
        return row.id, msgspec.json.encode(new), updated_at, new.signed_at

    def _write(self, connection: sa.Connection, made: list[tuple[int, bytes, str, str]]) -> None:
        if not made:
            return
        # Text of our own, since it is several times as fast. Ids are given by the INSERT (see check.py); the newest
        # receipt of a record is the one just made, since nobody else makes one while we hold the record.
        mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
        connection.exec_driver_sql(
            f"INSERT INTO receipts (record_id, receipt, recorded_at) VALUES ({mark}, {mark}, {mark})",
            [(record_id, receipt, signed_at) for record_id, receipt, _, signed_at in made],
        )
        key_fingerprint, builder = fingerprint(self._signer.public_key), self._profile.builder_version
        connection.exec_driver_sql(
            f"UPDATE current SET receipt_id = (SELECT max(id) FROM receipts WHERE record_id = {mark}), "
            f"updated_at = {mark}, key_fingerprint = {mark}, receipt_builder = {mark} WHERE record_id = {mark}",
            [(row, updated_at, key_fingerprint, builder, row) for row, _, updated_at, _ in made],
        )

    def _recomputed(self, rows: list[sa.Row[Any]]) -> set[bytes]:
        """The digests that the papers' metadata give now, where a source describes those versions."""
        if self._recompute is None:
            return set()
        papers: set[ArxivId] = set()
        for row in rows:
            with contextlib.suppress(msgspec.MsgspecError, UnicodeError):  # what can't be read is refused later
                papers.add(msgspec.json.decode(row.canonical, type=CanonicalRecord).arxiv_id)
        return set(self._recompute(sorted(papers, key=str)).values())

    def _last_check(self) -> int:
        with reading(self._engine) as connection:
            last = connection.execute(sa.select(checks).order_by(checks.c.id.desc()).limit(1)).first()
        if last is None or last.failed:
            raise Refused(
                "there is no check of the whole store that all records passed", hint="run: pith-build store check"
            )
        self.trusted_check = last.checked_at
        return int(last.last_receipt_id)


def _number_of(row: sa.Row[Any]) -> str:
    """The number of a row, as well as it can be told of one that may be damaged."""
    try:
        year = msgspec.json.decode(row.canonical, type=CanonicalRecord).year
    except (msgspec.MsgspecError, UnicodeError, TypeError, InvalidInput):
        return f"pith:{row.suffix}"
    return f"pith:{year}:{row.suffix}"


def _checked_digest(row: sa.Row[Any]) -> bytes:
    """The digest of the stored canonical bytes, 32 bytes. Raises AlteredRecord where they aren't what was hashed."""
    if not isinstance(row.canonical, bytes):
        raise AlteredRecord("the stored canonical bytes are text")
    digest = hashlib.sha256(row.canonical).digest()
    if digest != row.canonical_sha256 or PithNumber.from_digest(digest, 0).suffix != row.suffix:
        raise AlteredRecord("the stored canonical bytes don't give the stored digest and number")
    return digest
