"""The canonical record, whose digest is the pith number, and the paper block beside it (PROTOCOL §2, §4)."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Literal, Self

import msgspec

from pith_builder import text
from pith_builder.arxiv_id import ArxivId
from pith_builder.documents import loads, typed
from pith_builder.errors import InvalidArxivId, InvalidRecord, LicenseUnknown
from pith_builder.metadata import (
    MAX_VERSION,
    NO_SUBMISSION_TIME,
    PaperMetadata,
    is_category,
    is_license,
    is_submission_time,
)
from pith_builder.number import PithNumber

_HEX_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_CANONICAL = msgspec.json.Encoder(order="sorted")


class Source(msgspec.Struct, frozen=True):
    """Which paper: `id` as `2403.07648` or `hep-th/0207249`, `version` the number. Fields in JSONB order."""

    id: str
    kind: Literal["arxiv"]
    version: Annotated[int, msgspec.Meta(ge=1, le=MAX_VERSION)]


class CanonicalSource(Source, frozen=True, forbid_unknown_fields=True):
    """`source` of a canonical record, a closed object."""


class CanonicalMetadata(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`metadata` of a canonical record, a closed object; fields in JSONB order (PROTOCOL §2)."""

    license: str
    primary_cat: str
    submitted_at: str
    cross_cats_sorted: list[str]
    title_canon_sha256: str
    abstract_canon_sha256: str


class CanonicalRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The record that is hashed, a closed object; fields in JSONB order, as it is published (PROTOCOL §2).

    The canonical order is another one: `to_bytes()`.
    """

    source: CanonicalSource
    metadata: CanonicalMetadata
    schema_version: Literal["1.0"]

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Read a canonical record in any order of keys. Raises InvalidJson or InvalidRecord with the field."""
        record = typed(cls, loads(data), InvalidRecord)
        if problem := record.problem():
            field, why = problem
            raise InvalidRecord(why, field=field)
        return record

    def to_bytes(self) -> bytes:
        """The canonical bytes: RFC 8785, UTF-8 (PROTOCOL §2)."""
        return _CANONICAL.encode(self)

    def digest(self) -> bytes:
        """SHA-256 of the canonical bytes, 32 bytes."""
        return hashlib.sha256(self.to_bytes()).digest()

    def number(self) -> PithNumber:
        """The pith number (PROTOCOL §3)."""
        return PithNumber.from_digest(self.digest(), self.year)

    @property
    def year(self) -> int:
        """The year of `submitted_at`, which a pith number carries. Raises InvalidRecord if there is none."""
        year = self.metadata.submitted_at[:4]
        if not (year.isascii() and year.isdigit()):
            raise InvalidRecord("begins with no year", field="metadata.submitted_at")
        return int(year)

    @property
    def arxiv_id(self) -> ArxivId:
        return ArxivId(self.source.id, self.source.version)

    def problem(self) -> tuple[str, str] | None:
        """The first field that no builder would write so, with the reason; None if there is none."""
        metadata, source = self.metadata, self.source
        for name in ("title_canon_sha256", "abstract_canon_sha256"):
            if not _HEX_SHA256.fullmatch(getattr(metadata, name)):
                return f"metadata.{name}", "is not 64 lower-case hex digits"
        if not is_submission_time(metadata.submitted_at):
            return "metadata.submitted_at", NO_SUBMISSION_TIME
        if not is_license(metadata.license):
            return "metadata.license", 'is no http(s) URI, nor "" for none'
        primary, cross = metadata.primary_cat, metadata.cross_cats_sorted
        if not is_category(primary):
            return "metadata.primary_cat", "is no category"
        if not all(map(is_category, cross)) or len({primary, *cross}) <= len(cross):
            return "metadata.cross_cats_sorted", "holds what is no category, or one stands twice"
        if cross != sorted(cross):
            return "metadata.cross_cats_sorted", "is not sorted by code point"
        try:
            canonical_id = ArxivId.parse(source.id)
        except InvalidArxivId as error:
            return "source.id", error.message
        if canonical_id != ArxivId(source.id):
            return "source.id", f"is not the canonical form, {canonical_id.id}"
        return None


def canonical_record(metadata: PaperMetadata) -> CanonicalRecord:
    """The canonical record of a paper (PROTOCOL §2). Raises LicenseUnknown where the licence is not known."""
    if metadata.license is None:
        raise LicenseUnknown(
            f"the licence of {metadata.id} is not known, and a record holds it",
            field="license",
            hint='give the licence URI that arXiv records, or "" if arXiv has none: --license URI',
        )
    primary, *others = metadata.categories.split()
    return CanonicalRecord(
        CanonicalSource(metadata.arxiv_id, "arxiv", metadata.version),
        CanonicalMetadata(
            metadata.license,
            primary,
            metadata.submitted_at,
            sorted(others),
            text.text_sha256(metadata.title),
            text.text_sha256(metadata.abstract),
        ),
        "1.0",
    )


class Paper(msgspec.Struct, frozen=True):
    """The paper block as people read it; fields in JSONB order (PROTOCOL §4). No hash covers it as a whole."""

    title: str
    license: str
    headline: str
    cross_cats: list[str]
    primary_cat: str
    authors_text: str
    submitted_at: str
    abstract_excerpt: str

    @classmethod
    def of(cls, metadata: PaperMetadata, canonical: CanonicalRecord, headline: str = "") -> Self:
        """The paper block of a paper and its canonical record."""
        hashed = canonical.metadata
        return cls(
            text.collapse(metadata.title),
            hashed.license,
            headline,
            hashed.cross_cats_sorted,
            hashed.primary_cat,
            text.authors_text(metadata.authors),
            hashed.submitted_at,
            text.excerpt(metadata.abstract),
        )
