"""Records in a store: issuing into it, and finding them again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from pith_builder.alias import parse_alias
from pith_builder.arxiv_id import ArxivId
from pith_builder.diff import differing_fields
from pith_builder.enrichment import Enrichment
from pith_builder.errors import ConflictingMetadata, InvalidInput
from pith_builder.issue import Issuer, Signed, with_paper
from pith_builder.metadata import PaperMetadata, Provenance
from pith_builder.number import PithNumber
from pith_builder.published import PithRecord, Profile, Surroundings, assemble
from pith_builder.receipt import Receipt
from pith_builder.record import CanonicalRecord, Paper, canonical_record
from pith_builder.snapshot import GraphSnapshot
from pith_builder.store.aliases import NEWEST_FIRST, canonical_of, damaged, named, the_one, unfinished
from pith_builder.store.database import insert_new, open_engine, reading, writing
from pith_builder.store.schema import current, earlier_blocks, receipts, records
from pith_builder.times import Clock

_PAPER = b'{"paper":'
_BLOCKS = ("paper", "snapshot", "surroundings", "enrichment", "provenance", "layout")

_NEWEST_RECEIPT = receipts.c.id == current.c.receipt_id

#: All that a record is rebuilt from, its newest receipt among it.
WHOLE: sa.Select[Any] = (
    sa.select(records, current, receipts.c.receipt)
    .join(current, current.c.record_id == records.c.id)
    .outerjoin(receipts, _NEWEST_RECEIPT)
)

#: The same, with the records that have no newest receipt.
EVERY: sa.Select[Any] = (
    sa.select(records, current, receipts.c.receipt)
    .outerjoin(current, current.c.record_id == records.c.id)
    .outerjoin(receipts, _NEWEST_RECEIPT)
)

#: What proves a record's number alone, and its mark; as `EVERY`, also without a newest receipt.
PROOFS: sa.Select[Any] = (
    sa.select(
        records.c.canonical_sha256,
        records.c.suffix,
        records.c.created_at,
        records.c.canonical,
        records.c.withdrawn,
        current.c.record_id,
        receipts.c.receipt,
    )
    .outerjoin(current, current.c.record_id == records.c.id)
    .outerjoin(receipts, _NEWEST_RECEIPT)
)


class Withdrawal(msgspec.Struct, frozen=True):
    """When a record was marked as issued in error, and why."""

    at: str
    reason: str


class StoredRecord(msgspec.Struct, frozen=True):
    """A record as the store has it; `recorded_at` is when it came in, in receipt form."""

    record: PithRecord
    enrichment: Enrichment | None
    provenance: Provenance
    recorded_at: str
    withdrawn: Withdrawal | None


#: What issuing a paper comes to.
Action = Literal["issued", "stored", "updated"]


class Outcome(msgspec.Struct, frozen=True):
    """What issuing did.

    `follows` is the paper's newest earlier number, where `issued` gave it another, and `differs` the fields of the
    canonical record in which the two differ.
    """

    action: Action
    record: PithRecord
    follows: str | None = None
    differs: tuple[str, ...] = ()


class Store:
    """The records of a registry in a SQL database."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        """Open the store, made and migrated where needed. Raises StoreFailed, or NotFound without `create`."""
        self.engine = open_engine(url, create=create)

    def issue(
        self, metadata: PaperMetadata, provenance: Provenance, issuer: Issuer, enrichment: Enrichment | None = None
    ) -> Outcome:
        """Issue a paper into the store.

        The same digest is never issued twice: another paper block or enrichment replaces the old one, which is
        kept; without an enrichment, the stored one stays. Raises LicenseUnknown, StoreFailed, KeyUnusable.
        """
        canonical = canonical_record(metadata)
        digest = canonical.digest()
        if not self._has(digest):
            record = issuer.issue(metadata, enrichment)  # signed outside the transaction, so that no one waits for it
            with writing(self.engine) as connection:
                earlier = _newest_of(connection, metadata.id, digest)
                if insert_record(connection, record, enrichment, provenance, record.receipt.signed_at):
                    return _issued(record, earlier)
        paper = Paper.of(metadata, canonical)
        with reading(self.engine) as connection:
            change = Change(connection, digest, paper, provenance, issuer.profile, issuer.clock, enrichment)
        if change.is_none:
            return Outcome("stored", change.before)
        with writing(self.engine) as connection:  # again, since another process may have been here meanwhile
            locked(connection, current.c.record_id == change.row_id)
            change = Change(connection, digest, paper, provenance, issuer.profile, issuer.clock, enrichment)
            change.write(connection)
        return Outcome("stored" if change.after is change.before else "updated", change.after)

    def would(self, metadata: PaperMetadata, provenance: Provenance, profile: Profile, clock: Clock) -> Action:
        """What issuing a paper would come to now; nothing is signed or written. Raises as `issue`."""
        canonical = canonical_record(metadata)
        digest = canonical.digest()
        if not self._has(digest):
            return "issued"
        with reading(self.engine) as connection:
            change = Change(connection, digest, Paper.of(metadata, canonical), provenance, profile, clock, None)
        return "stored" if change.after is change.before else "updated"

    def find(self, alias: str) -> list[StoredRecord]:
        """The records that an arXiv id, DOI, number, short form, transcription form or URL means, newest first.

        Raises InvalidAlias for what is none of these.
        """
        meant = parse_alias(alias)
        year = meant.year if isinstance(meant, PithNumber) else None
        with reading(self.engine) as connection:
            rows = connection.execute(WHOLE.where(named(meant)).order_by(*NEWEST_FIRST)).all()
            found = [stored_record(row) for row in rows]
        return [stored for stored in found if year in (None, stored.record.canonical_record.year)]

    def get(self, alias: str) -> StoredRecord:
        """The one record that an alias means; of a paper with several, the newest.

        Raises NotFound, Ambiguous with the candidates, InvalidAlias.
        """
        with reading(self.engine) as connection:
            found = WHOLE.where(records.c.id == the_one(connection, alias).id)
            return stored_record(connection.execute(found).one())

    def row_of(self, alias: str) -> int:
        """The row of the one record that an alias means, whatever state it is in.

        Raises NotFound, Ambiguous, InvalidAlias.
        """
        with reading(self.engine) as connection:
            return int(the_one(connection, alias).id)

    def receipts_of(self, number: PithNumber) -> list[Receipt]:
        """All receipts of a number, oldest first; the last is the record's."""
        with reading(self.engine) as connection:
            found = connection.execute(
                sa.select(receipts.c.receipt)
                .join(records, records.c.id == receipts.c.record_id)
                .where(records.c.suffix == number.suffix)
                .order_by(receipts.c.id)
            )
            return [msgspec.json.decode(receipt, type=Receipt) for (receipt,) in found]

    def count_by_key(self) -> dict[str, int]:
        """Fingerprint -> how many records have their newest receipt under that key."""
        with reading(self.engine) as connection:
            found = connection.execute(
                sa.select(current.c.key_fingerprint, sa.func.count()).group_by(current.c.key_fingerprint)
            )
            return {row[0]: row[1] for row in found}

    def count(self) -> int:
        """How many records there are."""
        with reading(self.engine) as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(records)) or 0

    def _has(self, digest: bytes) -> bool:
        with reading(self.engine) as connection:
            return connection.scalar(sa.select(records.c.id).where(records.c.canonical_sha256 == digest)) is not None


