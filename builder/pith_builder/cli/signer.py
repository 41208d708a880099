"""The signer of a run: the ring's active key."""

from __future__ import annotations

from pith_builder.cli import passphrase
from pith_builder.cli.papers import now
from pith_builder.cli.settings import Settings
from pith_builder.errors import KeyMissing, KeyUnfit
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.signers import GENERATE, Deferred, Opening, open_active_signer, ring_file


def active_signer(settings: Settings, ring: KeyRing | None = None) -> Deferred:
    """The active key of the ring, from `--key` or its file in the home folder, opened when it is first needed.

    Raises KeyMissing where no key is active; signing raises KeyUnusable.
    """
    ring = ring or ring_file.load(settings.keyring)
    active = ring.active()
    if active is None:
        raise KeyMissing(f"the key ring {settings.keyring} has no active key", hint=GENERATE)
    uri = settings.key or f"file:{ring_file.key_path(settings.home, active.key_id)}"
    confirm = _Confirmation(settings, active)
    confirm()
    return Deferred(active, lambda: open_active_signer(uri, Opening(ring, passphrase.existing)), confirm)


class _Confirmation:
    """Whether the active key may sign now: it is in its time, and the ring's file still names it.

    A long run must notice a rotation: what the old key signs after its end is worth nothing.
    """

    def __init__(self, settings: Settings, active: RingKey) -> None:
        self._path, self._active = settings.keyring, active
        self._seen = self._state()

    def __call__(self) -> None:
        if (state := self._state()) != self._seen:
            active = ring_file.load(self._path).active()
            if active is None or active.fingerprint != self._active.fingerprint:
                raise KeyUnfit(
                    f"{self._active.key_id} is no longer the active key", hint="run the command again: it goes on"
                )
            self._active, self._seen = active, state
        if objection := self._active.objection(now()):
            raise KeyUnfit(
                f"nothing can be signed now: {objection}",
                hint="look at the clock; complete a rotation that is prepared, or make one: pith-build keys rotate",
            )

    def _state(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns
