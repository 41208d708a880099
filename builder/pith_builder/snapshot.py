"""The graph snapshot: what is known around a paper, and the hashes of it (PROTOCOL §4, §5)."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar, Literal, TypeVar

import msgspec

from pith_builder.canonical import canonical_bytes, jsonb_order
from pith_builder.documents import Document, typed
from pith_builder.errors import InvalidEnrichment, InvalidInput
from pith_builder.record import CanonicalRecord, Paper, Source

#: How many rows a `sample` shows (PROTOCOL §5).
SAMPLE_ROWS = 5

Row = dict[str, Any]
T = TypeVar("T")


# --- what comes from outside the paper --------------------------------------------------------------------------


class Detector(msgspec.Struct, frozen=True):
    """What the builder reads of a row of `integrity.detectors_run`."""

    name: str


class Finding(msgspec.Struct, frozen=True):
    """What the builder reads of a row of `integrity.findings`."""

    detector: str
    severity: Literal["critical", "advisory", "informational"]


class Reference(msgspec.Struct, frozen=True):
    """What the builder reads of a row of `references`."""

    resolved: bool = False
    is_internal_anchor: bool = False


class AuthorClaim(msgspec.Struct, frozen=True):
    """What the builder reads of a row of `author_claims`."""

    strength: Literal["weak", "strong"]


class InboundCitation(msgspec.Struct, frozen=True):
    """What the builder reads of a row of `inbound_citations`."""

    is_internal_anchor: bool = False


class Event(msgspec.Struct, frozen=True):
    """What the builder reads of a row of `events`."""

    event_type: str


class IntegrityInput(msgspec.Struct, frozen=True):
    """`integrity` of an enrichment: the two lists that are hashed; the rest is derived from them."""

    detectors_run: list[Row] = []
    findings: list[Row] = []


class FormalCanonInput(msgspec.Struct, frozen=True):
    """`formal_canon` of an enrichment."""

    evidence: list[Row] = []
    anchors: list[Any] = []


class InboundCitations(msgspec.Struct, frozen=True):
    """Citations of the paper by others: `sample` are the rows that are shown, of `count` in all."""

    count: int
    internal_anchor_count: int
    sample: list[Row]


class _GivenCitations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sample: list[Row] = []
    count: int | None = None
    internal_anchor_count: int | None = None


class Enrichment(Document, frozen=True):
    """What is known of a paper from outside it, all optional; the defaults are the published ones (DESIGN).

    Rows are open objects. `inbound_citations` is the list of rows, or an object with `sample` and the counts
    where more are known than are shown. Raises InvalidEnrichment with the field at fault.
    """

    error: ClassVar[type[InvalidInput]] = InvalidEnrichment

    headline: str = ""
    verdict: Row = {}
    claims: list[Row] = []
    integrity: IntegrityInput = IntegrityInput()
    references: list[Row] = []
    formal_canon: FormalCanonInput = FormalCanonInput()
    author_claims: list[Row] = []
    inbound_citations: list[Row] | Row = []
    events: list[Row] = []
    paper_claims: list[Any] = []

    def __post_init__(self) -> None:
        _rows("integrity.detectors_run", self.integrity.detectors_run, Detector)
        _rows("integrity.findings", self.integrity.findings, Finding)
        _rows("references", self.references, Reference)
        _rows("author_claims", self.author_claims, AuthorClaim)
        _rows("events", self.events, Event)
        self.full_verdict()
        self.inbound()

    def full_verdict(self) -> Verdict:
        """The verdict with the published defaults for what isn't given."""
        return _typed("verdict", {**msgspec.to_builtins(NO_VERDICT), **self.verdict}, Verdict)

    def inbound(self) -> InboundCitations:
        """The inbound citations with the counts that aren't given."""
        given = self.inbound_citations
        found = _typed("inbound_citations", given if isinstance(given, dict) else {"sample": given}, _GivenCitations)
        shown, internal = len(found.sample), count_internal(found.sample)
        count = shown if found.count is None else found.count
        of_these = internal if found.internal_anchor_count is None else found.internal_anchor_count
        if count < shown or not internal <= of_these <= internal + count - shown:
            raise InvalidEnrichment(
                f"{count} citations, {of_these} of them internal, do not fit the {shown} that are shown",
                field="inbound_citations",
            )
        return InboundCitations(count, of_these, found.sample)


def _typed(field: str, value: Any, cls: type[T]) -> T:
    try:
        return typed(cls, value, InvalidEnrichment)
    except InvalidEnrichment as error:
        error.field = f"{field}{'' if error.field.startswith('[') or not error.field else '.'}{error.field}"
        raise


def _rows(field: str, rows: list[Row], cls: type[T]) -> list[T]:
    return _typed(field, rows, list[cls]) if rows else []  # type: ignore[valid-type]  # a type made at run time


# --- the sections, fields in JSONB order ------------------------------------------------------------------------


class Claims(msgspec.Struct, frozen=True):
    count: int
    items: list[Row]
    snapshot_sha256: str


class Verdict(msgspec.Struct, frozen=True):
    """A reviewer's verdict. Nothing binds it: no hash covers it."""

    id: str | int | None
    model_set: Row
    created_at: str | None
    strongest_claim: str | None
    one_line_summary: str | None
    pipeline_version: str | int | None
    weakest_assumption: str | None
    pith_extraction_headline: str | None


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


def count_internal(citations: list[Row]) -> int:
    """How many of these inbound citations are internal anchors."""
    return sum(row.is_internal_anchor for row in _rows("inbound_citations", citations, InboundCitation))


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
    rows = _rows("integrity.findings", findings, Finding)
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
    read = _rows("references", rows, Reference)
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
    strong = sum(row.strength == "strong" for row in _rows("author_claims", author_claims, AuthorClaim))
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


NO_VERDICT = Verdict(None, {}, None, "", "", None, "", "")
_NO_CLAIMS = Claims(0, [], EMPTY_SHA256)
_NO_REFERENCES = References(0, [], 0, EMPTY_SHA256, 0)
_NO_FORMAL_CANON = FormalCanon(0, EMPTY_SHA256)
_NO_AUTHOR_CLAIMS = AuthorClaims(0, 0, EMPTY_SHA256)
_NO_FINDINGS = IntegritySummary(0, 0, {}, 0)
_NO_INTEGRITY = IntegrityInput()
