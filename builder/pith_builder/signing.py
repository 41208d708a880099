"""What a signer is, and Ed25519 over it (PROTOCOL §6)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from functools import lru_cache
from typing import Protocol

import nacl.bindings
import nacl.exceptions

PUBLIC_KEY_BYTES = 32
SEED_BYTES = 32
SIGNATURE_BYTES = 64


class Signer(Protocol):
    """Something that signs with one Ed25519 key: a key file, an agent, a hardware module."""

    @property
    def key_id(self) -> str:
        """The id under which the key ring lists the key."""
        ...

    @property
    def public_key(self) -> bytes:
        """The raw public key, 32 bytes."""
        ...

    def sign(self, message: bytes) -> bytes:
        """The raw signature of `message`, 64 bytes. Raises KeyUnusable."""
        ...


class SeedSigner:
    """A signer in this process, made from a 32-byte seed. The seed never shows in its repr."""

    def __init__(self, key_id: str, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise ValueError(f"an Ed25519 seed has {SEED_BYTES} bytes")
        self.key_id = key_id
        self.public_key, self._secret_key = nacl.bindings.crypto_sign_seed_keypair(seed)

    def sign(self, message: bytes) -> bytes:
        """The raw signature of `message`, 64 bytes."""
        return nacl.bindings.crypto_sign(message, self._secret_key)[:SIGNATURE_BYTES]

    def __repr__(self) -> str:
        return f"SeedSigner({self.key_id!r})"


def signature_fits(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` (64 bytes) is the key's over `message`."""
    try:
        nacl.bindings.crypto_sign_open(signature + message, public_key)
    except nacl.exceptions.BadSignatureError:
        return False
    return True


@lru_cache(maxsize=64)
def fingerprint(public_key: bytes) -> str:
    """The first 16 bytes of SHA-256 of the raw public key, 32 hex digits (PROTOCOL §6)."""
    return hashlib.sha256(public_key).digest()[:16].hex()


def encode_base64(raw: bytes) -> str:
    """Standard base64 with padding."""
    return base64.b64encode(raw).decode()


def decode_base64(text: str, length: int) -> bytes | None:
    """The `length` bytes of standard, padded base64 in its one canonical spelling; None if it isn't that."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == length and encode_base64(raw) == text else None
