"""Verification: a record, and what else is at hand, to a report of named checks.

A check is a function with the `check` decorator, in the order of the report. It returns nothing where all is
well, raises `_Failed` with the reason where it isn't, and `_NotChecked` where it can't tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import Literal, NamedTuple

import msgspec

from pith_builder import published, snapshot, text, times
from pith_builder.errors import InvalidInput, InvalidJson, LicenseUnknown, VerificationFailed, cut
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.metadata import PaperMetadata
from pith_builder.number import PithNumber
from pith_builder.published import PithRecord
from pith_builder.record import canonical_record

Status = Literal["passed", "failed", "not_checked"]

#: What no hash and no signature binds, whatever the checks say (docs/protocol.md has the table).
NOT_BOUND = (
    "paper.title (case and wraps)",
    "paper.headline",
    "paper.authors_text",
    "paper.abstract_excerpt (where the abstract is longer)",
    "graph_snapshot.verdict",
    "graph_snapshot.*.snapshot_sha256 and what they cover",
    "events",
    "paper_claims",
    "inbound_citations",
    "formal_canon",
    "links",
    "receipt.key_id, times and builder_version",
    "created_at, updated_at and alias times",
)


class Check(msgspec.Struct, frozen=True):
    """The outcome of one check; `reason` is empty where it passed."""

    name: str
    status: Status
    reason: str = ""


class VerificationReport(msgspec.Struct, frozen=True):
    """What was checked of a record and how it came out.

    `not_bound` lists what neither hash nor signature binds; `unknown_fields` what the record has beyond schema
    1.0; `issuer` is the base URL of its links, reported and not judged; `key_id` the key that the receipt names.
    """

    pith_number: str | None
    checks: list[Check]
    issuer: str | None = None
    key_id: str | None = None
    unknown_fields: list[str] = []
    not_bound: tuple[str, ...] = NOT_BOUND

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.checks if check.status == "failed"]

    def require(self) -> None:
        """Raise VerificationFailed if a check failed."""
        if self.failed:
            raise VerificationFailed("; ".join(f"{check.name}: {check.reason}" for check in self.failed))


def verify(
    record: PithRecord | bytes,
    keyring: KeyRing,
    metadata: PaperMetadata | None = None,
    at: datetime | None = None,
) -> VerificationReport:
    """Check a record offline against a key ring and, where given, the paper's metadata.

    `at` (aware) asks what held then. Raises InvalidJson for bytes that are no JSON; JSON that is no record is a
    report in which `form` failed.
    """
    if not isinstance(record, PithRecord):
        try:
            record = PithRecord.from_json(record)
        except InvalidJson:
            raise
        except InvalidInput as error:
            return _malformed(error)
    case = _Case(record, keyring, metadata, at)
    checks = [_run(check, case) for check in _CHECKS]
    return VerificationReport(record.pith_number, checks, record.base_url, record.receipt.key_id, record.unknown())


def _malformed(error: InvalidInput) -> VerificationReport:
    reason = f"{error.field}: {error.message}" if error.field else error.message
    rest = [Check(check.name, "not_checked", "the record has not the form of one") for check in _CHECKS[1:]]
    return VerificationReport(None, [Check("form", "failed", reason), *rest])


# --- the case ---------------------------------------------------------------------------------------------------


class _Case:
    """One record under verification, with what several checks need."""

    def __init__(
        self, record: PithRecord, keyring: KeyRing, metadata: PaperMetadata | None, at: datetime | None
    ) -> None:
        self.record = record
        self.keyring = keyring
        self.metadata = metadata
        self.at = at
        self.digest = record.canonical_record.digest()
        self.key: RingKey | None = keyring.find(record.receipt.key_id, record.receipt.public_key_fingerprint)

    @cached_property
    def signed_at(self) -> datetime:
        return _parsed("receipt.signed_at", self.record.receipt.signed_at, times.parse_receipt_time)

    @cached_property
    def number(self) -> PithNumber:
        """The number that the canonical record has."""
        return PithNumber.from_digest(self.digest, self.record.canonical_record.year)


class _Failed(Exception):
    pass


class _NotChecked(Exception):
    pass


class _Named(NamedTuple):
    """A check in the report's order; `passed` is its outcome where all is well."""

    name: str
    function: Callable[[_Case], None]
    passed: Check


_CHECKS: list[_Named] = []


def _check(function: Callable[[_Case], None]) -> Callable[[_Case], None]:
    _CHECKS.append(_Named(function.__name__, function, Check(function.__name__, "passed")))
    return function


