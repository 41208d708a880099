"""What a source says of a paper, and what follows from it: ids, metadata, canonical records, numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pith_builder import times
from pith_builder.arxiv_id import ARCHIVES, ArxivId
from pith_builder.metadata import MAX_VERSION, PaperMetadata, Provenance
from pith_builder.number import SHORT_LENGTHS, PithNumber
from pith_builder.record import CanonicalRecord, Paper, canonical_record
from pith_builder.testing.strategies.texts import abstracts, author_lists, titles

#: Names of arXiv's categories in all their forms, old ones too.
CATEGORIES = (
    *("cs.DL", "cs.CR", "math.CO", "math-ph", "hep-th", "gr-qc", "quant-ph", "astro-ph", "astro-ph.CO", "cond-mat"),
    *("cond-mat.str-el", "physics.acc-ph", "q-bio.QM", "q-fin.GN", "econ.EM", "eess.SP", "nlin.CD", "stat.ML"),
    *("cmp-lg", "chao-dyn", "alg-geom", "q-alg", "supr-con", "math.MP", "cs.SY", "eess.SY"),
)

LICENSES = (
    "http://creativecommons.org/licenses/by/4.0/",
    "http://arxiv.org/licenses/nonexclusive-distrib/1.0/",
    "",
    "http://creativecommons.org/publicdomain/zero/1.0/",
    "http://creativecommons.org/licenses/by-nc-sa/3.0/",
    "https://creativecommons.org/licenses/by/4.0",
)

_versions = st.sampled_from([1, 2, 10]) | st.integers(1, MAX_VERSION)


def _months(first: tuple[int, int], last: tuple[int, int]) -> SearchStrategy[str]:
    """`yymm` of every month from `first` to `last`, given as (year, month)."""
    spans = [year * 12 + month - 1 for year, month in (first, last)]
    return st.integers(*spans).map(lambda at: f"{at // 12 % 100:02}{at % 12 + 1:02}")


def arxiv_ids(versions: SearchStrategy[int | None] | None = None) -> SearchStrategy[ArxivId]:
    """Ids of the old form and of the new one with 4 and 5 digits (PROTOCOL §2), with a version or without."""
    archives = st.sampled_from(sorted(ARCHIVES))
    names = st.one_of(
        st.builds("{}.{:05}".format, _months((2015, 1), (2090, 12)), st.integers(1, 99_999)),
        st.builds("{}.{:04}".format, _months((2007, 4), (2014, 12)), st.integers(1, 9_999)),
        st.builds("{}/{}{:03}".format, archives, _months((1991, 1), (2007, 3)), st.integers(1, 999)),
    )
    return st.builds(ArxivId, names, st.none() | _versions if versions is None else versions)


def categories() -> SearchStrategy[str]:
    """Lists of categories, the primary one first, none twice; known and unknown names, up to fifteen of them."""
    unknown = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,5}(\.[A-Za-z0-9-]{1,5})?", fullmatch=True, alphabet=_ASCII)
    return st.lists(st.sampled_from(CATEGORIES) | unknown, min_size=1, max_size=15, unique=True).map(" ".join)


_ASCII = st.characters(max_codepoint=126, min_codepoint=33)


def licenses() -> SearchStrategy[str]:
    """Licence URIs, and "" for none (PROTOCOL §2)."""
    return st.sampled_from(LICENSES) | st.text(_ASCII, min_size=1, max_size=12).map("https://".__add__)


def submission_times() -> SearchStrategy[str]:
    """Times of submission, `YYYY-MM-DDTHH:MM:SSZ`, in the years that a number can carry, with the ends of years."""
    edges = ("2024-02-29T00:00:00Z", "2017-12-31T23:59:59Z", "2018-01-01T00:00:00Z", "1991-08-14T20:15:36Z")
    drawn = st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31, 23, 59, 59), timezones=st.just(UTC))  # noqa: DTZ001  # hypothesis adds the zone
    return drawn.map(times.seconds) | st.sampled_from(edges)


def metadata(**fields: SearchStrategy[Any]) -> SearchStrategy[PaperMetadata]:
    """Metadata that a record can be built from; `metadata(license=st.none())` draws one field otherwise."""
    drawn: dict[str, SearchStrategy[Any]] = {
        "arxiv_id": arxiv_ids().map(lambda found: found.id),
        "version": _versions,
        "title": titles(),
        "abstract": abstracts(),
        "authors": author_lists(),
        "categories": categories(),
        "license": licenses(),
        "submitted_at": submission_times(),
    }
    return st.builds(PaperMetadata, **drawn | fields)


def provenances() -> SearchStrategy[Provenance]:
    """Where metadata came from; whatever may be unknown is sometimes None."""
    time = st.none() | submission_times()
    sources = st.sampled_from(
        ["file:papers.jsonl", "oai:https://oaipmh.arxiv.org/oai", "atom:https://export.arxiv.org"]
    )
    raw = st.none() | digests().map(bytes.hex)
    return st.builds(Provenance, sources, time, time, raw, st.booleans(), st.booleans())


def canonical_records(described: SearchStrategy[PaperMetadata] | None = None) -> SearchStrategy[CanonicalRecord]:
    """Canonical records of drawn metadata, or of those given (PROTOCOL §2)."""
    return (metadata() if described is None else described).map(canonical_record)


def papers() -> SearchStrategy[Paper]:
    """Paper blocks of drawn metadata, without a review (PROTOCOL §4)."""
    return metadata().map(lambda found: Paper.of(found, canonical_record(found)))


def digests() -> SearchStrategy[bytes]:
    """32 bytes as of a SHA-256, with runs of zero bits at the front, which some encodings lose."""
    whole = st.binary(min_size=32, max_size=32)
    return whole | st.builds(lambda zeros, rest: (bytes(zeros) + rest)[:32], st.integers(1, 32), whole)


def pith_numbers() -> SearchStrategy[PithNumber]:
    """Whole numbers, with the year (PROTOCOL §3)."""
    return st.builds(PithNumber.from_digest, digests(), st.integers(1991, 2099) | st.integers(1900, 2099))


def short_numbers() -> SearchStrategy[PithNumber]:
    """Short forms of 8, 12 or 16 symbols, which have no year (PROTOCOL §3)."""
    return st.builds(lambda number, n: PithNumber(number.suffix[:n]), pith_numbers(), st.sampled_from(SHORT_LENGTHS))
