"""Tests of rotation at the edges of its rules (PROTOCOL §10): what counts as earlier, as following, and as begun."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import msgspec

from pith_builder.keyring import KeyRing, Revocation, RingKey
from pith_builder.statements import Statement
from pith_builder.testing import make_keyring, make_seed
from pith_builder.testing.vectors import chains
from pith_builder.testing.vectors.chains import (
    COMPROMISED,
    FIRST,
    IS_OLD,
    LOST,
    MOVED,
    SECOND,
    STOLEN,
    WITH_RECOVERY,
    Table,
)
from pith_builder.testing.vectors.curve import NEUTRAL, ORDER_2, Forger, encode
from pith_builder.testing.vectors.model import Case, invalid, valid
from pith_builder.testing.vectors.real import Real
from pith_builder.testing.vectors.statements import (
    B1,
    B2,
    K1,
    K2,
    K3,
    ONE,
    OTHER_RECOVERY,
    RECOVERY,
    THIEF,
    THREE,
    TWO,
    after,
    day,
    moved_from,
    pin,
    revokes,
    rotates,
)
from pith_builder.times import seconds


def rotation(real: Real) -> Iterator[Case]:
    yield from chains.rotation(real)
    yield from chains.told(EDGES, valid, "Edge")
    yield from chains.told(NO_EDGES, invalid, "Edge")


def _joined(*rings: KeyRing, statements: tuple[Statement, ...] = ()) -> KeyRing:
    return KeyRing("1.0", [key for ring in rings for key in ring.keys], list(statements))


def _revoked(since: int, reason: str) -> KeyRing:
    mark = msgspec.convert({"since": seconds(day(since)), "reason": reason}, Revocation)
    return pin(K1, use="verify", state="revoked", revoked=mark)


def _waits(**changes: object) -> KeyRing:
    ring = make_keyring(K1, K2)
    return ring.replace(keys=[ring.keys[0], msgspec.structs.replace(ring.keys[1], **changes)])


_OLDER = _joined(pin(K1, use="verify", state="retired"), pin(K2, use="verify"))
_OF_OTHERS = rotates(None, K2, K3)
_STRANGE = revokes(THREE, THIEF)
_ALSO_LOST = rotates(None, K1, K2, OTHER_RECOVERY, K2, reason="lost")


def _forged(**how: object) -> Statement:
    forger = Forger(ONE, make_seed(1), **how)  # type: ignore[arg-type]  # the forger's own keywords
    return rotates(None, K1, K2, forger, K2)


EDGES: Table = {
    "a signature that was made by hand": (pin(K1), (_forged(r=12345),)),
    "compromised again since the same time is no worse: passed over": (
        _revoked(2, "compromised"),
        (revokes(ONE, THIEF, 2, "compromised"),),
    ),
    "lost again since an earlier time is no worse: passed over": (
        _revoked(2, "lost"),
        (revokes(ONE, THIEF, 1, "lost"),),
    ),
    "superseded is no worse than lost: passed over": (_revoked(2, "lost"), (revokes(ONE, THIEF, 1),)),
    "a key that waited ends as it would have begun": (_waits(not_before=seconds(day(2))), (revokes(TWO, K1, 3),)),
    "a key that waited, and had an end, ends as it would have begun": (
        _waits(not_before=None, not_after=seconds(day(9))),
        (revokes(TWO, K1, 3),),
    ),
    "pinned for verifying: revoked by the key two rotations on": (
        pin(K1, use="verify"),
        (FIRST, SECOND, revokes(ONE, K3, 3)),
    ),
    "pinned statements count for who came after whom": (
        moved_from(pin(K1, use="verify"), FIRST),
        (FIRST, revokes(ONE, K2, 2)),
    ),
    "the new key takes the use of the old one": (_waits(use="recovery"), (FIRST, IS_OLD)),
    "the new key takes the use of the old one: it waited for another issuer": (_waits(use="verify"), (FIRST, IS_OLD)),
    "a rotation from before the pin may bear a third signature": (_OLDER, (FIRST.signed_by(THIEF), IS_OLD)),
    "a rotation from before the pin, from a key that was revoked since": (
        _joined(_revoked(1, "lost"), pin(K2, use="verify")),
        (FIRST, SECOND),
    ),
    "a rotation from before the pin, to a key that was revoked since": (
        _joined(
            pin(K1, use="verify", state="retired"),
            pin(K2, use="verify", state="revoked", revoked=Revocation(seconds(day(2)), "lost")),
        ),
        (FIRST,),
    ),
    "a rotation from before the pin without the old signature is passed over": (_OLDER, (rotates(None, K1, K2, K2),)),
    "a rotation from before the pin without the new signature is passed over": (_OLDER, (rotates(None, K1, K2, K1),)),
    "a rotation from before the pin under another fingerprint is passed over": (
        _OLDER,
        (rotates(None, K1, K2, from_fingerprint="0" * 32),),
    ),
    "what is passed over begins nothing: a revocation": (pin(K1), (_STRANGE, rotates(_STRANGE, B1, B2))),
    "what is passed over begins nothing: a rotation": (pin(K1), (_OF_OTHERS, rotates(_OF_OTHERS, B1, B2))),
    "a recovery key that ends a second later": (
        _joined(pin(K1), pin(RECOVERY, use="recovery", not_after=seconds(day(1) + timedelta(seconds=1)))),
        (LOST,),
    ),
    "where a recovery key begins is not looked at": (
        _joined(pin(K1), pin(RECOVERY, use="recovery", not_before=seconds(day(9)))),
        (LOST,),
    ),
    "of two recovery keys, the second signs": (
        _joined(pin(K1), pin(RECOVERY, OTHER_RECOVERY, use="recovery")),
        (_ALSO_LOST,),
    ),
    "an emergency keeps an earlier end": (pin(K1, recovery=RECOVERY, not_after=seconds(day(-1))), (COMPROMISED,)),
    "a recovery key that is revoked by the one that it was rotated to": (
        WITH_RECOVERY,
        (MOVED, revokes(RECOVERY.key_id, OTHER_RECOVERY, 2)),
    ),
}

NO_EDGES: Table = {
    "R is the neutral element, and S fits": (pin(K1), (_forged(),)),
    "R is of order 2, and S fits": (pin(K1), (_forged(torsion=ORDER_2),)),
    "R has a part of small order, and S fits but for that": (pin(K1), (_forged(r=12345, torsion=ORDER_2),)),
    "to itself, pinned for verifying": (pin(K1, use="verify"), (rotates(None, K1, K1, K1),)),
    "compromised since an earlier time is a move, and not a stranger's": (
        _revoked(2, "compromised"),
        (revokes(ONE, THIEF, 1, "compromised"),),
    ),
    "compromised is worse than lost, whenever: a move, and not a stranger's": (
        _revoked(2, "lost"),
        (revokes(ONE, THIEF, 9, "compromised"),),
    ),
    "a revocation by the recovery key bears a second signature": (WITH_RECOVERY, (STOLEN.signed_by(K1),)),
    "a revocation by the active key bears that of the recovery key too": (
        WITH_RECOVERY,
        (FIRST, IS_OLD.signed_by(RECOVERY)),
    ),
    "came after, but of another use": (
        _joined(pin(K1, state="retired"), pin(K2, use="verify"), statements=(FIRST,)),
        (FIRST, IS_OLD),
    ),
    "came before": (
        _joined(pin(K1, use="verify"), pin(K2, use="verify", state="retired"), statements=(FIRST,)),
        (FIRST, revokes(TWO, K1, 2)),
    ),
    "of one use, and no rotation leads there": (pin(K1, K2, use="verify"), (IS_OLD,)),
    "a rotation that was passed over tells nothing of who came after whom": (
        _OLDER,
        (rotates(None, K1, K2, K2), IS_OLD),
    ),
    "begun by a revocation": (WITH_RECOVERY, (STOLEN, rotates(STOLEN, B1, B2))),
    "begun by a rotation from before the pin": (_OLDER, (FIRST, rotates(FIRST, B1, B2))),
    "begun by pinned revocations alone": (after(STOLEN, recovery=RECOVERY), (STOLEN, rotates(STOLEN, B1, B2))),
    "from a retired key to one that waits is not from before the pin": (
        _joined(pin(K1, use="verify", state="retired"), pin(K2, use="verify", state="next")),
        (FIRST,),
    ),
    "a recovery key that ends in that second revokes nothing": (
        _joined(pin(K1), pin(RECOVERY, use="recovery", not_after=seconds(day(1)))),
        (STOLEN,),
    ),
    "takes effect a second after the old key ended": (
        pin(K1, not_after=seconds(day(1) - timedelta(seconds=1))),
        (FIRST,),
    ),
    "takes effect in the year 0": (pin(K1), (rotates(None, K1, K2, effective_at="0000-01-01T00:00:00Z"),)),
    "previous_sha256 is no hex": (pin(K1), (FIRST, rotates(FIRST, K2, K3, on=2, previous_sha256="soon"))),
    "to the neutral element, under which one signature fits all": (
        pin(K1),
        (
            rotates(
                None,
                K1,
                K2,
                K1,
                Forger(TWO, make_seed(2)),
                to_public_key_b64=RingKey.of(TWO, encode(NEUTRAL), "active", "verify").public_key_b64,
            ),
        ),
    ),
    "a pinned rotation that lacks a signature tells nothing of who came after whom": (
        _joined(pin(K1, use="verify", state="retired"), pin(K2, use="verify"), statements=(rotates(None, K1, K2, K2),)),
        (rotates(None, K1, K2, K2), IS_OLD),
    ),
}
