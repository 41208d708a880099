"""The whole record as published: its shape, written once, and what follows from the rest (PROTOCOL §4, §7, §8)."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, ClassVar, Literal, Self

import msgspec

from pith_builder.arxiv_id import ArxivId
from pith_builder.canonical import jsonb_order
from pith_builder.documents import Document
from pith_builder.enrichment import Enrichment, Event, InboundCitations, Row
from pith_builder.errors import InvalidInput, InvalidRecord
from pith_builder.number import PithNumber
from pith_builder.receipt import Receipt
from pith_builder.record import CanonicalRecord, Paper
from pith_builder.snapshot import SAMPLE_ROWS, GraphSnapshot

_HTML_LINK = re.compile(r"(https?://[!-~]+)/pith/[A-Z2-7]{26}", re.ASCII)


class Profile(msgspec.Struct, frozen=True):
    """Whose records these are: the base of all links, and the builder's version in receipt and snapshot."""

    base_url: str = "https://pith.science"
    builder_version: str = "pith-number-builder-2026-05-17-v1"


DEFAULT_PROFILE = Profile()


# --- the parts, fields in the published order -------------------------------------------------------------------


class PublishedSource(msgspec.Struct, frozen=True):
    kind: Literal["arxiv"]
    id: str
    version: int


class VerificationStatus(msgspec.Struct, frozen=True):
    content_addressed: bool
    pith_receipt: bool
    author_attested: bool
    weak_author_claims: int
    strong_author_claims: int
    externally_anchored: bool
    storage_verified: bool
    citation_signatures: int
    replication_records: int
    graph_snapshot: bool
    references_resolved: bool
    formal_links_present: bool


class Alias(msgspec.Struct, frozen=True):
    alias_kind: str
    alias_value: str
    created_at: str


class PublishedFormalCanon(msgspec.Struct, frozen=True):
    evidence_count: int
    sample: list[Row]
    anchors: list[Any]


class Links(msgspec.Struct, frozen=True):
    html: str
    json: str
    graph_json: str
    events_json: str
    paper: str


class Actions(msgspec.Struct, frozen=True):
    anchor_timestamp: str
    attest_storage: str
    attest_author: str
    sign_citation: str
    submit_replication: str


class AgentActions(msgspec.Struct, frozen=True):
    view_html: str
    download_json: str
    view_paper: str
    resolve_alias: str
    fetch_graph: str
    fetch_events: str
    actions: Actions


class Surroundings(msgspec.Struct, frozen=True):
    """What a record says of the world around the paper outside the snapshot; no hash covers it."""

    events: list[Row]
    paper_claims: list[Any]
    inbound_citations: InboundCitations
    formal_canon: PublishedFormalCanon

    @classmethod
    def of(cls, enrichment: Enrichment | None) -> Self:
        """What an enrichment gives, or the published defaults."""
        if enrichment is None:
            return cls([], [], _NO_CITATIONS, _NO_FORMAL_CANON)
        evidence = enrichment.formal_canon.evidence
        return cls(
            enrichment.events,
            enrichment.paper_claims,
            enrichment.inbound(),
            PublishedFormalCanon(len(evidence), evidence[:SAMPLE_ROWS], enrichment.formal_canon.anchors),
        )


_NO_CITATIONS = InboundCitations(0, 0, [])
_NO_FORMAL_CANON = PublishedFormalCanon(0, [], [])


class PithRecord(Document, frozen=True):
    """A pith number record, schema 1.0, in the published order. Raises InvalidRecord with the field at fault."""

    error: ClassVar[type[InvalidInput]] = InvalidRecord
    own_brackets: ClassVar[int] = 30
    jsonb_blocks: ClassVar[tuple[str, ...]] = ("paper", "canonical_record", "receipt", "graph_snapshot")

    record_type: Literal["pith_number_record"]
    schema_url: str
    pith_number: str
    short_pith_number: str
    schema_version: Literal["1.0"]
    canonical_sha256: str
    source: PublishedSource
    attestation_state: str
    paper: Paper
    verification_status: VerificationStatus
    canonical_record: CanonicalRecord
    receipt: Receipt
    graph_snapshot: GraphSnapshot
    aliases: list[Alias]
    events: list[Row]
    event_summary: dict[str, int]
    paper_claims: list[Any]
    inbound_citations: InboundCitations
    formal_canon: PublishedFormalCanon
    links: Links
    agent_actions: AgentActions
    created_at: str
    updated_at: str

    def is_ordered(self) -> bool:
        """Whether the rows of the snapshot are in JSONB order (PROTOCOL §4)."""
        rows = self._rows_of_the_snapshot()
        return not any(rows) or msgspec.json.encode(jsonb_order(msgspec.to_builtins(rows))) == msgspec.json.encode(rows)

    def may_be_deep(self, raw: bytes) -> bool:
        """As of any document; but a record without rows from outside has the depth of its Structs."""
        others = (self.events, self.paper_claims, self.inbound_citations.sample)
        rows = (*others, self.formal_canon.sample, self.formal_canon.anchors, *self._rows_of_the_snapshot())
        return any(rows) and super().may_be_deep(raw)

    def _rows_of_the_snapshot(self) -> list[Any]:
        graph = self.graph_snapshot
        integrity = graph.integrity
        rows = [graph.claims.items, graph.references.sample, graph.verdict.model_set]
        if integrity is not msgspec.UNSET:
            rows += [integrity.findings, integrity.detectors_run, integrity.summary.by_detector]
        return rows

    @property
    def number(self) -> PithNumber:
        """The number that the canonical record has, whatever the record claims."""
        return self.canonical_record.number()

    @property
    def base_url(self) -> str | None:
        """The base of the record's links, as `links.html` has it; None if that is no such link."""
        match = _HTML_LINK.fullmatch(self.links.html)
        return match[1] if match else None

    @property
    def surroundings(self) -> Surroundings:
        return Surroundings(self.events, self.paper_claims, self.inbound_citations, self.formal_canon)


