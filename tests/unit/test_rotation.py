"""Rotation and revocation: a named table of chains, and what may be trusted of each (DESIGN "Statement").

A case is a pinned ring, a published ring, and what follows: the states of the keys that are trusted then, or the index
of the statement at fault.
"""

from __future__ import annotations

import json
from copy import copy
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import pytest

from pith_builder import KeyRing, SeedSigner, follow, verify
from pith_builder.errors import InvalidKeyRing, Refused
from pith_builder.keyring import Revocation, RingKey, Use
from pith_builder.rotation import BrokenChain, IllegalMove, move, retire, rotation_body
from pith_builder.signing import encode_base64
from pith_builder.statements import RevocationBody, RotationBody, Statement, body_sha256
from pith_builder.testing import (
    START,
    FrozenClock,
    make_keyring,
    make_record,
    make_revocation,
    make_rotation,
    make_signer,
)
from pith_builder.times import seconds

K1, K2, K3, K4 = (make_signer(n) for n in (1, 2, 3, 4))
THIEF, RECOVERY, OTHER_RECOVERY = make_signer(66), make_signer(90), make_signer(91)
B1, B2 = make_signer(11), make_signer(12)  # keys of another issuer
ONE, TWO, THREE = K1.key_id, K2.key_id, K3.key_id


def day(n: int) -> datetime:
    """The n-th day after the ring was made, in full seconds."""
    return (START + timedelta(days=n)).replace(microsecond=0)


def pin(*signers: SeedSigner, use: Use = "receipts", recovery: SeedSigner | None = None, **changes: Any) -> KeyRing:
    """A verifier's ring: these keys, all active, and no statement."""
    keys = [RingKey.of(signer.key_id, signer.public_key, "active", use) for signer in signers]
    keys = [msgspec.structs.replace(key, **changes) for key in keys]
    if recovery is not None:
        keys.append(RingKey.of(recovery.key_id, recovery.public_key, "active", "recovery"))
    return KeyRing("1.0", keys, [])


def rotation(
    previous: Statement | None,
    old: SeedSigner,
    new: SeedSigner,
    *signers: SeedSigner,
    at: datetime = day(1),  # noqa: B008  # a constant
    **changes: Any,
) -> Statement:
    """A rotation as anyone can write it, signed by both keys unless other signers are given."""
    body = RotationBody(
        old.key_id,
        RingKey.of(old.key_id, old.public_key, "active", "receipts").fingerprint,
        new.key_id,
        encode_base64(new.public_key),
        seconds(at),
        "scheduled",
        None if previous is None else body_sha256(previous.body),
    )
    return signed(Statement(msgspec.structs.replace(body, **changes), []), *(signers or (old, new)))


def signed(statement: Statement, *signers: SeedSigner) -> Statement:
    for signer in signers:
        statement = statement.signed_by(signer)
    return statement


def published(*statements: Statement, keys: tuple[RingKey, ...] = ()) -> KeyRing:
    """A ring as a stranger publishes it: what its entries say is theirs to invent."""
    return KeyRing("1.0", list(keys), list(statements))


def under_other_id(signer: SeedSigner, key_id: str) -> SeedSigner:
    """The same key, signing under another id."""
    other = copy(signer)
    other.key_id = key_id
    return other


FIRST = rotation(None, K1, K2, at=day(1))
SECOND = rotation(FIRST, K2, K3, at=day(2))
FORK = rotation(None, K1, THIEF, at=day(1))
LOST = rotation(None, K1, K2, RECOVERY, K2, reason="lost")
COMPROMISED = rotation(None, K1, K2, RECOVERY, K2, reason="compromised")
ONE_IS_STOLEN = make_revocation(ONE, RECOVERY, day(1), "compromised")
ONE_IS_LOST = make_revocation(ONE, RECOVERY, day(1), "lost")
ONE_IS_OLD = make_revocation(ONE, K2, day(2))
RECOVERY_MOVED = rotation(None, RECOVERY, OTHER_RECOVERY)


