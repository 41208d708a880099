"""A key ring with a past: TEST keys of a seed, through rotations, a compromise and a revocation."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from pith_builder.keyring import KeyRing, RingKey
from pith_builder.rotation import move
from pith_builder.signing import SeedSigner
from pith_builder.statements import Statement
from pith_builder.testing import make_keyring, make_revocation, make_rotation, make_signer

#: The keys by number. Key n begins on the first of the n-th month of 2026, where key n - 1 ends.
RETIRED, RETIRED_TOO, COMPROMISED, SUPERSEDED, ACTIVE, NEXT = 1, 2, 3, 4, 5, 6


class Chain(NamedTuple):
    """The ring as it is today, and the one that a verifier pinned before all rotations: its first key, and recovery."""

    seed: int
    pins: KeyRing
    ring: KeyRing
    recovery: SeedSigner

    def signer(self, n: int) -> SeedSigner:
        return make_signer(n, self.seed)

    @property
    def statements(self) -> list[Statement]:
        return self.ring.statements


def beginning(n: int) -> datetime:
    """When key n becomes the active one."""
    return datetime(2026, n, 1, tzinfo=UTC)


@lru_cache(maxsize=4)
def make_chain(seed: int) -> Chain:
    """The chain of a seed.

    Keys 1 and 2 are retired by rotations; 3 is compromised, so that the recovery key signs the rotation to 4; 4 is
    rotated to 5, which then revokes it as superseded; 5 is active, and 6 is announced as the next.
    """
    recovery = make_signer("recovery", seed)
    first = make_signer(RETIRED, seed)
    pins = make_keyring(first, recovery=recovery)
    ring = pins
    for n in (RETIRED_TOO, COMPROMISED, SUPERSEDED, ACTIVE):
        emergency = n - 1 == COMPROMISED
        old, new = recovery if emergency else make_signer(n - 1, seed), make_signer(n, seed)
        reason = "compromised" if emergency else "scheduled"
        ring = move(ring, make_rotation(ring, old, new, beginning(n), reason))
    superseded, active = make_signer(SUPERSEDED, seed), make_signer(ACTIVE, seed)
    ring = move(ring, make_revocation(superseded.key_id, active, beginning(ACTIVE), "superseded"))
    announced = make_signer(NEXT, seed)
    return Chain(
        seed, pins, ring.with_key(RingKey.of(announced.key_id, announced.public_key, "next", "receipts")), recovery
    )