# --- queries ----------------------------------------------------------------------------------------------------


def _issued(record: PithRecord, earlier: CanonicalRecord | None) -> Outcome:
    if earlier is None:
        return Outcome("issued", record)
    return Outcome("issued", record, str(earlier.number()), differing_fields(earlier, record.canonical_record))


def _newest_of(connection: sa.Connection, paper: ArxivId, digest: bytes) -> CanonicalRecord | None:
    """The paper's newest other record, of no later version."""
    others: sa.Select[Any] = (
        sa.select(records.c.suffix, records.c.canonical, records.c.canonical_sha256)
        .where(records.c.arxiv_id == paper.id, records.c.version <= paper.version)
        .where(records.c.canonical_sha256 != digest)
        .order_by(*NEWEST_FIRST)
        .limit(1)
    )
    row = connection.execute(others).first()
    return None if row is None else canonical_of(row)


def locked(connection: sa.Connection, condition: sa.ColumnElement[bool], size: int | None = None) -> list[int]:
    """The records, by row id and in its order, whose row of `current` meets a condition; the first `size` of them.

    Until the transaction ends nobody else changes these records or gives them receipts: what is read of them from now
    on stays as it is. (SQLite's writers have the whole store to themselves anyway.)
    """
    query = sa.select(current.c.record_id).where(condition).order_by(current.c.record_id).limit(size)
    return list(connection.scalars(query.with_for_update()))


