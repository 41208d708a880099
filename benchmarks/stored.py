"""A store of many made-up records under the first TEST key, written in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from pith_builder import Issuer, KeyRing, PithRecord, Provenance
from pith_builder.keyring import RingKey
from pith_builder.signing import SeedSigner
from pith_builder.store import Store
from pith_builder.store.database import writing
from pith_builder.store.store import insert_record
from pith_builder.testing import FrozenClock, make_metadata, make_signer


def made_up(count: int) -> Iterator[PithRecord]:
    """So many records; the same ones each time, all at different times."""
    issuer = Issuer(make_signer(), clock=FrozenClock(step=timedelta(milliseconds=1)))
    for n in range(count):
        arxiv_id = f"26{1 + n // 99_999:02}.{1 + n % 99_999:05}"
        yield issuer.issue(make_metadata(arxiv_id=arxiv_id, title=f"Made-Up Paper {n}"))


def filled(path: Path, count: int) -> Store:
    """A store of them."""
    store = Store(f"sqlite:///{path}")
    with writing(store.engine) as connection:
        for record in made_up(count):
            insert_record(connection, record, None, Provenance("benchmark"), record.receipt.signed_at)
    return store


def ring_after_rotations(*signers: SeedSigner) -> KeyRing:
    """The last of these keys is active, the others are retired."""
    ring = KeyRing.empty()
    for signer in signers:
        state = "active" if signer is signers[-1] else "retired"
        ring = ring.with_key(RingKey.of(signer.key_id, signer.public_key, state, "receipts"))
    return ring