def _check_with_metadata(function: Callable[[_Case, PaperMetadata], None]) -> None:
    """A check that compares the record with the paper's metadata, where they are given."""

    def with_metadata(case: _Case) -> None:
        if case.metadata is None:
            raise _NotChecked("no metadata of this paper were given")
        function(case, case.metadata)

    with_metadata.__name__ = function.__name__
    _check(with_metadata)


def _run(check: _Named, case: _Case) -> Check:
    try:
        check.function(case)
    except _Failed as failed:
        return Check(check.name, "failed", str(failed))
    except _NotChecked as not_checked:
        return Check(check.name, "not_checked", str(not_checked))
    except InvalidInput as error:  # a part of the record that can't be hashed or counted
        return Check(check.name, "failed", str(error))
    return check.passed


def _same(what: str, found: object, expected: object) -> None:
    """Fail unless two values are equal, naming the first field that differs."""
    if found == expected:
        return
    if isinstance(found, msgspec.Struct) and isinstance(expected, msgspec.Struct):
        for name in expected.__struct_fields__:
            _same(f"{what}.{name}", getattr(found, name), getattr(expected, name))
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for i, (item, other) in enumerate(zip(found, expected, strict=True)):
            _same(f"{what}[{i}]", item, other)
    raise _Failed(f"{what} is {_brief(found)}, expected {_brief(expected)}")


def _brief(value: object) -> str:
    return cut(msgspec.json.encode(value).decode(), 80)


# --- the checks, in the order of the report ---------------------------------------------------------------------


@_check
def form(case: _Case) -> None:
    """Reading the record has checked its form."""


@_check
def canonical_bytes(case: _Case) -> None:
    """The canonical record is one that a builder would write (PROTOCOL §2)."""
    if problem := case.record.canonical_record.problem():
        raise _Failed(f"canonical_record.{problem[0]} {problem[1]}")


@_check
def digest(case: _Case) -> None:
    """The digest of the canonical bytes is the one that record and receipt name."""
    _same("canonical_sha256", case.record.canonical_sha256, case.digest.hex())
    _same("receipt.canonical_sha256", case.record.receipt.canonical_sha256, case.record.canonical_sha256)


@_check
def number(case: _Case) -> None:
    """The pith number follows from digest and year (PROTOCOL §3)."""
    _same("pith_number", case.record.pith_number, str(case.number))


@_check
def short_forms(case: _Case) -> None:
    """The short number is the first 8 symbols (PROTOCOL §3)."""
    _same("short_pith_number", case.record.short_pith_number, f"pith:{case.number.short(8)}")


@_check
def source(case: _Case) -> None:
    """Both other sources name the paper of the canonical record."""
    hashed = case.record.canonical_record.source
    for name, found in (("source", case.record.source), ("graph_snapshot.source", case.record.graph_snapshot.source)):
        _same(f"{name}.id", found.id, hashed.id)
        _same(f"{name}.version", found.version, hashed.version)


@_check
def aliases(case: _Case) -> None:
    """The aliases are those of the paper and the number, in order, as old as the record (PROTOCOL §3, §4)."""
    record = case.record
    expected = published.build_aliases(record.canonical_record.arxiv_id, case.number, record.created_at)
    _same("aliases", record.aliases, expected)


@_check
def links(case: _Case) -> None:
    """All links follow from one base URL (PROTOCOL §8). Whose it is, is not judged."""
    record, base = case.record, case.record.base_url
    if base is None:
        raise _Failed(f"links.html is {_brief(record.links.html)}, expected BASE/pith/{case.number.suffix}")
    expected = published.build_links(base, case.number.suffix)
    _same("links", record.links, expected)
    _same("schema_url", record.schema_url, published.schema_url(base))
    actions = published.build_agent_actions(base, expected, record.canonical_record.source.id)
    _same("agent_actions", record.agent_actions, actions)


@_check
def paper(case: _Case) -> None:
    """The paper block agrees with the canonical record and with the snapshot's (PROTOCOL §4).

    An excerpt under 600 code points is the whole abstract, so its hash is checked.
    """
    block, hashed = case.record.paper, case.record.canonical_record.metadata
    _same("graph_snapshot.paper", case.record.graph_snapshot.paper, block)
    _same("paper.license", block.license, hashed.license)
    _same("paper.primary_cat", block.primary_cat, hashed.primary_cat)
    _same("paper.cross_cats", block.cross_cats, hashed.cross_cats_sorted)
    _same("paper.submitted_at", block.submitted_at, hashed.submitted_at)
    _same("paper.title", block.title, text.collapse(block.title))
    _same("the hash of paper.title", text.text_sha256(block.title), hashed.title_canon_sha256)
    if len(block.abstract_excerpt) > text.EXCERPT_LENGTH:
        raise _Failed(f"paper.abstract_excerpt has {len(block.abstract_excerpt)} characters, at most 600 are shown")
    if len(block.abstract_excerpt) < text.EXCERPT_LENGTH:
        found = text.text_sha256(block.abstract_excerpt)
        _same("the hash of paper.abstract_excerpt, a whole abstract,", found, hashed.abstract_canon_sha256)


