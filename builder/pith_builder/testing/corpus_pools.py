"""What rows of a made-up corpus choose from: people, licences, categories, journals, comments, days.

Strings are as they go into JSON; those of whole values have their quotes.
"""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import NamedTuple, TypeVar

from pith_builder.testing.corpus_prose import inside, listed, numbers

T = TypeVar("T")


def many(*counted: tuple[T, int]) -> tuple[T, ...]:
    """Each value as many times as its count says: `many(("a", 2), ("b", 1))` is a, a, b."""
    return tuple(value for value, count in counted for _ in range(count))


# --- people --------------------------------------------------------------------------------------------------

_GIVEN = listed(
    "A. B. C. D. E. F. G. H. J. K. L. M. N. P. R. S. T. V. W. Y. A.~B. C.-P. D.E. E._L. J._M. M._A. P._M. S._V. T._K. "
    r"Anna Wei Pavel Ileana Louis David_H. Alejandro Jos\'e Fran\c{c}ois J\"urg Ewine Xiaoxing Yuki Priya Tanya_M "
    r"Mohammad Karen Jean-Camille Ivan_K. Ying Elena Marco Bj\"orn Chidi Fatima Hiro Lu\'is Olga Sergei Ada Minh"
)
_SURNAMES = listed(
    r"Bal\'azs Berger Nadolsky Yuan Streinu Theran Corichi Vukasinac Zapata Ovchinnikov Choi Choie Fujii Stahn Wang Li "
    "Zhang Chen Liu Kumar Singh Brown Davis Miller Wilson Moore Taylor Jackson White Harris Martin Thompson Robinson "
    r"Garc\'ia M\"uller Schr\"oder Lewis Walker Young Allen Wright Scott O'Neil de_Marrais van_der_Tak d'Alessandro "
    "Green Adams Baker Nelson Carter Mitchell Roberts Turner Phillips Campbell Parker Evans Edwards Collins Stewart "
    r"Erd\H{o}s Stojni\'c Dvo\v{r}\'ak \O{}stergaard \AA{}berg Nu\~nez Kova\v{c} \L{}ukasiewicz Smith Jones Kim Lee "
    r"Park Tanaka Sato Ivanov Petrov Silva Santos Rossi Ricci Dubois Lef\`evre Hansen Nguyen Tran Okafor Haddad Cohen "
    r"Levi Papadopoulos Nov\'ak Wi\'sniewski \c{C}elik Y{\i}lmaz Zheng-Johansson King Hall Suzuki Ito Yamada Mori"
)
_ACCENTS = (
    *((r"\'a", "á"), (r"\'e", "é"), (r"\'i", "í"), (r"\"u", "ü"), (r"\"o", "ö"), (r"\H{o}", "ő"), (r"\'c", "ć")),
    *((r"\v{r}", "ř"), (r"\O{}", "Ø"), (r"\AA{}", "Å"), (r"\~n", "ñ"), (r"\v{c}", "č"), (r"\L{}", "Ł"), (r"\`e", "è")),
    *((r"\'s", "ś"), (r"\c{C}", "Ç"), (r"\c{c}", "ç"), (r"{\i}", "ı"), ("~", " ")),
)


def _without_tex(name: str) -> str:
    for tex, letter in _ACCENTS:
        name = name.replace(tex, letter)
    return name


class People(NamedTuple):
    """Names, all different, as `authors` spell them and as `authors_parsed` do: the latter lack the last bracket."""

    names: list[str]
    parsed: list[str]
    lines: list[str]  # four names from each on: what a line of authors holds

    @classmethod
    def make(cls, longest: int) -> People:
        """Runs of up to `longest` names may begin at any of the first `len(names) - longest` people."""
        count = len(_GIVEN) * len(_SURNAMES)  # no factor in common, so that every pair comes up once
        names, parsed = [], []
        for i in range(count + longest):
            given, surname = _GIVEN[i % len(_GIVEN)].replace("_", " "), _SURNAMES[i % len(_SURNAMES)].replace("_", " ")
            suffix = "Jr" if i % count % 97 == 0 else ""
            names.append(inside(f"{given} {surname} {suffix}".rstrip()))
            parsed.append(json.dumps([_without_tex(surname), _without_tex(given), suffix])[:-1])
        lines = [", ".join(names[i : i + 4]) for i in range(count + longest)]
        return cls(names, parsed, lines)


