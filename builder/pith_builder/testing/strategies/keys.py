"""Keys, statements, and key rings with a history that a verifier can follow."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pith_builder import times
from pith_builder.keyring import KeyRing, RingKey, State
from pith_builder.rotation import move, retire
from pith_builder.signing import SEED_BYTES, SeedSigner
from pith_builder.statements import Reason, Statement
from pith_builder.testing import START, make_keyring, make_revocation, make_rotation, make_signer

_REASONS: tuple[Reason, ...] = ("superseded", "lost", "compromised")
_seconds = st.integers(0, 10**9).map(lambda seconds: START + timedelta(seconds=seconds))


def signers() -> SearchStrategy[SeedSigner]:
    """TEST keys: nobody's, their seeds are public."""
    return st.integers(1, 20).map(make_signer)


def rotations() -> SearchStrategy[Statement]:
    """Rotations of a ring with one key to another one, planned ones and emergencies, signed by whom the rules ask."""

    def rotation(at: datetime, reason: str) -> Statement:
        old, new, recovery = make_signer(1), make_signer(2), make_signer(3)
        authority = old if reason == "scheduled" else recovery
        return make_rotation(make_keyring(old, recovery=recovery), authority, new, at, reason)

    return st.builds(rotation, _seconds, st.sampled_from(["scheduled", "compromised", "lost"]))


def revocations() -> SearchStrategy[Statement]:
    """Revocations of one TEST key, signed by another."""
    keys = st.lists(signers(), min_size=2, max_size=2, unique_by=lambda signer: signer.key_id)
    return st.builds(
        lambda pair, since, reason: make_revocation(pair[0].key_id, pair[1], since, reason),
        keys,
        _seconds,
        st.sampled_from(_REASONS),
    )


def statements() -> SearchStrategy[Statement]:
    """Signed statements of both kinds (DESIGN "Statement")."""
    return rotations() | revocations()


class KeyHistory(NamedTuple):
    """A ring, what a verifier had pinned before all of it, and the TEST keys of both by their ids.

    `follow(pins, ring)` accepts it. `named` are the ids that statements lead to: keys beyond them the verifier doesn't
    come to know.
    """

    pins: KeyRing
    ring: KeyRing
    signers: dict[str, SeedSigner]
    named: tuple[str, ...]

    @property
    def recovery(self) -> SeedSigner:
        return self.signers["TEST-recovery"]


def keyrings() -> SearchStrategy[KeyRing]:
    """Rings with next, active, retired, revoked, recovery and foreign keys, and the statements that made them so."""
    return key_histories().map(lambda history: history.ring)


@st.composite
def key_histories(draw: DrawFn) -> KeyHistory:
    """The life of a ring: up to six moves, each later than the one before."""
    history, now = _beginning(), START
    for _ in range(draw(st.integers(0, 6))):
        now += timedelta(days=draw(st.integers(1, 400)))
        history = draw(st.sampled_from(_MOVES))(history, now, draw(st.sampled_from(_REASONS)))
    return history


def _beginning() -> KeyHistory:
    first = make_signer(1)
    recovery = SeedSigner("TEST-recovery", bytes(range(SEED_BYTES)))
    ring = make_keyring(first, recovery=recovery)
    return KeyHistory(ring, ring, {first.key_id: first, recovery.key_id: recovery}, (first.key_id,))


def _of_state(history: KeyHistory, state: State) -> list[RingKey]:
    return [key for key in history.ring.keys if key.use == "receipts" and key.state == state]


def _with_next(history: KeyHistory, *_: object) -> KeyHistory:
    """A key is added that waits; no statement names it."""
    signer = make_signer(len(history.signers))
    ring = history.ring.with_key(RingKey.of(signer.key_id, signer.public_key, "next", "receipts"))
    return history._replace(ring=ring, signers={**history.signers, signer.key_id: signer})


def _next_retired(history: KeyHistory, at: datetime, _: Reason) -> KeyHistory:
    waiting = _of_state(history, "next")
    return history._replace(ring=retire(history.ring, waiting[0].key_id, at)) if waiting else history


def _with_others(history: KeyHistory, *_: object) -> KeyHistory:
    """The registry's key is trusted for verifying."""
    return history._replace(ring=history.ring.trusting(KeyRing.registry()))


def _rotated(history: KeyHistory, at: datetime, reason: Reason) -> KeyHistory:
    """To the key that waits, or to a new one; the recovery key signs where the active one can't."""
    if not _of_state(history, "next"):
        history = _with_next(history)
    new, active = _of_state(history, "next")[0].key_id, history.ring.active()
    if active is not None and reason == "superseded":
        authority, why = history.signers[active.key_id], "scheduled"
    else:
        authority, why = history.recovery, "lost" if reason == "superseded" else reason
    statement = make_rotation(history.ring, authority, history.signers[new], at, why)
    return history._replace(ring=move(history.ring, statement), named=(*history.named, new))


def _active_revoked(history: KeyHistory, at: datetime, reason: Reason) -> KeyHistory:
    """By the recovery key; then no key is active."""
    active = history.ring.active()
    return history if active is None else _revoked(history, active, history.recovery, at, reason)


def _retired_revoked(history: KeyHistory, at: datetime, reason: Reason) -> KeyHistory:
    """By the active key, or the recovery key where there is none."""
    retired = [key for key in _of_state(history, "retired") if key.key_id in history.named]
    active = history.ring.active()
    authority = history.recovery if active is None else history.signers[active.key_id]
    return _revoked(history, retired[-1], authority, at, reason) if retired else history


def _revoked(history: KeyHistory, key: RingKey, signer: SeedSigner, at: datetime, reason: Reason) -> KeyHistory:
    return history._replace(ring=move(history.ring, make_revocation(key.key_id, signer, at, reason)))


_Move = Callable[[KeyHistory, datetime, Reason], KeyHistory]
_MOVES: tuple[_Move, ...] = (_rotated, _with_next, _next_retired, _with_others, _active_revoked, _retired_revoked)


def signing_span(key: RingKey) -> tuple[datetime, datetime] | None:
    """The first and the last time at which a receipt of this key is valid, by all that the ring knows today."""
    if key.use != "receipts" or key.state == "next" or (key.revoked and key.revoked.reason == "compromised"):
        return None
    ends = (key.not_after, key.revoked.since if key.revoked else None)
    limits = [time for text in ends if text and (time := times.parse_seconds(text))]
    first = times.parse_seconds(key.not_before or "") or START
    last = min(limits, default=first + timedelta(days=36_500)) - timedelta(microseconds=1)
    return (first, last) if first <= last else None