class Case(NamedTuple):
    """`then`: the state of each key that is trusted; or `fault`: the index of the statement at fault, and `why`."""

    pins: KeyRing
    ring: KeyRing
    then: dict[str, str] | None = None
    fault: int | None = None
    why: str = ""


def after(*statements: Statement, recovery: SeedSigner | None = None) -> KeyRing:
    """The ring of the owner after these statements, as it would be pinned whole."""
    ring = pin(K1, recovery=recovery)
    for statement in statements:
        ring = move(ring, statement)
    return ring


CASES: dict[str, Case] = {
    # chains that lead somewhere
    "no statement": Case(pin(K1), published(), {ONE: "active"}),
    "1 to 2": Case(pin(K1), published(FIRST), {ONE: "retired", TWO: "active"}),
    "1 to 2 to 3, pinned 1": Case(pin(K1), published(FIRST, SECOND), {ONE: "retired", TWO: "retired", THREE: "active"}),
    "1 to 2 to 3, pinned 2": Case(pin(K2), published(FIRST, SECOND), {TWO: "retired", THREE: "active"}),
    "1 to 2 to 3, pinned 3": Case(pin(K3), published(FIRST, SECOND), {THREE: "active"}),
    "the new key was pinned as next": Case(
        make_keyring(K1, K2), published(FIRST, SECOND), {ONE: "retired", TWO: "retired", THREE: "active"}
    ),
    "keys that no statement leads to": Case(
        pin(K1), published(FIRST, keys=tuple(make_keyring(THIEF).keys)), {ONE: "retired", TWO: "active"}
    ),
    "rotation takes effect when the key became valid": Case(
        pin(K1, not_before=seconds(day(1))), published(FIRST), {ONE: "retired", TWO: "active"}
    ),
    "rotation takes effect just before the key expires": Case(
        pin(K1, not_after=seconds(day(1) + timedelta(seconds=1))), published(FIRST), {ONE: "retired", TWO: "active"}
    ),
    # chains with a link at fault
    "skipped first link": Case(pin(K1), published(SECOND), fault=0, why="previous_sha256"),
    "skipped middle link": Case(
        pin(K1), published(FIRST, rotation(SECOND, K3, K4, at=day(3))), fault=1, why="previous_sha256"
    ),
    "skipped link, mended by hand": Case(
        pin(K1), published(FIRST, rotation(FIRST, K3, K4)), fault=1, why=f"nothing is known of {THREE}"
    ),
    "reordered": Case(pin(K1), published(SECOND, FIRST), fault=0, why="previous_sha256"),
    "reordered, pinned 3": Case(pin(K3), published(SECOND, FIRST), fault=0, why="previous_sha256"),
    "fork": Case(pin(K1), published(FIRST, rotation(FIRST, K1, THIEF)), fault=1, why="a fork"),
    "fork that names the same previous": Case(pin(K1), published(FIRST, FORK), fault=1, why="previous_sha256"),
    "replay of the last": Case(pin(K1), published(FIRST, FIRST), fault=1, why="previous_sha256"),
    "replay of the first": Case(pin(K1), published(FIRST, SECOND, FIRST), fault=2, why="previous_sha256"),
    "replay with a mended previous": Case(
        pin(K1), published(FIRST, SECOND, rotation(SECOND, K1, K2)), fault=2, why="a replay"
    ),
    "first that names a previous": Case(pin(K1), published(rotation(SECOND, K1, K2)), fault=0, why="previous_sha256"),
    "wrong signer": Case(
        pin(K1), published(rotation(None, K1, K2, THIEF, K2)), fault=0, why=f"no valid signature of {ONE}"
    ),
    "wrong signer under the right id": Case(
        pin(K1),
        published(rotation(None, K1, K2, under_other_id(THIEF, ONE), K2)),
        fault=0,
        why=f"no valid signature of {ONE}",
    ),
    "wrong signer in the second link": Case(
        pin(K1), published(FIRST, rotation(FIRST, K2, THIEF, K1, THIEF)), fault=1, why=f"no valid signature of {TWO}"
    ),
    "not signed": Case(pin(K1), published(Statement(FIRST.body, [])), fault=0, why="no valid signature"),
    "missing old signature": Case(
        pin(K1), published(rotation(None, K1, K2, K2)), fault=0, why=f"no valid signature of {ONE}"
    ),
    "missing new signature": Case(
        pin(K1), published(rotation(None, K1, K2, K1)), fault=0, why=f"no valid signature of {TWO}"
    ),
    "extra signature": Case(pin(K1), published(FIRST.signed_by(THIEF)), fault=0, why=f"too: {THIEF.key_id}"),
    "signature twice": Case(pin(K1), published(FIRST.signed_by(K1)), fault=0, why=f"no valid signature of {ONE}"),
    "old key under another fingerprint": Case(
        pin(K1), published(rotation(None, K1, K2, from_fingerprint="0" * 32)), fault=0, why=f"nothing is known of {ONE}"
    ),
    "back-dated": Case(
        pin(K1, not_before=seconds(day(1) + timedelta(seconds=1))), published(FIRST), fault=0, why="back-dated"
    ),
    "back-dated before the rotation that it follows": Case(
        pin(K1), published(FIRST, rotation(FIRST, K2, K3, at=day(0))), fault=1, why="back-dated"
    ),
    "expired old key": Case(pin(K1, not_after=seconds(day(0))), published(FIRST), fault=0, why="expired"),
    "ends as the rotation takes effect": Case(
        pin(K1, not_after=seconds(day(1))), published(FIRST), then={ONE: "retired", TWO: "active"}
    ),
    "takes effect at no time": Case(
        pin(K1), published(rotation(None, K1, K2, effective_at="soon")), fault=0, why="no time"
    ),
    "to a key that was pinned too": Case(
        pin(K1, B1, use="verify"), published(rotation(None, K1, B1)), then={ONE: "retired", B1.key_id: "active"}
    ),
    "to itself": Case(pin(K1), published(rotation(None, K1, K1, K1)), fault=0, why="already"),
    "back to a retired key": Case(pin(K1), published(FIRST, rotation(FIRST, K2, K1)), fault=1, why="already"),
    "to the recovery key": Case(
        pin(K1, recovery=RECOVERY), published(rotation(None, K1, RECOVERY)), fault=0, why="already"
    ),
    "to a known id with another key": Case(
        make_keyring(K1, K2), published(rotation(None, K1, under_other_id(THIEF, TWO))), fault=0, why="another key"
    ),
    "to a known key under another id": Case(
        make_keyring(K1, K2), published(rotation(None, K1, under_other_id(K2, "x"))), fault=0, why="another id"
    ),
    "to no key": Case(
        pin(K1), published(rotation(None, K1, K2, to_public_key_b64="AAAA")), fault=0, why="to_public_key_b64"
    ),
    "to a key without an id": Case(
        pin(K1), published(rotation(None, K1, under_other_id(K2, ""))), fault=0, why="no id"
    ),
    # recovery
    "lost, with the pinned recovery key": Case(
        pin(K1, recovery=RECOVERY), published(LOST), {ONE: "revoked", TWO: "active", RECOVERY.key_id: "active"}
    ),
    "compromised, with the pinned recovery key": Case(
        pin(K1, recovery=RECOVERY), published(COMPROMISED), {ONE: "revoked", TWO: "active", RECOVERY.key_id: "active"}
    ),
    "recovery of an expired key": Case(
        pin(K1, recovery=RECOVERY, not_after=seconds(day(0))),
        published(LOST),
        {ONE: "revoked", TWO: "active", RECOVERY.key_id: "active"},
    ),
    "recovery after a revocation": Case(
        pin(K1, recovery=RECOVERY),
        published(
            ONE_IS_STOLEN,
            rotation(ONE_IS_STOLEN, K1, K2, RECOVERY, K2, reason="compromised", at=day(2)),
        ),
        {ONE: "revoked", TWO: "active", RECOVERY.key_id: "active"},
    ),
    "recovery, then a scheduled rotation": Case(
        pin(K1, recovery=RECOVERY),
        published(COMPROMISED, rotation(COMPROMISED, K2, K3, at=day(2))),
        {ONE: "revoked", TWO: "retired", THREE: "active", RECOVERY.key_id: "active"},
    ),
    "recovery with a key that only the ring lists": Case(
        pin(K1), published(LOST, keys=tuple(pin(recovery=RECOVERY).keys)), fault=0, why="no recovery key"
    ),
    "recovery with another recovery key than the pinned": Case(
        pin(K1, recovery=OTHER_RECOVERY), published(LOST), fault=0, why="no recovery key"
    ),
    "recovery with a thief under the id of the recovery key": Case(
        pin(K1, recovery=RECOVERY),
        published(rotation(None, K1, THIEF, under_other_id(THIEF, RECOVERY.key_id), THIEF, reason="lost")),
        fault=0,
        why=f"no valid signature of {RECOVERY.key_id}",
    ),
    "recovery signed by the old key": Case(
        pin(K1, recovery=RECOVERY),
        published(rotation(None, K1, K2, reason="compromised")),
        fault=0,
        why="no recovery key",
    ),
    "recovery without the new key": Case(
        pin(K1, recovery=RECOVERY),
        published(rotation(None, K1, K2, RECOVERY, reason="lost")),
        fault=0,
        why=f"no valid signature of {TWO}",
    ),
    "recovery from a retired key": Case(
        pin(K1, recovery=RECOVERY),
        published(FIRST, rotation(FIRST, K1, K3, RECOVERY, K3, reason="lost")),
        fault=1,
        why="a fork",
    ),
    "recovery from a revoked key beside an active one": Case(
        pin(K1, recovery=RECOVERY),
        published(
            FIRST,
            ONE_IS_OLD,
            rotation(ONE_IS_OLD, K1, K3, RECOVERY, K3, reason="compromised", at=day(3)),
        ),
        fault=2,
    ),
    "scheduled rotation signed by the recovery key": Case(
        pin(K1, recovery=RECOVERY),
        published(rotation(None, K1, K2, RECOVERY, K2)),
        fault=0,
        why=f"no valid signature of {ONE}",
    ),
    "scheduled rotation from a revoked key": Case(
        pin(K1, recovery=RECOVERY),
        published(ONE_IS_LOST, rotation(ONE_IS_LOST, K1, K2)),
        fault=1,
        why="which is revoked",
    ),
    "recovery key rotates": Case(
        pin(RECOVERY, use="recovery"),
        published(rotation(None, RECOVERY, OTHER_RECOVERY)),
        {RECOVERY.key_id: "retired", OTHER_RECOVERY.key_id: "active"},
    ),
    "retired recovery key": Case(
        pin(K1, recovery=RECOVERY),
        published(RECOVERY_MOVED, rotation(RECOVERY_MOVED, K1, K2, RECOVERY, K2, reason="lost")),
        fault=1,
        why="no recovery key",
    ),
    # revocation
    "retired key revoked by the active one": Case(
        pin(K1), published(FIRST, make_revocation(ONE, K2, day(2))), {ONE: "revoked", TWO: "active"}
    ),
    "retired key revoked by the next but one": Case(
        pin(K1),
        published(FIRST, SECOND, make_revocation(ONE, K3, day(3))),
        {ONE: "revoked", TWO: "retired", THREE: "active"},
    ),
    "key older than the pinned one revoked": Case(
        pin(K2), published(FIRST, SECOND, make_revocation(ONE, K3, day(3))), {TWO: "retired", THREE: "active"}
    ),
    "next key that no verifier saw revoked": Case(
        pin(K1), published(FIRST, make_revocation(THREE, K2, day(3))), {ONE: "retired", TWO: "active"}
    ),
    "active key revoked by the recovery key": Case(
        pin(K1, recovery=RECOVERY),
        published(make_revocation(ONE, RECOVERY, day(1), "compromised")),
        {ONE: "revoked", RECOVERY.key_id: "active"},
    ),
    "active key revoked by itself": Case(
        pin(K1, recovery=RECOVERY), published(make_revocation(ONE, K1)), fault=0, why="no recovery key"
    ),
    "active key revoked by a retired one": Case(
        pin(K1), published(FIRST, make_revocation(TWO, K1)), fault=1, why="no recovery key"
    ),
    "recovery key revoked by the active one": Case(
        pin(K1, recovery=RECOVERY), published(make_revocation(RECOVERY.key_id, K1)), fault=0, why="no recovery key"
    ),
    "revoked by a stranger": Case(
        pin(K1), published(FIRST, make_revocation(ONE, THIEF)), fault=1, why="no recovery key"
    ),
    "revoked by a recovery key that is not pinned": Case(
        pin(K1), published(make_revocation(ONE, RECOVERY)), fault=0, why="no recovery key"
    ),
    "revoked by a thief under the id of the active key": Case(
        pin(K1), published(FIRST, make_revocation(ONE, under_other_id(THIEF, TWO))), fault=1, why="no valid signature"
    ),
    "revocation with an extra signature": Case(
        pin(K1),
        published(FIRST, make_revocation(ONE, K2).signed_by(K1)),
        fault=1,
        why="no recovery key",
    ),
    "revocation without a signature": Case(
        pin(K1),
        published(FIRST, Statement(RevocationBody(ONE, seconds(day(2)), "lost"), [])),
        fault=1,
        why="no recovery key",
    ),
    "revocation since no time": Case(
        pin(K1),
        published(FIRST, signed(Statement(RevocationBody(ONE, "long ago", "lost"), []), K2)),
        fault=1,
        why="no time",
    ),
    "revocation replayed": Case(
        pin(K1),
        published(FIRST, make_revocation(ONE, K2), make_revocation(ONE, K2)),
        fault=2,
        why="a replay",
    ),
    "revocation that was taken out of the middle": Case(
        pin(K1), published(FIRST, rotation(make_revocation(ONE, K2), K2, K3, at=day(3))), fault=1, why="previous_sha256"
    ),
    # two issuers in one pinned ring
    "rotation of one of two pinned issuers": Case(
        pin(K1, B1, use="verify"), published(FIRST), {ONE: "retired", B1.key_id: "active", TWO: "active"}
    ),
    "cross-issuer revocation": Case(
        pin(K1, B1, use="verify"), published(make_revocation(B1.key_id, K1)), fault=0, why="another issuer's"
    ),
    "cross-issuer revocation after a rotation": Case(
        pin(K1, B1, use="verify"), published(FIRST, make_revocation(B1.key_id, K2)), fault=1, why="another issuer's"
    ),
    "cross-issuer revocation of a retired key": Case(
        pin(K1, B1, use="verify"),
        published(FIRST, rotation(FIRST, B1, B2), make_revocation(ONE, B2)),
        fault=2,
        why="another issuer's",
    ),
    "cross-issuer rotation": Case(
        pin(K1, B1, use="verify"), published(rotation(None, B1, THIEF, K1, THIEF)), fault=0, why="no valid signature"
    ),
    # pins as the registry's key is pinned
    "pinned for verifying": Case(
        pin(K1, use="verify"), published(FIRST, SECOND), {ONE: "retired", TWO: "retired", THREE: "active"}
    ),
    "pinned for verifying, revoked": Case(
        pin(K1, use="verify"), published(FIRST, make_revocation(ONE, K2)), {ONE: "revoked", TWO: "active"}
    ),
    # pinned rings with statements
    "pinned statements are the first of the ring's": Case(
        after(FIRST), published(FIRST, SECOND), {ONE: "retired", TWO: "retired", THREE: "active"}
    ),
    "pinned statements are all of the ring's": Case(
        after(FIRST, SECOND), published(FIRST, SECOND), {ONE: "retired", TWO: "retired", THREE: "active"}
    ),
    "pinned statements differ": Case(
        after(FIRST), published(FORK, rotation(FORK, THIEF, K3)), fault=0, why="another statement"
    ),
    "pinned statements differ in a signature": Case(
        after(FIRST), published(signed(Statement(FIRST.body, []), K2, K1)), fault=0, why="another statement"
    ),
    "rolled back": Case(after(FIRST, SECOND), published(FIRST), fault=1, why="this ring is older"),
    "rolled back to nothing": Case(after(FIRST), published(), fault=0, why="this ring is older"),
    "last revocation left out": Case(
        after(FIRST, make_revocation(ONE, K2)), published(FIRST, SECOND), fault=1, why="another statement"
    ),
    # marks without statements
    "revoked by a mark alone": Case(
        pin(K1),
        published(
            keys=(
                msgspec.structs.replace(
                    pin(K1).keys[0], state="revoked", revoked=Revocation(seconds(day(0)), "compromised")
                ),
            )
        ),
        {ONE: "active"},
    ),
    "retired by a mark alone": Case(
        pin(K1), published(keys=tuple(pin(K1, state="retired", not_after=seconds(day(0))).keys)), {ONE: "active"}
    ),
}


