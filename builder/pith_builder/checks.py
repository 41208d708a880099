"""The checks of a record, one function each, in the order of the report.

A check is a function with the `check` decorator. It returns nothing where all is well, raises `Failed` with the reason
where it isn't, and `NotChecked` where it can't tell. A new check goes to its place in this file, and nowhere else.
"""

from __future__ import annotations

import re

import msgspec

from pith_builder import published, snapshot, text, times
from pith_builder.case import CHECKS, Case, Failed, NotChecked, brief, check, check_with_metadata, expect, parsed_time
from pith_builder.enrichment import Row, count_internal
from pith_builder.errors import LicenseUnknown
from pith_builder.metadata import PaperMetadata
from pith_builder.record import canonical_record

__all__ = ["CHECKS"]


@check
def form(case: Case) -> None:
    """Reading the record has checked its form."""


@check
def canonical_bytes(case: Case) -> None:
    """The canonical record is one that a builder would write (PROTOCOL §2)."""
    if problem := case.record.canonical_record.problem():
        raise Failed(f"canonical_record.{problem[0]} {problem[1]}")


@check
def digest(case: Case) -> None:
    """The digest of the canonical bytes is the one that record and receipt name."""
    expect("canonical_sha256", case.record.canonical_sha256, case.digest.hex())
    expect("receipt.canonical_sha256", case.record.receipt.canonical_sha256, case.record.canonical_sha256)


@check
def number(case: Case) -> None:
    """The pith number follows from digest and year (PROTOCOL §3)."""
    expect("pith_number", case.record.pith_number, str(case.number))


@check
def short_forms(case: Case) -> None:
    """The short number is the first 8 symbols (PROTOCOL §3)."""
    expect("short_pith_number", case.record.short_pith_number, f"pith:{case.number.short(8)}")


@check
def source(case: Case) -> None:
    """Both other sources name the paper of the canonical record."""
    hashed = case.record.canonical_record.source
    for name, found in (("source", case.record.source), ("graph_snapshot.source", case.record.graph_snapshot.source)):
        expect(f"{name}.id", found.id, hashed.id)
        expect(f"{name}.version", found.version, hashed.version)


@check
def aliases(case: Case) -> None:
    """The aliases are those of the paper and the number, in order, as old as the record (PROTOCOL §3, §4)."""
    record = case.record
    expected = published.build_aliases(record.canonical_record.arxiv_id, case.number, record.created_at)
    expect("aliases", record.aliases, expected)


@check
def links(case: Case) -> None:
    """All links follow from one base URL (PROTOCOL §8). Whose it is, is not judged."""
    record, base = case.record, case.record.base_url
    if base is None:
        raise Failed(f"links.html is {brief(record.links.html)}, expected BASE/pith/{case.number.suffix}")
    expected = published.build_links(base, case.number.suffix)
    expect("links", record.links, expected)
    expect("schema_url", record.schema_url, published.schema_url(base))
    actions = published.build_agent_actions(base, expected, record.canonical_record.source.id)
    expect("agent_actions", record.agent_actions, actions)


@check
def paper(case: Case) -> None:
    """The paper block agrees with the canonical record and with the snapshot's (PROTOCOL §4).

    An excerpt under 600 code points is the whole abstract, so its hash is checked.
    """
    block, hashed = case.record.paper, case.record.canonical_record.metadata
    expect("graph_snapshot.paper", case.record.graph_snapshot.paper, block)
    expect("paper.license", block.license, hashed.license)
    expect("paper.primary_cat", block.primary_cat, hashed.primary_cat)
    expect("paper.cross_cats", block.cross_cats, hashed.cross_cats_sorted)
    expect("paper.submitted_at", block.submitted_at, hashed.submitted_at)
    expect("paper.title", block.title, text.collapse(block.title))
    expect("the hash of paper.title", text.text_sha256(block.title), hashed.title_canon_sha256)
    if len(block.abstract_excerpt) > text.EXCERPT_LENGTH:
        raise Failed(f"paper.abstract_excerpt has {len(block.abstract_excerpt)} characters, at most 600 are shown")
    if len(block.abstract_excerpt) < text.EXCERPT_LENGTH:
        found = text.text_sha256(block.abstract_excerpt)
        expect("the hash of paper.abstract_excerpt, a whole abstract,", found, hashed.abstract_canon_sha256)


