"""Public keys as others write them: the registry's JSON, PEM (SPKI), and SSH."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct

from pith_builder.documents import loads
from pith_builder.errors import InvalidInput, InvalidJson
from pith_builder.keyring import RingKey
from pith_builder.signing import PUBLIC_KEY_BYTES, decode_base64, encode_base64, fingerprint

#: DER of a SubjectPublicKeyInfo of Ed25519 before the 32 bytes of the key (RFC 8410).
_SPKI_HEAD = bytes.fromhex("302a300506032b6570032100")
_SSH_HEAD = struct.pack(">I", 11) + b"ssh-ed25519" + struct.pack(">I", PUBLIC_KEY_BYTES)
_PEM = re.compile(r"\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*", re.ASCII)
_SSH = re.compile(r"\s*ssh-ed25519 ([A-Za-z0-9+/=]+)(?:[ \t]+([^\n]*))?\s*")


class InvalidPublicKey(InvalidInput):
    code = "invalid_public_key"


def published(key: RingKey) -> dict[str, str | None]:
    """A public key as the registry publishes its own (PROTOCOL §6).

    `fingerprint_sha256_b32_first128bits` has the registry's name and value: 26 base32 symbols, which are 130 bits.
    """
    raw = key.public_key
    return {
        "key_id": key.key_id,
        "algorithm": key.algorithm,
        "format": "raw",
        "public_key_b64": key.public_key_b64,
        "public_key_hex": raw.hex(),
        "fingerprint_sha256_hex": key.fingerprint,
        "fingerprint_sha256_b32_first128bits": base64.b32encode(hashlib.sha256(raw).digest())[:26].decode(),
        "rotates_at": key.not_after,
    }


def to_pem(public_key: bytes) -> str:
    """A raw public key (32 bytes) as PEM of its SubjectPublicKeyInfo, as OpenSSL reads it."""
    return f"-----BEGIN PUBLIC KEY-----\n{encode_base64(_SPKI_HEAD + public_key)}\n-----END PUBLIC KEY-----\n"


def to_ssh(public_key: bytes, comment: str) -> str:
    """A raw public key (32 bytes) as a line of authorized_keys."""
    return f"ssh-ed25519 {encode_base64(_SSH_HEAD + public_key)} {comment}"


def read(data: bytes) -> tuple[bytes, str | None]:
    """The raw public key (32 bytes) and the id that JSON or an SSH comment gives it. Raises InvalidPublicKey."""
    text = data.decode(errors="replace")
    if "PRIVATE KEY" in text:
        raise InvalidPublicKey(
            "this is a private key; only its public half is taken in", hint="ssh-keygen -y prints it"
        )
    if pem := _PEM.fullmatch(text):
        return _behind(_SPKI_HEAD, "".join(pem[1].split()), "PEM"), None
    if ssh := _SSH.fullmatch(text):
        return _behind(_SSH_HEAD, ssh[1], "SSH"), (ssh[2] or "").strip() or None
    try:
        value = loads(data)
    except InvalidJson:
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("public_key_b64"), str):
        raise InvalidPublicKey("neither JSON with public_key_b64, nor PEM, nor an ssh-ed25519 line")
    raw = decode_base64(value["public_key_b64"], PUBLIC_KEY_BYTES)
    if raw is None:
        raise InvalidPublicKey("is not the canonical base64 of 32 bytes", field="public_key_b64")
    for name in ("fingerprint_sha256_hex", "fingerprint"):
        if name in value and value[name] != fingerprint(raw):
            raise InvalidPublicKey("is not that of the key", field=name)
    if value.get("algorithm", "ed25519") != "ed25519":
        raise InvalidPublicKey("is not ed25519", field="algorithm")
    key_id = value.get("key_id")
    return raw, key_id if isinstance(key_id, str) else None


def _behind(head: bytes, text: str, form: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != len(head) + PUBLIC_KEY_BYTES or not raw.startswith(head):
        raise InvalidPublicKey(f"this {form} holds no Ed25519 public key")
    return raw[len(head) :]
