"""Tests of rotation: a pinned ring, a published one, and what a verifier trusts (DESIGN "Statement")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import msgspec

from pith_builder.keyring import KeyRing, Revocation
from pith_builder.statements import RevocationBody, Statement, body_sha256
from pith_builder.testing import make_keyring
from pith_builder.testing.vectors.model import Case, invalid, valid
from pith_builder.testing.vectors.real import Real
from pith_builder.testing.vectors.statements import (
    B1,
    B2,
    K1,
    K2,
    K3,
    K4,
    ONE,
    OTHER_RECOVERY,
    RECOVERY,
    THIEF,
    THREE,
    TWO,
    after,
    day,
    named,
    pin,
    revokes,
    rotates,
    signed,
)
from pith_builder.times import seconds

FIRST = rotates(None, K1, K2)
SECOND = rotates(FIRST, K2, K3, on=2)
FORK = rotates(None, K1, THIEF)
LOST = rotates(None, K1, K2, RECOVERY, K2, reason="lost")
COMPROMISED = rotates(None, K1, K2, RECOVERY, K2, reason="compromised")
STOLEN = revokes(ONE, RECOVERY, reason="compromised")
IS_LOST = revokes(ONE, RECOVERY, reason="lost")
IS_OLD = revokes(ONE, K2, 2)
MOVED = rotates(None, RECOVERY, OTHER_RECOVERY)
WITH_RECOVERY = pin(K1, recovery=RECOVERY)


def rotation(real: Real) -> Iterator[Case]:
    del real  # the registry has rotated no key yet
    for table, make, flag in (
        (FOLLOWED, valid, "Rotation"),
        (BROKEN, invalid, "Rotation"),
        (RECOVERED, valid, "Recovery"),
        (NOT_RECOVERED, invalid, "Recovery"),
        (REVOKED, valid, "Revocation"),
        (NOT_REVOKED, invalid, "Revocation"),
        (PINNED, valid, "Pins"),
        (NOT_PINNED, invalid, "Pins"),
    ):
        yield from told(table, make, flag)


#: A pinned ring, and a ring or the statements of one that lists no key.
Table = dict[str, tuple[KeyRing, KeyRing | tuple[Statement, ...]]]


def told(table: Table, make: Callable[..., Case], flag: str) -> Iterator[Case]:
    """The tests of a table."""
    for comment, (pins, ring) in table.items():
        published = ring if isinstance(ring, KeyRing) else KeyRing("1.0", [], list(ring))
        yield make(comment, flag, pins=pins.to_json().decode(), ring=published.to_json().decode())


FOLLOWED: Table = {
    "no statement: the pins as they are": (pin(K1), ()),
    "1 to 2": (pin(K1), (FIRST,)),
    "1 to 2 to 3, pinned 1": (pin(K1), (FIRST, SECOND)),
    "1 to 2 to 3, pinned 2": (pin(K2), (FIRST, SECOND)),
    "1 to 2 to 3, pinned 3": (pin(K3), (FIRST, SECOND)),
    "about keys that nobody pinned: passed over": (pin(K4), (FIRST, SECOND)),
    "the new key was pinned as next": (make_keyring(K1, K2), (FIRST, SECOND)),
    "keys that the ring lists and no statement leads to": (pin(K1), KeyRing("1.0", make_keyring(THIEF).keys, [FIRST])),
    "takes effect when the key became valid": (pin(K1, not_before=seconds(day(1))), (FIRST,)),
    "takes effect as the key ends": (pin(K1, not_after=seconds(day(1))), (FIRST,)),
    "a rotation shortens it": (pin(K1, not_after=seconds(day(9))), (FIRST,)),
    "takes effect in the same second as the rotation before": (pin(K1), (FIRST, rotates(FIRST, K2, K3, on=1))),
    "any reason but the two emergencies is a rotation in good order": (
        pin(K1),
        (rotates(None, K1, K2, reason="because \u00e9"),),
    ),
    "signatures in any order": (pin(K1), (rotates(None, K1, K2, K2, K1),)),
}

BROKEN: Table = {
    "the first link is missing": (pin(K1), (SECOND,)),
    "a link in the middle is missing": (pin(K1), (FIRST, rotates(SECOND, K3, K4, on=3))),
    "a missing link, mended by hand": (pin(K1), (FIRST, rotates(FIRST, K3, K4))),
    "reordered": (pin(K1), (SECOND, FIRST)),
    "reordered, though neither is about the pinned key": (pin(K3), (SECOND, FIRST)),
    "a fork": (pin(K1), (FIRST, rotates(FIRST, K1, THIEF))),
    "a fork that names the same previous statement": (pin(K1), (FIRST, FORK)),
    "a replay of the last": (pin(K1), (FIRST, FIRST)),
    "a replay of the first": (pin(K1), (FIRST, SECOND, FIRST)),
    "a replay whose previous_sha256 is mended": (pin(K1), (FIRST, SECOND, rotates(SECOND, K1, K2))),
    "the first names a previous one": (pin(K1), (rotates(SECOND, K1, K2),)),
    "the second names none": (pin(K1), (FIRST, rotates(None, K2, K3, on=2))),
    "previous_sha256 in capitals": (
        pin(K1),
        (FIRST, rotates(FIRST, K2, K3, on=2, previous_sha256=body_sha256(FIRST.body).upper())),
    ),
    "signed by a stranger": (pin(K1), (rotates(None, K1, K2, THIEF, K2),)),
    "signed by a stranger under the right id": (pin(K1), (rotates(None, K1, K2, named(THIEF, ONE), K2),)),
    "the second link is signed by the key before the old one": (
        pin(K1),
        (FIRST, rotates(FIRST, K2, THIEF, K1, THIEF)),
    ),
    "not signed": (pin(K1), (Statement(FIRST.body, []),)),
    "the old key's signature is missing": (pin(K1), (rotates(None, K1, K2, K2),)),
    "the new key's signature is missing": (pin(K1), (rotates(None, K1, K2, K1),)),
    "one signature too many": (pin(K1), (FIRST.signed_by(THIEF),)),
    "a signature twice": (pin(K1), (FIRST.signed_by(K1),)),
    "a signature that is not canonical base64": (
        pin(K1),
        (
            msgspec.structs.replace(
                FIRST,
                signatures=[
                    msgspec.structs.replace(s, signature_b64=s.signature_b64.rstrip("=")) for s in FIRST.signatures
                ],
            ),
        ),
    ),
    "the body was changed after signing": (
        pin(K1),
        (Statement(msgspec.structs.replace(FIRST.body, effective_at=seconds(day(2))), FIRST.signatures),),
    ),
    "the old key under another fingerprint": (pin(K1), (rotates(None, K1, K2, from_fingerprint="0" * 32),)),
    "back-dated: before the old key became valid": (
        pin(K1, not_before=seconds(day(1) + timedelta(seconds=1))),
        (FIRST,),
    ),
    "back-dated: before the rotation that it follows": (pin(K1), (FIRST, rotates(FIRST, K2, K3, on=0))),
    "the old key had expired": (pin(K1, not_after=seconds(day(0))), (FIRST,)),
    "takes effect at no time": (pin(K1), (rotates(None, K1, K2, effective_at="soon"),)),
    "takes effect at a time with a fraction": (
        pin(K1),
        (rotates(None, K1, K2, effective_at="2026-01-03T03:04:05.000000Z"),),
    ),
    "to itself": (pin(K1), (rotates(None, K1, K1, K1),)),
    "back to a retired key": (pin(K1), (FIRST, rotates(FIRST, K2, K1))),
    "to the recovery key": (WITH_RECOVERY, (rotates(None, K1, RECOVERY),)),
    "to a known id with another key": (make_keyring(K1, K2), (rotates(None, K1, named(THIEF, TWO)),)),
    "to a known key under another id": (make_keyring(K1, K2), (rotates(None, K1, named(K2, "x")),)),
    "to no key": (pin(K1), (rotates(None, K1, K2, to_public_key_b64="AAAA"),)),
    "to a key without an id": (pin(K1), (rotates(None, K1, named(K2, "")),)),
    "to a key whose id can't be": (pin(K1), (rotates(None, K1, named(K2, "a b")),)),
    "from a key that waits": (make_keyring(K1, K2), (rotates(None, K2, K3),)),
}

RECOVERED: Table = {
    "lost: the pinned recovery key signs": (WITH_RECOVERY, (LOST,)),
    "compromised: the pinned recovery key signs": (WITH_RECOVERY, (COMPROMISED,)),
    "of an expired key": (pin(K1, recovery=RECOVERY, not_after=seconds(day(0))), (LOST,)),
    "an emergency may take effect before the old key became valid": (
        pin(K1, recovery=RECOVERY, not_before=seconds(day(5))),
        (COMPROMISED,),
    ),
    "after a revocation": (
        WITH_RECOVERY,
        (STOLEN, rotates(STOLEN, K1, K2, RECOVERY, K2, reason="compromised", on=2)),
    ),
    "then a rotation in good order": (WITH_RECOVERY, (COMPROMISED, rotates(COMPROMISED, K2, K3, on=2))),
    "the recovery key rotates itself": (pin(RECOVERY, use="recovery"), (MOVED,)),
    "the recovery key that was rotated to recovers": (
        WITH_RECOVERY,
        (MOVED, rotates(MOVED, K1, K2, OTHER_RECOVERY, K2, reason="lost", on=2)),
    ),
}

NOT_RECOVERED: Table = {
    "a recovery key that only the ring lists": (pin(K1), KeyRing("1.0", pin(recovery=RECOVERY).keys, [LOST])),
    "another recovery key than the pinned one": (pin(K1, recovery=OTHER_RECOVERY), (LOST,)),
    "a stranger under the id of the recovery key": (
        WITH_RECOVERY,
        (rotates(None, K1, THIEF, named(THIEF, RECOVERY.key_id), THIEF, reason="lost"),),
    ),
    "an emergency signed by the old key": (WITH_RECOVERY, (rotates(None, K1, K2, reason="compromised"),)),
    "an emergency without the new key's signature": (WITH_RECOVERY, (rotates(None, K1, K2, RECOVERY, reason="lost"),)),
    "an emergency signed by the old key too": (
        WITH_RECOVERY,
        (rotates(None, K1, K2, RECOVERY, K2, K1, reason="lost"),),
    ),
    "from a retired key": (WITH_RECOVERY, (FIRST, rotates(FIRST, K1, K3, RECOVERY, K3, reason="lost"))),
    "from a revoked key beside an active one": (
        WITH_RECOVERY,
        (FIRST, IS_OLD, rotates(IS_OLD, K1, K3, RECOVERY, K3, reason="compromised", on=3)),
    ),
    "a rotation in good order signed by the recovery key": (WITH_RECOVERY, (rotates(None, K1, K2, RECOVERY, K2),)),
    "a rotation in good order from a revoked key": (WITH_RECOVERY, (IS_LOST, rotates(IS_LOST, K1, K2))),
    "a recovery key that was retired": (WITH_RECOVERY, (MOVED, rotates(MOVED, K1, K2, RECOVERY, K2, reason="lost"))),
    "a recovery key that has expired": (
        KeyRing("1.0", [*pin(K1).keys, *pin(RECOVERY, use="recovery", not_after=seconds(day(1))).keys], []),
        (LOST,),
    ),
}

REVOKED: Table = {
    "a retired key, by the active one": (pin(K1), (FIRST, IS_OLD)),
    "a retired key, by the next but one": (pin(K1), (FIRST, SECOND, revokes(ONE, K3, 3))),
    "a key older than the pinned one: passed over": (pin(K2), (FIRST, SECOND, revokes(ONE, K3, 3))),
    "a key that nobody saw: passed over": (pin(K1), (FIRST, revokes(THREE, K2, 3))),
    "the active key, by the recovery key": (WITH_RECOVERY, (STOLEN,)),
    "a key that waited ends before it began": (make_keyring(K1, K2), (revokes(TWO, K1, 3),)),
    "again for the worse: lost, then compromised": (pin(K1), (FIRST, IS_OLD, revokes(ONE, K2, 9, "compromised"))),
    "again for the worse: compromised since an earlier time": (
        pin(K1),
        (FIRST, revokes(ONE, K2, 9, "compromised"), revokes(ONE, K2, 8, "compromised")),
    ),
    "for the better, known to the pin before: passed over": (
        KeyRing(
            "1.0",
            [
                *pin(K1, state="revoked", revoked=Revocation(seconds(day(0)), "compromised")).keys,
                *pin(K2).keys,
            ],
            [],
        ),
        (FIRST, IS_OLD),
    ),
    "again, no worse: passed over": (pin(K1), (FIRST, revokes(ONE, K2, 3), revokes(ONE, K2, 2))),
    "compromised again, since a later time: passed over": (
        pin(K1),
        (FIRST, revokes(ONE, K2, 3, "compromised"), revokes(ONE, K2, 4, "compromised")),
    ),
    "a rotation behind a revocation that was passed over names it all the same": (
        pin(K1),
        (FIRST, IS_OLD, revokes(ONE, K2, 1), rotates(revokes(ONE, K2, 1), K2, K3, on=3)),
    ),
    "a rotation behind a revocation names it": (pin(K1), (FIRST, IS_OLD, rotates(IS_OLD, K2, K3, on=3))),
}

NOT_REVOKED: Table = {
    "the active key, by itself": (WITH_RECOVERY, (revokes(ONE, K1),)),
    "the active key, by a retired one": (pin(K1), (FIRST, revokes(TWO, K1))),
    "the recovery key, by the active one": (WITH_RECOVERY, (revokes(RECOVERY.key_id, K1),)),
    "by a stranger": (pin(K1), (FIRST, revokes(ONE, THIEF))),
    "by a recovery key that is not pinned": (pin(K1), (STOLEN,)),
    "by a stranger under the id of the active key": (pin(K1), (FIRST, revokes(ONE, named(THIEF, TWO)))),
    "with a signature too many": (pin(K1), (FIRST, IS_OLD.signed_by(K1))),
    "without a signature": (pin(K1), (FIRST, Statement(RevocationBody(ONE, seconds(day(2)), "lost"), []))),
    "since no time": (pin(K1), (FIRST, signed(Statement(RevocationBody(ONE, "long ago", "lost"), []), K2))),
    "replayed": (pin(K1), (FIRST, IS_OLD, IS_OLD)),
    "taken out of the middle": (pin(K1), (FIRST, rotates(IS_OLD, K2, K3, on=3))),
}

PINNED: Table = {
    "one of two pinned issuers": (pin(K1, B1, use="verify"), (FIRST,)),
    "pinned for verifying, as the registry's key is": (pin(K1, use="verify"), (FIRST, SECOND)),
    "pinned for verifying: revoked by the key that followed": (pin(K1, use="verify"), (FIRST, IS_OLD)),
    "to a key that was pinned too": (pin(K1, K2, use="verify"), (FIRST, SECOND)),
    "a rotation from before the pin is passed over: retired": (
        KeyRing("1.0", [*pin(K1, use="verify", state="retired").keys, *pin(K2, use="verify").keys], []),
        (FIRST, SECOND),
    ),
    "a rotation from before the pin tells whose the older key is": (
        KeyRing("1.0", [*pin(K1, use="verify", state="retired").keys, *pin(K2, use="verify").keys], []),
        (FIRST, IS_OLD),
    ),
    "pinned statements are the first of the ring's": (after(FIRST), (FIRST, SECOND)),
    "pinned statements are all of the ring's": (after(FIRST, SECOND), (FIRST, SECOND)),
    "pinned with a revocation": (after(FIRST, IS_OLD), (FIRST, IS_OLD, rotates(IS_OLD, K2, K3, on=3))),
    "a mark of revocation without a statement counts for nothing": (
        pin(K1),
        pin(K1, state="revoked", revoked=Revocation(seconds(day(0)), "compromised")),
    ),
    "an end without a statement counts for nothing": (pin(K1), pin(K1, state="retired", not_after=seconds(day(0)))),
    "another key under the pinned id in the ring counts for nothing": (pin(K1), pin(named(THIEF, ONE))),
    "a mark of revocation in the pins counts": (
        pin(K1, state="revoked", revoked=Revocation(seconds(day(0)), "compromised")),
        (),
    ),
}

NOT_PINNED: Table = {
    "another statement in the place of a pinned one": (after(FIRST), (FORK, rotates(FORK, THIEF, K3))),
    "a pinned statement with its signatures in another order": (after(FIRST), (rotates(None, K1, K2, K2, K1),)),
    "rolled back": (after(FIRST, SECOND), (FIRST,)),
    "rolled back to nothing": (after(FIRST), ()),
    "the last revocation left out": (after(FIRST, IS_OLD), (FIRST, SECOND)),
    "a revocation of one issuer's key by another's": (pin(K1, B1, use="verify"), (revokes(B1.key_id, K1),)),
    "the same after a rotation": (pin(K1, B1, use="verify"), (FIRST, revokes(B1.key_id, K2))),
    "a revocation of a retired key by another issuer's": (
        pin(K1, B1, use="verify"),
        (FIRST, rotates(FIRST, B1, B2), revokes(ONE, B2)),
    ),
    "a rotation of one issuer's key by another's": (
        pin(K1, B1, use="verify"),
        (rotates(None, B1, THIEF, K1, THIEF),),
    ),
    "an emergency of a key that was pinned for verifying": (
        KeyRing("1.0", [*pin(K1, use="verify").keys, *pin(RECOVERY, use="recovery").keys], []),
        (LOST,),
    ),
    "once begun, every rotation must follow": (pin(K1), (FIRST, rotates(FIRST, B1, B2))),
    "a pinned key that was revoked is rotated from in good order": (
        pin(K1, state="revoked", revoked=Revocation(seconds(day(0)), "compromised")),
        (FIRST,),
    ),
}