def cases(*, follow_on: bool) -> Any:
    chosen = [name for name, case in CASES.items() if (case.then is not None) == follow_on]
    return pytest.mark.parametrize("name", chosen)


@cases(follow_on=True)
def test_what_a_chain_leads_to_is_trusted(name: str) -> None:
    case = CASES[name]
    assert {key.key_id: key.state for key in follow(case.pins, case.ring).keys} == case.then


@cases(follow_on=False)
def test_the_link_at_fault_is_named(name: str) -> None:
    case = CASES[name]
    with pytest.raises(BrokenChain) as caught:
        follow(case.pins, case.ring)
    assert caught.value.index == case.fault
    assert case.why in caught.value.message
    assert f"statement {case.fault}" in caught.value.message


@cases(follow_on=True)
def test_trust_can_be_pinned_and_followed_again(name: str) -> None:
    case = CASES[name]
    trusted = follow(case.pins, case.ring)
    assert follow(trusted, case.ring) == trusted
    assert KeyRing.from_json(trusted.to_json()) == trusted


def test_a_broken_chain_is_a_refusal_that_says_what_to_do() -> None:
    with pytest.raises(Refused) as caught:
        follow(pin(K1), published(SECOND))
    assert (caught.value.code, caught.value.field) == ("broken_chain", "statements[0]")
    assert "only what was pinned" in caught.value.hint


