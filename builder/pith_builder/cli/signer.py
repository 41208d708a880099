"""The signer of a run: the ring's active key."""

from __future__ import annotations

from pith_builder.cli import passphrase
from pith_builder.cli.papers import now
from pith_builder.cli.settings import Settings
from pith_builder.errors import KeyMissing, KeyUnfit
from pith_builder.signers import GENERATE, Deferred, Opening, open_active_signer, ring_file
from pith_builder.signing import Signer


def active_signer(settings: Settings) -> Signer:
    """The active key of the ring, from `--key` or its file in the home folder, opened when it is first needed.

    Raises KeyMissing where no key is active; signing raises KeyUnusable.
    """
    ring = ring_file.load(settings.keyring)
    active = ring.active()
    if active is None:
        raise KeyMissing(f"the key ring {settings.keyring} has no active key", hint=GENERATE)
    if objection := active.objection(now()):
        raise KeyUnfit(
            f"nothing can be signed now: {objection}", hint="look at the clock; or rotate: pith-build keys rotate"
        )
    uri = settings.key or f"file:{ring_file.key_path(settings.home, active.key_id)}"
    return Deferred(active, lambda: open_active_signer(uri, Opening(ring, passphrase.existing)))
