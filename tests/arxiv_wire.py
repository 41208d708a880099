"""arXiv's metadata as its own server sends it: arXivRaw over OAI-PMH, and Atom feeds."""

from __future__ import annotations

import itertools
import re
import textwrap
import unicodedata
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any, Self
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from pith_builder import PaperMetadata

_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_OAI = "http://www.openarchives.org/OAI/2.0/"
_RAW = "http://arxiv.org/OAI/arXivRaw/"
_ATOM = "http://www.w3.org/2005/Atom"
_OPENSEARCH = "http://a9.com/-/spec/opensearch/1.1/"
_ARXIV_ATOM = "http://arxiv.org/schemas/atom"
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

#: What `ServedPaper.more` may hold, by the names of the elements.
MORE = ("proxy", "report-no", "acm-class", "msc-class", "journal-ref", "doi")
_GROUPS = ("cs", "econ", "eess", "math", "q-bio", "q-fin", "stat")  # all other archives are in physics
_QUERIED_ID = re.compile(r"(?:(\d{4}\.\d{4,5})|([a-z-]+)(?:\.[A-Z]{2})?/(\d{7}))(?:v(\d+))?", re.ASCII)


@dataclass
class ServedPaper:
    """A paper as arXiv holds it; every string is sent just as it stands here, escaped for XML.

    `versions` are numbers and dates such as `Tue, 12 Mar 2024 13:31:14 GMT`, in the order in which they are sent;
    `source_type` is of the newest one; `license` None is no element.
    """

    id: str
    title: str
    abstract: str
    authors: str
    categories: str
    license: str | None
    versions: list[tuple[int, str]]
    datestamp: str
    comments: str | None = None
    source_type: str | None = None
    sets: list[str] = field(default_factory=list)
    deleted: bool = False
    submitter: str = "A. Submitter"
    more: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, metadata: PaperMetadata, datestamp: str = "2026-01-02", **changes: Any) -> Self:
        """The paper that has this metadata, wrapped as arXiv wraps: v1 as submitted, another version every week."""
        submitted = datetime.fromisoformat(metadata.submitted_at)
        dates = (submitted + timedelta(weeks=n) for n in range(metadata.version))
        fields: dict[str, Any] = {
            "id": metadata.arxiv_id,
            "title": wrapped_title(metadata.title),
            "abstract": wrapped_abstract(metadata.abstract),
            "authors": wrapped_title(metadata.authors),
            "categories": metadata.categories,
            "license": metadata.license or None,
            "versions": [(n, format_datetime(date, usegmt=True)) for n, date in enumerate(dates, 1)],
            "datestamp": datestamp,
            "sets": list(dict.fromkeys(_set_of(category) for category in metadata.categories.split())),
        }
        return cls(**fields | changes)

    @property
    def newest(self) -> int:
        """The highest version."""
        return max(number for number, _ in self.versions)


def wrapped_title(text: str) -> str:
    """A title (or authors, or a comment) in lines, each but the first behind two spaces; unchanged if it has some."""
    return text if "\n" in text else "\n  ".join(_lines(text))


def wrapped_abstract(text: str) -> str:
    """An abstract in lines, two spaces before it and a line's end behind it; unchanged if it is of that form."""
    if text.startswith("  ") and text.endswith("\n"):
        return text
    return f"  {text if chr(10) in text else chr(10).join(_lines(text))}\n"


def _lines(text: str) -> list[str]:
    return textwrap.wrap(
        text, 78, expand_tabs=False, replace_whitespace=False, break_long_words=False, break_on_hyphens=False
    )


def _set_of(category: str) -> str:
    archive, _, subject = category.partition(".")
    parts = ["physics" if archive not in _GROUPS else archive, archive, subject]
    return ":".join(part for part in parts if part)


def _element(name: str, text: str, /, **attributes: str) -> str:
    given = "".join(f" {key.replace('__', ':')}={quoteattr(value)}" for key, value in attributes.items())
    content = escape(text, {"\r": "&#13;"})
    return f"<{name}{given}>{content}</{name}>"


# --- OAI-PMH ----------------------------------------------------------------------------------------------------


class _OaiError(Exception):
    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def _header(paper: ServedPaper) -> str:
    status = ' status="deleted"' if paper.deleted else ""
    sets = "".join(f"\n{_element('setSpec', name)}" for name in paper.sets)
    identifier = _element("identifier", f"oai:arXiv.org:{paper.id}")
    return f"<header{status}>\n{identifier}\n{_element('datestamp', paper.datestamp)}{sets}\n</header>"