@pytest.mark.parametrize("use", ["verify", "receipts"])
def test_a_key_is_trusted_for_what_the_pinned_one_was(use: Use) -> None:
    assert {key.use for key in follow(pin(K1, use=use), published(FIRST, SECOND)).keys} == {use}


def test_nothing_of_the_published_entries_is_taken_over() -> None:
    generous = pin(K2, not_before="2000-01-01T00:00:00Z", use="recovery").keys[0]
    key = follow(pin(K1), published(FIRST, keys=(generous,))).by_id(TWO)
    assert key == RingKey.of(TWO, K2.public_key, "active", "receipts", day(1))


def test_what_was_pinned_itself_stays() -> None:
    pinned = pin(B1, use="verify").with_key(pin(K1).keys[0])
    assert follow(pinned, published(FIRST)).by_id(B1.key_id) == pinned.keys[0]


@pytest.mark.parametrize("part", ["statement", "body", "signature"])
def test_an_unknown_field_of_a_statement_is_refused_on_reading(part: str) -> None:
    value = json.loads(after(FIRST).to_json())
    [statement] = value["statements"]
    {"statement": statement, "body": statement["body"], "signature": statement["signatures"][0]}[part]["note"] = 1
    with pytest.raises(InvalidKeyRing, match="note"):
        KeyRing.from_json(json.dumps(value))


