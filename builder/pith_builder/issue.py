"""Issuing a record, given a signer and a clock (PROTOCOL §6)."""

from __future__ import annotations

from pith_builder import times
from pith_builder.metadata import PaperMetadata
from pith_builder.published import PithRecord, Profile, Surroundings, assemble
from pith_builder.receipt import sign_receipt
from pith_builder.record import Paper, canonical_record
from pith_builder.signing import Signer
from pith_builder.snapshot import Enrichment, build_snapshot
from pith_builder.times import Clock


class Issuer:
    """Issues records under one key and one profile."""

    def __init__(self, signer: Signer, profile: Profile | None = None, *, clock: Clock) -> None:
        self.signer = signer
        self.profile = profile or Profile()
        self.clock = clock

    def issue(self, metadata: PaperMetadata, enrichment: Enrichment | None = None) -> PithRecord:
        """The signed record of a paper.

        The clock is read three times: computed, created, signed. Raises LicenseUnknown, NotCanonical (a hashed
        row with a float), or what the signer raises.
        """
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
        paper = Paper.of(metadata, canonical, enrichment.headline if enrichment else "")
        snapshot = build_snapshot(paper, canonical, enrichment, self.profile.builder_version)
        record = assemble(
            canonical,
            paper,
            snapshot,
            receipt,
            Surroundings.of(enrichment),
            base_url=self.profile.base_url,
            created_at=created_at,
            updated_at=created_at,
        )
        return _with_unknown_verdict_fields(record, enrichment)


def _with_unknown_verdict_fields(record: PithRecord, enrichment: Enrichment | None) -> PithRecord:
    if enrichment is None or enrichment.verdict.keys() <= set(record.graph_snapshot.verdict.__struct_fields__):
        return record
    return record.with_layout({"graph_snapshot": {"verdict": enrichment.verdict}})


