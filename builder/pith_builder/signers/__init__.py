"""Where signing keys live, behind URIs: `file:PATH` (or a plain path), `env:NAME`, `agent:KEY`, `pkcs11:MODULE?…`.

A new kind of signer is one module with an `open_signer(rest, opening)` function and one line in `SCHEMES`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import msgspec

from pith_builder.errors import KeyUnfit
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.signing import SEED_BYTES, SeedSigner, Signer, decode_base64, signature_fits

#: URI scheme -> module with `open_signer(rest, opening) -> Signer`.
SCHEMES = {
    "file": "pith_builder.signers.key_file",
    "env": "pith_builder.signers.environment",
    "agent": "pith_builder.signers.agent",
    "pkcs11": "pith_builder.signers.pkcs11",
}

_KNOWN_MESSAGE = b"pith-build signer self-test"


class Opening(msgspec.Struct, frozen=True):
    """What opening a signer may need: the key ring, and a way to ask for the passphrase of a key id."""

    keyring: KeyRing
    passphrase: Callable[[str], bytes]


def open_signer(uri: str, opening: Opening) -> Signer:
    """The signer behind a URI, tried on a known message. Raises KeyMissing, KeyLocked or KeyUnfit."""
    scheme, _, rest = uri.partition(":")
    if decode_base64(uri.strip(), SEED_BYTES) or decode_base64(rest.strip(), SEED_BYTES):
        raise KeyUnfit(
            "a signer's URI names where the key is; this seems to be a key itself",
            hint="it stands in a process list or a log now: take it for stolen",
        )
    if scheme not in SCHEMES or not rest:
        scheme, rest = "file", uri
    signer: Signer = import_module(SCHEMES[scheme]).open_signer(rest, opening)
    if not isinstance(signer, SeedSigner):
        signer = Checked(signer)
    if not signature_fits(signer.public_key, _KNOWN_MESSAGE, signer.sign(_KNOWN_MESSAGE)):
        raise KeyUnfit(f"the signer of {signer.key_id} gives signatures that don't fit its public key")
    return signer


class Checked:
    """A signer outside of this process, each of whose answers is verified before anyone sees it."""

    def __init__(self, signer: Signer) -> None:
        self.key_id, self.public_key = signer.key_id, signer.public_key
        self._signer = signer

    def sign(self, message: bytes) -> bytes:
        """The raw signature, 64 bytes. Raises what the signer raises, or KeyUnfit for a wrong answer."""
        signature = self._signer.sign(message)
        if not signature_fits(self.public_key, message, signature):
            raise KeyUnfit(f"the signer of {self.key_id} gave a signature that does not fit its public key")
        return signature


def open_active_signer(uri: str, opening: Opening) -> Signer:
    """The signer behind a URI, which must hold the ring's active key. Raises KeyUnusable."""
    active = opening.keyring.active()
    if active is None:
        raise KeyUnfit("the key ring has no active key", hint=GENERATE)
    signer = open_signer(uri, opening)
    if (signer.key_id, signer.public_key) != (active.key_id, active.public_key):
        raise KeyUnfit(
            f"{signer.key_id} is not the active key of the ring, {active.key_id}",
            hint=f"sign with --key of {active.key_id}; pith-build keys list shows the ring",
        )
    return signer


class Deferred:
    """The ring's active key, which is only opened, and its passphrase asked for, when something is to be signed."""

    def __init__(
        self, active: RingKey, open_it: Callable[[], Signer], confirm: Callable[[], None] = lambda: None
    ) -> None:
        """`confirm` is asked before each signature whether the key may still sign, and raises KeyUnfit if not."""
        self.key_id, self.public_key = active.key_id, active.public_key
        self._open, self.confirm = open_it, confirm
        self._signer: Signer | None = None

    def sign(self, message: bytes) -> bytes:
        """The raw signature, 64 bytes. Raises KeyUnusable."""
        self.confirm()
        return self.opened().sign(message)

    def opened(self) -> Signer:
        """The signer itself, opened if it wasn't. Raises KeyUnusable."""
        if self._signer is None:
            self._signer = self._open()
        return self._signer


#: What to do without a key.
GENERATE = "make one with: pith-build keys generate"

__all__ = ["GENERATE", "SCHEMES", "Opening", "open_active_signer", "open_signer"]