@_check
def snapshot_hashes(case: _Case) -> None:
    """The hashes of the snapshot's sections, as far as their rows are shown (PROTOCOL §5)."""
    graph = case.record.graph_snapshot
    _same("claims.snapshot_sha256", graph.claims.snapshot_sha256, snapshot.rows_sha256(graph.claims.items))
    if graph.integrity is not msgspec.UNSET:
        expected = snapshot.integrity_sha256(graph.integrity.detectors_run, graph.integrity.findings)
        _same("integrity.snapshot_sha256", graph.integrity.snapshot_sha256, expected)
    references, formal, claims = graph.references, graph.formal_canon, graph.author_claims
    _check_rows_hash("references", references.snapshot_sha256, references.count, references.sample)
    _check_rows_hash("formal_canon", formal.snapshot_sha256, formal.evidence_count, case.record.formal_canon.sample)
    _check_rows_hash("author_claims", claims.snapshot_sha256, claims.count, [])


def _check_rows_hash(section: str, found: str, count: int, shown: list[snapshot.Row]) -> None:
    if count == len(shown):
        _same(f"{section}.snapshot_sha256", found, snapshot.rows_sha256(shown))
    elif found == snapshot.EMPTY_SHA256 or not _HEX_SHA256.fullmatch(found):
        raise _Failed(f"{section}.snapshot_sha256 is {_brief(found)}, expected the hash of {count} rows")


_HEX_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


@_check
def counts(case: _Case) -> None:
    """Counts and derived values agree with the rows that are shown (PROTOCOL §4, §5)."""
    record, graph = case.record, case.record.graph_snapshot
    _same("claims.count", graph.claims.count, len(graph.claims.items))
    _check_integrity(graph.integrity, record.canonical_record.source.id)
    references, formal, claims = graph.references, graph.formal_canon, graph.author_claims
    _same("references.sample (its length)", len(references.sample), min(references.count, snapshot.SAMPLE_ROWS))
    rows = snapshot.build_references(references.sample)
    _check_part("references.resolved_work", references.resolved_work, rows.resolved_work, references.count, rows.count)
    _check_part(
        "references.internal_anchors", references.internal_anchors, rows.internal_anchors, references.count, rows.count
    )
    _same("formal_canon.evidence_count", record.formal_canon.evidence_count, formal.evidence_count)
    shown = len(record.formal_canon.sample)
    _same("formal_canon.sample (its length)", shown, min(formal.evidence_count, snapshot.SAMPLE_ROWS))
    if not 0 <= claims.strong_count <= claims.count:
        raise _Failed(f"author_claims: {claims.strong_count} strong of {claims.count}")
    cited, internal = record.inbound_citations, snapshot.count_internal(record.inbound_citations.sample)
    if cited.count < len(cited.sample):
        raise _Failed(f"inbound_citations.count is {cited.count}, {len(cited.sample)} are shown")
    found = cited.internal_anchor_count
    _check_part("inbound_citations.internal_anchor_count", found, internal, cited.count, len(cited.sample))


def _check_integrity(section: snapshot.Integrity | msgspec.UnsetType, arxiv_id: str) -> None:
    if section is msgspec.UNSET:
        return
    _same("integrity.clean", section.clean, not section.findings)
    _same("integrity.summary", section.summary, snapshot.integrity_summary(section.findings))
    _same("integrity.endpoint", section.endpoint, snapshot.integrity_endpoint(arxiv_id))
    _same("integrity.available", section.available, True)


def _check_part(name: str, found: int, in_shown: int, count: int, shown: int) -> None:
    """`found` of `count` rows have a property, `in_shown` of the `shown` ones among them."""
    if not in_shown <= found <= in_shown + count - shown:
        raise _Failed(f"{name} is {found}, {in_shown} of the {shown} rows shown count, of {count} in all")


@_check
def event_summary(case: _Case) -> None:
    """The event summary counts the events (PROTOCOL §4)."""
    _same("event_summary", case.record.event_summary, published.event_summary(case.record.events))


@_check
def flags(case: _Case) -> None:
    """Flags and attestation state follow from the content (PROTOCOL §7)."""
    expected = published.verification_status(case.record.graph_snapshot, case.record.events)
    _same("verification_status", case.record.verification_status, expected)
    _same("attestation_state", case.record.attestation_state, published.attestation_state(expected))


