"""The key ring: what it refuses, and when a key holds (DESIGN "keyring.json")."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import KeyRing, fingerprint
from pith_builder.errors import InvalidKeyRing
from pith_builder.keyring import Revocation, RingKey
from pith_builder.signing import encode_base64
from pith_builder.testing import START, make_keyring, make_revocation, make_signer

SECOND = timedelta(seconds=1)
NOON = datetime.fromisoformat("2026-06-01T12:00:00+00:00")
NOON_TEXT = "2026-06-01T12:00:00Z"


def make_key(n: int = 1, **changes: Any) -> RingKey:
    signer = make_signer(n)
    return msgspec.structs.replace(RingKey.of(signer.key_id, signer.public_key, "active", "receipts"), **changes)


def revoked_key(reason: str) -> RingKey:
    return make_key(state="revoked", revoked=msgspec.convert({"since": NOON_TEXT, "reason": reason}, Revocation))


@pytest.fixture
def value() -> dict[str, Any]:
    """A ring as a JSON value, to be changed."""
    found: dict[str, Any] = json.loads(make_keyring(make_signer(1), make_signer(2)).to_json())
    return found


# --- reading ----------------------------------------------------------------------------------------------------


def test_the_ring_of_the_checkout_is_written_as_it_was_read(root: Path) -> None:
    data = (root / "keys" / "keyring.json").read_bytes()
    assert json.loads(KeyRing.from_json(data).to_json()) == json.loads(data)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"fingerprint": "0" * 32}, "fingerprint is not that of public_key_b64"),
        ({"fingerprint": make_key().fingerprint.upper()}, "fingerprint is not that of public_key_b64"),
        ({"public_key_b64": encode_base64(make_signer(3).public_key)}, "fingerprint is not that of public_key_b64"),
        ({"public_key_b64": make_key().public_key_b64.rstrip("=")}, "canonical base64"),
        ({"public_key_b64": encode_base64(bytes(31))}, "canonical base64"),
        ({"public_key_b64": ""}, "canonical base64"),
        ({"key_id": ""}, "key_id is empty"),
        ({"not_before": "2026-01-01"}, "no time"),
        ({"not_after": "2026-01-01T00:00:00.000000Z"}, "no time"),
        ({"not_after": "2026-02-30T00:00:00Z"}, "no time"),
        ({"state": "revoked"}, "don't agree"),
        ({"revoked": {"since": NOON_TEXT, "reason": "lost"}}, "don't agree"),
        ({"state": "revoked", "revoked": {"since": "then", "reason": "lost"}}, "no time"),
    ],
)
def test_a_wrong_key_is_refused_and_named(value: dict[str, Any], changes: dict[str, Any], reason: str) -> None:
    value["keys"][0] |= changes
    with pytest.raises(InvalidKeyRing, match=reason) as caught:
        KeyRing.from_json(json.dumps(value))
    assert repr(value["keys"][0]["key_id"]) in caught.value.field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"state": "lost"}, "keys[0].state"),
        ({"use": "all"}, "keys[0].use"),
        ({"algorithm": "rsa"}, "keys[0].algorithm"),
        ({"state": "revoked", "revoked": {"since": NOON_TEXT, "reason": "bored"}}, "keys[0].revoked.reason"),
        ({"key_id": None}, "keys[0].key_id"),
    ],
)
def test_a_field_of_another_kind_is_named(value: dict[str, Any], changes: dict[str, Any], field: str) -> None:
    value["keys"][0] |= changes
    with pytest.raises(InvalidKeyRing) as caught:
        KeyRing.from_json(json.dumps(value))
    assert caught.value.field == field


def test_an_id_that_stands_twice_is_refused(value: dict[str, Any]) -> None:
    value["keys"][1]["key_id"] = value["keys"][0]["key_id"]
    with pytest.raises(InvalidKeyRing, match=r"key_id .* stands twice"):
        KeyRing.from_json(json.dumps(value))


def test_a_public_key_that_stands_twice_is_refused() -> None:
    with pytest.raises(InvalidKeyRing, match=r"fingerprint .* stands twice"):
        KeyRing("1.0", [*make_keyring().keys, make_key(key_id="another", state="retired")], [])


def test_a_key_that_is_added_again_takes_the_place_of_its_entry() -> None:
    ring = make_keyring(make_signer(1), make_signer(2))
    retired = make_key(1, state="retired")
    assert ring.with_key(retired).keys == [retired, ring.keys[1]]


def test_two_active_keys_are_refused_and_named() -> None:
    with pytest.raises(InvalidKeyRing, match="several keys are active: TEST-v1-2026-01, TEST-v2-2026-01"):
        make_keyring().with_key(make_key(2))


@pytest.mark.parametrize("use", ["verify", "recovery"])
def test_a_key_of_another_use_may_be_active_beside_the_signing_key(use: str) -> None:
    ring = make_keyring().with_key(make_key(2, use=use))
    active = ring.active()
    assert active is not None
    assert active.key_id == make_signer(1).key_id


@pytest.mark.parametrize("version", ["1.1", 1.0, None])
def test_a_ring_of_another_version_is_refused(value: dict[str, Any], version: Any) -> None:
    with pytest.raises(InvalidKeyRing):
        KeyRing.from_json(json.dumps({**value, "keyring_version": version}))


STATEMENT: dict[str, Any] = msgspec.to_builtins(make_revocation(make_signer(1).key_id, make_signer(2), NOON))


def test_a_statement_is_kept_as_it_came(value: dict[str, Any]) -> None:
    value["statements"] = [STATEMENT]
    assert json.loads(KeyRing.from_json(json.dumps(value)).to_json())["statements"] == [STATEMENT]


@pytest.mark.parametrize(
    "statement",
    [
        {**STATEMENT, "note": 1},
        {**STATEMENT, "body": {**STATEMENT["body"], "note": 1}},
        {**STATEMENT, "signatures": [{**STATEMENT["signatures"][0], "note": 1}]},
        {**STATEMENT, "body": {**STATEMENT["body"], "type": "pith-key-rotation/1"}},
        {**STATEMENT, "body": {**STATEMENT["body"], "type": "other/1"}},
    ],
)
def test_a_statement_is_closed(value: dict[str, Any], statement: dict[str, Any]) -> None:
    with pytest.raises(InvalidKeyRing):
        KeyRing.from_json(json.dumps({**value, "statements": [statement]}))


# --- finding ----------------------------------------------------------------------------------------------------


def test_a_key_is_known_only_by_id_and_fingerprint() -> None:
    ring = make_keyring(make_signer(1), make_signer(2))
    one, two = ring.keys
    assert ring.find(one.key_id, one.fingerprint) == one
    assert ring.find(one.key_id, two.fingerprint) is None
    assert ring.find("another", one.fingerprint) is None


def test_a_key_is_found_by_its_public_key() -> None:
    ring = make_keyring(make_signer(1), make_signer(2))
    assert ring.by_public_key(make_signer(2).public_key) == ring.keys[1]
    assert ring.by_public_key(make_signer(3).public_key) is None


def test_an_empty_ring_has_no_active_key() -> None:
    assert KeyRing.empty().active() is None


def test_a_ring_of_next_and_retired_keys_has_no_active_key() -> None:
    ring = KeyRing.empty().with_key(make_key(1, state="next")).with_key(make_key(2, state="retired"))
    assert ring.active() is None


def test_trusting_adds_the_keys_that_the_ring_does_not_list() -> None:
    both = make_keyring().trusting(KeyRing.registry())
    assert [key.key_id for key in both.keys] == ["TEST-v1-2026-01", "pith-v1-2026-05"]


@pytest.mark.parametrize(
    "theirs", [make_key(state="retired"), make_key(2, key_id="TEST-v1-2026-01"), make_key(key_id="another")]
)
def test_trusting_prefers_what_this_ring_says(theirs: RingKey) -> None:
    other = KeyRing.empty().with_key(msgspec.structs.replace(theirs, use="verify"))
    assert make_keyring().trusting(other) == make_keyring()


def test_the_built_in_ring_holds_the_registrys_key_for_verifying_alone(registry_ring: KeyRing) -> None:
    (key,) = registry_ring.keys
    assert (key.key_id, key.use) == ("pith-v1-2026-05", "verify")
    assert registry_ring.active() is None


def test_an_entry_is_made_of_the_raw_key() -> None:
    public_key = make_signer().public_key
    key = RingKey.of("k", public_key, "next", "receipts", START)
    assert (key.public_key, key.fingerprint, key.not_before) == (
        public_key,
        fingerprint(public_key),
        "2026-01-02T03:04:05Z",
    )
    assert key.problem() is None


# --- when a key holds -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "signed_at", "at", "objection"),
    [
        (make_key(), NOON, None, None),
        (make_key(use="verify"), NOON, None, None),
        (make_key(state="retired"), NOON, None, None),
        (make_key(state="next"), NOON, None, "not active yet"),
        (make_key(use="recovery"), NOON, None, "recovery key"),
        (make_key(use="recovery", state="next"), NOON, None, "recovery key"),
        (make_key(not_before=NOON_TEXT), NOON - SECOND, None, "before TEST-v1-2026-01 became valid"),
        (make_key(not_before=NOON_TEXT), NOON, None, None),
        (make_key(not_after=NOON_TEXT), NOON - SECOND, None, None),
        (make_key(not_after=NOON_TEXT), NOON, None, "not before the end"),
        (make_key(state="retired", not_after=NOON_TEXT), NOON - SECOND, None, None),
        (make_key(state="retired", not_after=NOON_TEXT), NOON + SECOND, None, "not before the end"),
    ],
)
def test_a_key_that_is_not_revoked_holds_from_not_before_until_not_after(
    key: RingKey, signed_at: datetime, at: datetime | None, objection: str | None
) -> None:
    found = key.objection(signed_at, at)
    assert (found is None) == (objection is None)
    assert (objection or "") in (found or "")


@pytest.mark.parametrize(
    ("reason", "signed_at", "at", "objection"),
    [
        ("superseded", NOON - SECOND, None, None),
        ("superseded", NOON, None, "revoked as superseded"),
        ("superseded", NOON - SECOND, NOON + SECOND, None),
        ("superseded", NOON, NOON - SECOND, None),
        ("superseded", NOON, NOON, "revoked as superseded"),
        ("lost", NOON - SECOND, None, None),
        ("lost", NOON, None, "revoked as lost"),
        ("lost", NOON, NOON - SECOND, None),
        ("lost", NOON + SECOND, NOON + SECOND, "revoked as lost"),
        ("compromised", NOON - SECOND, None, "no receipt of it counts"),
        ("compromised", NOON, None, "no receipt of it counts"),
        ("compromised", NOON - SECOND, NOON, "no receipt of it counts"),
        ("compromised", NOON - SECOND, NOON - SECOND, None),
        ("compromised", NOON + SECOND, NOON - SECOND, None),
    ],
)
def test_a_revocation_counts_by_its_reason_from_its_time(
    reason: str, signed_at: datetime, at: datetime | None, objection: str | None
) -> None:
    found = revoked_key(reason).objection(signed_at, at)
    assert (found is None) == (objection is None)
    assert (objection or "") in (found or "")


@pytest.mark.parametrize("at", [None, NOON - SECOND])
def test_a_revocation_does_not_lift_the_other_limits(at: datetime | None) -> None:
    key = msgspec.structs.replace(revoked_key("lost"), not_before=NOON_TEXT)
    assert key.objection(NOON - SECOND, at) is not None
