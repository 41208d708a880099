"""arXiv identifiers: what people paste, turned into the one form that a record carries (PROTOCOL §2)."""

from __future__ import annotations

import re
from typing import Self

import msgspec

from pith_builder.errors import InvalidArxivId, shown

_NEW = re.compile(r"(\d\d)(\d\d)\.(\d{4,5})(?:v([1-9]\d{0,3}))?", re.ASCII)
_OLD = re.compile(r"([a-z-]+)(?:\.[a-z-]+)?/(\d\d)(\d\d)(\d{3})(?:v([1-9]\d{0,3}))?", re.ASCII | re.IGNORECASE)

_PREFIX = re.compile(
    r"""(?: (?:https?://)? (?:www\.|export\.)? arxiv\.org/ (?P<page>abs|pdf|html|ps|format|e-print|src)/
          | (?:https?://)? (?:dx\.)?doi\.org/10\.48550/arxiv\. | (?:doi:\s*)? 10\.48550/arxiv\.
          | arxiv:\s* )""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_URL_REST = re.compile(r"(?:\.pdf)?/?(?:[?#]\S*)?\Z", re.ASCII)
_STAMP_REST = re.compile(r"\s*\[[A-Za-z.-]+\](?:\s+\d{1,2} [A-Z][a-z]{2} \d{4})?\Z", re.ASCII)

#: The archives that gave out ids of the old form, until March 2007.
ARCHIVES = frozenset(
    {
        *("acc-phys", "adap-org", "alg-geom", "ao-sci", "astro-ph", "atom-ph", "bayes-an", "chao-dyn", "chem-ph"),
        *("cmp-lg", "comp-gas", "cond-mat", "cs", "dg-ga", "funct-an", "gr-qc", "hep-ex", "hep-lat", "hep-ph"),
        *("hep-th", "math", "math-ph", "mtrl-th", "nlin", "nucl-ex", "nucl-th", "patt-sol", "physics", "plasm-ph"),
        *("q-alg", "q-bio", "quant-ph", "solv-int", "supr-con"),
    }
)


class ArxivId(msgspec.Struct, frozen=True):
    """An arXiv identifier: `id` as in a record (`2403.07648`, `hep-th/0207249`), `version` or None."""

    id: str
    version: int | None = None

    @classmethod
    def parse(cls, s: str) -> Self:
        """Read an id, a listing such as `arXiv:2403.07648v2 [cs.DC]`, an arxiv.org URL or an arXiv DOI.

        A subject class in an old id is dropped (`math.GT/0309136` is `math/0309136`, PROTOCOL §2). Raises
        InvalidArxivId with the reason.
        """
        text = s.strip()
        prefix = None if text[:4].isdigit() else _PREFIX.match(text)
        start = prefix.end() if prefix else 0
        if new := _NEW.match(text, start):
            yy, mm, number, version = new.groups()
            _check_new(s, yy, mm, number)
            match, name = new, f"{yy}{mm}.{number}"
        elif old := _OLD.match(text, start):
            archive, yy, mm, number, version = old.groups()
            archive = archive.lower()
            _check_old(s, archive, yy, mm, number)
            match, name = old, f"{archive}/{yy}{mm}{number}"
        else:
            raise _invalid(s, "not of the form 2403.07648 or hep-th/9901001")
        rest = text[match.end() :]
        if rest and not (_URL_REST if prefix and prefix["page"] else _STAMP_REST).match(rest):
            raise _invalid(s, f"{shown(rest)} stands after the id")
        return cls(name, int(version) if version else None)

    @property
    def versioned(self) -> str:
        """`2403.07648v2`; without a version, the id alone."""
        return self.id if self.version is None else f"{self.id}v{self.version}"

    @property
    def doi(self) -> str:
        """The DOI that DataCite holds for the paper, in lower case (PROTOCOL §3)."""
        return f"10.48550/arxiv.{self.id}".lower()

    def __str__(self) -> str:
        return self.versioned


def _invalid(s: str, why: str) -> InvalidArxivId:
    return InvalidArxivId(
        f"{shown(s)} is no arXiv id: {why}", hint="give it as 2403.07648, 2403.07648v2 or hep-th/9901001"
    )


def _check_month_and_number(s: str, mm: str, number: str) -> None:
    if not "01" <= mm <= "12":
        raise _invalid(s, f"there is no month {mm}")
    if not int(number):
        raise _invalid(s, "numbers start at 1")


def _check_new(s: str, yy: str, mm: str, number: str) -> None:
    _check_month_and_number(s, mm, number)
    if not "0704" <= yy + mm < "9100":
        raise _invalid(s, "ids of this form begin with 0704 (April 2007)")
    digits = 4 if yy + mm <= "1412" else 5
    if len(number) != digits:
        raise _invalid(s, f"an id of {yy}{mm} has {digits} digits after the dot")


def _check_old(s: str, archive: str, yy: str, mm: str, number: str) -> None:
    if archive not in ARCHIVES:
        raise _invalid(s, f"there is no archive {archive} with ids of the old form")
    _check_month_and_number(s, mm, number)
    if "0703" < yy + mm < "8600":
        raise _invalid(s, "ids of the old form end with 0703 (March 2007)")
