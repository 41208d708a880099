"""Whole records and what stands in and around them: receipts, snapshots, profiles, clocks, reports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pith_builder import times
from pith_builder.enrichment import Enrichment
from pith_builder.issue import Issuer, reissue
from pith_builder.keyring import KeyRing
from pith_builder.metadata import PaperMetadata
from pith_builder.published import DEFAULT_PROFILE, PithRecord, Profile
from pith_builder.receipt import Receipt, sign_receipt
from pith_builder.signing import SeedSigner
from pith_builder.snapshot import GraphSnapshot
from pith_builder.testing import START, FrozenClock, make_keyring, make_signer
from pith_builder.testing.strategies.around import enrichments
from pith_builder.testing.strategies.keys import key_histories, signers, signing_span
from pith_builder.testing.strategies.papers import digests, metadata
from pith_builder.verify import VerificationReport, verify

_END = datetime(2099, 1, 1, tzinfo=UTC)
#: How far a clock moves between two readings; one that runs backwards is met too.
_STEPS = [
    timedelta(0),
    timedelta(microseconds=1),
    timedelta(milliseconds=3),
    timedelta(days=400),
    timedelta(seconds=-1),
]


def clocks(start: SearchStrategy[datetime] | None = None) -> SearchStrategy[FrozenClock]:
    """Clocks from 2026 on that stand still, run, or run backwards; with whole seconds too (six digits all the same)."""
    drawn = st.datetimes(START.replace(tzinfo=None), _END.replace(tzinfo=None), timezones=st.just(UTC))
    whole = drawn.map(lambda time: time.replace(microsecond=0) + timedelta(seconds=1))
    return st.builds(FrozenClock, st.just(START) | drawn | whole if start is None else start, st.sampled_from(_STEPS))


def profiles() -> SearchStrategy[Profile]:
    """Profiles of the registry and of others, with a port, a path, a slash at the end."""
    bases = [
        "https://pith.science",
        "https://registry.example.org/",
        "http://localhost:8000",
        "https://example.org/a/pith",
    ]
    versions = st.sampled_from([DEFAULT_PROFILE.builder_version, "TEST-builder-1", "b\u00e9"])
    return st.builds(Profile, st.sampled_from(bases), versions)


def issuers() -> SearchStrategy[Issuer]:
    """Issuers under a TEST key."""
    return st.builds(Issuer, signers(), profiles(), clocks())


def receipts(signer: SeedSigner | None = None) -> SearchStrategy[Receipt]:
    """Receipts over drawn digests, of the first TEST key or of `signer`, with times in order (PROTOCOL §4, §6)."""

    def receipt(digest: bytes, start: FrozenClock, more: tuple[int, int], profile: Profile) -> Receipt:
        first = start()
        reissued = first + timedelta(microseconds=more[0])
        return sign_receipt(
            digest,
            signer or make_signer(),
            first_computed_at=times.receipt_time(first),
            last_reissued_at=times.receipt_time(reissued),
            signed_at=reissued + timedelta(microseconds=more[1]),
            builder_version=profile.builder_version,
        )

    later = st.integers(0, 10**12)
    return st.builds(receipt, digests(), clocks(), st.tuples(later, later), profiles())


# Made once: a strategy that is made anew for each draw is the greater part of its cost.
_PROFILES, _CLOCKS, _METADATA, _HISTORIES = profiles(), clocks(), metadata(), key_histories()
_PERHAPS_ENRICHED = st.none() | enrichments()


@st.composite
def records(
    draw: DrawFn,
    described: SearchStrategy[PaperMetadata] | None = None,
    enriched: SearchStrategy[Enrichment | None] | None = None,
) -> PithRecord:
    """Records that verify under `make_keyring()`: bare and reviewed, issued and reissued, of July and of May 2026."""
    issuer = Issuer(make_signer(), draw(_PROFILES), draw(_CLOCKS))
    enrichment = draw(_PERHAPS_ENRICHED if enriched is None else enriched)
    record = issuer.issue(draw(_METADATA if described is None else described), enrichment)
    if draw(st.booleans()):
        record = in_the_shape_of_may(record)
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        record = reissue(record, make_signer(), draw(_PROFILES), draw(clocks(_after(record))))
    return record


def _after(record: PithRecord) -> SearchStrategy[datetime]:
    """Times after all of a record's."""
    latest = times.parse_receipt_time(record.receipt.signed_at) or START
    return st.integers(1, 10**12).map(lambda later: latest + timedelta(microseconds=later))


def in_the_shape_of_may(record: PithRecord) -> PithRecord:
    """The record without the integrity section, which those of May 2026 lack (PROTOCOL §5)."""
    return record.replace(graph_snapshot=msgspec.structs.replace(record.graph_snapshot, integrity=msgspec.UNSET))


def graph_snapshots() -> SearchStrategy[GraphSnapshot]:
    """Snapshots of drawn records (PROTOCOL §5)."""
    return records().map(lambda record: record.graph_snapshot)


@st.composite
def records_and_keyrings(draw: DrawFn) -> tuple[PithRecord, KeyRing]:
    """A record, and a ring in which its key is active, retired, or revoked later: it verifies."""
    history = draw(_HISTORIES)
    ring = history.ring if any(map(signing_span, history.ring.keys)) else history.pins
    spans = {key.key_id: span for key in ring.keys if (span := signing_span(key)) and key.key_id in history.signers}
    key_id = draw(st.sampled_from(sorted(spans)))
    first, last = spans[key_id]
    after = timedelta(microseconds=draw(st.integers(0, (last - first) // timedelta(microseconds=1))))
    issuer = Issuer(history.signers[key_id], draw(_PROFILES), FrozenClock(first + after))
    return issuer.issue(draw(_METADATA)), ring


#: One change of a record each, that some check notices.
_DAMAGE: tuple[dict[str, Any], ...] = (
    {"pith_number": "pith:2026:" + "A" * 26},
    {"canonical_sha256": "0" * 64},
    {"short_pith_number": "pith:AAAAAAAA"},
    {"aliases": []},
    {"event_summary": {"nothing": 1}},
    {"updated_at": "2000-01-01T00:00:00.000000+00:00"},
)


@st.composite
def reports(draw: DrawFn) -> VerificationReport:
    """Reports of records that are in order, damaged, of an unknown key, no records at all; with metadata or without."""
    described = draw(_METADATA)
    record = draw(records(st.just(described)))
    damaged = draw(st.none() | st.sampled_from(_DAMAGE))
    found = record.replace(**damaged) if damaged else record
    ring = draw(st.sampled_from([make_keyring(), KeyRing.empty()]))
    forms: list[PithRecord | bytes] = [found, found.to_json(), b"{}"]
    return verify(draw(st.sampled_from(forms)), ring, draw(st.sampled_from([None, described])))