# --- rows -------------------------------------------------------------------------------------------------------


def _row(connection: sa.Connection, digest: bytes) -> sa.Row[Any]:
    row = connection.execute(WHOLE.where(records.c.canonical_sha256 == digest)).one_or_none()
    if row is None:
        raise unfinished(PithNumber.from_digest(digest, 0).suffix)
    return row


def blocks(record: PithRecord, enrichment: Enrichment | None, provenance: Provenance) -> dict[str, Any]:
    """The columns of a record that an update replaces."""
    paper, snapshot = paper_and_snapshot(record.graph_snapshot)
    return {
        "paper": paper,
        "snapshot": snapshot,
        "surroundings": msgspec.json.encode(record.surroundings),
        "enrichment": None if enrichment is None else enrichment.to_json(),
        "provenance": msgspec.json.encode(provenance),
        "layout": None if record.layout is None else msgspec.json.encode(record.layout),
    }


def paper_and_snapshot(graph: GraphSnapshot) -> tuple[bytes, bytes]:
    """The columns of a snapshot: its paper block, which is the record's too, and all the rest."""
    paper, whole = msgspec.json.encode(graph.paper), msgspec.json.encode(graph)
    return paper, b"{" + whole[len(_PAPER) + len(paper) + 1 :]  # the paper block stands first


def insert_record(
    connection: sa.Connection,
    record: PithRecord,
    enrichment: Enrichment | None,
    provenance: Provenance,
    recorded_at: str,
) -> bool:
    """Whether the record is new; one with its digest may have come in meanwhile. `recorded_at` is in receipt form."""
    canonical = record.canonical_record
    inserted = connection.execute(
        insert_new(connection, records)
        .values(
            canonical_sha256=bytes.fromhex(record.canonical_sha256),
            suffix=record.number.suffix,
            arxiv_id=canonical.source.id,
            version=canonical.source.version,
            canonical=canonical.to_bytes(),
            base_url=record.base_url,
            created_at=record.created_at,
            said_at=provenance.said_at,
            recorded_at=recorded_at,
            **blocks(record, enrichment, provenance),
        )
        .returning(records.c.id)
    ).scalar()
    if inserted is None:
        return False
    connection.execute(
        current.insert().values(
            record_id=inserted,
            receipt_id=append_receipt(connection, inserted, record.receipt, recorded_at),
            updated_at=record.updated_at,
            key_fingerprint=record.receipt.public_key_fingerprint,
            receipt_builder=record.receipt.builder_version,
        )
    )
    return True


def append_receipt(connection: sa.Connection, record_id: int, receipt: Receipt, recorded_at: str) -> int:
    """The row of a record's new receipt. `recorded_at` is in receipt form."""
    row = receipts.insert().values(record_id=record_id, receipt=msgspec.json.encode(receipt), recorded_at=recorded_at)
    return int(connection.execute(row.returning(receipts.c.id)).scalar_one())


def keep_blocks(connection: sa.Connection, row: sa.Row[Any], replaced_at: str) -> None:
    """Put the blocks of a row into the history, before others take their place. `replaced_at` is in record form."""
    kept = {name: getattr(row, name) for name in _BLOCKS}
    connection.execute(
        earlier_blocks.insert().values(record_id=row.id, updated_at=row.updated_at, replaced_at=replaced_at, **kept)
    )


def _day(time: str | None) -> str | None:
    return time and time[:10]


def _is_newest(connection: sa.Connection, row: sa.Row[Any]) -> bool:
    of_paper = (records.c.arxiv_id == row.arxiv_id) & (records.c.version == row.version)
    newest = sa.select(records.c.id).where(of_paper).order_by(*NEWEST_FIRST).limit(1)
    return bool(connection.scalar(newest) == row.id)


