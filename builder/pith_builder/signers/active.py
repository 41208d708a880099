"""The signer of a run: the ring's active key, opened when it is first needed, as long as it may sign."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from pith_builder.errors import KeyMissing, KeyUnfit
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.signers import GENERATE, Deferred, Opening, open_active_signer, ring_file
from pith_builder.times import Clock


class KeySource(msgspec.Struct, frozen=True):
    """Where the active key is found: the ring's file, and the signer's URI (`--key`), or the home folder's key file."""

    keyring: Path
    home: Path
    uri: str | None = None

    def signer(self, passphrase: Callable[[str], bytes], clock: Clock, ring: KeyRing | None = None) -> Deferred:
        """The active key of the ring, opened when it is first needed.

        `passphrase` gives that of a key id. Raises KeyMissing where no key is active; signing raises KeyUnusable.
        """
        ring = ring or ring_file.load(self.keyring)
        active = ring.active()
        if active is None:
            raise KeyMissing(f"the key ring {self.keyring} has no active key", hint=GENERATE)
        uri = self.uri or f"file:{ring_file.key_path(self.home, active.key_id)}"
        confirm = _Confirmation(self.keyring, active, clock)
        confirm()
        return Deferred(active, lambda: open_active_signer(uri, Opening(ring, passphrase)), confirm)


class _Confirmation:
    """Whether the active key may sign now: it is in its time, and the ring's file still names it.

    A long run must notice a rotation: what the old key signs after its end is worth nothing.
    """

    def __init__(self, path: Path, active: RingKey, clock: Clock) -> None:
        self._path, self._active, self._clock = path, active, clock
        self._seen = self._state()

    def __call__(self) -> None:
        if (state := self._state()) != self._seen:
            active = ring_file.load(self._path).active()
            if active is None or active.fingerprint != self._active.fingerprint:
                raise KeyUnfit(
                    f"{self._active.key_id} is no longer the active key", hint="run the command again: it goes on"
                )
            self._active, self._seen = active, state
        if objection := self._active.objection(self._clock()):
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
