"""The moves of a key ring: rotation and revocation, each a pure function old ring -> new ring.

The same function moves the owner's ring and the ring of a verifier who follows: what a move needs is that the keys that
sign it are in the ring that is moved. A verifier's ring begins with the pinned keys, and a statement adds nothing to
it but the key that it names; so a recovery key counts only where it was pinned.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from pith_builder import times
from pith_builder.errors import InvalidKeyRing, KeyUnusable, Refused
from pith_builder.keyring import KeyRing, Revocation, RingKey
from pith_builder.signing import PUBLIC_KEY_BYTES, decode_base64, fingerprint
from pith_builder.statements import RevocationBody, RotationBody, Statement, body_sha256

#: The end of a key that was never active and has no time of its own.
_NEVER = "1970-01-01T00:00:00Z"


class IllegalMove(KeyUnusable):
    """A change of the key ring that its rules forbid."""

    code = "illegal_move"


class BrokenChain(Refused):
    """A chain of statements that can't be followed; `index` is the place of the statement at fault, from 0."""

    code = "broken_chain"

    def __init__(self, index: int, why: str) -> None:
        super().__init__(
            f"statement {index}: {why}",
            field=f"statements[{index}]",
            hint="ask the issuer for the ring; until then trust only what was pinned",
        )
        self.index = index


# --- the owner's side --------------------------------------------------------------------------------------------


def rotation_body(ring: KeyRing, to: RingKey, effective_at: datetime, reason: str) -> RotationBody:
    """The body that moves the ring from its newest signing key to `to`. Raises IllegalMove."""
    old = ring.active() or _last_signing(ring)
    if old is None:
        raise IllegalMove("there is no signing key to rotate from", hint="pith-build keys generate makes the first")
    return RotationBody(
        old.key_id,
        old.fingerprint,
        to.key_id,
        to.public_key_b64,
        times.seconds(effective_at),
        reason,
        body_sha256(ring.statements[-1].body) if ring.statements else None,
    )


def move(ring: KeyRing, statement: Statement) -> KeyRing:
    """The ring after a statement. Raises IllegalMove with the rule that it breaks."""
    return _moved(ring, statement, ring.statements[-1] if ring.statements else None)


def retire(ring: KeyRing, key_id: str, now: datetime) -> KeyRing:
    """The ring with a key retired that isn't the active signing key. Raises IllegalMove."""
    key = _named(ring, key_id)
    if key.state in ("retired", "revoked"):
        raise IllegalMove(f"{key_id} is {key.state} already")
    if key.use == "receipts" and key.state == "active":
        raise IllegalMove(f"{key_id} is the active key", hint="pith-build keys rotate retires it and names the next")
    end = (key.not_before or _NEVER) if key.state == "next" else None  # what only waited has signed nothing
    return ring.with_key(msgspec.structs.replace(key, state="retired", not_after=end or times.seconds(now)))


# --- the verifier's side -----------------------------------------------------------------------------------------


def follow(pins: KeyRing, ring: KeyRing) -> KeyRing:
    """What a verifier that pins only `pins` may trust of `ring`: the pinned keys, and those that statements lead to.

    Marks of `ring` without a statement count for nothing. Statements before the first one about a pinned key are passed
    over; a ring that lacks a statement of `pins`, or has another in its place, is refused. Raises BrokenChain.
    """
    for index, known in enumerate(pins.statements):
        if index >= len(ring.statements):
            raise BrokenChain(index, "the pinned ring has it and this one lacks it: this ring is older")
        if ring.statements[index] != known:
            raise BrokenChain(index, "the pinned ring has another statement here")
    trusted, previous = pins, None
    begun, verified = bool(pins.statements), len(pins.statements)
    for index, statement in enumerate(ring.statements):
        if index >= len(pins.statements):
            try:
                moved = _followed(trusted, statement, previous, ring.statements[:index], begun=begun)
            except IllegalMove as illegal:
                raise BrokenChain(index, illegal.message) from None
            if moved is not None:
                trusted, begun, verified = moved, True, index + 1
        previous = statement
    # What was passed over behind the last statement that was verified might be anyone's: it is not taken along.
    return trusted.replace(statements=ring.statements[:verified])