@check
def snapshot_hashes(case: Case) -> None:
    """The hashes of the snapshot's sections, as far as their rows are shown (PROTOCOL §5)."""
    graph = case.record.graph_snapshot
    expect("claims.snapshot_sha256", graph.claims.snapshot_sha256, snapshot.rows_sha256(graph.claims.items))
    if graph.integrity is not msgspec.UNSET:
        expected = snapshot.integrity_sha256(graph.integrity.detectors_run, graph.integrity.findings)
        expect("integrity.snapshot_sha256", graph.integrity.snapshot_sha256, expected)
    references, formal, claims = graph.references, graph.formal_canon, graph.author_claims
    _check_rows_hash("references", references.snapshot_sha256, references.count, references.sample)
    _check_rows_hash("formal_canon", formal.snapshot_sha256, formal.evidence_count, case.record.formal_canon.sample)
    _check_rows_hash("author_claims", claims.snapshot_sha256, claims.count, [])


def _check_rows_hash(section: str, found: str, count: int, shown: list[Row]) -> None:
    if count == len(shown):
        expect(f"{section}.snapshot_sha256", found, snapshot.rows_sha256(shown))
    elif found == snapshot.EMPTY_SHA256 or not _HEX_SHA256.fullmatch(found):
        raise Failed(f"{section}.snapshot_sha256 is {brief(found)}, expected the hash of {count} rows")


_HEX_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


@check
def counts(case: Case) -> None:
    """Counts and derived values agree with the rows that are shown (PROTOCOL §4, §5)."""
    record, graph = case.record, case.record.graph_snapshot
    expect("claims.count", graph.claims.count, len(graph.claims.items))
    _check_integrity(graph.integrity, record.canonical_record.source.id)
    references, formal, claims = graph.references, graph.formal_canon, graph.author_claims
    expect("references.sample (its length)", len(references.sample), min(references.count, snapshot.SAMPLE_ROWS))
    rows = snapshot.build_references(references.sample)
    _check_part("references.resolved_work", references.resolved_work, rows.resolved_work, references.count, rows.count)
    _check_part(
        "references.internal_anchors", references.internal_anchors, rows.internal_anchors, references.count, rows.count
    )
    expect("formal_canon.evidence_count", record.formal_canon.evidence_count, formal.evidence_count)
    shown = len(record.formal_canon.sample)
    expect("formal_canon.sample (its length)", shown, min(formal.evidence_count, snapshot.SAMPLE_ROWS))
    if not 0 <= claims.strong_count <= claims.count:
        raise Failed(f"author_claims: {claims.strong_count} strong of {claims.count}")
    cited, internal = record.inbound_citations, count_internal(record.inbound_citations.sample)
    if cited.count < len(cited.sample):
        raise Failed(f"inbound_citations.count is {cited.count}, {len(cited.sample)} are shown")
    found = cited.internal_anchor_count
    _check_part("inbound_citations.internal_anchor_count", found, internal, cited.count, len(cited.sample))


def _check_integrity(section: snapshot.Integrity | msgspec.UnsetType, arxiv_id: str) -> None:
    if section is msgspec.UNSET:
        return
    expect("integrity.clean", section.clean, not section.findings)
    expect("integrity.summary", section.summary, snapshot.integrity_summary(section.findings))
    expect("integrity.endpoint", section.endpoint, snapshot.integrity_endpoint(arxiv_id))
    expect("integrity.available", section.available, True)


def _check_part(name: str, found: int, in_shown: int, count: int, shown: int) -> None:
    """`found` of `count` rows have a property, `in_shown` of the `shown` ones among them."""
    if not in_shown <= found <= in_shown + count - shown:
        raise Failed(f"{name} is {found}, {in_shown} of the {shown} rows shown count, of {count} in all")


@check
def event_summary(case: Case) -> None:
    """The event summary counts the events (PROTOCOL §4)."""
    expect("event_summary", case.record.event_summary, published.event_summary(case.record.events))


@check
def flags(case: Case) -> None:
    """Flags and attestation state follow from the content (PROTOCOL §7)."""
    expected = published.verification_status(case.record.graph_snapshot, case.record.events)
    expect("verification_status", case.record.verification_status, expected)
    expect("attestation_state", case.record.attestation_state, published.attestation_state(expected))


