"""arXiv's Atom interface: any version of a paper, but no licence, and names decoded to Unicode.

A record needs the licence, so it is asked for only by name, and the licence is given by hand.
"""

from __future__ import annotations

import re

from lxml import etree

from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import InvalidArxivId, InvalidMetadata, NotFound, SourceMalformed, VersionMismatch, cut, shown
from pith_builder.metadata import PaperMetadata, Provenance, is_category
from pith_builder.sources import xml
from pith_builder.sources.papers import FoundPaper
from pith_builder.sources.rows import is_withdrawn
from pith_builder.sources.transport import ONE_PAPER, Answer, Client

KIND = "atom"
_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_ERRORS = "/api/errors#"
# Classes of the MSC and the ACM stand among the categories, under the same scheme.
_OTHER_CLASS = re.compile(r"\d\d|[A-K]\.[0-9m]", re.ASCII)


class Atom:
    """The Atom interface behind a client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __str__(self) -> str:
        return f"arXiv's Atom interface ({self._client.url})"

    def find(self, asked: ArxivId) -> tuple[FoundPaper, Answer]:
        """The paper in the version asked for, or the newest; its licence is unknown. With the answer it stands in.

        Raises NotFound, VersionMismatch or a SourceFailed.
        """
        answer = self._client.ask({"id_list": asked.versioned}, ONE_PAPER)
        if answer.root.tag != f"{_ATOM}feed":
            raise SourceMalformed(f"{self} answered with <{cut(str(answer.root.tag))}>, not a feed")
        entry = xml.only(answer.root, f"{_ATOM}entry")
        if entry is None:
            raise NotFound(f"{self} has no paper {asked}", hint="look at the id")
        name = xml.needed_text(entry, f"{_ATOM}id").strip()
        if _ERRORS in name:
            summary = cut(" ".join((xml.text(entry, f"{_ATOM}summary") or "").split()))
            raise NotFound(f"{self} has no paper {asked}: {summary}", hint="look at the id")
        try:
            found = _read_entry(entry, name, answer)
        except (InvalidMetadata, InvalidArxivId) as error:
            raise SourceMalformed(f"{self} describes {asked} so that nothing can be built on it: {error}") from None
        if found.metadata.arxiv_id != asked.id:
            raise SourceMalformed(f"{self} was asked for {asked} and answered with {found.metadata.id}")
        if asked.version not in (None, version := found.metadata.version):
            raise VersionMismatch(f"{self} was asked for {asked} and answered with v{version}", version)
        return found, answer


def _read_entry(entry: etree._Element, name: str, answer: Answer) -> FoundPaper:
    arxiv_id = ArxivId.parse(name)
    if arxiv_id.version is None:
        raise SourceMalformed(f"{shown(name)} names no version", field="id")
    authors = [xml.needed_text(author, f"{_ATOM}name").strip() for author in entry.iterfind(f"{_ATOM}author")]
    metadata = PaperMetadata(
        arxiv_id.id,
        arxiv_id.version,
        xml.needed_text(entry, f"{_ATOM}title"),
        xml.needed_text(entry, f"{_ATOM}summary"),
        ", ".join(authors),
        _categories(entry),
        None,
        xml.needed_text(entry, f"{_ATOM}published").strip(),
    )
    return FoundPaper(
        metadata,
        Provenance(
            source=f"{KIND}:{answer.url}",  # its `updated` is of the version, not of what it says now
            fetched_at=answer.fetched_at,
            raw_sha256=answer.sha256,
            withdrawn=is_withdrawn({"comments": xml.text(entry, f"{_ARXIV}comment")}),
        ),
    )


def _categories(entry: etree._Element) -> str:
    """arXiv's categories, primary first, with a space between them."""
    primary = xml.needed(entry, f"{_ARXIV}primary_category").get("term", "")
    terms = [element.get("term", "") for element in entry.iterfind(f"{_ATOM}category")]
    names = [primary, *(term for term in terms if term != primary and not _OTHER_CLASS.match(term))]
    for name in names:
        if not is_category(name):
            raise SourceMalformed(f"{shown(name)} is no category", field="category")
    return " ".join(names)
