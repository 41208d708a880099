"""A corpus of made-up papers: any number of rows in the shape of arXiv's metadata snapshot, fast.

`python -m pith_builder.testing.corpus --rows 1000000 > FILE` writes one. Row n follows from the seed and n alone: the
same bytes on every machine and every Python, wherever one starts. Nothing in it is real but the shape; the ids are
like arXiv's own, and the same ones under every seed.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import struct
import sys
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from itertools import cycle

import msgspec

from pith_builder.testing import corpus_pools as pools
from pith_builder.testing import corpus_prose as prose
from pith_builder.testing.corpus_pools import many
from pith_builder.testing.corpus_prose import listed

# Of 16 papers 11 have ids of five digits, 3 of four, 2 of the old form, as in arXiv.
_FORMS = listed("five four five five old five five four five five old five four five five five")
_MONTHS = {
    "five": tuple(date(y, m, 1) for y in range(2015, 2025) for m in range(1, 13)),
    "four": tuple(date(y, m, 1) for y in range(2007, 2015) for m in range(1, 13))[3:],
    "old": tuple(date(y, m, 1) for y in range(1992, 2008) for m in range(1, 13))[:-9],
}
_PER_MONTH = {"five": 99_999, "four": 9_999, "old": 999 * len(pools.OLD)}

#: There are no more rows: the ids of four digits end here.
MOST = min(16 * (len(_MONTHS[form]) * _PER_MONTH[form] // _FORMS.count(form)) for form in _MONTHS)

# How many lines an abstract has between its first and its last, how many authors and versions a paper has.
_LONGEST = 1000
_LINES = many(
    *((-1, 4), (0, 6), (1, 8), (2, 12), (3, 16), (4, 22), (5, 28), (6, 34), (7, 40), (8, 44), (9, 46), (10, 48)),
    *((11, 48), (12, 46), (13, 42), (14, 38), (15, 32), (16, 26), (17, 21), (18, 16), (19, 12), (20, 9), (21, 7)),
    *((22, 8), (23, 2), (28, 1)),
)
_AUTHORS = many(
    *((1, 480), (2, 500), (3, 420), (4, 290), (5, 190), (6, 120), (7, 75), (8, 50), (9, 32), (10, 24), (12, 26)),
    *((16, 16), (23, 9), (40, 4), (90, 1), (280, 1), (_LONGEST, 1)),
)
_VERSIONS = many((1, 1180), (2, 540), (3, 190), (4, 75), (5, 32), (6, 14), (7, 7), (8, 4), (9, 2), (10, 2), (12, 2))
_LAGS = (0, 0, 0, 0, 1, 2, 30, 90)
_JOINTS = many((" and ", 8), (", ", 6), (", and ", 2))

#: For the last four bits of n: the form of the id, how many of 16 papers have it, which of them this one is.
_PLACES = tuple((form, _FORMS.count(form), _FORMS[:i].count(form)) for i, form in enumerate(_FORMS))
_STARTS = {
    form: tuple((f"{month:%y%m}", (month - pools.FIRST_DAY).days) for month in months)
    for form, months in _MONTHS.items()
}
_NUMBERS = struct.Struct("<32H")


def rows(count: int, seed: int = 0, start: int = 0) -> Iterator[bytes]:
    """Rows `start` to `start + count` - 1 of the corpus of a seed, each with its newline.

    No two have the same id, all of them give metadata. Raises ValueError where a row is `MOST` or beyond.
    """
    if not 0 <= start <= start + count <= MOST:
        raise ValueError(f"a corpus has rows 0 to {MOST - 1}, and no {start} to {start + count - 1}")
    row = _made().row
    of_seed = hashlib.blake2b(f"pith-build TEST corpus {seed}".encode())
    for n in range(start, start + count):
        of_row = of_seed.copy()
        of_row.update(n.to_bytes(8))
        yield row(n, _NUMBERS.unpack(of_row.digest())).encode("ascii")


def _paper(n: int) -> tuple[str, str, str, int]:
    """Form and id of a paper, its categories where the id tells, and the day on which the month of the id began."""
    form, of_16, rank = _PLACES[n & 15]
    serial, month = divmod((n >> 4) * of_16 + rank, len(_STARTS[form]))
    yymm, first_day = _STARTS[form][month]
    if form == "five":
        return form, f"{yymm}.{1 + serial:05}", "", first_day
    if form == "four":
        return form, f"{yymm}.{1 + serial:04}", "", first_day
    archive, categories = pools.OLD[(serial + month) & 15]
    subject = ".GT" if archive == "math" and month & 1 else ""
    return form, f"{archive}{subject}/{yymm}{1 + (serial >> 4):03}", categories, first_day


@cache
def _made() -> _Corpus:
    return _Corpus()


class _Corpus:
    """What rows are put together from. `x` is a row's 32 numbers, from 0 to 65535."""

    def __init__(self) -> None:
        self.text, self.offsets = prose.Prose.make(90_000)
        self.openings, self.closings = prose.openings(2048), prose.closings(2048)
        self.heads, self.tails = prose.title_heads(2048), prose.title_tails(2048)
        self.first_lines = prose.title_lines(2048)
        self.names, self.parsed, self.lines = pools.People.make(_LONGEST)
        self.comments = pools.comments(4096)
        self.days, self.dates, self.clocks = pools.Calendar.make()

    def row(self, n: int, x: tuple[int, ...]) -> str:
        form, arxiv_id, categories, first_day = _paper(n)
        first_day += x[0] % 29 - 1  # some were submitted in the night before the month began
        if not categories:
            categories = pools.CATEGORIES[form][x[1] % len(pools.CATEGORIES[form])]
        licenses = pools.LICENSES[form]
        journal, doi, report = self.published(x, self.dates[first_day][:4])
        authors, parsed, submitter = self.people(x)
        versions, last_day = self.versions(x, first_day)
        return (
            f'{{"id": "{arxiv_id}", "submitter": {submitter}, "authors": "{authors}", "title": "{self.title(x)}", '
            f'"comments": {self.comments[x[2] & 4095]}, "journal-ref": {journal}, "doi": {doi}, "report-no": {report}, '
            f'"categories": "{categories}", "license": {licenses[x[3] % len(licenses)]}, '
            f'"abstract": "{self.abstract(x)}", "versions": [{versions}], '
            f'"update_date": "{self.dates[last_day + _LAGS[x[4] & 7]]}", "authors_parsed": [{parsed}]}}\n'
        )

    def published(self, x: tuple[int, ...], year: str) -> tuple[str, str, str]:
        """Reference, DOI and report number, as JSON values: half of all papers have the former, a tenth the latter."""
        journal = doi = report = "null"
        if x[5] & 1:
            volume, page = 1 + x[6] % 399, 1 + x[6] // 399
            journal, doi = pools.JOURNALS[x[5] >> 1 & 7]
            journal, doi = journal.format(v=volume, p=page, y=year), doi.format(v=volume, p=page, y=year)
        if x[5] < 6000:
            report = pools.REPORTS[x[5] & 3].format(v=x[6] % 97, p=x[7] % 97, y=year)
        return journal, doi, report

    def title(self, x: tuple[int, ...]) -> str:
        head, tail, kind = self.heads[x[8] & 2047], self.tails[x[9] & 2047], x[10] & 31
        if kind < 11:
            more = f" {self.tails[x[10] >> 5]}" if kind < 2 else ""
            return f"{self.first_lines[x[8] & 2047]}  {tail}{more}"
        return f"{head} {tail}" if kind < 30 and len(head) + len(tail) < 72 else head

    def abstract(self, x: tuple[int, ...]) -> str:
        lines, closing = _LINES[x[11] % len(_LINES)], self.closings[x[12] & 2047]
        if lines < 0:
            return f"  {closing}"
        text, offsets = self.text, self.offsets
        begin = x[13] % (len(offsets) - 30)
        middle, end, opening = begin + lines // 2, begin + lines, self.openings[x[14] & 2047]
        if x[15] & 15:
            return f"  {opening}{text[offsets[begin] : offsets[end]]}{closing}"
        one, other = text[offsets[begin] : offsets[middle]], text[offsets[middle] : offsets[end]]
        return f"  {opening}{one}  {other}{closing}"

    def versions(self, x: tuple[int, ...], first_day: int) -> tuple[str, int]:
        """The list without its brackets, and the day of the last one."""
        days, clocks, count = self.days, self.clocks, _VERSIONS[x[16] % len(_VERSIONS)]
        first = f'{{"version": "v1", "created": "{days[first_day]} {clocks[x[17] & 4095]} GMT"}}'
        if count == 1:
            return first, first_day
        span, listed = count + x[18] % 400, [first]
        for i in range(1, count):
            day, clock = days[first_day + span * i // count], clocks[x[18 + i] & 4095]
            listed.append(f'{{"version": "v{i + 1}", "created": "{day} {clock} GMT"}}')
        if x[17] < 800 or (count >= 10 and x[17] & 1):
            listed.sort(reverse=True)  # nobody promises an order; here v10 comes near the end
        return ", ".join(listed), first_day + span * (count - 1) // count

    def people(self, x: tuple[int, ...]) -> tuple[str, str, str]:
        """`authors` inside its quotes, `authors_parsed` inside its brackets, `submitter` as a JSON value."""
        count, first = _AUTHORS[x[30] % len(_AUTHORS)], x[31] % (len(self.names) - _LONGEST)
        names, kind, joint, last = self.names, x[29] & 255, _JOINTS[x[28] & 15], first + count - 1
        submitter = f'"{names[first]}"' if kind < 250 else "null"
        if kind < 8:
            return *self.affiliated(first, min(count, 9), x[27] % len(pools.INSTITUTES)), submitter
        if count <= 5:
            authors = f"{', '.join(names[first:last])}{joint}{names[last]}" if count > 1 else names[first]
        else:
            whole = last - (count - 1) % 4
            lines = self.lines[first:whole:4]
            if whole < last:
                lines.append(", ".join(names[whole:last]))
            authors = ",\\n  ".join(lines) + joint + names[last]
        parsed = "], ".join(self.parsed[first : last + 1]) + "]"
        if kind < 11:
            name = f"The {pools.COLLABORATIONS[x[27] & 7]} Collaboration"
            return f"{name}: {authors}", f'["{name}", "", ""], {parsed}', submitter
        return authors, parsed, submitter

    def affiliated(self, first: int, count: int, institute: int) -> tuple[str, str]:
        """Authors of two institutes."""
        institutes = pools.INSTITUTES[institute], pools.INSTITUTES[institute - 1]
        people = range(first, first + count)
        names = ", ".join(f"{self.names[i]} ({1 + i % 2})" for i in people)
        parsed = ", ".join(f'{self.parsed[i]}, "{institutes[i % 2]}"]' for i in people)
        return f"{names}\\n  ((1) {institutes[0]}, (2) {institutes[1]})", parsed


# --- faults --------------------------------------------------------------------------------------------------

#: What can be wrong with a row, and how it is made so. The first three kinds are of papers that stand nowhere else,
#: the others repeat an earlier row: as it is, with the same digest, with another digest for the same version.
FAULTS: dict[str, Callable[[bytes], bytes]] = {
    "no-v1": lambda line: line.replace(b'{"version": "v1",', b'{"version": "v90",'),
    "not-json": lambda line: line[: len(line) // 2] + b"\n",
    "no-license": lambda line: re.sub(rb'"license": [^,]+, ', b"", line),
    "duplicate": lambda line: line,
    "other-authors": lambda line: line.replace(b'"authors": "', b'"authors": "Ada Lovelace, '),
    "other-title": lambda line: line.replace(b'"title": "', b'"title": "Once more: '),
}
_REPEATS = ("duplicate", "other-authors", "other-title")


class FaultyRow(msgspec.Struct, frozen=True):
    """A line, the name of its fault (None: it is good), and for a repeated paper the line it repeats, from 1."""

    line: bytes
    fault: str | None = None
    repeats: int | None = None


def with_faults(count: int, seed: int = 0, every: int = 10) -> Iterator[FaultyRow]:
    """`rows(count, seed)` with a faulty one after each `every` rows, of all kinds in turn."""
    kinds = cycle(FAULTS)
    for n, line in enumerate(rows(count, seed), 1):
        yield FaultyRow(line)
        if n % every == 0:
            kind = next(kinds)
            if kind in _REPEATS:
                of = n // 2
                repeats = of + of // every + 1  # faulty lines came before it too
            else:
                of, repeats = count + n, None
            yield FaultyRow(FAULTS[kind](next(rows(1, seed, of))), kind, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m pith_builder.testing.corpus", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, required=True, metavar="N", help="how many")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="another corpus (0)")
    parser.add_argument("--start", type=int, default=0, metavar="K", help="the number of the first row (0)")
    options = parser.parse_args()
    try:
        sys.stdout.buffer.writelines(rows(options.rows, options.seed, options.start))
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
