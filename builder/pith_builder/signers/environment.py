"""`env:NAME`: the base64 of a 32-byte seed in an environment variable; the key ring knows its id."""

from __future__ import annotations

import os

from pith_builder.errors import KeyMissing, KeyUnfit
from pith_builder.signers import Opening
from pith_builder.signing import SEED_BYTES, SeedSigner, decode_base64


def open_signer(name: str, opening: Opening) -> SeedSigner:
    """The signer of the seed in the variable `name`. Raises KeyMissing or KeyUnfit; neither shows the seed."""
    text = os.environ.get(name)
    if not text:
        raise KeyMissing(f"the environment variable {name} is not set", hint="set it to the base64 of the seed")
    seed = decode_base64(text.strip(), SEED_BYTES)
    if seed is None:
        raise KeyUnfit(f"the environment variable {name} is not the base64 of {SEED_BYTES} bytes")
    entry = opening.keyring.by_public_key(SeedSigner("", seed).public_key)
    if entry is None:
        raise KeyUnfit(
            f"the key ring does not list the key in the environment variable {name}",
            hint="name the ring that does with --keyring",
        )
    return SeedSigner(entry.key_id, seed)
