"""What tests of pith records need: keys from a published seed, a clock that stands still, and factories.

The keys made here are nobody's: their seeds are public, and their ids say TEST. Papers of many kinds are in `kinds`,
broken documents in `broken`, and `generate` makes a folder of both.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from pith_builder import times
from pith_builder.enrichment import Enrichment
from pith_builder.issue import Issuer
from pith_builder.keyring import KeyRing, RingKey, State
from pith_builder.metadata import PaperMetadata
from pith_builder.published import DEFAULT_PROFILE, PithRecord, Profile
from pith_builder.rotation import rotation_body
from pith_builder.signing import SeedSigner
from pith_builder.statements import Reason, RevocationBody, Statement

__all__ = [
    "START",
    "FrozenClock",
    "SeedSigner",
    "make_keyring",
    "make_metadata",
    "make_record",
    "make_revocation",
    "make_rotation",
    "make_signer",
]

#: The first reading of a `FrozenClock`.
START = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)


class FrozenClock:
    """A clock that gives `start`, moved on by `step` after each reading."""

    def __init__(self, start: datetime = START, step: timedelta = timedelta(0)) -> None:
        self.now = start
        self.step = step

    def __call__(self) -> datetime:
        reading, self.now = self.now, self.now + self.step
        return reading


def make_seed(n: int | str = 1, seed: int = 0) -> bytes:
    """The private seed of a TEST key, 32 bytes: SHA-256 of `key_text`."""
    return hashlib.sha256(key_text(n, seed).encode()).digest()


def make_signer(n: int | str = 1, seed: int = 0) -> SeedSigner:
    """The `n`-th TEST key, or the one called `n`, of a seed."""
    of_seed, name = f"-s{seed}" if seed else "", f"v{n}" if isinstance(n, int) else n
    return SeedSigner(f"TEST{of_seed}-{name}-2026-01", make_seed(n, seed))


def key_text(n: int | str = 1, seed: int = 0) -> str:
    """The ASCII text whose SHA-256 is the seed of a TEST key; it is published, so that anyone can sign with the key."""
    return f"pith-build TEST key {n}" if seed == 0 else f"pith-build TEST seed {seed} key {n}"


def make_keyring(*signers: SeedSigner, recovery: SeedSigner | None = None) -> KeyRing:
    """A ring of these signers, the first one active and the others next; of the first TEST key without any."""
    ring = KeyRing.empty()
    for signer in signers or (make_signer(),):
        state: State = "next" if ring.keys else "active"
        not_before = START.replace(microsecond=0) - timedelta(days=1)
        ring = ring.with_key(RingKey.of(signer.key_id, signer.public_key, state, "receipts", not_before))
    if recovery is not None:
        ring = ring.with_key(RingKey.of(recovery.key_id, recovery.public_key, "active", "recovery"))
    return ring


def make_rotation(
    ring: KeyRing, old: SeedSigner, new: SeedSigner, effective_at: datetime = START, reason: str = "scheduled"
) -> Statement:
    """The statement that moves a ring to `new`, signed by `old`, the active or the recovery key, and by `new`."""
    to = RingKey.of(new.key_id, new.public_key, "next", "receipts")
    return Statement(rotation_body(ring, to, effective_at, reason), []).signed_by(old).signed_by(new)


def make_revocation(
    key_id: str, signer: SeedSigner, since: datetime = START, reason: Reason = "superseded"
) -> Statement:
    """The statement that revokes a key, signed by the active or the recovery key."""
    return Statement(RevocationBody(key_id, times.seconds(since), reason), []).signed_by(signer)


def make_metadata(**changes: Any) -> PaperMetadata:
    """Metadata of a made-up paper, with other values in some fields."""
    fields: dict[str, Any] = {
        "arxiv_id": "2601.00001",
        "version": 1,
        "title": "A Made-Up Paper",
        "abstract": "Nothing is shown here, and nothing else follows.",
        "authors": "Ada Lovelace, Charles Babbage and Emmy Noether",
        "categories": "cs.DL cs.CR",
        "license": "http://creativecommons.org/licenses/by/4.0/",
        "submitted_at": "2026-01-01T12:00:00Z",
    }
    return PaperMetadata(**fields | changes)


def make_record(
    metadata: PaperMetadata | None = None,
    enrichment: Enrichment | None = None,
    *,
    signer: SeedSigner | None = None,
    clock: FrozenClock | None = None,
    profile: Profile = DEFAULT_PROFILE,
) -> PithRecord:
    """A record of a made-up paper, signed with the first TEST key."""
    issuer = Issuer(signer or make_signer(), profile, clock or FrozenClock())
    return issuer.issue(metadata or make_metadata(), enrichment)
