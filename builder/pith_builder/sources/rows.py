"""From one JSON object to metadata: our own form, or a row of the arXiv metadata snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from pith_builder.arxiv_id import ArxivId
from pith_builder.documents import MAX_DOCUMENT
from pith_builder.errors import InvalidArxivId, InvalidMetadata, shown
from pith_builder.metadata import PaperMetadata

_DAY = re.compile(
    r"(?:(Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?(\d{1,2}) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4})", re.ASCII
)
_TIME = re.compile(r" ((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d) GMT", re.ASCII)
_TIME_LENGTH, _LONGEST_CREATED = len(" 19:18:42 GMT"), len("Mon, 02 Apr 2007 19:18:42 GMT")
_NEEDED = {"id", "title", "abstract", "authors", "categories"}
_VERSION = re.compile(r"v([1-9]\d{0,3})", re.ASCII)
_LONGEST_VERSION = len("v9999")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WITHDRAWN = re.compile(r"\bwithdrawn\b", re.IGNORECASE)


class Described(NamedTuple):
    """A paper as an object describes it: its metadata, and what else the object says, which may be of any type.

    `is_own` is whether it has our own form, or else that of a row of the arXiv metadata snapshot.
    """

    metadata: PaperMetadata
    is_own: bool
    update_date: object
    comments: object


class _Version(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    version: str
    created: str


class _Row(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A row as the snapshot has it."""

    id: str
    submitter: str | None
    authors: str
    title: str
    comments: str | None
    journal_ref: str | None = msgspec.field(name="journal-ref")
    doi: str | None
    report_no: str | None = msgspec.field(name="report-no")
    categories: str
    license: str | None
    abstract: str
    versions: list[_Version]
    update_date: str
    authors_parsed: list[list[str]]


_ROW = msgspec.json.Decoder(_Row)
_WRITTEN = msgspec.json.Encoder()


def read_usual_row(data: bytes) -> Described | None:
    """The short way for nearly all rows of the snapshot: the paper in one that has just its form, else None.

    `described` gives the same for what `loads` reads. That no key stands twice is told by the colons, as there. Raises
    InvalidMetadata.
    """
    if len(data) > MAX_DOCUMENT:  # what was cut for its length can be whole by chance
        return None
    try:
        row = _ROW.decode(data)
        if _WRITTEN.encode(row).count(b":") != data.count(b":") or b"\\u003" in data:
            return None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    version, submitted_at = _versions([(entry.version, entry.created) for entry in row.versions])
    license_ = row.license or ""
    metadata = PaperMetadata(
        row.id, version, row.title, row.abstract, row.authors, row.categories, license_, submitted_at
    )
    return Described(metadata, False, row.update_date, row.comments)


def described(value: Any) -> Described:
    """What a JSON value says of a paper. Raises InvalidMetadata."""
    metadata = read_metadata(value)
    return Described(metadata, "arxiv_id" in value, value.get("update_date"), value.get("comments"))


def read_metadata(value: Any) -> PaperMetadata:
    """The metadata in a JSON value, its form told by its fields. Raises InvalidMetadata."""
    if not isinstance(value, dict):
        raise InvalidMetadata([("", "this is no JSON object")], hint="one object a paper, or one a line")
    if "arxiv_id" in value:
        return PaperMetadata.from_mapping(value)
    if "id" in value and "versions" in value:
        return from_snapshot_row(value)
    raise InvalidMetadata(
        [("", "neither our own form (arxiv_id, version, …) nor a row of the metadata snapshot (id, versions, …)")]
    )


def from_snapshot_row(row: dict[str, Any]) -> PaperMetadata:
    """The metadata in a row of the arXiv metadata snapshot.

    The version is the highest as a number, the time is that of v1 by its name; a null licence is none, an absent
    key is unknown.
    """
    if not row.keys() >= _NEEDED:
        raise InvalidMetadata([(name, "is missing") for name in sorted(_NEEDED - row.keys())])
    version, submitted_at = _versions(list(_entries(row["versions"])))
    license_ = row.get("license")
    if license_ is None and "license" in row:
        license_ = ""
    return PaperMetadata(
        row["id"],
        version,
        row["title"],
        row["abstract"],
        row["authors"],
        row["categories"],
        license_,
        submitted_at,
    )


