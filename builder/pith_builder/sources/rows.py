"""From one JSON object to metadata: our own form, or a row of the arXiv metadata snapshot."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from typing import Any

import msgspec

from pith_builder.arxiv_id import ArxivId
from pith_builder.documents import MAX_DOCUMENT
from pith_builder.errors import InvalidArxivId, InvalidMetadata, shown
from pith_builder.metadata import PaperMetadata

_DAY = r"(?:(Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?(\d{1,2}) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4})"
_CREATED = re.compile(rf"({_DAY}) ((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d) GMT", re.ASCII)
_NEEDED = {"id", "title", "abstract", "authors", "categories"}
_VERSION = re.compile(r"v([1-9]\d{0,3})", re.ASCII)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WITHDRAWN = re.compile(r"\bwithdrawn\b", re.IGNORECASE)


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
    versions: list[dict[str, str]]
    update_date: str
    authors_parsed: list[list[str]]


_ROW = msgspec.json.Decoder(_Row)


def read_usual_row(data: bytes) -> dict[str, Any] | None:
    """The short way for nearly all rows of the snapshot: what is needed of one in just its form, else None.

    `loads` gives the same for these fields. That no key stands twice is told by the colons, as there.
    """
    if len(data) > MAX_DOCUMENT:  # what was cut for its length can be whole by chance
        return None
    try:
        row = _ROW.decode(data)
        if msgspec.json.encode(row).count(b":") != data.count(b":") or b"\\u003" in data:
            return None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return {
        "id": row.id,
        "title": row.title,
        "abstract": row.abstract,
        "authors": row.authors,
        "categories": row.categories,
        "license": row.license,
        "versions": row.versions,
        "comments": row.comments,
        "update_date": row.update_date,
    }


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
    created = _created_by_version(row["versions"])
    if 1 not in created:
        raise InvalidMetadata([("versions", "there is no v1, so the time of submission is not known")])
    license_ = row.get("license")
    if license_ is None and "license" in row:
        license_ = ""
    return PaperMetadata(
        row["id"],
        max(created),
        row["title"],
        row["abstract"],
        row["authors"],
        row["categories"],
        license_,
        parse_created(created[1]),
    )


def _created_by_version(versions: object) -> dict[int, str]:
    created: dict[int, str] = {}
    for entry in versions if isinstance(versions, list) else [None]:
        if not isinstance(entry, dict) or not {"version", "created"} <= entry.keys():
            raise InvalidMetadata([("versions", "not a list of objects with version and created")])
        name = entry["version"]
        match = _VERSION.fullmatch(name) if isinstance(name, str) else None
        if match is None:
            raise InvalidMetadata([("versions", f"{shown(name)} is no version such as v1")])
        number = int(match[1])
        if number in created:
            raise InvalidMetadata([("versions", f"{name} stands twice")])
        created[number] = entry["created"]
    return created


def parse_created(text: object) -> str:
    """`Mon, 2 Apr 2007 19:18:42 GMT`, the weekday optional, as `2007-04-02T19:18:42Z`.

    Raises InvalidMetadata for any other form, a day that doesn't exist, or a wrong weekday.
    """
    match = _CREATED.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidMetadata([("versions", f"{shown(text)} is no time such as Mon, 2 Apr 2007 19:18:42 GMT")])
    day, *parts, time = match.groups()
    return f"{_iso_day(day, *parts)}T{time}Z"


@lru_cache(maxsize=16_384)  # there are not so many days, and several papers on each
def _iso_day(text: str, weekday: str | None, day: str, month: str, year: str) -> str:
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


def source_time(value: dict[str, Any]) -> str | None:
    """When a snapshot row says that it was last changed, `YYYY-MM-DDT00:00:00Z`; None where it doesn't."""
    try:
        return f"{date.fromisoformat(value.get('update_date', ''))}T00:00:00Z"
    except (TypeError, ValueError):
        return None


def is_withdrawn(value: dict[str, Any]) -> bool:
    """Whether a snapshot row's comment calls the paper withdrawn: all that the snapshot tells of it."""
    comments = value.get("comments")
    if not isinstance(comments, str) or (comments.isascii() and "withdrawn" not in comments.lower()):
        return False
    return bool(_WITHDRAWN.search(comments))