INSTITUTES = (
    "University of Hagen", "CERN, Geneva", "Kyoto Univ.", "IFT UAM/CSIC, Madrid", "SISSA, Trieste", "Univ. of Lagos",
    inside("Institut f\\\"ur Theoretische\n  Physik, Universit\\\"at Stuttgart"), "ESO", "Tata Institute, Mumbai",
)  # fmt: skip
COLLABORATIONS = ("ATLAS", "CMS", "LHCb", "BaBar", "Belle II", "IceCube", "Planck", "H.E.S.S.")

# --- lists ---------------------------------------------------------------------------------------------------

_NONEXCLUSIVE = '"http://arxiv.org/licenses/nonexclusive-distrib/1.0/"'
_CC = '"http://creativecommons.org/licenses/%s/"'
LICENSES = {
    "old": many(("null", 60), (_NONEXCLUSIVE, 3), (_CC % "by/3.0", 1)),
    "four": many(
        *(("null", 14), (_NONEXCLUSIVE, 46), (_CC % "by/3.0", 2), (_CC % "by-nc-sa/3.0", 1)),
        (_CC % "publicdomain", 1),
    ),
    "five": many(
        *((_NONEXCLUSIVE, 38), (_CC % "by/4.0", 17), (_CC % "by-nc-nd/4.0", 3), (_CC % "by-nc-sa/4.0", 3)),
        *((_CC % "by-sa/4.0", 1), ('"http://creativecommons.org/publicdomain/zero/1.0/"', 1), ("null", 1)),
    ),
}
CATEGORIES = {
    "four": many(
        *(("hep-ph", 6), ("hep-th", 5), ("hep-th gr-qc", 3), ("astro-ph", 6), ("astro-ph.CO hep-ph", 3)),
        *(("quant-ph", 6), ("cond-mat.str-el cond-mat.mes-hall", 4), ("cond-mat.mtrl-sci", 5), ("math.AG math.NT", 4)),
        *(("math.CO cs.DM", 4), ("math-ph math.MP", 3), ("gr-qc astro-ph.CO hep-th", 2), ("cs.IT math.IT", 4)),
        *(("nucl-th hep-ph", 2), ("math.DS math-ph math.AP math.MP", 1), ("physics.gen-ph", 1), ("q-bio.PE", 1)),
    ),
    "five": many(
        *(("cs.LG stat.ML", 8), ("cs.CV", 8), ("cs.CL cs.AI cs.LG", 5), ("cs.LG", 5), ("quant-ph", 4)),
        *(("cs.RO cs.AI", 2), ("math.AP", 4), ("math.CO", 3), ("math.NT math.AG", 2), ("astro-ph.GA", 3)),
        *(("hep-th gr-qc", 3), ("cond-mat.mtrl-sci", 3), ("cond-mat.mes-hall cond-mat.str-el", 2), ("eess.SP", 2)),
        *(("math.OC cs.SY eess.SY math.DS", 1), ("physics.optics", 2), ("stat.ME", 1), ("econ.TH", 1)),
        *(("hep-ph", 3), ("q-fin.MF math.PR", 1), ("cs.CR cs.DL", 1)),
    ),
}
#: Archives of old ids, with the categories of their papers.
OLD = (
    ("hep-th", "hep-th"), ("astro-ph", "astro-ph"), ("hep-ph", "hep-ph hep-ex"), ("cond-mat", "cond-mat.stat-mech"),
    ("gr-qc", "gr-qc"), ("math", "math.GT math.AG"), ("quant-ph", "quant-ph"), ("nucl-th", "nucl-th hep-ph"),
    ("hep-lat", "hep-lat"), ("math-ph", "math-ph math.MP"), ("cs", "cs.CL"), ("physics", "physics.atom-ph"),
    ("q-alg", "q-alg math.QA"), ("alg-geom", "alg-geom math.AG"), ("hep-ex", "hep-ex"), ("nlin", "nlin.SI hep-th"),
)  # fmt: skip

