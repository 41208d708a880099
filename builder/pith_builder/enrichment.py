"""What is known of a paper from outside it: an optional input of the builder (DESIGN "Enrichment")."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeVar

import msgspec

from pith_builder.documents import MAX_DEPTH, Document, typed
from pith_builder.errors import InvalidEnrichment, InvalidInput

Row = dict[str, Any]
T = TypeVar("T")


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


NO_VERDICT = Verdict(None, {}, None, "", "", None, "", "")


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
    max_depth: ClassVar[int] = MAX_DEPTH - 8  # its rows stand deeper in the record

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
        read_rows("integrity.detectors_run", self.integrity.detectors_run, Detector)
        read_rows("integrity.findings", self.integrity.findings, Finding)
        read_rows("references", self.references, Reference)
        read_rows("author_claims", self.author_claims, AuthorClaim)
        read_rows("events", self.events, Event)
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


def count_internal(citations: list[Row]) -> int:
    """How many of these inbound citations are internal anchors."""
    return sum(row.is_internal_anchor for row in read_rows("inbound_citations", citations, InboundCitation))


def _typed(field: str, value: Any, cls: type[T]) -> T:
    try:
        return typed(cls, value, InvalidEnrichment)
    except InvalidEnrichment as error:
        error.field = f"{field}{'' if error.field.startswith('[') or not error.field else '.'}{error.field}"
        raise


def read_rows(field: str, rows: list[Row], cls: type[T]) -> list[T]:
    return _typed(field, rows, list[cls]) if rows else []  # type: ignore[valid-type]  # a type made at run time
