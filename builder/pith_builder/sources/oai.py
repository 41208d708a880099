"""arXiv's OAI-PMH interface, metadata prefix `arXivRaw`: one paper, or pages of what changed since a day.

The mapping goes through the form of a snapshot row, which holds the same fields (`rows.from_snapshot_row`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from lxml import etree

from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import (
    InvalidArxivId,
    InvalidMetadata,
    NotFound,
    SourceFailed,
    SourceMalformed,
    SourceRefused,
    VersionMismatch,
    cut,
    shown,
)
from pith_builder.metadata import Provenance
from pith_builder.sources import xml
from pith_builder.sources.papers import FoundPaper
from pith_builder.sources.rows import from_snapshot_row
from pith_builder.sources.transport import ONE_PAGE, ONE_PAPER, Answer, Client
from pith_builder.times import parse_seconds

KIND = "oai"
PREFIX = "arXivRaw"
_OAI = "{http://www.openarchives.org/OAI/2.0/}"
_RAW = "{http://arxiv.org/OAI/arXivRaw/}"
_ENVELOPE = tuple(f"{_OAI}{name}" for name in ("responseDate", "request", "error", "GetRecord", "ListRecords"))
_FIELDS = ("id", "version", "title", "authors", "categories", "license", "abstract")
_IDENTIFIER = "oai:arXiv.org:"
_OLDEST = "1991-08-14"  # when arXiv began
_SIZE = re.compile(r"\d{1,12}", re.ASCII)
_WITHDRAWN = "I"


class TokenExpired(SourceFailed):
    """The source refuses the resumption token: the list must be asked for from its beginning."""

    code = "token_expired"


class Listed(NamedTuple):
    """A record of a list: `name` is its paper's id, or what stood there; `found` None for one that arXiv deleted.

    `datestamp` is as the source has it, the day of the last change.
    """

    name: str
    datestamp: str
    found: FoundPaper | SourceMalformed | None


class Page(NamedTuple):
    """A page of a list: `token` asks for the next (None on the last), `size` is of the whole list, where told.

    `day` is the source's own date, `YYYY-MM-DD`.
    """

    answer: Answer
    records: list[Listed]
    token: str | None
    size: int | None
    day: str


class Oai:
    """The OAI-PMH interface behind a client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __str__(self) -> str:
        return f"arXiv ({self._client.url})"

    def find(self, asked: ArxivId) -> tuple[FoundPaper, Answer]:
        """The paper's newest version, with the answer it stands in.

        Raises NotFound, VersionMismatch for another version than the newest, or a SourceFailed.
        """
        question = {"verb": "GetRecord", "identifier": f"{_IDENTIFIER}{asked.id}", "metadataPrefix": PREFIX}
        answer = self._client.ask(question, ONE_PAPER)
        envelope = _Envelope(answer)
        if envelope.error_code == "idDoesNotExist":
            raise NotFound(f"{self} has no paper {asked.id}: {envelope.error}", hint="look at the id")
        listed = _read_record(xml.needed(envelope.content("GetRecord"), f"{_OAI}record"), answer)
        if listed.found is None:
            raise NotFound(f"{self} has deleted {asked.id}, on {listed.datestamp}")
        if isinstance(listed.found, SourceMalformed):
            raise listed.found
        if listed.name != asked.id:
            raise SourceMalformed(f"{self} was asked for {asked.id} and answered with {listed.name}")
        newest = listed.found.metadata.version
        if asked.version not in (None, newest):
            raise VersionMismatch(
                f"{self} describes only the newest version of {asked.id}, v{newest}, not v{asked.version}",
                newest,
                hint=f"ask for {asked.id} without a version; or give metadata of v{asked.version} with --metadata, "
                "or ask with --source atom --license URI",
            )
        return listed.found, answer

    def pages(self, question: dict[str, str], token: str | None = None) -> Iterator[Page]:
        """The pages of a list (`from`, `until`, `set`), or those behind a resumption token.

        Raises TokenExpired, or a SourceFailed.
        """
        page = self._page({"metadataPrefix": PREFIX, **question} if token is None else {"resumptionToken": token})
        seen = {token}
        while True:
            yield page
            if page.token is None:
                return
            if page.token in seen:
                raise SourceMalformed(f"{self} gives the same resumption token again: the list would never end")
            seen.add(page.token)
            page = self._page({"resumptionToken": page.token})

    def _page(self, asked: dict[str, str]) -> Page:
        is_first = "resumptionToken" not in asked
        try:
            answer = self._client.ask({"verb": "ListRecords", **asked}, ONE_PAGE)
        except SourceRefused as error:
            raise error if is_first else TokenExpired(error.message) from None
        envelope = _Envelope(answer)
        if envelope.error_code == "noRecordsMatch" and is_first:
            return Page(answer, [], None, 0, envelope.day)
        if envelope.error is not None and not is_first:  # sources differ in what they call it
            raise TokenExpired(f"{self}: {envelope.error}")
        content = envelope.content("ListRecords")
        end = xml.only(content, f"{_OAI}resumptionToken")
        elements = content.findall(f"{_OAI}record")
        if len(elements) + (end is not None) != len(content) or (content.text or "").strip():
            raise SourceMalformed(f"{self} lists something else than records")
        if end is None and not (elements and is_first):  # the protocol marks the last of several pages
            raise SourceMalformed(f"{self} ends its list without saying so")
        records = [_read_record(element, answer) for element in elements]
        size = None if end is None else end.get("completeListSize")
        return Page(
            answer,
            records,
            (xml.text(content, f"{_OAI}resumptionToken") or "").strip() or None,
            int(size) if size is not None and _SIZE.fullmatch(size) else None,
            envelope.day,
        )