# --- what verify says of receipts -------------------------------------------------------------------------------

HOUR = timedelta(hours=1)


def key_valid(signer: SeedSigner, signed_at: datetime, ring: KeyRing, at: datetime | None = None) -> str:
    """What verify says of a receipt: `passed`, or why the key does not count."""
    report = verify(make_record(signer=signer, clock=FrozenClock(signed_at)), ring, at=at)
    [check] = [check for check in report.checks if check.name == "key_valid"]
    assert report.ok == (check.status == "passed")
    return check.reason or check.status


SCHEDULED = follow(pin(K1), published(FIRST))
REVOKED = {
    reason: follow(pin(K1), published(FIRST, make_revocation(ONE, K2, day(3), reason)))
    for reason in ("superseded", "lost", "compromised")
}
EMERGENCY = {
    "lost": follow(pin(K1, recovery=RECOVERY), published(LOST)),
    "compromised": follow(pin(K1, recovery=RECOVERY), published(COMPROMISED)),
}


@pytest.mark.parametrize(
    ("signer", "signed_at", "ring", "at", "said"),
    [
        pytest.param(*case, id=name)
        for name, case in {
            "old key before its rotation": (K1, day(1) - HOUR, SCHEDULED, None, "passed"),
            "old key at its rotation": (K1, day(1), SCHEDULED, None, "not before the end of TEST-v1"),
            "new key before its rotation": (K2, day(1) - HOUR, SCHEDULED, None, "before TEST-v2-2026-01 became valid"),
            "new key at its rotation": (K2, day(1), SCHEDULED, None, "passed"),
            "superseded, before": (K1, day(0), REVOKED["superseded"], None, "passed"),
            "superseded, after": (K1, day(4), REVOKED["superseded"], None, "not before the end of TEST-v1"),
            "lost, before": (K1, day(0), REVOKED["lost"], None, "passed"),
            "lost, after": (K1, day(4), REVOKED["lost"], None, "not before the end of TEST-v1"),
            "compromised, before": (K1, day(0), REVOKED["compromised"], None, "compromised since 2026-01-05"),
            "compromised, after": (K1, day(4), REVOKED["compromised"], None, "not before the end of TEST-v1"),
            "compromised, asked as of before": (K1, day(0), REVOKED["compromised"], day(2), "passed"),
            "compromised, asked as of then": (K1, day(0), REVOKED["compromised"], day(3), "no receipt of it counts"),
            "superseded, asked as of after": (K1, day(0), REVOKED["superseded"], day(5), "passed"),
            "lost, asked as of before it was signed": (K1, day(0), REVOKED["lost"], day(-1), "later than the time"),
            "emergency after loss, before": (K1, day(0), EMERGENCY["lost"], None, "passed"),
            "emergency after loss, after": (K1, day(1), EMERGENCY["lost"], None, "not before the end of TEST-v1"),
            "emergency after compromise, before": (K1, day(0), EMERGENCY["compromised"], None, "no receipt of it"),
            "emergency after compromise, as of before": (K1, day(0), EMERGENCY["compromised"], day(0), "passed"),
            "emergency after compromise, new key": (K2, day(1), EMERGENCY["compromised"], None, "passed"),
            "recovery key signs receipts": (RECOVERY, day(0), EMERGENCY["lost"], None, "signs no receipts"),
        }.items()
    ],
)
def test_verify_says_which_case_a_receipt_is(
    signer: SeedSigner, signed_at: datetime, ring: KeyRing, at: datetime | None, said: str
) -> None:
    assert said in key_valid(signer, signed_at, ring, at)