def _followed(
    trusted: KeyRing, statement: Statement, previous: Statement | None, earlier: list[Statement], *, begun: bool
) -> KeyRing | None:
    """The ring that a verifier trusts after a statement; None where it tells nothing about keys that are known."""
    body = statement.body
    if isinstance(body, RevocationBody):
        key = trusted.by_id(body.key_id)
        if key is None:
            return None
        pinned_so = key.revoked is not None and not _is_worse(body, key.revoked)
        if pinned_so and body not in [s.body for s in earlier]:
            return None  # the verifier knew that, and perhaps more
        return _moved(trusted, statement, previous)
    _check_previous(statement, previous)
    old, new = trusted.by_id(body.from_), trusted.by_id(body.to)
    if begun:
        return _moved(trusted, statement, previous)
    if old is None:
        return None
    if old.state in ("retired", "revoked") and new is not None and new.state != "next":
        return _known_before(trusted, statement, body, old, new)
    return _moved(trusted, statement, previous)


def _known_before(
    trusted: KeyRing, statement: Statement, body: RotationBody, old: RingKey, new: RingKey
) -> KeyRing | None:
    """A rotation between two pinned keys, from before they were pinned: it tells that one follows the other."""
    same = old.fingerprint == body.from_fingerprint and new.public_key_b64 == body.to_public_key_b64
    if not same or not statement.is_signed_by(new.key_id, new.public_key):
        return None
    if not statement.is_signed_by(old.key_id, old.public_key):
        return None
    return trusted.replace(statements=[*trusted.statements, statement])


# --- one move ----------------------------------------------------------------------------------------------------


def _moved(ring: KeyRing, statement: Statement, previous: Statement | None) -> KeyRing:
    _check_previous(statement, previous)
    body = statement.body
    try:
        moved = _rotated(ring, body, statement) if isinstance(body, RotationBody) else _revoked(ring, body, statement)
    except InvalidKeyRing as error:
        raise IllegalMove(f"it leads to a ring that can't be: {error.message}") from None
    return moved.replace(statements=[*ring.statements, statement])


def _check_previous(statement: Statement, previous: Statement | None) -> None:
    body = statement.body
    expected = None if previous is None else body_sha256(previous.body)
    if isinstance(body, RotationBody) and body.previous_sha256 != expected:
        raise IllegalMove("its previous_sha256 is not of the statement before it: one is missing, moved or replayed")


def _rotated(ring: KeyRing, body: RotationBody, statement: Statement) -> KeyRing:
    old = ring.find(body.from_, body.from_fingerprint)
    if old is None:
        raise IllegalMove(f"nothing is known of {body.from_} with this fingerprint")
    if old.state != "active" and not (body.is_emergency and old.state == "revoked"):
        raise IllegalMove(f"it rotates from {old.key_id}, which is {old.state}: a fork or a replay")
    new = _next_key(ring, body, old)
    effective = _time(body.effective_at)
    if not body.is_emergency and old.not_before is not None and effective < _time(old.not_before):
        raise IllegalMove(f"it takes effect before {old.key_id} became valid: back-dated")
    if body.is_emergency:
        authority = _recovery_key(ring, statement, old)
    else:
        if old.not_after is not None and effective > _time(old.not_after):
            raise IllegalMove(f"{old.key_id} had expired when it took effect")
        authority = old
    _check_signatures(statement, authority, new)
    return ring.with_key(_after_rotation(old, body)).with_key(new)


def _next_key(ring: KeyRing, body: RotationBody, old: RingKey) -> RingKey:
    public_key = decode_base64(body.to_public_key_b64, PUBLIC_KEY_BYTES)
    if public_key is None:
        raise IllegalMove("to_public_key_b64 is not the canonical base64 of 32 bytes")
    if not body.to:
        raise IllegalMove("the new key has no id")
    known = ring.find(body.to, fingerprint(public_key))
    if known is None and (ring.by_id(body.to) or ring.by_public_key(public_key)):
        raise IllegalMove(f"{body.to} is known with another key, or its key with another id")
    pinned_too = known is not None and known.state == "active" and known.use == old.use == "verify" and known != old
    if known is not None and known.state != "next" and not pinned_too:
        raise IllegalMove(f"it rotates to {body.to}, which is {known.state} already: a replay")
    return RingKey.of(body.to, public_key, "active", old.use, _time(body.effective_at))


def _after_rotation(old: RingKey, body: RotationBody) -> RingKey:
    if old.state == "revoked":
        return old
    end = min(body.effective_at, old.not_after or body.effective_at)  # a rotation lengthens no key's life
    if body.is_emergency:
        revoked = Revocation(body.effective_at, "compromised" if body.reason == "compromised" else "lost")
        return msgspec.structs.replace(old, state="revoked", not_after=end, revoked=revoked)
    return msgspec.structs.replace(old, state="retired", not_after=end)