def _version(paper: ServedPaper, number: int, date: str) -> str:
    source_type = paper.source_type if number == paper.newest else None
    size = "0kb" if source_type == "I" else f"{1000 + number}kb"
    parts = _element("date", date) + _element("size", size)
    if source_type is not None:
        parts += _element("source_type", source_type)
    return f'<version version="v{number}">{parts}</version>'


def _arxiv_raw(paper: ServedPaper) -> str:
    first = [_element("id", paper.id), _element("submitter", paper.submitter)]
    first += [_version(paper, number, date) for number, date in paper.versions]
    first += [_element(name, getattr(paper, name)) for name in ("title", "authors", "categories")]
    rest = {"comments": paper.comments, **{name: paper.more.get(name) for name in MORE}, "license": paper.license}
    last = [_element(name, text) for name, text in rest.items() if text is not None]
    start = (
        f'<arXivRaw xmlns="{_RAW}" xmlns:xsi="{_XSI}" xsi:schemaLocation="{_RAW} http://arxiv.org/OAI/arXivRaw.xsd">'
    )
    return "\n".join([start, *first, *last, _element("abstract", paper.abstract), "</arXivRaw>"])


def _record(paper: ServedPaper) -> str:
    metadata = "" if paper.deleted else f"\n<metadata>\n{_arxiv_raw(paper)}\n</metadata>"
    return f"<record>\n{_header(paper)}{metadata}\n</record>"


def _check_arguments(arguments: dict[str, str], needed: set[str], allowed: set[str]) -> None:
    given = arguments.keys() - {"verb"}
    if missing := sorted(needed - given):
        raise _OaiError("badArgument", f"Missing required argument: {missing[0]}")
    if unknown := sorted(given - needed - allowed):
        raise _OaiError("badArgument", f"Illegal argument: {unknown[0]}")
    if arguments.get("metadataPrefix", "arXivRaw") != "arXivRaw":
        raise _OaiError("cannotDisseminateFormat", f"Did not recognize requested format: {arguments['metadataPrefix']}")


def _check_days(arguments: dict[str, str]) -> None:
    for name in ("from", "until"):
        day = arguments.get(name, "2000-01-01")
        try:
            right = date.fromisoformat(day).isoformat() == day
        except ValueError:
            right = False
        if not right:
            raise _OaiError("badArgument", f"{name} must be a day of the form YYYY-MM-DD")
    if arguments.get("from", "") > arguments.get("until", "9999"):
        raise _OaiError("badArgument", "until date must be after from date")


# --- Atom -------------------------------------------------------------------------------------------------------

_ACCENTS = dict(
    zip("'`^\"~=.uvHckr", "\u0301\u0300\u0302\u0308\u0303\u0304\u0307\u0306\u030c\u030b\u0327\u0328\u030a", strict=True)
)
_ACCENT = re.compile(r"""\\(?:(['`^"~=.])|([uvHckr])(?=[\s{]))\s*(?:\{\\?([A-Za-z])\}|\\?([A-Za-z]))""")
_LETTERS = {"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø", "O": "Ø", "l": "ł"}
_LETTER = re.compile(r"\\(ss|ae|AE|oe|OE|aa|AA|o|O|l|L|i)(?![A-Za-z])\s?(?:\{\})?")