class _Envelope:
    """What every answer has: a date, and either errors or content."""

    def __init__(self, answer: Answer) -> None:
        self._url, self._root = answer.url, answer.root
        if self._root.tag != f"{_OAI}OAI-PMH":
            raise SourceMalformed(f"{self._url} answered with <{cut(str(self._root.tag))}>, not OAI-PMH")
        xml.check_children(self._root, _ENVELOPE)
        errors = self._root.findall(f"{_OAI}error")
        if errors and len(self._root) > len(errors) + 2:  # beside responseDate and request
            raise SourceMalformed(f"{self._url} answered with an error and with more")
        self.error_code = errors[0].get("code") if errors else None
        self.error = cut(f"{self.error_code}: {' '.join((errors[0].text or '').split())}") if errors else None

    @property
    def day(self) -> str:
        """The day on which the source says that it answered."""
        return _day(xml.needed_text(self._root, f"{_OAI}responseDate").strip()[:10], "responseDate")

    def content(self, verb: str) -> etree._Element:
        if self.error is not None:
            raise SourceFailed(f"{self._url} answered with the error {self.error}")
        return xml.needed(self._root, f"{_OAI}{verb}")


def _read_record(element: etree._Element, answer: Answer) -> Listed:
    name, datestamp = "a record without identifier", ""
    try:
        header = xml.needed(element, f"{_OAI}header")
        identifier = xml.needed_text(header, f"{_OAI}identifier").strip()
        name = identifier.removeprefix(_IDENTIFIER)
        datestamp = _day(xml.needed_text(header, f"{_OAI}datestamp").strip(), "datestamp")
        name = ArxivId.parse(name).id
        if header.get("status") == "deleted":
            return Listed(name, datestamp, None)
        metadata = xml.needed(element, f"{_OAI}metadata")
        xml.check_children(metadata, (f"{_RAW}arXivRaw",))
        raw = xml.needed(metadata, f"{_RAW}arXivRaw")
        found = _read_paper(raw, datestamp, answer)
        if found.metadata.arxiv_id != name:
            raise SourceMalformed(f"the record of {identifier} is about {found.metadata.arxiv_id}")
    except (SourceMalformed, InvalidMetadata, InvalidArxivId) as error:
        reason = f"{error.field}: {error.message}" if error.field else error.message
        return Listed(
            cut(name, 60),
            datestamp,
            SourceMalformed(f"{answer.url} describes {shown(name)} so that nothing can be built on it: {reason}"),
        )
    return Listed(name, datestamp, found)


def _read_paper(raw: etree._Element, datestamp: str, answer: Answer) -> FoundPaper:
    xml.check_fields(raw, _RAW, _FIELDS)
    versions = [
        {
            "version": element.get("version"),
            "created": xml.needed_text(element, f"{_RAW}date").strip(),
            "source_type": xml.text(element, f"{_RAW}source_type") or "",
        }
        for element in raw.iterfind(f"{_RAW}version")
    ]
    row: dict[str, Any] = {"id": xml.needed_text(raw, f"{_RAW}id").strip(), "versions": versions}
    row |= {name: xml.needed_text(raw, f"{_RAW}{name}") for name in ("title", "abstract", "authors", "categories")}
    license_ = xml.text(raw, f"{_RAW}license")  # no element: arXiv has none, as a null in a snapshot row
    if license_ is not None and not license_.strip():
        raise SourceMalformed("is there and empty: is there one, or none?", field="license")
    row["license"] = license_ and license_.strip()
    metadata = from_snapshot_row(row)
    newest = next(version for version in versions if version["version"] == f"v{metadata.version}")
    return FoundPaper(
        metadata,
        Provenance(
            source=f"{KIND}:{answer.url}",
            source_time=f"{datestamp}T00:00:00Z",
            fetched_at=answer.fetched_at,
            raw_sha256=answer.sha256,
            withdrawn=_WITHDRAWN in str(newest["source_type"]),
        ),
    )


def _day(day: str, field: str) -> str:
    if parse_seconds(f"{day}T00:00:00Z") is None or day < _OLDEST:
        raise SourceMalformed(f"{shown(day)} is no day such as 2024-03-12", field=field)
    return day
