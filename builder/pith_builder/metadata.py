"""The one input model: what a source says of a paper (PROTOCOL §2), and where it said so."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Self

import msgspec

from pith_builder import text, times
from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import InvalidArxivId, InvalidMetadata, InvalidText, shown

#: Fields of `PaperMetadata`, in the order of a metadata file.
FIELDS = ("arxiv_id", "version", "title", "abstract", "authors", "categories", "license", "submitted_at")

_CATEGORY = re.compile(r"[A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)?", re.ASCII)
_LICENSE = re.compile(r"https?://[!-~]+", re.ASCII)
#: Title, authors and categories, at most, in characters; they are published whole, and the title twice.
MAX_TEXT = 2**20

#: Versions beyond this are taken for errors.
MAX_VERSION = 9999


class PaperMetadata(msgspec.Struct, frozen=True):
    """What a source says of one version of a paper.

    `arxiv_id` is kept without subject class and version; `title`, `abstract` and `authors` are arXiv's raw
    strings, wraps and TeX included; `categories` is its list with spaces, primary first; `license` is the URI,
    "" where arXiv has none, None where it isn't known; `submitted_at` is when v1 was submitted,
    `YYYY-MM-DDTHH:MM:SSZ`. Making one raises InvalidMetadata, which lists every field at fault.
    """

    arxiv_id: str
    version: int
    title: str
    abstract: str
    authors: str
    categories: str
    license: str | None
    submitted_at: str

    def __post_init__(self) -> None:
        problems: list[tuple[str, str]] = []
        if not self._has_plain_texts():
            for name in ("title", "abstract", "authors", "categories"):
                _check_text(name, getattr(self, name), problems)
        _check_version(self.version, problems)
        _check_license(self.license, problems)
        self._check_categories(problems)
        self._check_id(problems)
        if not isinstance(self.submitted_at, str) or not is_submission_time(self.submitted_at):
            problems.append(("submitted_at", f"{shown(self.submitted_at)} {NO_SUBMISSION_TIME}"))
        if problems:
            raise InvalidMetadata(problems)

    def _has_plain_texts(self) -> bool:
        """The short way for nearly all papers: four ASCII strings in which nothing is wrong."""
        try:
            together = "".join((self.title, self.abstract, self.authors, self.categories))
        except TypeError:
            return False
        too_long = len(together) - len(self.abstract) > MAX_TEXT
        blank = self.title.isspace() or self.abstract.isspace() or not (self.title and self.abstract)
        return together.isascii() and "\0" not in together and not blank and not too_long

    def _check_id(self, problems: list[tuple[str, str]]) -> None:
        if not isinstance(self.arxiv_id, str):
            problems.append(("arxiv_id", f"{shown(self.arxiv_id)} is not a string"))
            return
        try:
            parsed = ArxivId.parse(self.arxiv_id)
        except InvalidArxivId as error:
            problems.append(("arxiv_id", error.message))
            return
        if parsed.version not in (None, self.version):
            problems.append(("arxiv_id", f"{shown(self.arxiv_id)} names another version than {self.version}"))
        if parsed.id != self.arxiv_id:
            msgspec.structs.force_setattr(self, "arxiv_id", parsed.id)

    def _check_categories(self, problems: list[tuple[str, str]]) -> None:
        if not isinstance(self.categories, str):
            return
        names = self.categories.split()
        wrong = [name for name in names if not is_category(name)]
        if not names:
            problems.append(("categories", "there is none; the first is the primary category"))
        elif wrong:
            problems.append(("categories", f"{shown(wrong[0])} is no category"))
        elif len(set(names)) != len(names):
            problems.append(("categories", "one stands twice"))

    @classmethod
    def from_mapping(cls, values: dict[str, Any]) -> Self:
        """Metadata from a JSON object in our own form; further fields are ignored.

        An absent or null `license` is unknown, `""` is none. Raises InvalidMetadata.
        """
        missing = [(name, "is missing") for name in FIELDS if name not in values and name != "license"]
        if missing:
            raise InvalidMetadata(missing)
        given: Any = {name: values.get(name) for name in FIELDS}
        return cls(**given)

    @property
    def id(self) -> ArxivId:
        """The id with its version."""
        return ArxivId(self.arxiv_id, self.version)


#: How a `Provenance.source` begins that tells what holds at the moment.
LIVE = "oai:"


class Provenance(msgspec.Struct, frozen=True):
    """Where metadata came from, so that a number can be explained later.

    `source` names the kind and place; `source_time` is when the source says it was so and `fetched_at` when we
    read it (`YYYY-MM-DDTHH:MM:SSZ`, None where unknown); `raw_sha256` is of the raw form, 64 hex digits;
    `withdrawn` tells that the source calls the paper withdrawn, `license_given` that the licence is not the source's
    word but was given by hand.
    """

    source: str
    source_time: str | None = None
    fetched_at: str | None = None
    raw_sha256: str | None = None
    withdrawn: bool = False
    license_given: bool = False

    @property
    def said_at(self) -> str | None:
        """When the source said so: a file at the time that it names, but not after we read it; else when we read it.

        arXiv's OAI-PMH interface says what holds when it is asked; its own time is that of the last change.
        """
        if self.source_time is None or self.fetched_at is None or self.source.startswith(LIVE):
            return self.fetched_at or self.source_time
        return min(self.source_time, self.fetched_at)


NO_SUBMISSION_TIME = "is no time of the form 2024-03-12T13:31:14Z in the years 1900 to 2099"


def is_submission_time(text: str) -> bool:
    """Whether `submitted_at` can stand in a record: a real UTC time, in a year that a number can carry."""
    return text[:2] in ("19", "20") and times.parse_seconds(text) is not None


@lru_cache(maxsize=1024)  # there are few of them, in every paper
def is_category(text: str) -> bool:
    """Whether a category's name can stand in a record."""
    return _CATEGORY.fullmatch(text) is not None


@lru_cache(maxsize=256)
def is_license(text: str) -> bool:
    """Whether a licence can stand in a record: an http(s) URI, or "" for none."""
    return not text or _LICENSE.fullmatch(text) is not None


def _check_text(name: str, value: object, problems: list[tuple[str, str]]) -> None:
    if not isinstance(value, str):
        problems.append((name, f"{shown(value)} is not a string"))
        return
    try:
        text.check_text(value)
    except InvalidText as error:
        problems.append((name, error.message))
    if name != "abstract" and len(value) > MAX_TEXT:
        problems.append((name, f"is longer than {MAX_TEXT} characters"))
    if name in ("title", "abstract") and (not value or value.isspace()):
        problems.append((name, "is empty"))


def _check_version(value: object, problems: list[tuple[str, str]]) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_VERSION:
        problems.append(("version", f"{shown(value)} is no integer from 1 to {MAX_VERSION}"))


def _check_license(value: object, problems: list[tuple[str, str]]) -> None:
    if value is None or value == "":
        return
    if not isinstance(value, str):
        problems.append(("license", f"{shown(value)} is not a string"))
    elif not is_license(value):
        problems.append(("license", f'{shown(value)} is no http(s) URI, nor "" for none'))