def test_the_newest_key_of_a_chain_verifies_for_who_pinned_the_oldest() -> None:
    assert key_valid(K3, day(2), follow(pin(K1), published(FIRST, SECOND))) == "passed"
    assert not verify(make_record(signer=K3, clock=FrozenClock(day(2))), pin(K1)).ok


def test_an_emergency_does_not_lengthen_the_life_of_an_expired_key() -> None:
    expired = pin(K1, recovery=RECOVERY, not_after=seconds(day(0)))
    late = rotation(None, K1, K2, RECOVERY, K2, reason="lost", at=day(9))
    assert "not before the end" in key_valid(K1, day(5), expired)
    assert "not before the end" in key_valid(K1, day(5), follow(expired, published(late)))


# --- the owner's side -------------------------------------------------------------------------------------------


def test_the_owners_ring_moves_as_the_verifiers_does() -> None:
    ring = make_keyring(K1, K2, recovery=RECOVERY)
    moved = move(ring, make_rotation(ring, K1, K2, day(1)))
    assert moved.keys == follow(ring, moved).keys
    assert [statement.body for statement in moved.statements] == [FIRST.body]


def test_a_body_names_the_statement_before_it() -> None:
    ring = move(make_keyring(K1), make_rotation(make_keyring(K1), K1, K2, day(1)))
    assert rotation_body(ring, pin(K3).keys[0], day(2), "scheduled") == SECOND.body


