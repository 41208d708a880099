"""The graph snapshot: what is known around a paper, and the hashes of it (PROTOCOL §4, §5)."""

from __future__ import annotations

import hashlib

import msgspec

from pith_builder.canonical import canonical_bytes, jsonb_order
from pith_builder.enrichment import (
    NO_VERDICT,
    AuthorClaim,
    Enrichment,
    Finding,
    IntegrityInput,
    Reference,
    Row,
    Verdict,
    read_rows,
)
from pith_builder.record import CanonicalRecord, Paper, Source

#: How many rows a `sample` shows (PROTOCOL §5).
SAMPLE_ROWS = 5

# --- the sections, fields in JSONB order ------------------------------------------------------------------------


class Claims(msgspec.Struct, frozen=True):
    count: int
    items: list[Row]
    snapshot_sha256: str


class DetectorCounts(msgspec.Struct, frozen=True):
    total: int
    advisory: int
    critical: int
    informational: int


class IntegritySummary(msgspec.Struct, frozen=True):
    advisory: int
    critical: int
    by_detector: dict[str, DetectorCounts]
    informational: int


class Integrity(msgspec.Struct, frozen=True):
    clean: bool
    summary: IntegritySummary
    endpoint: str
    findings: list[Row]
    available: bool
    detectors_run: list[Row]
    snapshot_sha256: str


class References(msgspec.Struct, frozen=True):
    count: int
    sample: list[Row]
    resolved_work: int
    snapshot_sha256: str
    internal_anchors: int


class FormalCanon(msgspec.Struct, frozen=True):
    evidence_count: int
    snapshot_sha256: str


class AuthorClaims(msgspec.Struct, frozen=True):
    count: int
    strong_count: int
    snapshot_sha256: str


class GraphSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot in its stored order. Records of May 2026 have no `integrity` (PROTOCOL §5)."""

    paper: Paper
    claims: Claims
    source: Source
    verdict: Verdict
    integrity: Integrity | msgspec.UnsetType = msgspec.UNSET
    references: References
    formal_canon: FormalCanon
    author_claims: AuthorClaims
    builder_version: str


# --- hashes and derived values ----------------------------------------------------------------------------------


def snapshot_sha256(payload: object) -> str:
    """SHA-256 of the canonical JSON of `{"payload": payload}`, 64 hex digits (PROTOCOL §5)."""
    return hashlib.sha256(canonical_bytes({"payload": payload})).hexdigest()


#: The hashes of an empty section, and of an integrity section without detectors and findings.
EMPTY_SHA256 = snapshot_sha256([])
CLEAN_SHA256 = snapshot_sha256({"detectors": [], "findings": []})


def rows_sha256(rows: list[Row]) -> str:
    """The hash of a section that is a list of rows (PROTOCOL §5)."""
    return snapshot_sha256(rows) if rows else EMPTY_SHA256


def integrity_sha256(detectors_run: list[Row], findings: list[Row]) -> str:
    """The hash of the integrity section: its two lists, nothing else (PROTOCOL §5)."""
    if not detectors_run and not findings:
        return CLEAN_SHA256
    return snapshot_sha256({"detectors": detectors_run, "findings": findings})


def integrity_summary(findings: list[Row]) -> IntegritySummary:
    """Counts by severity, in all and by detector, from the findings (PROTOCOL §4)."""
    if not findings:
        return _NO_FINDINGS
    rows = read_rows("integrity.findings", findings, Finding)
    by_detector = {name: _counts([row for row in rows if row.detector == name]) for name in {r.detector for r in rows}}
    total = _counts(rows)
    return IntegritySummary(total.advisory, total.critical, jsonb_order(by_detector), total.informational)


def _counts(rows: list[Finding]) -> DetectorCounts:
    of = [row.severity for row in rows]
    return DetectorCounts(len(of), of.count("advisory"), of.count("critical"), of.count("informational"))


def integrity_endpoint(arxiv_id: str) -> str:
    return f"/pith/{arxiv_id}/integrity.json"


def build_integrity(arxiv_id: str, given: IntegrityInput) -> Integrity:
    """The integrity section; summary and `clean` follow from the findings (PROTOCOL §4)."""
    return Integrity(
        clean=not given.findings,
        summary=integrity_summary(given.findings),
        endpoint=integrity_endpoint(arxiv_id),
        findings=jsonb_order(given.findings),
        available=True,
        detectors_run=jsonb_order(given.detectors_run),
        snapshot_sha256=integrity_sha256(given.detectors_run, given.findings),
    )


def build_references(rows: list[Row]) -> References:
    """The references section of the rows given to the builder (PROTOCOL §5)."""
    read = read_rows("references", rows, Reference)
    return References(
        count=len(rows),
        sample=jsonb_order(rows[:SAMPLE_ROWS]),
        resolved_work=sum(row.resolved for row in read),
        snapshot_sha256=rows_sha256(rows),
        internal_anchors=sum(row.is_internal_anchor for row in read),
    )


def build_snapshot(
    paper: Paper, canonical: CanonicalRecord, enrichment: Enrichment | None, builder_version: str
) -> GraphSnapshot:
    """The snapshot of a paper and what is known around it, in the shape of July 2026 (PROTOCOL §5).

    Raises NotCanonical for a hashed row with a float or an integer of 2^53 or more.
    """
    source = Source(canonical.source.id, canonical.source.kind, canonical.source.version)
    if enrichment is None:
        return GraphSnapshot(
            paper=paper,
            claims=_NO_CLAIMS,
            source=source,
            verdict=NO_VERDICT,
            integrity=build_integrity(source.id, _NO_INTEGRITY),
            references=_NO_REFERENCES,
            formal_canon=_NO_FORMAL_CANON,
            author_claims=_NO_AUTHOR_CLAIMS,
            builder_version=builder_version,
        )
    claims, evidence, author_claims = enrichment.claims, enrichment.formal_canon.evidence, enrichment.author_claims
    strong = sum(row.strength == "strong" for row in read_rows("author_claims", author_claims, AuthorClaim))
    return GraphSnapshot(
        paper=paper,
        claims=Claims(len(claims), jsonb_order(claims), rows_sha256(claims)),
        source=source,
        verdict=msgspec.structs.replace(verdict := enrichment.full_verdict(), model_set=jsonb_order(verdict.model_set)),
        integrity=build_integrity(source.id, enrichment.integrity),
        references=build_references(enrichment.references),
        formal_canon=FormalCanon(len(evidence), rows_sha256(evidence)),
        author_claims=AuthorClaims(len(author_claims), strong, rows_sha256(author_claims)),
        builder_version=builder_version,
    )


_NO_CLAIMS = Claims(0, [], EMPTY_SHA256)
_NO_REFERENCES = References(0, [], 0, EMPTY_SHA256, 0)
_NO_FORMAL_CANON = FormalCanon(0, EMPTY_SHA256)
_NO_AUTHOR_CLAIMS = AuthorClaims(0, 0, EMPTY_SHA256)
_NO_FINDINGS = IntegritySummary(0, 0, {}, 0)
_NO_INTEGRITY = IntegrityInput()
