"""arXiv's Atom interface: any version of a paper, but no licence, and names decoded to Unicode.

A record needs the licence, so it is asked for only by name, and the licence is given by hand.
"""

from __future__ import annotations

import re

from lxml import etree

from pith_builder.arxiv_id import ARCHIVES, ArxivId
from pith_builder.errors import InvalidArxivId, InvalidMetadata, NotFound, SourceMalformed, VersionMismatch, cut, shown
from pith_builder.metadata import PaperMetadata, Provenance
from pith_builder.sources import xml
from pith_builder.sources.papers import FoundPaper
from pith_builder.sources.rows import is_withdrawn
from pith_builder.sources.transport import ONE_PAPER, Answer, Client
from pith_builder.times import parse_seconds

KIND = "atom"
_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_ERRORS = "/api/errors#"
_CATEGORY = re.compile(r"([a-z-]+)(?:\.[A-Za-z-]+)?", re.ASCII)
_ARCHIVES = ARCHIVES | {"econ", "eess", "q-fin", "stat"}
# Classes of the MSC and the ACM stand among the categories, under the same scheme, as their authors typed them.
_OTHER_CLASS = re.compile(r"\d\d|[A-K]\.?\d|[A-K]\.m", re.ASCII | re.IGNORECASE)


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
        _plain_text(entry, f"{_ATOM}title"),
        _plain_text(entry, f"{_ATOM}summary"),
        ", ".join(authors),
        _categories(entry),
        None,
        xml.needed_text(entry, f"{_ATOM}published").strip(),
    )
    return FoundPaper(
        metadata,
        Provenance(
            source=f"{KIND}:{answer.url}",
            source_time=_time(entry),
            fetched_at=answer.fetched_at,
            raw_sha256=answer.sha256,
            withdrawn=is_withdrawn(xml.text(entry, f"{_ARXIV}comment")),
        ),
    )


def _time(entry: etree._Element) -> str:
    """When the version was made: older than what OAI-PMH says of it, whose text is the better one."""
    time = xml.needed_text(entry, f"{_ATOM}updated").strip()
    if parse_seconds(time) is None:
        raise SourceMalformed(f"{shown(time)} is no time such as 2024-03-12T13:31:14Z", field="updated")
    return time


def _plain_text(entry: etree._Element, name: str) -> str:
    """The text of a construct that may be HTML instead, and then would be another text."""
    if (kind := xml.needed(entry, name).get("type", "text")) != "text":
        raise SourceMalformed(f"is given as {shown(kind)}, not as plain text", field=name.rpartition("}")[2])
    return xml.needed_text(entry, name)


def _categories(entry: etree._Element) -> str:
    """arXiv's categories, primary first, with a space between them."""
    primary = xml.needed(entry, f"{_ARXIV}primary_category").get("term", "")
    terms = [element.get("term", "") for element in entry.iterfind(f"{_ATOM}category")]
    names = [primary, *(term for term in terms if term != primary and not _OTHER_CLASS.match(term))]
    for name in names:
        match = _CATEGORY.fullmatch(name)
        if match is None or match[1] not in _ARCHIVES:
            raise SourceMalformed(f"whether {shown(name)} is a category of arXiv can't be told", field="category")
    return " ".join(names)