def test_a_move_keeps_every_public_key() -> None:
    ring = make_keyring(K1, K2, K3, recovery=RECOVERY)
    moved = move(ring, make_rotation(ring, K1, K2, day(1)))
    assert [key.public_key for key in moved.keys] == [key.public_key for key in ring.keys]


def test_a_move_keeps_what_it_does_not_know() -> None:
    ring = KeyRing.from_json(make_keyring(K1, K2).to_json().replace(b'"keys"', b'"note":"ours","keys"'))
    assert move(ring, make_rotation(ring, K1, K2, day(1))).unknown() == ["note"]


def test_a_ring_without_a_signing_key_can_not_rotate() -> None:
    with pytest.raises(IllegalMove) as caught:
        rotation_body(KeyRing.empty(), pin(K2).keys[0], day(1), "scheduled")
    assert "pith-build keys generate" in caught.value.hint


def test_a_statement_of_an_earlier_ring_is_refused() -> None:
    """Prepared, and then another came first."""
    ring = make_keyring(K1)
    late, first = make_rotation(ring, K1, K3, day(2)), make_rotation(ring, K1, K2, day(1))
    with pytest.raises(IllegalMove, match="previous_sha256"):
        move(move(ring, first), late)


def test_after_the_active_key_was_revoked_the_body_still_names_it() -> None:
    ring = make_keyring(K1, recovery=RECOVERY)
    revoked = move(ring, make_revocation(ONE, RECOVERY, day(1), "compromised"))
    assert rotation_body(revoked, pin(K2).keys[0], day(2), "compromised").from_ == ONE


