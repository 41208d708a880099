"""The signer of a command: the ring's active key, from `--key` or its file in the home folder."""

from __future__ import annotations

from pith_builder.cli import passphrase
from pith_builder.cli.papers import now
from pith_builder.cli.settings import Settings
from pith_builder.keyring import KeyRing
from pith_builder.signers import Deferred
from pith_builder.signers.active import KeySource


def key_source(settings: Settings) -> KeySource:
    """Where the settings say that the active key is."""
    return KeySource(settings.keyring, settings.home, settings.key)


def active_signer(settings: Settings, ring: KeyRing | None = None) -> Deferred:
    """The active key of the ring, opened, and its passphrase asked for, when it is first needed.

    Raises KeyMissing where no key is active; signing raises KeyUnusable.
    """
    return key_source(settings).signer(passphrase.existing, now, ring)