#: Reference and DOI of a journal's paper, to be formatted with volume v, page p and year y.
JOURNALS = (
    ('"Phys.Rev.D{v}:{p:06},{y}"', '"10.1103/PhysRevD.{v}.{p:06}"'),
    ('"JHEP {v:04}:{p:03},{y}"', '"10.1088/1126-6708/{y}/{v}/{p:03}"'),
    ('"Phys. Rev. B {v}, {p:06} ({y})"', '"10.1103/PhysRevB.{v}.{p:06}"'),
    ('"Astrophys.J.{v}:{p}-{p}9,{y}"', '"10.1086/{v}{p:03}"'),
    ('"Nucl.Phys. B{v} ({y}) {p}"', '"10.1016/j.nuclphysb.{y}.{v}.{p:03}"'),
    ('"Algebraic & Geometric Topology {v} ({y}) {p}"', "null"),
    (
        '"Optik-International Journal for Light and Electron Optics, {v},\\n  {p} ({y})"',
        '"10.1016/j.ijleo.{y}.{v}.{p:03}"',
    ),
    ("null", '"10.1145/{v}{p:04}.{v}{p:04}"'),
)
REPORTS = ('"CERN-PH-TH/{y}-{v:03}"', '"IFT-UAM/CSIC-{v:02}-{p:02}"', '"LPT-ORSAY {v}-{p:02}"', '"ANL-HEP-PR-{v}-{p}"')

_NOTES = (
    *many(("", 12), ("; published version", 1), (", LaTeX", 2), (". Accepted for publication in PRD", 1)),
    ". Comments are welcome",
    ", to appear in the proceedings of the conference\n  Science of Made-Up Papers, Hagen",
    '. Second of 3-part "theorem/proof" exposition\n  [v2: small fixes][v3: new Appendix B]',
    "; v2: références ajoutées",
)
_WITHDRAWALS = (
    "This paper has been withdrawn by the author due to a crucial error in\n  Lemma 3",
    "This paper has been withdrawn",
    "Withdrawn by the authors; superseded by a later work",
)


def comments(count: int) -> list[str]:
    """Comments as JSON values: none in a fifth of all, a withdrawal in one of 200."""
    found = []
    for number in numbers("comments", count):
        if number % 5 == 0:
            found.append("null")
        elif number % 149 == 0:
            found.append(json.dumps(_WITHDRAWALS[number % len(_WITHDRAWALS)]))
        else:
            pages, figures, note = 1 + number % 61, number // 61 % 14, _NOTES[number % len(_NOTES)]
            found.append(json.dumps(f"{pages} pages, {figures or 'no'} figures{note}"))
    return found


# --- time ----------------------------------------------------------------------------------------------------

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FIRST_DAY = date(1991, 6, 1)


class Calendar(NamedTuple):
    """Every day from `FIRST_DAY` on, as `Mon, 2 Apr 2007` and as `2007-04-02`, and times of day."""

    days: list[str]
    dates: list[str]
    clocks: list[str]

    @classmethod
    def make(cls) -> Calendar:
        days = [FIRST_DAY + timedelta(n) for n in range((date(2026, 6, 30) - FIRST_DAY).days)]
        names = [f"{_DAYS[day.weekday()]}, {day.day} {_MONTHS[day.month - 1]} {day.year}" for day in days]
        seconds = [0, 86_399, *(n * 21 for n in range(2, 4096))]
        clocks = [f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in seconds]
        return cls(names, [day.isoformat() for day in days], clocks)