class Change:
    """What a paper block of a stored digest changes: the blocks, or only when their source last said the same."""

    def __init__(
        self,
        connection: sa.Connection,
        digest: bytes,
        paper: Paper,
        provenance: Provenance,
        profile: Profile,
        clock: Clock,
        enrichment: Enrichment | None,
        *,
        input_since: str | None = None,
    ) -> None:
        """A record that came in after `input_since` (receipt form) and from where these metadata come is of the same
        input, in which the last row wins.
        """
        self._row = _row(connection, digest)
        stored = stored_record(self._row)
        self.before = self.after = stored.record
        self._provenance, self._enrichment = stored.provenance, enrichment or stored.enrichment
        known, said = said_at_of(self._row), provenance.said_at
        self._said_at = known
        is_of_input = (
            input_since is not None
            and self._row.recorded_at >= input_since
            and stored.provenance.source == provenance.source
        )
        is_older = known is not None and said is not None and said < known and not is_of_input
        if is_older and enrichment is not None:
            raise ConflictingMetadata(
                f"the store has a newer description of {stored.record.canonical_record.arxiv_id}, of {known}",
                hint="give the enrichment with the newer metadata",
            )
        if is_older:
            return  # an older description never takes the place of a newer one
        self._said_at = max(said or "", known or "") or None
        self.after = with_paper(self.before, paper, self._enrichment, profile, clock)
        if self.after is self.before and _day(said) == _day(known) and _is_newest(connection, self._row):
            self._said_at = known  # said again on the same day: nothing that would change any order
        if self.after is not self.before:
            self._provenance = provenance

    @property
    def row_id(self) -> int:
        return int(self._row.id)

    @property
    def is_none(self) -> bool:
        return self.after is self.before and self._said_at == self._row.said_at

    def write(self, connection: sa.Connection) -> None:
        row, record = self._row, self.after
        values = blocks(record, self._enrichment, self._provenance)
        if record is not self.before:
            keep_blocks(connection, row, record.updated_at)
        connection.execute(records.update().where(records.c.id == row.id).values(said_at=self._said_at, **values))
        connection.execute(current.update().where(current.c.record_id == row.id).values(updated_at=record.updated_at))


def stored_record(row: sa.Row[Any]) -> StoredRecord:
    """The record of a row of `WHOLE`, built anew from what the store keeps. Raises StoreFailed where it is damaged."""
    record = record_of(row)
    with _read_from(row):
        return StoredRecord(
            record,
            None if row.enrichment is None else Enrichment.from_json(row.enrichment),
            msgspec.json.decode(row.provenance, type=Provenance),
            row.recorded_at,
            withdrawal_of(row),
        )


def record_of(row: sa.Row[Any]) -> PithRecord:
    """The published record of a row of `WHOLE` alone. Raises StoreFailed where the row is damaged."""
    canonical = canonical_of(row)
    with _read_from(row):
        return assemble(
            canonical,
            msgspec.json.decode(row.paper, type=Paper),
            msgspec.json.decode(_PAPER + row.paper + b"," + row.snapshot[1:], type=GraphSnapshot),
            msgspec.json.decode(row.receipt or b"null", type=Receipt),
            msgspec.json.decode(row.surroundings, type=Surroundings),
            base_url=row.base_url,
            created_at=row.created_at,
            updated_at=row.updated_at,
        ).with_layout(None if row.layout is None else msgspec.json.decode(row.layout))


def signed_of(row: sa.Row[Any]) -> Signed:
    """What was signed for a row of `PROOFS`. Raises StoreFailed where the row is damaged."""
    canonical = canonical_of(row)
    with _read_from(row):
        receipt = msgspec.json.decode(row.receipt or b"null", type=Receipt)
        return Signed(canonical, row.canonical_sha256, receipt, row.created_at)


@contextmanager
def _read_from(row: sa.Row[Any]) -> Iterator[None]:
    """Turn what is raised where a column can't be read into StoreFailed."""
    try:
        yield
    except (msgspec.MsgspecError, UnicodeError, InvalidInput, TypeError) as error:
        raise damaged(row, str(error)) from None


def withdrawal_of(row: sa.Row[Any]) -> Withdrawal | None:
    """The mark of a row, if it has one. Raises StoreFailed where it can't be read."""
    try:
        return None if row.withdrawn is None else msgspec.json.decode(row.withdrawn, type=Withdrawal)
    except (msgspec.MsgspecError, UnicodeError, TypeError) as error:
        raise damaged(row, f"its mark of withdrawal: {error}") from None


def said_at_of(row: sa.Row[Any]) -> str | None:
    """When the source of a row said so. Raises StoreFailed where that is no text."""
    if isinstance(row.said_at, str | None):
        return row.said_at
    raise damaged(row, "its said_at is no text")