@check
def builder_version(case: Case) -> None:
    """Receipt and snapshot of a record that was never reissued nor updated name one builder (PROTOCOL §6)."""
    record, receipt = case.record, case.record.receipt
    if receipt.last_reissued_at != receipt.first_computed_at or record.updated_at != record.created_at:
        raise NotChecked("the record was reissued or updated, so the two may differ")
    expect("receipt.builder_version", receipt.builder_version, record.graph_snapshot.builder_version)


@check
def times_in_order(case: Case) -> None:
    """first computed ≤ created ≤ updated, first computed ≤ last reissued ≤ signed (PROTOCOL §4)."""
    record, receipt = case.record, case.record.receipt
    first = parsed_time("receipt.first_computed_at", receipt.first_computed_at, times.parse_receipt_time)
    reissued = parsed_time("receipt.last_reissued_at", receipt.last_reissued_at, times.parse_receipt_time)
    signed = case.signed_at
    created = parsed_time("created_at", record.created_at, times.parse_record_time)
    updated = parsed_time("updated_at", record.updated_at, times.parse_record_time)
    if not first <= created <= updated:
        raise Failed("not in order: first_computed_at, created_at, updated_at")
    if not first <= reissued <= signed:
        raise Failed("not in order: first_computed_at, last_reissued_at, signed_at")


@check
def signature(case: Case) -> None:
    """The receipt's signature is the key's, over the digest of the canonical record (PROTOCOL §6)."""
    if case.record.receipt.signature() is None:
        raise Failed("receipt.signature_b64 is not the canonical base64 of 64 bytes")
    if case.key is None:
        raise NotChecked("the key is not known")
    if not case.record.receipt.is_signed_by(case.key.public_key, case.digest):
        raise Failed(f"the signature is not {case.key.key_id}'s over this digest")


@check
def key_known(case: Case) -> None:
    """The ring has a key with the receipt's id and fingerprint."""
    receipt = case.record.receipt
    if case.key is not None:
        return
    named = next((key for key in case.keyring.keys if key.key_id == receipt.key_id), None)
    if named is not None:
        raise Failed(
            f"{brief(receipt.key_id)} is known with another fingerprint, {named.fingerprint}, "
            f"not {brief(receipt.public_key_fingerprint)}"
        )
    raise Failed(f"the key ring has no key {brief(receipt.key_id)}; nothing is known of its signature")


@check
def key_valid(case: Case) -> None:
    """The key may sign receipts at `signed_at`, as far as that unsigned time can be believed."""
    if case.key is None:
        raise NotChecked("the key is not known")
    signed_at = case.signed_at
    if case.at is not None and signed_at > case.at:
        raise Failed(f"the receipt says {case.record.receipt.signed_at}, later than the time asked for")
    if objection := case.key.objection(signed_at, case.at):
        raise Failed(objection)


@check_with_metadata
def metadata(case: Case, given: PaperMetadata) -> None:
    """Id, version, licence, categories and time are those of the metadata."""
    try:
        expected = canonical_record(given)
    except LicenseUnknown as error:
        raise NotChecked(error.message) from None
    found = case.record.canonical_record
    expect("canonical_record.source", found.source, expected.source)
    for name in ("license", "primary_cat", "cross_cats_sorted", "submitted_at"):
        expect(f"canonical_record.metadata.{name}", getattr(found.metadata, name), getattr(expected.metadata, name))


@check_with_metadata
def title(case: Case, given: PaperMetadata) -> None:
    """The title is that of the metadata, hashed and shown."""
    record = case.record
    found = record.canonical_record.metadata.title_canon_sha256
    expect("title_canon_sha256", found, text.text_sha256(given.title))
    expect("paper.title", record.paper.title, text.collapse(given.title))


@check_with_metadata
def abstract(case: Case, given: PaperMetadata) -> None:
    """The abstract's hash is that of the metadata."""
    found = case.record.canonical_record.metadata.abstract_canon_sha256
    expect("abstract_canon_sha256", found, text.text_sha256(given.abstract))


@check_with_metadata
def excerpt(case: Case, given: PaperMetadata) -> None:
    """The excerpt is that of the metadata's abstract."""
    expect("paper.abstract_excerpt", case.record.paper.abstract_excerpt, text.excerpt(given.abstract))


@check_with_metadata
def authors(case: Case, given: PaperMetadata) -> None:
    """The author list is that of the metadata."""
    expect("paper.authors_text", case.record.paper.authors_text, text.authors_text(given.authors))
