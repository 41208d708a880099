"""The key rings of a run: the ring's file, and the public registry's key beside it for verifying."""

from __future__ import annotations

from pathlib import Path

from pith_builder import files
from pith_builder.cli.settings import Settings
from pith_builder.errors import FileFailed, InvalidInput, KeyMissing, NotFound
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.rotation import follow
from pith_builder.signers import GENERATE, ring_file


def trusted(settings: Settings) -> KeyRing:
    """The ring and the registry's key. Raises InvalidKeyRing, or FileFailed also for a named ring that isn't there."""
    return own(settings).trusting(KeyRing.registry())


def own(settings: Settings) -> KeyRing:
    """The ring alone. Raises InvalidKeyRing, or FileFailed also for a named ring that isn't there."""
    if settings.keyring_is_named and not settings.keyring.exists():
        raise FileFailed("there is no such key ring").at(file=str(settings.keyring))
    return ring_file.load(settings.keyring)


def pinned(path: str) -> KeyRing:
    """A key ring that a verifier pinned, from its file. Raises InvalidKeyRing or FileFailed."""
    try:
        return KeyRing.from_json(files.read(Path(path)))
    except InvalidInput as error:
        raise error.at(file=path) from None


def followed(settings: Settings, pin: str) -> KeyRing:
    """What of the run's ring may be trusted by who pinned another, and the registry's key. Raises BrokenChain."""
    return follow(pinned(pin), own(settings)).trusting(KeyRing.registry())


def carried(settings: Settings) -> dict[str, int]:
    """Fingerprint -> how many stored records have their newest receipt under that key; nothing without a store."""
    from pith_builder.store import Store

    try:
        return Store(settings.store, create=False).count_by_key()
    except NotFound:
        return {}


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