def test_a_key_that_was_never_active_is_not_what_a_rotation_is_from() -> None:
    ring = make_keyring(K1, K2, recovery=RECOVERY)
    for statement in (make_revocation(TWO, K1, day(1)), make_revocation(ONE, RECOVERY, day(2), "lost")):
        ring = move(ring, statement)
    assert rotation_body(ring, pin(K3).keys[0], day(3), "lost").from_ == ONE


@pytest.mark.parametrize(
    ("ring", "key_id", "why"),
    [
        (make_keyring(K1, K2), ONE, "is the active key"),
        (make_keyring(K1, K2), "nobody", "nothing is known"),
        (after(FIRST), ONE, "retired already"),
        (after(FIRST, make_revocation(ONE, K2)), ONE, "revoked already"),
    ],
    ids=["active", "unknown", "retired", "revoked"],
)
def test_only_a_key_that_waits_or_belongs_to_others_is_retired(ring: KeyRing, key_id: str, why: str) -> None:
    with pytest.raises(IllegalMove, match=why):
        retire(ring, key_id, day(1))


def test_a_retired_key_stays_with_its_end() -> None:
    key = retire(pin(K2, use="verify"), TWO, day(1)).by_id(TWO)
    assert key is not None
    assert (key.state, key.not_after) == ("retired", seconds(day(1)))


def test_a_key_that_only_waited_has_no_time_in_which_it_counts() -> None:
    key = retire(make_keyring(K1, K2), TWO, day(1)).by_id(TWO)
    assert key is not None
    assert key.state == "retired"
    assert key.not_after == key.not_before is not None


def test_a_retired_recovery_key_moves_nothing() -> None:
    ring = retire(make_keyring(K1, recovery=RECOVERY), RECOVERY.key_id, day(1))
    with pytest.raises(IllegalMove, match="no recovery key"):
        move(ring, rotation(None, K1, K2, RECOVERY, K2, reason="lost"))