def assemble(
    canonical: CanonicalRecord,
    paper: Paper,
    snapshot: GraphSnapshot,
    receipt: Receipt,
    surroundings: Surroundings,
    *,
    base_url: str,
    created_at: str,
    updated_at: str,
) -> PithRecord:
    """The record of these parts; everything else in it follows from them. Times in record form (PROTOCOL §4)."""
    number = PithNumber.from_digest(bytes.fromhex(receipt.canonical_sha256), canonical.year)
    base = base_url.rstrip("/")
    status = verification_status(snapshot, surroundings.events)
    links = build_links(base, number.suffix)
    return PithRecord(
        "pith_number_record",
        schema_url(base),
        str(number),
        f"pith:{number.short(8)}",
        "1.0",
        receipt.canonical_sha256,
        PublishedSource("arxiv", canonical.source.id, canonical.source.version),
        attestation_state(status),
        paper,
        status,
        canonical,
        receipt,
        snapshot,
        build_aliases(canonical.arxiv_id, number, created_at),
        surroundings.events,
        event_summary(surroundings.events),
        surroundings.paper_claims,
        surroundings.inbound_citations,
        surroundings.formal_canon,
        links,
        build_agent_actions(base, links, canonical.source.id),
        created_at,
        updated_at,
    )


# --- what follows from the rest; verify builds the same and compares --------------------------------------------


def verification_status(snapshot: GraphSnapshot, events: list[Row]) -> VerificationStatus:
    """The flags of a record with a receipt and a snapshot (PROTOCOL §7)."""
    claims, references = snapshot.author_claims, snapshot.references
    types = event_summary(events) if events else {}
    return VerificationStatus(
        content_addressed=True,
        pith_receipt=True,
        author_attested=claims.strong_count > 0,
        weak_author_claims=claims.count - claims.strong_count,
        strong_author_claims=claims.strong_count,
        externally_anchored="timestamp_anchor" in types,
        storage_verified="storage_attestation" in types,
        citation_signatures=types.get("citation_signature", 0),
        replication_records=types.get("replication_record", 0),
        graph_snapshot=True,
        references_resolved=0 < references.count == references.resolved_work,
        formal_links_present=snapshot.formal_canon.evidence_count > 0,
    )


def attestation_state(status: VerificationStatus) -> str:
    """`author_attested` when the flag is set, else `computed` (PROTOCOL §7)."""
    return "author_attested" if status.author_attested else "computed"


def event_summary(events: list[Row]) -> dict[str, int]:
    """Counts by event type, keys sorted (PROTOCOL §4). Raises InvalidInput for a row without a type."""
    if not events:
        return {}
    try:
        types = [event.event_type for event in msgspec.convert(events, list[Event])]
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error), field="events") from None
    return dict(sorted(Counter(types).items()))


def build_aliases(arxiv_id: ArxivId, number: PithNumber, created_at: str) -> list[Alias]:
    """The aliases in their published order (PROTOCOL §3)."""
    suffix = number.suffix
    return [
        Alias("arxiv", arxiv_id.id, created_at),
        Alias("arxiv_version", arxiv_id.versioned, created_at),
        Alias("doi", arxiv_id.doi, created_at),
        Alias("pith_short_12", suffix[:12], created_at),
        Alias("pith_short_16", suffix[:16], created_at),
        Alias("pith_short_8", suffix[:8], created_at),
    ]


def schema_url(base: str) -> str:
    return f"{base}/schemas/pith-number/v1.json"


def build_links(base: str, suffix: str) -> Links:
    """The links of a record under a base URL without trailing slash (PROTOCOL §8)."""
    html, api = f"{base}/pith/{suffix}", f"{base}/api/pith-number/{suffix}"
    return Links(html, f"{html}.json", f"{api}/graph.json", f"{api}/events.json", f"{base}/paper/{suffix[:8]}")


def build_agent_actions(base: str, links: Links, arxiv_id: str) -> AgentActions:
    """The agent actions of a record; an old id keeps its slash in the resolve link (PROTOCOL §8)."""
    action = f"{links.html}/action"
    return AgentActions(
        links.html,
        links.json,
        links.paper,
        f"{base}/api/pith-number/resolve?arxiv={arxiv_id}&json=true",
        links.graph_json,
        links.events_json,
        Actions(
            f"{action}/timestamp_anchor",
            f"{action}/storage_attestation",
            f"{action}/author_attestation",
            f"{action}/citation_signature",
            f"{action}/replication_record",
        ),
    )