def author_names(authors: str) -> list[str]:
    """The names in arXiv's raw string of authors, as its Atom feed gives them: no affiliations, TeX accents decoded."""
    text = " ".join(authors.split())
    while (shorter := re.sub(r"\s*\([^()]*\)", "", text)) != text:
        text = shorter
    text = _ACCENT.sub(lambda m: (m[3] or m[4]) + _ACCENTS[m[1] or m[2]], text)
    text = _LETTER.sub(lambda m: {**_LETTERS, "L": "Ł", "i": "ı"}[m[1]], text)
    text = unicodedata.normalize("NFC", text.replace("{", "").replace("}", ""))
    return [name for name in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", text) if name]


def _atom_time(date: str) -> str:
    try:
        return parsedate_to_datetime(date).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError:  # a test may serve any nonsense
        return date


def _entry(paper: ServedPaper, version: int | None) -> str:
    dates = dict(paper.versions)
    number = version or paper.newest
    name = f"{paper.id}v{number}"
    arxiv = {"xmlns__arxiv": _ARXIV_ATOM}
    lines = [
        _element("id", f"http://arxiv.org/abs/{name}"),
        _element("updated", _atom_time(dates[number])),
        _element("published", _atom_time(dates.get(1, dates[number]))),
        _element("title", paper.title),
        _element("summary", paper.abstract),
        *(f"<author>\n      {_element('name', author)}\n    </author>" for author in author_names(paper.authors)),
    ]
    extensions = {"doi": paper.more.get("doi"), "comment": paper.comments, "journal_ref": paper.more.get("journal-ref")}
    lines += [_element(f"arxiv:{key}", text, **arxiv) for key, text in extensions.items() if text is not None]
    terms = [*paper.categories.split(), *(paper.more[key] for key in ("msc-class", "acm-class") if key in paper.more)]
    lines += [
        f'<link href="http://arxiv.org/abs/{name}" rel="alternate" type="text/html"/>',
        f'<link title="pdf" href="http://arxiv.org/pdf/{name}" rel="related" type="application/pdf"/>',
        f'<arxiv:primary_category xmlns:arxiv="{_ARXIV_ATOM}" term={quoteattr(terms[0])} scheme="{_ARXIV_ATOM}"/>',
        *(f'<category term={quoteattr(term)} scheme="{_ARXIV_ATOM}"/>' for term in terms),
    ]
    return "\n    ".join(["  <entry>", *lines]) + "\n  </entry>\n"


def _error_entry(code: str, text: str) -> str:
    address = f"http://arxiv.org/api/errors#{code}"
    lines = [
        _element("id", address),
        _element("title", "Error"),
        _element("summary", text),
        f'<link href={quoteattr(address)} rel="alternate" type="text/html"/>',
        "<author>\n      <name>arXiv api core</name>\n    </author>",
    ]
    return "\n    ".join(["  <entry>", *lines]) + "\n  </entry>\n"


# --- both -------------------------------------------------------------------------------------------------------


class Archive:
    """The papers that arXiv holds, and what it answers to requests.

    Pages of a list are cut from the papers as they are at that moment: what a resumption token holds is how many
    were sent before.
    """

    def __init__(self) -> None:
        self.papers: dict[str, ServedPaper] = {}
        self.page_size = 100
        self.sort_by_datestamp = True
        self.today = "2026-11-30"
        self._tokens: dict[str, tuple[dict[str, str], int]] = {}
        self._serials = itertools.count(1001)

    def add(self, *papers: ServedPaper) -> None:
        """Hold these papers, in place of those of the same id."""
        self.papers.update((paper.id, paper) for paper in papers)

    def expire_tokens(self) -> None:
        """Refuse all resumption tokens given out so far."""
        self._tokens.clear()

    def oai(self, base_url: str, pairs: list[tuple[str, str]]) -> bytes:
        """What the OAI-PMH endpoint answers to these arguments."""
        arguments = dict(pairs)
        try:
            if len(arguments) < len(pairs):
                raise _OaiError("badArgument", "An argument stands more than once")
            body = self._oai_answer(base_url, arguments)
        except _OaiError as error:
            body = _element("error", str(error), code=error.code)
            if error.code in ("badVerb", "badArgument"):
                arguments = {}
        root = f'<OAI-PMH xmlns="{_OAI}" xmlns:xsi="{_XSI}" xsi:schemaLocation="{_OAI} {_OAI}OAI-PMH.xsd">'
        time, request = _element("responseDate", f"{self.today}T04:05:06Z"), _element("request", base_url, **arguments)
        return f"{_DECLARATION}{root}\n{time}\n{request}\n{body}\n</OAI-PMH>\n".encode()

    def _oai_answer(self, base_url: str, arguments: dict[str, str]) -> str:
        match arguments.get("verb"):
            case "GetRecord":
                return f"<GetRecord>\n{self._get_record(arguments)}\n</GetRecord>"
            case "ListRecords":
                return f"<ListRecords>\n{self._list_records(arguments)}\n</ListRecords>"
            case "Identify":
                _check_arguments(arguments, set(), set())
                said = {"repositoryName": "arXiv", "baseURL": base_url, "protocolVersion": "2.0"}
                said |= {"adminEmail": "help@arxiv.org", "earliestDatestamp": "2005-09-16"}
                said |= {"deletedRecord": "persistent", "granularity": "YYYY-MM-DD"}
                return "\n".join(["<Identify>", *(_element(*pair) for pair in said.items()), "</Identify>"])
            case _:
                raise _OaiError("badVerb", "Missing or illegal verb")

    def _get_record(self, arguments: dict[str, str]) -> str:
        _check_arguments(arguments, {"identifier", "metadataPrefix"}, set())
        identifier = arguments["identifier"]
        paper = self.papers.get(identifier.removeprefix("oai:arXiv.org:"))
        if paper is None or not identifier.startswith("oai:arXiv.org:"):
            raise _OaiError("idDoesNotExist", f"Nothing found for this id: {identifier}")
        return _record(paper)

    def _list_records(self, arguments: dict[str, str]) -> str:
        cursor = 0
        if "resumptionToken" in arguments:
            _check_arguments(arguments, {"resumptionToken"}, set())
            if arguments["resumptionToken"] not in self._tokens:
                raise _OaiError("badResumptionToken", "The token is unknown or has expired")
            arguments, cursor = self._tokens[arguments["resumptionToken"]]
        else:
            _check_arguments(arguments, {"metadataPrefix"}, {"from", "until", "set"})
            _check_days(arguments)
        found = self._selected(arguments)
        if not found:
            raise _OaiError("noRecordsMatch", "No records match the request")
        end = cursor + self.page_size
        records = [_record(paper) for paper in found[cursor:end]]
        if cursor == 0 and end >= len(found):  # a list in one page has no token at all
            return "\n".join(records)
        token = ""
        if end < len(found):
            token = f"{next(self._serials)}|{end + 1}"
            self._tokens[token] = (arguments, end)
        expires = f"{date.fromisoformat(self.today) + timedelta(days=1)}T00:00:00Z"
        size = {"expirationDate": expires, "completeListSize": str(len(found)), "cursor": str(cursor)}
        return "\n".join([*records, _element("resumptionToken", token, **size)])

    def _selected(self, arguments: dict[str, str]) -> list[ServedPaper]:
        first, last, chosen = arguments.get("from", ""), arguments.get("until", "9999"), arguments.get("set")
        papers = [paper for paper in list(self.papers.values()) if first <= paper.datestamp <= last]
        if chosen is not None:
            papers = [paper for paper in papers if any(f"{name}:".startswith(f"{chosen}:") for name in paper.sets)]
        return sorted(papers, key=lambda paper: paper.datestamp) if self.sort_by_datestamp else papers

    def atom(self, params: dict[str, str]) -> bytes:
        """The feed that the API answers to `id_list`, and to `start` and `max_results`, 10 unless given."""
        ids = [name.strip() for name in params.get("id_list", "").split(",") if name.strip()]
        start, most = int(params.get("start") or 0), int(params.get("max_results") or 10)
        wrong = [name for name in ids if _QUERIED_ID.fullmatch(name) is None]
        if wrong:  # then nothing else is answered
            entries = [_error_entry(f"incorrect_id_format_for_{wrong[0]}", f"incorrect id format for {wrong[0]}")]
        else:
            entries = [entry for name in ids if (entry := self._entry_for(name)) is not None]
        query = f"search_query=&id_list={','.join(ids)}&start={start}&max_results={most}"
        numbers = {"totalResults": len(entries), "startIndex": start, "itemsPerPage": most}
        lines = [
            f'<feed xmlns="{_ATOM}">',
            f'<link href="http://arxiv.org/api/query?{quote(query)}" rel="self" type="application/atom+xml"/>',
            _element("title", f"ArXiv Query: {query}", type="html"),
            "<id>http://arxiv.org/api/cHxbiOdZaP56ODnBPIenZhzg5f8</id>",
            _element("updated", f"{self.today}T00:00:00-05:00"),
            *(_element(f"opensearch:{k}", str(n), xmlns__opensearch=_OPENSEARCH) for k, n in numbers.items()),
        ]
        return (
            f"{_DECLARATION}{(chr(10) + '  ').join(lines)}\n{''.join(entries[start : start + most])}</feed>\n".encode()
        )

    def _entry_for(self, name: str) -> str | None:
        match = _QUERIED_ID.fullmatch(name)
        assert match is not None
        new, archive, number, version = match.groups()
        paper = self.papers.get(new or f"{archive}/{number}")
        if paper is None or paper.deleted or (version and int(version) not in dict(paper.versions)):
            return None
        return _entry(paper, int(version) if version else None)
