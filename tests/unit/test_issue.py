"""Issuing a record and updating it, given a signer and a clock (PROTOCOL §6, DESIGN "same digest")."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from pith_builder import Enrichment, Issuer, PithRecord, Profile, fingerprint
from pith_builder.canonical import NotCanonical
from pith_builder.errors import KeyLocked, LicenseUnknown
from pith_builder.issue import updated
from pith_builder.testing import START, FrozenClock, make_metadata, make_record, make_signer

TICK = timedelta(seconds=1)
DAY = timedelta(days=1)


def readings(*times: datetime) -> Callable[[], datetime]:
    """A clock that gives these times and no more."""
    return iter(times).__next__


def issued(clock: Callable[[], datetime]) -> PithRecord:
    return Issuer(make_signer(), clock=clock).issue(make_metadata())


def enriched(**fields: Any) -> Enrichment:
    return Enrichment.from_json(json.dumps(fields))


# --- issue ------------------------------------------------------------------------------------------------------


def test_issuing_reads_the_clock_exactly_three_times() -> None:
    clock = FrozenClock(step=TICK)
    issued(clock)
    assert clock.now == START + 3 * TICK


def test_the_readings_are_computed_created_and_signed() -> None:
    record = issued(FrozenClock(step=TICK))
    assert record.receipt.first_computed_at == "2026-01-02T03:04:05.678901Z"
    assert record.receipt.last_reissued_at == "2026-01-02T03:04:05.678901Z"
    assert record.created_at == record.updated_at == "2026-01-02T03:04:06.678901+00:00"
    assert {alias.created_at for alias in record.aliases} == {"2026-01-02T03:04:06.678901+00:00"}
    assert record.receipt.signed_at == "2026-01-02T03:04:07.678901Z"


@pytest.mark.parametrize(
    ("times", "created_at", "signed_at"),
    [
        ((START, START - DAY, START - 2 * DAY), START, START),
        ((START, START + DAY, START), START + DAY, START + DAY),
        ((START, START - DAY, START + DAY), START, START + DAY),
    ],
)
def test_a_reading_that_goes_backwards_is_raised_to_the_one_before(
    times: tuple[datetime, ...], created_at: datetime, signed_at: datetime
) -> None:
    record = issued(readings(*times))
    assert datetime.fromisoformat(record.created_at) == created_at
    assert datetime.fromisoformat(record.receipt.signed_at) == signed_at


@pytest.mark.parametrize("naive", [0, 1, 2])
def test_a_naive_reading_is_refused(naive: int) -> None:
    times = [START.replace(tzinfo=None) if n == naive else START for n in range(3)]
    with pytest.raises(ValueError, match="aware"):
        issued(readings(*times))


def test_a_clock_in_another_zone_gives_the_same_record() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    assert issued(FrozenClock(START.astimezone(east))) == issued(FrozenClock())


def test_the_receipt_is_the_signers_over_the_digest() -> None:
    record = make_record(signer=make_signer(2))
    signer = make_signer(2)
    assert (record.receipt.key_id, record.receipt.public_key_fingerprint) == (
        signer.key_id,
        fingerprint(signer.public_key),
    )
    assert record.receipt.is_signed_by(signer.public_key, record.canonical_record.digest())


def test_the_same_paper_signer_and_times_give_the_same_bytes() -> None:
    assert make_record().to_json() == make_record().to_json()


def test_an_issued_record_is_read_as_itself() -> None:
    record = make_record(enrichment=enriched(headline="x", events=[{"event_type": "seen"}]))
    assert PithRecord.from_json(record.to_json()) == record


def test_enrichment_leaves_the_number() -> None:
    assert make_record(enrichment=enriched(headline="x")).pith_number == make_record().pith_number


def test_nothing_is_signed_when_the_licence_is_unknown() -> None:
    class Untouched:
        key_id = "k"
        public_key = bytes(32)

        def sign(self, message: bytes) -> bytes:
            raise AssertionError(message)

    with pytest.raises(LicenseUnknown):
        Issuer(Untouched(), clock=FrozenClock()).issue(make_metadata(license=None))


def test_what_the_signer_raises_goes_through() -> None:
    class Locked:
        key_id = "k"
        public_key = bytes(32)

        def sign(self, message: bytes) -> bytes:
            raise KeyLocked("locked")

    with pytest.raises(KeyLocked):
        Issuer(Locked(), clock=FrozenClock()).issue(make_metadata())


def test_a_float_in_a_hashed_row_is_refused() -> None:
    with pytest.raises(NotCanonical):
        make_record(enrichment=enriched(claims=[{"x": 0.5}]))


def test_a_record_without_authors_names_none() -> None:
    assert make_record(make_metadata(authors="")).paper.authors_text == ""


# --- update -----------------------------------------------------------------------------------------------------

CORRECTED = make_metadata(authors="Emmy Noether")
LATER = FrozenClock(START + DAY)
EVENTS = [{"event_type": "timestamp_anchor"}]


def unread() -> datetime:
    raise AssertionError("the clock was read")


def test_a_record_in_which_nothing_changed_is_the_same_object() -> None:
    record = make_record(enrichment=enriched(headline="x"))
    assert updated(record, make_metadata(), enriched(headline="x"), Profile(), unread) is record


def test_another_profile_alone_changes_nothing() -> None:
    record = make_record()
    profile = Profile(base_url="https://example.org", builder_version="another")
    assert updated(record, make_metadata(), None, profile, unread) is record


def test_an_update_replaces_the_paper_block_and_keeps_number_receipt_and_creation() -> None:
    record = make_record()
    after = updated(record, CORRECTED, None, Profile(), LATER)
    assert after.paper.authors_text == after.graph_snapshot.paper.authors_text == "Emmy Noether"
    assert (after.pith_number, after.receipt, after.created_at, after.aliases) == (
        record.pith_number,
        record.receipt,
        record.created_at,
        record.aliases,
    )


def test_an_update_moves_updated_at() -> None:
    after = updated(make_record(), CORRECTED, None, Profile(), FrozenClock(START + DAY))
    assert after.updated_at == "2026-01-03T03:04:05.678901+00:00"


def test_an_update_reads_the_clock_once() -> None:
    clock = FrozenClock(START + DAY, step=TICK)
    updated(make_record(), CORRECTED, None, Profile(), clock)
    assert clock.now == START + DAY + TICK


def test_an_update_is_never_earlier_than_the_record() -> None:
    record = make_record()
    assert updated(record, CORRECTED, None, Profile(), FrozenClock(START - DAY)).updated_at == record.updated_at


def test_an_update_replaces_the_enrichment() -> None:
    after = updated(make_record(), make_metadata(), enriched(headline="Reviewed", claims=[{"x": 1}]), Profile(), LATER)
    assert (after.paper.headline, after.graph_snapshot.claims.count) == ("Reviewed", 1)


def test_an_update_without_enrichment_keeps_all_but_the_paper_block() -> None:
    verdict = {"id": "v1", "novelty": "high"}
    record = make_record(enrichment=enriched(headline="Reviewed", verdict=verdict, claims=[{"x": 1}], events=EVENTS))
    after = updated(record, CORRECTED, None, Profile(), LATER)
    expected = msgspec.json.decode(record.to_json())
    for paper in (expected["paper"], expected["graph_snapshot"]["paper"]):
        paper["authors_text"] = "Emmy Noether"
    assert msgspec.json.decode(after.to_json()) == expected | {"updated_at": after.updated_at}


def test_an_update_keeps_the_base_url_of_the_record() -> None:
    record = make_record(profile=Profile(base_url="https://example.org"))
    after = updated(record, CORRECTED, None, Profile(), LATER)
    assert (after.links, after.agent_actions, after.schema_url) == (
        record.links,
        record.agent_actions,
        record.schema_url,
    )


def test_an_update_writes_its_builder_into_the_snapshot_and_leaves_that_of_the_receipt() -> None:
    record = make_record()
    after = updated(record, CORRECTED, None, Profile(builder_version="another"), LATER)
    assert after.graph_snapshot.builder_version == "another"
    assert after.receipt.builder_version == record.receipt.builder_version