def _revoked(ring: KeyRing, body: RevocationBody, statement: Statement) -> KeyRing:
    key = _named(ring, body.key_id)
    _time(body.since)
    if key.revoked is not None and not _is_worse(body, key.revoked):
        raise IllegalMove(f"{key.key_id} is revoked already: a replay")
    signer = ring.by_id(statement.signatures[0].key_id) if len(statement.signatures) == 1 else None
    if signer is not None and signer.state == "active" and signer != key and _is_of_one_issuer(ring, key, signer):
        authority = signer
    else:  # the active key can't be trusted to revoke itself, nor a thief of it to revoke the recovery key
        authority = _recovery_key(ring, statement, key)
    _check_signatures(statement, authority)
    end = (key.not_before or _NEVER) if key.state == "next" else key.not_after  # what only waited has signed nothing
    revoked = Revocation(body.since, body.reason)
    return ring.with_key(msgspec.structs.replace(key, state="revoked", not_after=end, revoked=revoked))


def _is_worse(body: RevocationBody, known: Revocation) -> bool:
    """Whether a further revocation tells of more harm: a compromise that wasn't known, or that began earlier."""
    return body.reason == "compromised" and (known.reason != "compromised" or body.since < known.since)


def _is_of_one_issuer(ring: KeyRing, key: RingKey, active: RingKey) -> bool:
    """Whether `active` came after `key`: by its use in our own ring, by the rotations between them in others'."""
    if key.use == active.use == "receipts":
        return True
    successors = {
        s.body.from_: s.body.to
        for s in ring.statements
        if isinstance(s.body, RotationBody) and _is_signed_by_both(ring, s, s.body)
    }
    name: str | None = key.key_id
    while (name := successors.get(name or "")) is not None:
        if name == active.key_id:
            return key.use == active.use
    return False


def _is_signed_by_both(ring: KeyRing, statement: Statement, body: RotationBody) -> bool:
    """Whether a rotation bears both its keys' signatures: pins may hold one that was passed over and never verified."""
    keys = [ring.by_id(name) for name in (body.from_, body.to)]
    return all(key is not None and statement.is_signed_by(key.key_id, key.public_key) for key in keys)


def _recovery_key(ring: KeyRing, statement: Statement, key: RingKey) -> RingKey:
    """The recovery key that signed a statement about `key`. A ring doesn't say whose a recovery key is but its own."""
    if key.use == "verify":
        raise IllegalMove(f"{key.key_id} is another issuer's; pin that issuer's own ring to follow its emergencies")
    signers = {signature.key_id for signature in statement.signatures}
    body = statement.body
    time = body.effective_at if isinstance(body, RotationBody) else body.since
    for recovery in ring.keys:
        in_time = recovery.not_after is None or _time(time) < _time(recovery.not_after)
        if recovery.use == "recovery" and recovery.state == "active" and in_time and recovery.key_id in signers:
            return recovery
    raise IllegalMove("no recovery key that is trusted here signed it")


def _check_signatures(statement: Statement, *keys: RingKey) -> None:
    for key in keys:
        if not statement.is_signed_by(key.key_id, key.public_key):
            raise IllegalMove(f"there is no valid signature of {key.key_id}")
    others = {signature.key_id for signature in statement.signatures} - {key.key_id for key in keys}
    if others or len(statement.signatures) != len(keys):
        raise IllegalMove(f"others signed it too: {', '.join(sorted(others))}")


def _last_signing(ring: KeyRing) -> RingKey | None:
    """The key that was active last, where none is now: the last that a rotation led to, else the ring's first."""
    arrived = [s.body.to for s in ring.statements if isinstance(s.body, RotationBody)]
    if arrived:
        return ring.by_id(arrived[-1])
    return next((key for key in ring.keys if key.use == "receipts"), None)


def _named(ring: KeyRing, key_id: str) -> RingKey:
    if (key := ring.by_id(key_id)) is None:
        raise IllegalMove(f"nothing is known of {key_id}")
    return key


def _time(text: str) -> datetime:
    if (time := times.parse_seconds(text)) is None:
        raise IllegalMove(f"{text!r} is no time of the form 2024-03-12T13:31:14Z")
    return time