@_check
def builder_version(case: _Case) -> None:
    """Receipt and snapshot of a record that was never reissued nor updated name one builder (PROTOCOL §6)."""
    record, receipt = case.record, case.record.receipt
    if receipt.last_reissued_at != receipt.first_computed_at or record.updated_at != record.created_at:
        raise _NotChecked("the record was reissued or updated, so the two may differ")
    _same("receipt.builder_version", receipt.builder_version, record.graph_snapshot.builder_version)


@_check
def times_in_order(case: _Case) -> None:
    """first computed ≤ created ≤ updated, first computed ≤ last reissued ≤ signed (PROTOCOL §4)."""
    record, receipt = case.record, case.record.receipt
    first = _parsed("receipt.first_computed_at", receipt.first_computed_at, times.parse_receipt_time)
    reissued = _parsed("receipt.last_reissued_at", receipt.last_reissued_at, times.parse_receipt_time)
    signed = case.signed_at
    created = _parsed("created_at", record.created_at, times.parse_record_time)
    updated = _parsed("updated_at", record.updated_at, times.parse_record_time)
    if not first <= created <= updated:
        raise _Failed("not in order: first_computed_at, created_at, updated_at")
    if not first <= reissued <= signed:
        raise _Failed("not in order: first_computed_at, last_reissued_at, signed_at")


def _parsed(name: str, value: str, parse: Callable[[str], datetime | None]) -> datetime:
    if (time := parse(value)) is None:
        raise _Failed(f"{name} is {_brief(value)}, no UTC time with six digits in the form of its place")
    return time


@_check
def signature(case: _Case) -> None:
    """The receipt's signature is the key's, over the digest of the canonical record (PROTOCOL §6)."""
    if case.record.receipt.signature() is None:
        raise _Failed("receipt.signature_b64 is not the canonical base64 of 64 bytes")
    if case.key is None:
        raise _NotChecked("the key is not known")
    if not case.record.receipt.is_signed_by(case.key.public_key, case.digest):
        raise _Failed(f"the signature is not {case.key.key_id}'s over this digest")


@_check
def key_known(case: _Case) -> None:
    """The ring has a key with the receipt's id and fingerprint."""
    receipt = case.record.receipt
    if case.key is not None:
        return
    named = next((key for key in case.keyring.keys if key.key_id == receipt.key_id), None)
    if named is not None:
        raise _Failed(
            f"{_brief(receipt.key_id)} is known with another fingerprint, {named.fingerprint}, "
            f"not {_brief(receipt.public_key_fingerprint)}"
        )
    raise _Failed(f"the key ring has no key {_brief(receipt.key_id)}; nothing is known of its signature")


@_check
def key_valid(case: _Case) -> None:
    """The key may sign receipts at `signed_at`, as far as that unsigned time can be believed."""
    if case.key is None:
        raise _NotChecked("the key is not known")
    signed_at = case.signed_at
    if case.at is not None and signed_at > case.at:
        raise _Failed(f"the receipt says {case.record.receipt.signed_at}, later than the time asked for")
    if objection := case.key.objection(signed_at, case.at):
        raise _Failed(objection)


@_check_with_metadata
def metadata(case: _Case, given: PaperMetadata) -> None:
    """Id, version, licence, categories and time are those of the metadata."""
    try:
        expected = canonical_record(given)
    except LicenseUnknown as error:
        raise _NotChecked(error.message) from None
    found = case.record.canonical_record
    _same("canonical_record.source", found.source, expected.source)
    for name in ("license", "primary_cat", "cross_cats_sorted", "submitted_at"):
        _same(f"canonical_record.metadata.{name}", getattr(found.metadata, name), getattr(expected.metadata, name))


@_check_with_metadata
def title(case: _Case, given: PaperMetadata) -> None:
    """The title is that of the metadata, hashed and shown."""
    record = case.record
    found = record.canonical_record.metadata.title_canon_sha256
    _same("title_canon_sha256", found, text.text_sha256(given.title))
    _same("paper.title", record.paper.title, text.collapse(given.title))


@_check_with_metadata
def abstract(case: _Case, given: PaperMetadata) -> None:
    """The abstract's hash is that of the metadata."""
    found = case.record.canonical_record.metadata.abstract_canon_sha256
    _same("abstract_canon_sha256", found, text.text_sha256(given.abstract))


@_check_with_metadata
def excerpt(case: _Case, given: PaperMetadata) -> None:
    """The excerpt is that of the metadata's abstract."""
    _same("paper.abstract_excerpt", case.record.paper.abstract_excerpt, text.excerpt(given.abstract))


@_check_with_metadata
def authors(case: _Case, given: PaperMetadata) -> None:
    """The author list is that of the metadata."""
    _same("paper.authors_text", case.record.paper.authors_text, text.authors_text(given.authors))
