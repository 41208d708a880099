"""The kinds of papers that a fixture is made of, each with what it is for.

A kind says how its paper differs from a plain one, what is known around it, and under which keys of the chain its
receipts were made. New kinds go to the end of the table: a paper's id follows from its place there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from pith_builder.enrichment import Enrichment
from pith_builder.issue import Issuer, reissue, updated
from pith_builder.metadata import PaperMetadata
from pith_builder.published import DEFAULT_PROFILE, PithRecord, Profile
from pith_builder.testing import FrozenClock, around
from pith_builder.testing.chain import ACTIVE, COMPROMISED, RETIRED, RETIRED_TOO, SUPERSEDED, make_chain
from pith_builder.testing.made_up import Draw
from pith_builder.testing.traps import TRAPS

#: Papers of one kind, at most: so many have an id of their own.
MAX_COUNT = 1000

_KINDS_APART = 100
_STEP = timedelta(milliseconds=7, microseconds=13)  # so that no two times of a record are the same


class Signing(NamedTuple):
    """A receipt: by which key of the chain, and when."""

    key: int
    at: datetime


NOW = Signing(ACTIVE, datetime(2026, 6, 1, 9, 10, 11, 121314, UTC))
_JANUARY = Signing(RETIRED, datetime(2026, 1, 2, 3, 4, 5, 678901, UTC))
_FEBRUARY = Signing(RETIRED_TOO, datetime(2026, 2, 14, 15, 16, 17, 181920, UTC))
_MARCH = Signing(COMPROMISED, datetime(2026, 3, 15, 16, 17, 18, 192021, UTC))
_APRIL = Signing(SUPERSEDED, datetime(2026, 4, 16, 17, 18, 19, 202122, UTC))


def _nothing(draw: Draw) -> dict[str, Any]:
    return {}


class Kind(NamedTuple):
    """What a kind is for, and how it is made.

    `metadata` gives the fields in which its paper differs from a plain one, `earlier` those in which the record was
    another before it was updated; `signings` are its issue and its reissues, oldest first; `finish` is done to the
    record at the end. `asked_at` are times at which what held then is of interest.
    """

    about: str
    metadata: Callable[[Draw], dict[str, Any]] = _nothing
    enrichment: Callable[[Draw], dict[str, Any]] | None = None
    signings: tuple[Signing, ...] = (NOW,)
    profile: Profile = DEFAULT_PROFILE
    earlier: Mapping[str, Any] = {}
    finish: Callable[[PithRecord], PithRecord] | None = None
    asked_at: tuple[datetime, ...] = ()


class Made(NamedTuple):
    """A paper of a kind: its metadata and enrichment as their files hold them, and its record."""

    metadata: dict[str, Any]
    enrichment: dict[str, Any] | None
    record: PithRecord


def make(name: str, seed: int = 0, n: int = 1) -> Made:
    """The `n`-th paper of a kind (from 1), the same for the same seed on every Python. Raises KeyError for no kind."""
    kind, draw, chain = KINDS[name], Draw(seed, name, n), make_chain(seed)
    plain = draw.paper(_KINDS_APART * (n - 1) + list(KINDS).index(name))
    raw = {**plain, **kind.metadata(draw)}
    around_it = kind.enrichment(draw) if kind.enrichment else None
    enrichment = None if around_it is None else Enrichment.from_json(msgspec.json.encode(around_it))
    first, *later = kind.signings
    issuer = Issuer(chain.signer(first.key), kind.profile, FrozenClock(first.at, _STEP))
    record = issuer.issue(PaperMetadata(**{**raw, **kind.earlier}), enrichment)
    for key, at in later:
        record = reissue(record, chain.signer(key), kind.profile, FrozenClock(at, _STEP))
    if kind.earlier:
        clock = FrozenClock(NOW.at + timedelta(days=1), _STEP)
        record = updated(record, PaperMetadata(**raw), enrichment, kind.profile, clock)
    return Made(raw, around_it, kind.finish(record) if kind.finish else record)


# --- how single kinds differ ------------------------------------------------------------------------------------


def _old_id(archive: str, subject: str = "") -> Callable[[Draw], dict[str, Any]]:
    def metadata(draw: Draw) -> dict[str, Any]:
        month, number = divmod(draw.n - 1, 100)  # from 900 on: numbers that hardly any archive has given out
        year = 1999 + month // 12
        when = f"{year % 100:02}{month % 12 + 1:02}"
        submitted = f"{year}-{month % 12 + 1:02}-{1 + draw.number('day', 28):02}T12:00:00Z"
        return {"arxiv_id": f"{archive}{subject}/{when}{900 + number}", "submitted_at": submitted, "license": ""}

    return metadata


def _four_digits(draw: Draw) -> dict[str, Any]:
    month, number = divmod(draw.n - 1, 100)
    return {"arxiv_id": f"08{month + 1:02}.{9900 + number}", "submitted_at": f"2008-{month + 1:02}-03T04:05:06Z"}


def _year_before(draw: Draw) -> dict[str, Any]:
    # submitted in the last hours of December, announced in January: the number's year is not the id's
    return {"arxiv_id": f"2601.{90_000 + draw.n}", "submitted_at": "2025-12-31T22:33:44Z"}


def _with_phrase(phrase: str) -> Callable[[Draw], dict[str, Any]]:
    """A title and an abstract that hold a text, at their ends and inside."""

    def metadata(draw: Draw) -> dict[str, Any]:
        inside = f"{draw.sentence('before')} {phrase} {draw.sentence('behind')}"
        return {"title": f"{draw.title()} {phrase}", "abstract": f"{phrase} {inside} {phrase}"}

    return metadata


def _with_abstract(length: int) -> Callable[[Draw], dict[str, Any]]:
    return lambda draw: {"abstract": draw.text("abstract", length)}


def _abstract_of(head: int, between: str, tail: int) -> Callable[[Draw], dict[str, Any]]:
    return lambda draw: {"abstract": draw.text("head", head) + between + draw.text("tail", tail)}


def _wrapped(line_end: str) -> Callable[[Draw], dict[str, Any]]:
    def metadata(draw: Draw) -> dict[str, Any]:
        lines = [draw.sentence(f"line {i}") for i in range(4)]
        return {"title": f"{draw.title()}{line_end}  and What Follows", "abstract": line_end.join(lines) + line_end}

    return metadata


def _by(authors: str) -> Callable[[Draw], dict[str, Any]]:
    return lambda draw: {"authors": authors}


def _as_of_may(record: PithRecord) -> PithRecord:
    graph = msgspec.structs.replace(record.graph_snapshot, integrity=msgspec.UNSET)
    return record.replace(graph_snapshot=graph)


def _with_unknown_fields(record: PithRecord) -> PithRecord:
    whole = msgspec.json.decode(record.to_json())
    whole["paper"]["TEST_note"] = whole["graph_snapshot"]["TEST_note"] = {"kept": [1, 1.5, None]}
    whole["aliases"][0]["TEST_note"] = whole["TEST_note"] = "kept, and reported by verify"
    return PithRecord.from_value(whole)


def _deep(draw: Draw) -> dict[str, Any]:
    row: Any = "the ground"
    for _ in range(40):
        row = [row]
    return {"events": [{"event_type": "timestamp_anchor", "nested": row}]}


KINDS: dict[str, Kind] = {
    "minimal": Kind("a plain paper, and nothing known around it"),
    "many-categories": Kind(
        "cross-lists sorted by code point, raw names kept",
        lambda draw: {"categories": "quant-ph math-ph math.MP hep-th cs.LG astro-ph.CO stat.ML cs.AI q-bio.QM"},
    ),
    "one-category": Kind("no cross-list at all", lambda draw: {"categories": "math.NT"}),
    "old-id": Kind("an id of before April 2007, with its slash in doi and links", _old_id("hep-th")),
    "old-id-subject-class": Kind("math.GT/… is the paper math/…", _old_id("math", ".GT")),
    "four-digit-id": Kind("an id of 2007 to 2014", _four_digits),
    "no-licence": Kind('arXiv has no licence: "" and never null', lambda draw: {"license": ""}),
    "tex-title": Kind(
        "TeX stays raw: accents, formulas, braces, quotes, dashes, ties",
        lambda draw: {
            "title": rf"{draw.title()}: Schr\"odinger's $\mathcal{{H}}^{{2}}$ -- ``{{Q}}'' ~ <a> & \& %.",
            "abstract": rf"Let $X \subset \mathbb{{R}}^n$ be {{\em open}}. {draw.sentence('tex')} \ss\, $a<b>c$.",
            "authors": r"Mihailo Stojni\'c and K. G\"odel, P. Erd\H{o}s",
        },
    ),
    "wrapped-title": Kind("title and abstract over several lines", _wrapped("\n")),
    "crlf": Kind("lines that end in CR LF", _wrapped("\r\n")),
    "paragraph-breaks": Kind(
        "a newline with two spaces behind it stays in the excerpt; other breaks don't",
        lambda draw: {"abstract": "\n".join(f"{i}{draw.sentence(i)}" for i in ("", "  ", "   ", " ", "\t", "  "))},
    ),
    "excerpt-599": Kind("an abstract of 599 code points is shown whole and its hash checked", _with_abstract(599)),
    "excerpt-600": Kind("exactly 600: shown whole, but a reader can't know", _with_abstract(600)),
    "excerpt-601": Kind("one more than is shown", _with_abstract(601)),
    "excerpt-cut-in-word": Kind("cut mid-word, no ellipsis", _abstract_of(590, " TESTINGTHECUT ", 90)),
    "excerpt-cut-at-space": Kind("the blank at the cut stays", _abstract_of(599, " ", 90)),
    "excerpt-cut-at-paragraph": Kind("the cut falls inside a paragraph break", _abstract_of(598, "\n   ", 90)),
    "excerpt-astral": Kind(
        "600 are code points, not UTF-16 units and not bytes",
        lambda draw: {"abstract": "𝔸é" * 250 + draw.text("abstract", 200)},
    ),
    "comma-in-affiliation": Kind(
        "affiliations are torn at their commas, and names sorted with the pieces",
        _by("Luis C. Ho (5 and 6), Ada Lovelace (Dept. of Mathematics, London), B. Foo (for the X collaboration)"),
    ),
    "authors-twice": Kind(
        "equal names are merged, empty pieces dropped", _by("A. Foo, B. Bar, , A. Foo, and C. Baz and B. Bar")
    ),
    "authors-order": Kind(
        "sorted by letters and digits, without case, blanks and punctuation",
        _by("de la Cruz A., De Lacy B., D'Alembert, dAlembert, Zoe, al-Khwarizmi, A. L. Aho, O'Neil, Oneil, 3D Group"),
    ),
    "authors-non-ascii": Kind(
        "the order of names beyond ASCII: marks fall away, ties by code point",
        _by(
            "Émile Borel, Emile Borel, E\u0301mile Borel, Øystein Ore, Łukasiewicz, Ångström, 陈省身, Zoë, Čech, ﬁsher"
        ),
    ),
    "no-authors": Kind("an empty author list", lambda draw: {"authors": ""}),
    "many-authors": Kind("a collaboration", lambda draw: {"authors": ", ".join(draw.names(120))}),
    "v10": Kind("a version of two digits", lambda draw: {"version": 10}),
    "year-differs": Kind("the number's year is that of submission, not the id's", _year_before),
    "reviewed": Kind("headline, verdict and the three claims of a review", enrichment=around.verdict),
    "integrity-findings": Kind("findings of every severity, by two of three detectors", enrichment=around.findings),
    "references": Kind("seven references, of which five are shown; all resolved", enrichment=around.references),
    "references-unresolved": Kind(
        "references of which two are not resolved", enrichment=lambda draw: around.references(draw, unresolved=2)
    ),
    "author-claim-strong": Kind(
        "attested by an author", enrichment=lambda draw: around.author_claims(draw, "weak", "strong")
    ),
    "author-claim-weak": Kind(
        "a weak claim attests nothing", enrichment=lambda draw: around.author_claims(draw, "weak")
    ),
    "formal-canon": Kind(
        "formal evidence: eight rows, of which five are shown", enrichment=lambda draw: around.formal(draw, 8)
    ),
    "events": Kind(
        "one event of each type, one of them twice",
        enrichment=lambda draw: around.events(
            *("timestamp_anchor", "storage_attestation", "citation_signature", "citation_signature"),
            *("replication_record", "author_attestation"),
        ),
    ),
    "cited": Kind("cited by another paper", enrichment=around.citations),
    "cited-often": Kind(
        "more citations than are shown",
        enrichment=lambda draw: {
            "inbound_citations": {
                "sample": around.citations(draw, 3)["inbound_citations"],
                "count": 40,
                "internal_anchor_count": 12,
            }
        },
    ),
    "everything": Kind("every section of an enrichment", enrichment=around.everything),
    "astral-keys": Kind("hashed keys are sorted by UTF-16 code units", enrichment=lambda draw: around.astral_keys()),
    "deep-rows": Kind("rows that are nested 40 deep", enrichment=_deep),
    "reissued-once": Kind("issued by the first key, reissued by the active one", signings=(_JANUARY, NOW)),
    "reissued-twice": Kind("issued by the first key, reissued by two later ones", signings=(_JANUARY, _FEBRUARY, NOW)),
    "reissued-after-compromise": Kind(
        "signed by the key that was stolen, then by the active one", signings=(_MARCH, NOW)
    ),
    "retired-key": Kind(
        "signed before its key was retired: still valid",
        signings=(_JANUARY,),
        asked_at=(datetime(2026, 1, 20, tzinfo=UTC),),
    ),
    "superseded-key": Kind(
        "signed before its key was revoked as superseded: still valid",
        signings=(_APRIL,),
        asked_at=(datetime(2026, 4, 20, tzinfo=UTC), datetime(2026, 5, 2, tzinfo=UTC)),
    ),
    "revoked-key": Kind(
        "signed by a key that was compromised later: valid then, not today",
        signings=(_MARCH,),
        asked_at=(datetime(2026, 3, 20, tzinfo=UTC), datetime(2026, 4, 2, tzinfo=UTC)),
    ),
    "updated": Kind("an author list that was corrected: number and receipt stay", earlier={"authors": "Ada Lovelace"}),
    "may-shape": Kind("as published in May 2026, without the integrity section", finish=_as_of_may),
    "unknown-fields": Kind("further fields in open objects are kept and reported", finish=_with_unknown_fields),
    "other-issuer": Kind(
        "links of another issuer, and its builder",
        profile=Profile("https://registry.example.org/pith", "TEST-builder-1"),
    ),
    **{f"non-ascii-{name}": Kind(about, _with_phrase(phrase)) for name, (about, phrase) in TRAPS.items()},
}
