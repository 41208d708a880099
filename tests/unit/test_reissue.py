"""Reissuing one record: what needs a new receipt, what stays, what moves, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from pith_builder import Enrichment, KeyRing, PaperMetadata, PithRecord, Profile, needs_reissue, reissue, verify
from pith_builder.errors import AlteredRecord, KeyLocked
from pith_builder.keyring import Revocation, RingKey, State, Use
from pith_builder.receipt import Receipt
from pith_builder.testing import START, FrozenClock, make_keyring, make_metadata, make_record, make_signer

OLD, NEW = make_signer(1), make_signer(2)
LATER = START + timedelta(days=40)
NEXT_BUILDER = Profile(builder_version="pith-number-builder-2027-01-01-v2")
REVIEW = (
    b'{"headline":"Read","verdict":{"id":"v1","zz":1},"references":[{"resolved":true,"is_internal_anchor":false,'
    b'"note":"\xc3\xbc"}],"events":[{"event_type":"timestamp_anchor","at":"x"}]}'
)


def ring_with(state: State = "active", use: Use = "receipts", **changes: Any) -> KeyRing:
    """A ring of the old key alone, in this state."""
    revoked = Revocation("2026-02-01T00:00:00Z", "superseded") if state == "revoked" else None
    key = RingKey.of(OLD.key_id, OLD.public_key, state, use)
    return KeyRing.empty().with_key(msgspec.structs.replace(key, revoked=revoked, **changes))


def anew(record: PithRecord, **changes: Any) -> PithRecord:
    """The record reissued under the new key, 40 days later unless a clock is given."""
    return reissue(record, **{"signer": NEW, "clock": FrozenClock(LATER, timedelta(seconds=1))} | changes)


# --- what needs it ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ring", "expected"),
    [
        (ring_with("active"), False),
        (ring_with("next"), True),
        (ring_with("retired"), True),
        (ring_with("revoked"), True),
        (KeyRing.empty(), True),
        (make_keyring(NEW), True),
        (ring_with("active", key_id="TEST-v9-2026-01"), True),
        (KeyRing.empty().with_key(RingKey.of(OLD.key_id, NEW.public_key, "active", "receipts")), True),
        (ring_with("active", "verify"), False),
        (ring_with("retired", "verify"), False),
        (ring_with("revoked", "verify"), False),
        (ring_with("active", "recovery"), True),
        (ring_with("next", "recovery"), True),
    ],
    ids=[
        "active",
        "next",
        "retired",
        "revoked",
        "empty ring",
        "unknown key",
        "known under another id",
        "id of another key",
        "others' key",
        "others' retired key",
        "others' revoked key",
        "recovery key",
        "recovery key in reserve",
    ],
)
def test_receipt_needs_reissue_by_the_state_of_its_key(ring: KeyRing, expected: bool) -> None:
    assert needs_reissue(make_record(signer=OLD), ring) is expected


@pytest.mark.parametrize(
    ("ring", "expected"),
    [(ring_with("active"), True), (ring_with("retired"), True), (ring_with("active", "verify"), False)],
    ids=["active", "retired", "others' key"],
)
def test_receipt_of_another_builder_needs_reissue_unless_it_is_others(ring: KeyRing, expected: bool) -> None:
    assert needs_reissue(make_record(signer=OLD), ring, NEXT_BUILDER) is expected


def test_builder_of_the_snapshot_is_no_reason_to_reissue() -> None:
    record = anew(make_record(), signer=OLD, profile=NEXT_BUILDER)
    assert record.graph_snapshot.builder_version != NEXT_BUILDER.builder_version
    assert not needs_reissue(record, ring_with("active"), NEXT_BUILDER)


def test_reissued_record_needs_nothing_more() -> None:
    ring = ring_with("retired").with_key(RingKey.of(NEW.key_id, NEW.public_key, "active", "receipts"))
    record = make_record()
    assert needs_reissue(record, ring)
    assert not needs_reissue(anew(record), ring)


# --- what stays -------------------------------------------------------------------------------------------------


def _with_unknown_fields(data: bytes) -> bytes:
    """The record with a field of its own at the start, the middle and the end of its objects."""
    value = json.loads(data)
    value = {"before": {"b": 1, "a": [None, "é"]}, **value, "after": 1.5}
    value["paper"]["zzz"] = "in the paper"
    value["graph_snapshot"]["claims"]["note"] = {"deep": {"deeper": True}}
    value["aliases"][2]["checked"] = False
    value["links"] = {"first": 0, **value["links"]}
    return PithRecord.from_json(json.dumps(value, ensure_ascii=False).encode()).to_json()


RECORDS = {
    "plain": make_record().to_json(),
    "reviewed": make_record(enrichment=Enrichment.from_json(REVIEW)).to_json(),
    "old id": make_record(make_metadata(arxiv_id="hep-th/9901001", license="")).to_json(),
    "of a mirror": make_record(profile=Profile("https://mirror.example/base")).to_json(),
    "with unknown fields": _with_unknown_fields(make_record(enrichment=Enrichment.from_json(REVIEW)).to_json()),
}


@pytest.mark.parametrize("data", RECORDS.values(), ids=RECORDS.keys())
def test_all_but_receipt_and_updated_at_stays_byte_for_byte(data: bytes) -> None:
    old = PithRecord.from_json(data)
    new = anew(old, profile=NEXT_BUILDER)
    expected = data.replace(msgspec.json.encode(old.receipt), msgspec.json.encode(new.receipt))
    expected = expected.replace(*(f'"updated_at":"{record.updated_at}"'.encode() for record in (old, new)))
    assert new.to_json() == expected != data


def test_first_computed_at_stays() -> None:
    old = make_record(clock=FrozenClock(step=timedelta(seconds=1)))
    assert anew(old).receipt.first_computed_at == old.receipt.first_computed_at


@pytest.mark.parametrize(
    "field", ["pith_number", "canonical_sha256", "canonical_record", "paper", "graph_snapshot", "aliases", "created_at"]
)
def test_field_stays_under_a_new_key_and_builder(field: str) -> None:
    old = make_record(enrichment=Enrichment.from_json(REVIEW))
    assert getattr(anew(old, profile=NEXT_BUILDER), field) == getattr(old, field)


def test_snapshot_keeps_its_builder_and_the_receipt_names_the_new_one() -> None:
    new = anew(make_record(), profile=NEXT_BUILDER)
    assert new.graph_snapshot.builder_version == Profile().builder_version
    assert new.receipt.builder_version == NEXT_BUILDER.builder_version


def test_base_url_of_the_profile_changes_no_link() -> None:
    old = make_record(profile=Profile("https://first.example"))
    assert anew(old, profile=Profile("https://second.example")).links == old.links


def test_record_itself_is_not_changed() -> None:
    record = make_record()
    before = record.to_json()
    anew(record)
    assert record.to_json() == before


# --- what moves -------------------------------------------------------------------------------------------------


def test_new_receipt_is_of_the_new_key() -> None:
    receipt = anew(make_record()).receipt
    assert (receipt.key_id, receipt.is_signed_by(NEW.public_key, bytes.fromhex(receipt.canonical_sha256))) == (
        "TEST-v2-2026-01",
        True,
    )


def test_three_readings_are_last_reissued_updated_and_signed() -> None:
    new = anew(make_record())
    assert (new.receipt.last_reissued_at, new.updated_at, new.receipt.signed_at) == (
        "2026-02-11T03:04:05.678901Z",
        "2026-02-11T03:04:06.678901+00:00",
        "2026-02-11T03:04:07.678901Z",
    )


def test_clock_is_read_three_times() -> None:
    clock = FrozenClock(LATER, timedelta(seconds=1))
    anew(make_record(), clock=clock)
    assert clock.now == LATER + timedelta(seconds=3)


def _with_latest(field: str) -> PithRecord:
    """A record of which one time, `LATER`, is later than all others."""
    record = make_record()
    text = LATER.isoformat(timespec="microseconds")
    if field == "updated_at":
        return record.replace(updated_at=text)
    receipt = msgspec.structs.replace(record.receipt, **{field: text.replace("+00:00", "Z")})
    return record.replace(receipt=receipt)


@pytest.mark.parametrize("field", ["first_computed_at", "last_reissued_at", "signed_at", "updated_at"])
@pytest.mark.parametrize("reading", [START, LATER - timedelta(microseconds=1), START - timedelta(days=4000)])
def test_no_time_is_earlier_than_the_latest_of_the_record(field: str, reading: datetime) -> None:
    new = anew(_with_latest(field), clock=FrozenClock(reading))
    expected = "2026-02-11T03:04:05.678901"
    assert new.receipt.last_reissued_at == new.receipt.signed_at == f"{expected}Z"
    assert new.updated_at == f"{expected}+00:00"


def test_clock_that_goes_backwards_while_it_is_read_stands_still() -> None:
    new = anew(make_record(), clock=FrozenClock(LATER, timedelta(days=-1)))
    assert new.receipt.last_reissued_at == new.receipt.signed_at == "2026-02-11T03:04:05.678901Z"
    assert new.updated_at == "2026-02-11T03:04:05.678901+00:00"


# --- it verifies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", RECORDS.values(), ids=RECORDS.keys())
def test_reissued_record_verifies_under_the_new_key_alone(data: bytes) -> None:
    new = anew(PithRecord.from_json(data), profile=NEXT_BUILDER)
    assert verify(new.to_json(), make_keyring(NEW)).failed == []
    assert not verify(new.to_json(), make_keyring(OLD)).ok


def test_published_record_reissued_verifies_against_its_metadata(seed: tuple[PaperMetadata, bytes]) -> None:
    metadata, published = seed
    new = anew(PithRecord.from_json(published), clock=FrozenClock(START + timedelta(days=400)))
    assert verify(new.to_json(), make_keyring(NEW), metadata).failed == []


def test_record_is_reissued_twice() -> None:
    third = make_signer(3)
    first = make_record()
    once = anew(first)
    twice = anew(once, signer=third, clock=FrozenClock(LATER + timedelta(days=40)))
    assert verify(twice, make_keyring(third)).ok
    assert twice.receipt.first_computed_at == first.receipt.first_computed_at
    assert first.updated_at < once.updated_at < twice.updated_at
    assert twice.replace(receipt=first.receipt, updated_at=first.updated_at) == first


def test_same_key_and_builder_give_the_same_signature() -> None:
    record = make_record()
    assert anew(record, signer=OLD).receipt.signature_b64 == record.receipt.signature_b64


# --- what is refused --------------------------------------------------------------------------------------------


class Counting:
    """The new key, which counts how often it is asked."""

    key_id, public_key = NEW.key_id, NEW.public_key

    def __init__(self) -> None:
        self.asked = 0

    def sign(self, message: bytes) -> bytes:
        self.asked += 1
        return NEW.sign(message)


def _receipt(**changes: str) -> Callable[[PithRecord], PithRecord]:
    def change(record: PithRecord) -> PithRecord:
        receipt: Receipt = msgspec.structs.replace(record.receipt, **changes)
        return record.replace(receipt=receipt)

    return change


def _canonical(field: str, value: Any) -> Callable[[PithRecord], PithRecord]:
    def change(record: PithRecord) -> PithRecord:
        canonical = record.canonical_record
        part = "source" if hasattr(canonical.source, field) else "metadata"
        changed = msgspec.structs.replace(getattr(canonical, part), **{field: value})
        return record.replace(canonical_record=msgspec.structs.replace(canonical, **{part: changed}))

    return change


OTHER = make_record(make_metadata(title="Another"))
ALTERED: dict[str, Callable[[PithRecord], PithRecord]] = {
    "title": _canonical("title_canon_sha256", "0" * 64),
    "licence": _canonical("license", ""),
    "version": _canonical("version", 2),
    "year": _canonical("submitted_at", "2025-01-01T12:00:00Z"),
    "whole canonical record": lambda record: record.replace(canonical_record=OTHER.canonical_record),
    "digest": lambda record: record.replace(canonical_sha256=OTHER.canonical_sha256),
    "number": lambda record: record.replace(pith_number=OTHER.pith_number),
    "year of the number": lambda record: record.replace(pith_number=record.pith_number.replace("2026", "2025")),
    "number without its year": lambda record: record.replace(pith_number=f"pith:{record.number.suffix}"),
    "digest of the receipt": _receipt(canonical_sha256=OTHER.canonical_sha256),
    "first_computed_at": _receipt(first_computed_at="2026-01-02 03:04:05"),
    "last_reissued_at": _receipt(last_reissued_at=""),
    "signed_at": _receipt(signed_at="2026-02-30T00:00:00.000000Z"),
    "updated_at": lambda record: record.replace(updated_at="2026-01-02T03:04:05Z"),
}


@pytest.mark.parametrize("alter", ALTERED.values(), ids=ALTERED.keys())
def test_altered_record_is_never_signed(alter: Callable[[PithRecord], PithRecord]) -> None:
    signer = Counting()
    with pytest.raises(AlteredRecord):
        anew(alter(make_record()), signer=signer)
    assert signer.asked == 0


def test_record_under_the_receipt_of_another_is_never_signed() -> None:
    """Digest and number were made to fit the altered canonical record; the receipt still tells."""
    signer = Counting()
    with pytest.raises(AlteredRecord):
        anew(OTHER.replace(receipt=make_record().receipt), signer=signer)
    assert signer.asked == 0


def test_what_the_signer_raises_is_passed_on() -> None:
    class Locked(Counting):
        def sign(self, message: bytes) -> bytes:
            raise KeyLocked("locked")

    with pytest.raises(KeyLocked):
        anew(make_record(), signer=Locked())


def test_reissuing_needs_a_clock() -> None:
    with pytest.raises(TypeError, match="a clock is needed"):
        reissue(make_record(), NEW)
