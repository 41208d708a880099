"""Rings and statements as anyone can write them, for the tests of rotation."""

from __future__ import annotations

from copy import copy
from datetime import datetime, timedelta
from typing import Any

import msgspec

from pith_builder.keyring import KeyRing, RingKey, Use
from pith_builder.rotation import move
from pith_builder.signing import SeedSigner, encode_base64, fingerprint
from pith_builder.statements import Reason, RotationBody, Statement, body_sha256
from pith_builder.testing import START, make_revocation, make_signer
from pith_builder.times import seconds

K1, K2, K3, K4 = (make_signer(n) for n in (1, 2, 3, 4))
THIEF, RECOVERY, OTHER_RECOVERY = make_signer(66), make_signer(90), make_signer(91)
B1, B2 = make_signer(11), make_signer(12)  # keys of another issuer
ONE, TWO, THREE = K1.key_id, K2.key_id, K3.key_id


def day(n: int) -> datetime:
    """The n-th day after the keys were made, in whole seconds."""
    return (START + timedelta(days=n)).replace(microsecond=0)


def pin(*signers: SeedSigner, use: Use = "receipts", recovery: SeedSigner | None = None, **changes: Any) -> KeyRing:
    """A verifier's ring: these keys, all active, and no statement."""
    keys = [RingKey.of(signer.key_id, signer.public_key, "active", use) for signer in signers]
    keys = [msgspec.structs.replace(key, **changes) for key in keys]
    if recovery is not None:
        keys.append(RingKey.of(recovery.key_id, recovery.public_key, "active", "recovery"))
    return KeyRing("1.0", keys, [])


def rotates(
    previous: Statement | None, old: SeedSigner, new: SeedSigner, *signers: SeedSigner, on: int = 1, **changes: Any
) -> Statement:
    """A rotation as anyone can write it, on a day, signed by both keys unless other signers are given."""
    body = RotationBody(
        old.key_id,
        fingerprint(old.public_key),
        new.key_id,
        encode_base64(new.public_key),
        seconds(day(on)),
        "scheduled",
        None if previous is None else body_sha256(previous.body),
    )
    return signed(Statement(msgspec.structs.replace(body, **changes), []), *(signers or (old, new)))


def revokes(key_id: str, signer: SeedSigner, on: int = 1, reason: Reason = "superseded") -> Statement:
    return make_revocation(key_id, signer, day(on), reason)


def signed(statement: Statement, *signers: SeedSigner) -> Statement:
    for signer in signers:
        statement = statement.signed_by(signer)
    return statement


def named(signer: SeedSigner, key_id: str) -> SeedSigner:
    """The same key, signing under another id."""
    other = copy(signer)
    other.key_id = key_id
    return other


def after(*statements: Statement, recovery: SeedSigner | None = None) -> KeyRing:
    """The ring of the owner after these statements, as it would be pinned whole."""
    return moved_from(pin(K1, recovery=recovery), *statements)


def moved_from(ring: KeyRing, *statements: Statement) -> KeyRing:
    """A ring after these statements."""
    for statement in statements:
        ring = move(ring, statement)
    return ring
