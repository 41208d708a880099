"""The key rings of a run: the ring's file, and the public registry's key beside it for verifying."""

from __future__ import annotations

from pith_builder.cli.settings import Settings
from pith_builder.errors import KeyMissing, NotFound
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.signers import GENERATE, ring_file


def trusted(settings: Settings) -> KeyRing:
    """The ring and the registry's key. Raises InvalidKeyRing or FileFailed."""
    return ring_file.load(settings.keyring).trusting(KeyRing.registry())


def one(settings: Settings, key_id: str | None) -> RingKey:
    """The key with this id or fingerprint, the active one where none is named. Raises KeyMissing or NotFound."""
    ring = trusted(settings)
    if key_id is None:
        if (active := ring.active()) is None:
            raise KeyMissing(f"{settings.keyring} has no active key", hint=GENERATE)
        return active
    for key in ring.keys:
        if key_id in (key.key_id, key.fingerprint):
            return key
    raise NotFound(f"no key {key_id} in {settings.keyring}", hint="pith-build keys list shows the keys")
