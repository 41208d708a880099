"""What a verifier pinned decides what it follows: honest rings are followed, and nothing unverified is taken along."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

import msgspec
import pytest

from pith_builder import KeyRing, SeedSigner, follow
from pith_builder.errors import InvalidKeyRing
from pith_builder.keyring import MAX_STATEMENTS, Revocation, RingKey, Use
from pith_builder.rotation import BrokenChain
from pith_builder.statements import RevocationBody, RotationBody, Statement, body_sha256
from pith_builder.testing import START, make_signer
from pith_builder.times import seconds

K1, K2, K3, OTHER = (make_signer(n) for n in (1, 2, 3, 9))
DAY = timedelta(days=1)


def pins(*keys: RingKey, statements: list[Statement] | None = None) -> KeyRing:
    return KeyRing("1.0", list(keys), statements or [])


def key(signer: SeedSigner, use: Use = "verify", **changes: object) -> RingKey:
    return msgspec.structs.replace(RingKey.of(signer.key_id, signer.public_key, "active", use), **changes)


def rotation(previous: Statement | None, old: SeedSigner, new: SeedSigner, at: datetime, *by: SeedSigner) -> Statement:
    before, after = key(old), key(new)
    body = RotationBody(
        before.key_id,
        before.fingerprint,
        after.key_id,
        after.public_key_b64,
        seconds(at),
        "scheduled",
        body_sha256(previous.body) if previous else None,
    )
    statement = Statement(body, [])
    for signer in by or (old, new):
        statement = statement.signed_by(signer)
    return statement


def revocation(
    signer: SeedSigner, of: SeedSigner, reason: str = "superseded", since: str = "2026-01-01T00:00:00Z"
) -> Statement:
    return Statement(RevocationBody(of.key_id, since, reason), []).signed_by(signer)  # type: ignore[arg-type]


FIRST = rotation(None, K1, K2, START + DAY)
SECOND = rotation(FIRST, K2, K3, START + 2 * DAY)


def states(ring: KeyRing) -> dict[str, str]:
    return {k.key_id: k.state for k in ring.keys}


def test_keys_of_one_issuer_that_were_pinned_one_by_one_follow_each_other() -> None:
    trusted = follow(pins(key(K1), key(K2)), pins(statements=[FIRST, SECOND]))
    assert states(trusted) == {K1.key_id: "retired", K2.key_id: "retired", K3.key_id: "active"}


@pytest.mark.parametrize(
    "old",
    [
        key(K1, state="retired"),
        key(K1, state="revoked", revoked=Revocation("2026-01-02T00:00:00Z", "compromised")),
    ],
    ids=["retired", "revoked"],
)
def test_a_rotation_from_before_the_pin_is_passed_over(old: RingKey) -> None:
    trusted = follow(pins(old, key(K2)), pins(statements=[FIRST, SECOND]))
    assert states(trusted) == {K1.key_id: old.state, K2.key_id: "retired", K3.key_id: "active"}


def test_a_rotation_from_before_the_pin_tells_whose_the_older_key_is() -> None:
    statements = [FIRST, revocation(K2, K1)]
    trusted = follow(pins(key(K1, state="retired"), key(K2)), pins(statements=statements))
    assert states(trusted)[K1.key_id] == "revoked"


def test_an_unsigned_rotation_from_before_the_pin_tells_nothing() -> None:
    unsigned = msgspec.structs.replace(FIRST, signatures=[])
    with pytest.raises(BrokenChain):
        follow(pins(key(K1, state="retired"), key(K2)), pins(statements=[unsigned, revocation(K2, K1)]))


def test_a_revocation_that_the_pin_knows_is_passed_over() -> None:
    known = key(K1, state="revoked", revoked=Revocation("2025-01-01T00:00:00Z", "compromised"))
    trusted = follow(pins(known, key(K2)), pins(statements=[FIRST, revocation(K2, K1)]))
    assert trusted.by_id(K1.key_id) == known


def test_a_revocation_that_is_replayed_is_refused() -> None:
    again = revocation(K2, K1)
    with pytest.raises(BrokenChain) as caught:
        follow(pins(key(K1)), pins(statements=[FIRST, again, again]))
    assert caught.value.index == 2


@pytest.mark.parametrize(
    "junk", [revocation(OTHER, OTHER), msgspec.structs.replace(revocation(OTHER, OTHER), signatures=[])]
)
def test_what_was_passed_over_at_the_end_is_not_taken_along(junk: Statement) -> None:
    trusted = follow(pins(key(K1)), pins(statements=[FIRST, junk]))
    assert trusted.statements == [FIRST]
    assert states(follow(trusted, pins(statements=[FIRST, SECOND])))[K3.key_id] == "active"


def test_a_revocation_may_be_repeated_for_the_worse_only() -> None:
    lost = revocation(K2, K1, "lost", "2026-01-05T00:00:00Z")
    stolen = revocation(K2, K1, "compromised", "2026-01-04T00:00:00Z")
    earlier = revocation(K2, K1, "compromised", "2026-01-03T00:00:00Z")
    trusted = follow(pins(key(K1)), pins(statements=[FIRST, lost, stolen, earlier]))
    assert trusted.keys[0].revoked == Revocation("2026-01-03T00:00:00Z", "compromised")
    milder = follow(pins(key(K1)), pins(statements=[FIRST, stolen, lost]))
    assert milder.keys[0].revoked == Revocation("2026-01-04T00:00:00Z", "compromised")


def test_an_expired_recovery_key_moves_nothing() -> None:
    recovery = key(OTHER, "recovery", not_after=seconds(START))
    body = msgspec.structs.replace(FIRST.body, reason="lost")
    statement = Statement(body, []).signed_by(OTHER).signed_by(K2)
    with pytest.raises(BrokenChain, match="no recovery key"):
        follow(pins(key(K1, "receipts"), recovery), pins(statements=[statement]))


def test_a_ring_of_absurd_length_is_refused_at_once() -> None:
    with pytest.raises(InvalidKeyRing, match="statements"):
        pins(statements=[FIRST] * (MAX_STATEMENTS + 1))


def test_a_chain_of_hundreds_is_followed() -> None:
    chain: list[Statement] = []
    signers = [make_signer(100 + n) for n in range(200)]
    for n, (old, new) in enumerate(itertools.pairwise(signers)):
        chain.append(rotation(chain[-1] if chain else None, old, new, START + (n + 1) * DAY))
    trusted = follow(pins(key(signers[0])), pins(statements=chain))
    assert states(trusted)[signers[-1].key_id] == "active"
