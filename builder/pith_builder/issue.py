"""Issuing a record and reissuing its receipt, given a signer and a clock (PROTOCOL §6)."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from pith_builder import times
from pith_builder.enrichment import Enrichment, Verdict
from pith_builder.errors import AlteredRecord, ConflictingMetadata
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.metadata import PaperMetadata
from pith_builder.number import PithNumber
from pith_builder.published import DEFAULT_PROFILE, PithRecord, Profile, Surroundings, assemble
from pith_builder.receipt import Receipt, sign_receipt
from pith_builder.record import CanonicalRecord, Paper, canonical_record
from pith_builder.signing import Signer
from pith_builder.snapshot import build_snapshot
from pith_builder.times import Clock


class Issuer:
    """Issues records under one key and one profile."""

    def __init__(self, signer: Signer, profile: Profile = DEFAULT_PROFILE, clock: Clock = times.no_clock) -> None:
        """`clock` gives aware datetimes in UTC; there is no default one, since the core reads no clock of its own."""
        self.signer = signer
        self.profile = profile
        self.clock = clock

    def issue(self, metadata: PaperMetadata, enrichment: Enrichment | None = None) -> PithRecord:
        """The signed record of a paper.

        The clock is read three times: computed, created, signed. Raises LicenseUnknown, NotCanonical (a hashed
        row with a float), or what the signer raises.
        """
        canonical, _, receipt, created_at = self.sign(metadata)
        paper = Paper.of(metadata, canonical)
        return _complete(
            canonical, paper, enrichment, receipt, self.profile, created_at=created_at, updated_at=created_at
        )

    def sign(self, metadata: PaperMetadata) -> Signed:
        """The first half of `issue`: what is hashed and signed of a paper. Raises as `issue`."""
        readings = times.Readings(self.clock)
        computed_at = times.receipt_time(readings.next())
        canonical = canonical_record(metadata)
        digest = canonical.digest()
        created_at = times.record_time(readings.next())
        receipt = sign_receipt(
            digest,
            self.signer,
            first_computed_at=computed_at,
            last_reissued_at=computed_at,
            signed_at=readings.next(),
            builder_version=self.profile.builder_version,
        )
        return Signed(canonical, digest, receipt, created_at)


class Signed(NamedTuple):
    """What issuing signs: the canonical record, its digest (32 bytes), the receipt, and `created_at` in record form."""

    canonical: CanonicalRecord
    digest: bytes
    receipt: Receipt
    created_at: str

    @property
    def number(self) -> PithNumber:
        """The pith number of the digest."""
        return PithNumber.from_digest(self.digest, self.canonical.year)


def updated(
    record: PithRecord, metadata: PaperMetadata, enrichment: Enrichment | None, profile: Profile, clock: Clock
) -> PithRecord:
    """`record` with the paper block and snapshot of these metadata and enrichment; itself where they are the same.

    Number, receipt, base URL, `created_at` and unknown fields stay, `updated_at` is a new clock reading (DESIGN "same
    digest, other paper block"). Without an enrichment all but the paper block stays, since what is around the paper in
    a record that was imported can't be built anew. Raises ConflictingMetadata for metadata of another digest.
    """
    if canonical_record(metadata) != record.canonical_record:
        raise ConflictingMetadata(f"these are not the metadata that {record.pith_number} was computed from")
    return with_paper(record, Paper.of(metadata, record.canonical_record), enrichment, profile, clock)


def with_paper(
    record: PithRecord, paper: Paper, enrichment: Enrichment | None, profile: Profile, clock: Clock
) -> PithRecord:
    """As `updated`, of a paper block without headline that was built for the record's digest."""
    base_url = record.base_url or profile.base_url

    def rebuilt(builder_version: str, updated_at: str) -> PithRecord:
        if enrichment is None:
            return _with_paper(record, paper, builder_version, updated_at)
        return _complete(
            record.canonical_record,
            paper,
            enrichment,
            record.receipt,
            Profile(base_url, builder_version),
            created_at=record.created_at,
            updated_at=updated_at,
            layout=record.layout,
        )

    if rebuilt(record.graph_snapshot.builder_version, record.updated_at).to_json() == record.to_json():
        return record
    readings = times.Readings(clock, not_before=times.parse_record_time(record.updated_at))
    return rebuilt(profile.builder_version, times.record_time(readings.next()))


def _with_paper(record: PithRecord, paper: Paper, builder_version: str, updated_at: str) -> PithRecord:
    paper = msgspec.structs.replace(paper, headline=record.paper.headline)
    graph = msgspec.structs.replace(record.graph_snapshot, paper=paper, builder_version=builder_version)
    return record.replace(paper=paper, graph_snapshot=graph, updated_at=updated_at)


def _complete(
    canonical: CanonicalRecord,
    paper: Paper,
    enrichment: Enrichment | None,
    receipt: Receipt,
    profile: Profile,
    *,
    created_at: str,
    updated_at: str,
    layout: dict[str, Any] | None = None,
) -> PithRecord:
    if enrichment is not None:
        paper = msgspec.structs.replace(paper, headline=enrichment.headline)
    record = assemble(
        canonical,
        paper,
        build_snapshot(paper, canonical, enrichment, profile.builder_version),
        receipt,
        Surroundings.of(enrichment),
        base_url=profile.base_url,
        created_at=created_at,
        updated_at=updated_at,
    )
    return record.with_layout(_with_verdict(layout, enrichment))


def _with_verdict(layout: dict[str, Any] | None, enrichment: Enrichment | None) -> dict[str, Any] | None:
    """The layout of a record whose verdict has the unknown fields of this enrichment, and no others."""
    graph = dict((layout or {}).get("graph_snapshot", {}))
    given = enrichment.verdict if enrichment else {}
    if given.keys() <= _VERDICT_FIELDS and "verdict" not in graph:
        return layout
    graph["verdict"] = given
    return {**(layout or {}), "graph_snapshot": graph}


_VERDICT_FIELDS = frozenset(Verdict.__struct_fields__)


# --- reissuing ---------------------------------------------------------------------------------------------------


def needs_reissue(record: PithRecord, keyring: KeyRing, profile: Profile = DEFAULT_PROFILE) -> bool:
    """Whether the record's receipt should be made anew: its key is no longer active, or the builder is another.

    Receipts under other people's keys (use `verify`) need nothing from us.
    """
    receipt = record.receipt
    return receipt_needs_reissue(
        keyring.find(receipt.key_id, receipt.public_key_fingerprint), receipt.builder_version, profile
    )


def receipt_needs_reissue(key: RingKey | None, builder_version: str, profile: Profile) -> bool:
    """The same of a receipt's key, as the ring has it, and its builder version."""
    if key is not None and key.use == "verify":
        return False
    return key is None or key.use != "receipts" or key.state != "active" or builder_version != profile.builder_version


def reissue(
    record: PithRecord, signer: Signer, profile: Profile = DEFAULT_PROFILE, clock: Clock = times.no_clock
) -> PithRecord:
    """The record with a new receipt (PROTOCOL §6); everything but receipt and `updated_at` stays.

    The clock is read three times: `last_reissued_at`, `updated_at`, `signed_at`; none is earlier than the record's
    latest time. Raises AlteredRecord where digest or number don't follow from the canonical record, or what the
    signer raises. Whether the earlier receipt is worth anything is for the caller to check.
    """
    digest = record.canonical_record.digest()
    if digest.hex() != record.canonical_sha256 or str(record.number) != record.pith_number:
        raise AlteredRecord(f"digest and number of {record.pith_number} don't follow from its canonical record")
    receipt, updated_at = next_receipt(digest, record.receipt, record.updated_at, signer, profile, clock)
    return record.replace(receipt=receipt, updated_at=updated_at)


def next_receipt(
    digest: bytes, receipt: Receipt, updated_at: str, signer: Signer, profile: Profile, clock: Clock
) -> tuple[Receipt, str]:
    """The receipt that follows `receipt` over the same digest (32 bytes), and the record's new `updated_at`.

    Raises AlteredRecord for a receipt over another digest, or times that can't be read.
    """
    of_receipt = (receipt.first_computed_at, receipt.last_reissued_at, receipt.signed_at)
    earlier = [*map(times.parse_receipt_time, of_receipt), times.parse_record_time(updated_at)]
    known = [time for time in earlier if time is not None]
    if receipt.canonical_sha256 != digest.hex() or len(known) != len(earlier):
        raise AlteredRecord(f"the receipt of {digest.hex()} is of another digest, or its times can't be read")
    readings = times.Readings(clock, not_before=max(known))
    last_reissued_at = times.receipt_time(readings.next())
    new_updated_at = times.record_time(readings.next())
    new = sign_receipt(
        digest,
        signer,
        first_computed_at=receipt.first_computed_at,
        last_reissued_at=last_reissued_at,
        signed_at=readings.next(),
        builder_version=profile.builder_version,
    )
    return new, new_updated_at