def _entries(versions: object) -> Iterator[tuple[object, object]]:
    """Name and time of each version."""
    for entry in versions if isinstance(versions, list) else [None]:
        if not isinstance(entry, dict) or not {"version", "created"} <= entry.keys():
            raise InvalidMetadata([("versions", "not a list of objects with version and created")])
        yield entry["version"], entry["created"]


def _versions(entries: Sequence[tuple[object, object]]) -> tuple[int, str]:
    """The highest version, and the time of v1 as `2007-04-02T19:18:42Z`."""
    created: dict[int, object] = {}
    for name, time in entries:
        number = _version_number(name) if isinstance(name, str) and len(name) <= _LONGEST_VERSION else None
        if number is None:
            raise InvalidMetadata([("versions", f"{shown(name)} is no version such as v1")])
        if number in created:
            raise InvalidMetadata([("versions", f"{name} stands twice")])
        created[number] = time
    if 1 not in created:
        raise InvalidMetadata([("versions", "there is no v1, so the time of submission is not known")])
    return max(created), parse_created(created[1])


@lru_cache(maxsize=256)
def _version_number(name: str) -> int | None:
    match = _VERSION.fullmatch(name)
    return int(match[1]) if match else None


def parse_created(text: object) -> str:
    """`Mon, 2 Apr 2007 19:18:42 GMT`, the weekday optional, as `2007-04-02T19:18:42Z`.

    Raises InvalidMetadata for any other form, a day that doesn't exist, or a wrong weekday.
    """
    if isinstance(text, str) and len(text) <= _LONGEST_CREATED:
        time, day = _TIME.fullmatch(text, max(0, len(text) - _TIME_LENGTH)), _iso_day(text[:-_TIME_LENGTH])
        if time and day:
            return f"{day}T{time[1]}Z"
    raise InvalidMetadata([("versions", f"{shown(text)} is no time such as Mon, 2 Apr 2007 19:18:42 GMT")])


@lru_cache(maxsize=16_384)  # there are not so many days, and several papers on each
def _iso_day(text: str) -> str | None:
    match = _DAY.fullmatch(text)
    if match is None:
        return None
    weekday, day, month, year = match.groups()
    try:
        found = date(int(year), _MONTHS.index(month) + 1, int(day))
    except ValueError:
        raise InvalidMetadata([("versions", f"{shown(text)}: there is no such day")]) from None
    if weekday is not None and _DAYS[found.weekday()] != weekday:
        raise InvalidMetadata([("versions", f"{shown(text)}: that day was a {_DAYS[found.weekday()]}")])
    return found.isoformat()


def claimed_id(value: Any) -> str | None:
    """The id that a JSON value names, even where it holds no metadata; None where it names none."""
    name = value.get("arxiv_id", value.get("id")) if isinstance(value, dict) else None
    try:
        return ArxivId.parse(name).id if isinstance(name, str) else None
    except InvalidArxivId:
        return None


def source_time(update_date: object) -> str | None:
    """When a snapshot row says that it was last changed, `YYYY-MM-DDT00:00:00Z`; None where it doesn't."""
    try:
        return f"{date.fromisoformat(update_date)}T00:00:00Z" if isinstance(update_date, str) else None
    except ValueError:
        return None


def is_withdrawn(comments: object) -> bool:
    """Whether a snapshot row's comment calls the paper withdrawn: all that the snapshot tells of it."""
    if not isinstance(comments, str) or (comments.isascii() and "withdrawn" not in comments.lower()):
        return False
    return bool(_WITHDRAWN.search(comments))
