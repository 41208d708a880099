"""New receipts for stored records, after a rotation or under a new builder.

A batch is one transaction: the rows are read, checked, signed and written in it, so that a kill at any moment leaves
records that have their new receipt and records that have the old one, and nothing in between. Which ones still need it
is read off the records themselves; there is no state to lose. A receipt is only made for canonical bytes that give the
stored digest, and only where something vouches for the record (`_objection`).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder import times
from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import AlteredRecord, KeyUnfit, KeyUnusable, Refused
from pith_builder.issue import next_receipt, receipt_needs_reissue
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.number import PithNumber
from pith_builder.published import Profile
from pith_builder.receipt import Receipt
from pith_builder.record import CanonicalRecord
from pith_builder.signing import Signer, fingerprint
from pith_builder.store.database import reading, writing
from pith_builder.store.schema import checks, receipts, records
from pith_builder.store.store import Store
from pith_builder.times import Clock

BATCH = 500
_FAILURES_IN_A_ROW = 3

#: From the papers asked for to the digests that their metadata give now, where a source describes them.
Recompute = Callable[[list[ArxivId]], dict[ArxivId, bytes]]


class NoEvidence(Refused):
    """Nothing vouches for a record: its receipt is worth nothing, and there are no metadata to recompute it from."""

    code = "no_evidence"


class SignerFailed(KeyUnusable):
    """The signer failed several times in a row."""

    code = "signer_failed"


class Refusal(msgspec.Struct, frozen=True):
    """A record that was not signed, and why."""

    pith_number: str
    code: str
    reason: str


class Progress(msgspec.Struct):
    """How a run goes: counts so far, and how many records were to be looked at when it began."""

    total: int
    reissued: int = 0
    refused: int = 0


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
        self._checked_receipt = 0
        self.trusted_check: str | None = None
        if trust_last_check:
            self._trust_last_check()

    # --- which records ---

    def pending(self, key_id: str | None = None) -> int:
        """How many stored records need a new receipt; of one key where it is named."""
        return sum(count for _, _, count in self._groups(key_id))

    def run_all(self, key_id: str | None = None, limit: int | None = None) -> Iterator[Progress]:
        """Reissue what needs it, of one key where it is named; gives the progress after each batch."""
        groups = self._groups(key_id)
        left = sum(count for _, _, count in groups) if limit is None else limit
        progress = Progress(min(left, sum(count for _, _, count in groups)))
        for key_fingerprint, builder, _ in groups:
            last = 0
            while size := min(BATCH, left):
                with writing(self._engine) as connection:
                    condition = (records.c.key_fingerprint == key_fingerprint) & (records.c.receipt_builder == builder)
                    rows = self._read(connection, condition & (records.c.id > last), size)
                    self._reissue(connection, rows, progress, named=key_id is not None)
                self._stop_where_the_signer_is_broken()
                if not rows:
                    break
                last = rows[-1].id
                left -= len(rows)
                yield progress

    def run_named(self, record_ids: list[int]) -> Iterator[Progress]:
        """Reissue the records with these row ids where they need it, those under other people's keys too."""
        progress = Progress(len(record_ids))
        for start in range(0, len(record_ids), BATCH):
            with writing(self._engine) as connection:
                rows = self._read(connection, records.c.id.in_(record_ids[start : start + BATCH]), BATCH)
                self._reissue(connection, rows, progress, named=True)
            self._stop_where_the_signer_is_broken()
            yield progress

    def _groups(self, key_id: str | None) -> list[tuple[str, str, int]]:
        columns = (records.c.key_fingerprint, records.c.receipt_builder)
        with reading(self._engine) as connection:
            found = connection.execute(sa.select(*columns, sa.func.count()).group_by(*columns).order_by(*columns))
            groups = [(row[0], row[1], row[2]) for row in found]
        return [group for group in groups if self._is_wanted(group[0], group[1], key_id)]

    def _is_wanted(self, key_fingerprint: str, builder: str, key_id: str | None) -> bool:
        key = next((key for key in self._ring.keys if key.fingerprint == key_fingerprint), None)
        if key_id is not None and (key is None or key_id not in (key.key_id, key.fingerprint)):
            return False
        return self._needs(key, builder, named=key_id is not None)

    def _needs(self, key: RingKey | None, builder: str, *, named: bool) -> bool:
        others = key is not None and key.use == "verify"
        return (named and others) or receipt_needs_reissue(key, builder, self._profile)

    # --- one batch ---

    def _read(self, connection: sa.Connection, condition: sa.ColumnElement[bool], size: int) -> list[sa.Row[Any]]:
        others = receipts.alias()
        newest = sa.select(sa.func.max(others.c.id)).where(others.c.record_id == records.c.id).scalar_subquery()
        query = (
            sa.select(
                records.c.id,
                records.c.canonical_sha256,
                records.c.suffix,
                records.c.canonical,
                records.c.updated_at,
                records.c.recorded_at,
                receipts.c.id.label("receipt_id"),
                receipts.c.receipt,
            )
            .select_from(records)
            .join(receipts, receipts.c.id == newest)
            .where(condition)
            .order_by(records.c.id)
            .limit(size)
        )
        return list(connection.execute(query))

    def _reissue(self, connection: sa.Connection, rows: list[sa.Row[Any]], progress: Progress, *, named: bool) -> None:
        recomputed = self._recomputed(rows)
        made = []
        for row in rows:
            try:
                if (new := self._next(row, recomputed, named=named)) is not None:
                    made.append(new)
            except Refused as error:
                progress.refused += 1
                self._refused(Refusal(f"pith:{row.suffix}", error.code, error.message))
            except KeyUnusable as error:
                progress.refused += 1
                self._refused(Refusal(f"pith:{row.suffix}", error.code, error.message))
                self._failures += 1
                if self._failures == _FAILURES_IN_A_ROW:
                    self._signer_error = error.message
                    break
        self._write(connection, made)
        progress.reissued += len(made)

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
            receipt = msgspec.json.decode(row.receipt, type=Receipt)
        except (msgspec.MsgspecError, UnicodeError):
            raise AlteredRecord("its stored receipt can't be read") from None
        key = self._ring.find(receipt.key_id, receipt.public_key_fingerprint)
        if not self._needs(key, receipt.builder_version, named=named):
            return None
        if digest not in recomputed and (objection := self._objection(row, digest, receipt, key)):
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
        connection.exec_driver_sql(
            "INSERT INTO receipts (record_id, receipt, recorded_at) VALUES (?, ?, ?)",
            [(record_id, receipt, signed_at) for record_id, receipt, _, signed_at in made],
        )
        key_fingerprint = fingerprint(self._signer.public_key)
        connection.exec_driver_sql(
            "UPDATE records SET updated_at = ?, key_fingerprint = ?, receipt_builder = ? WHERE id = ?",
            [
                (updated_at, key_fingerprint, self._profile.builder_version, record_id)
                for record_id, _, updated_at, _ in made
            ],
        )

    # --- what vouches for a record ---

    def _objection(self, row: sa.Row[Any], digest: bytes, receipt: Receipt, key: RingKey | None) -> str | None:
        """Why the earlier receipt does not vouch for the record; None if it does."""
        if key is None:
            return f"the ring does not know the key of its receipt, {receipt.key_id}; give its metadata to recompute it"
        if key.revoked is not None and key.revoked.reason == "compromised":
            since = times.parse_seconds(key.revoked.since)
            recorded = times.parse_receipt_time(row.recorded_at)
            if since is not None and recorded is not None and recorded < since:
                return self._signature_objection(row, digest, receipt, key)
            return (
                f"{key.key_id} is compromised since {key.revoked.since} and the record came in later, so its receipt "
                "is evidence of nothing; give its metadata to recompute it"
            )
        signed_at = times.parse_receipt_time(receipt.signed_at)
        if signed_at is None:
            return "its receipt has no time that can be read"
        if objection := key.objection(signed_at):
            return objection
        return self._signature_objection(row, digest, receipt, key)

    def _signature_objection(self, row: sa.Row[Any], digest: bytes, receipt: Receipt, key: RingKey) -> str | None:
        if row.receipt_id <= self._checked_receipt or receipt.is_signed_by(key.public_key, digest):
            return None
        return f"the signature of its receipt is not {key.key_id}'s"

    def _recomputed(self, rows: list[sa.Row[Any]]) -> set[bytes]:
        """The digests that the papers' metadata give now, where a source describes those versions."""
        if self._recompute is None:
            return set()
        papers: set[ArxivId] = set()
        for row in rows:
            with contextlib.suppress(msgspec.MsgspecError, UnicodeError):  # what can't be read is refused later
                papers.add(msgspec.json.decode(row.canonical, type=CanonicalRecord).arxiv_id)
        return set(self._recompute(sorted(papers, key=str)).values())

    def _trust_last_check(self) -> None:
        with reading(self._engine) as connection:
            last = connection.execute(sa.select(checks).order_by(checks.c.id.desc()).limit(1)).first()
        if last is None or last.failed:
            raise Refused(
                "there is no check of the whole store that all records passed", hint="run: pith-build store check"
            )
        self._checked_receipt = last.last_receipt_id
        self.trusted_check = last.checked_at


def _checked_digest(row: sa.Row[Any]) -> bytes:
    """The digest of the stored canonical bytes, 32 bytes. Raises AlteredRecord where they aren't what was hashed."""
    if not isinstance(row.canonical, bytes):
        raise AlteredRecord("the stored canonical bytes are text")
    digest = hashlib.sha256(row.canonical).digest()
    if digest != row.canonical_sha256 or PithNumber.from_digest(digest, 0).suffix != row.suffix:
        raise AlteredRecord("the stored canonical bytes don't give the stored digest and number")
    return digest


def time_left(progress: Progress, begun: datetime, now: datetime) -> float | None:
    """Seconds that the rest will take at the rate so far; None before the first record."""
    done = progress.reissued + progress.refused
    elapsed = (now - begun).total_seconds()
    return elapsed / done * (progress.total - done) if done else None
