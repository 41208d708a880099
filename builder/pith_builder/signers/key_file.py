"""Key files: an Ed25519 seed, encrypted with a passphrase (argon2id and secretbox of libsodium).

The KDF and its level stand in the file, so that an old file opens with the cost it was made for. A file that
others than its owner can read is refused.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import ClassVar, Literal

import msgspec
import nacl.exceptions
import nacl.secret
import nacl.utils
from nacl.pwhash import argon2id

from pith_builder import files
from pith_builder.documents import Document
from pith_builder.errors import FileFailed, InvalidInput, KeyLocked, KeyMissing, KeyUnfit, PithError
from pith_builder.signers import Opening
from pith_builder.signing import PUBLIC_KEY_BYTES, SEED_BYTES, SeedSigner, decode_base64, encode_base64

#: Cost of unlocking: name -> (argon2id operations, memory in bytes).
LEVELS = {
    "interactive": (argon2id.OPSLIMIT_INTERACTIVE, argon2id.MEMLIMIT_INTERACTIVE),
    "moderate": (argon2id.OPSLIMIT_MODERATE, argon2id.MEMLIMIT_MODERATE),
    "sensitive": (argon2id.OPSLIMIT_SENSITIVE, argon2id.MEMLIMIT_SENSITIVE),
}
_MAX_OPERATIONS, _MAX_MEMORY = 16, argon2id.MEMLIMIT_SENSITIVE
_SECRETBOX_BYTES = nacl.secret.SecretBox.NONCE_SIZE + nacl.secret.SecretBox.MACBYTES + SEED_BYTES
_LARGEST_FILE = 65536


_WHERE = (
    "name where the key is (--key, --next-key or --recovery URI), or restore the file from its backup; a key that is "
    "lost is replaced by: pith-build keys rotate --reason lost"
)


class InvalidKeyFile(InvalidInput):
    code = "invalid_key_file"


class Kdf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the encryption key comes from the passphrase; memory in bytes."""

    algorithm: Literal["argon2id13"]
    operations: int
    memory: int
    salt_b64: str


class KeyFile(Document, frozen=True):
    """A key file. `seed_b64` is the seed itself where `kdf` is null, else nonce and secretbox of it."""

    error: ClassVar[type[InvalidInput]] = InvalidKeyFile

    pith_key_file: Literal["1.0"]
    key_id: str
    algorithm: Literal["ed25519"]
    public_key_b64: str
    kdf: Kdf | None
    seed_b64: str


def new_seed() -> bytes:
    """A fresh seed from the system's random source, 32 bytes."""
    return nacl.utils.random(SEED_BYTES)


def write(path: Path, signer: SeedSigner, seed: bytes, passphrase: bytes | None, level: str = "interactive") -> None:
    """Make a key file, 0600, never in the place of another; `passphrase` None leaves it unencrypted."""
    kdf, secret = None, seed
    if passphrase is not None:
        operations, memory = LEVELS[level]
        salt = nacl.utils.random(argon2id.SALTBYTES)
        kdf = Kdf("argon2id13", operations, memory, encode_base64(salt))
        secret = bytes(nacl.secret.SecretBox(_stretched(passphrase, kdf, salt)).encrypt(seed))
    content = KeyFile("1.0", signer.key_id, "ed25519", encode_base64(signer.public_key), kdf, encode_base64(secret))
    files.create(path, msgspec.json.format(content.to_json(), indent=1) + b"\n")


def open_signer(path_text: str, opening: Opening) -> SeedSigner:
    """The signer of a key file. Raises KeyMissing, KeyLocked or KeyUnfit; no message shows what is in the file."""
    path = Path(path_text)
    try:
        content = KeyFile.from_json(_read_private(path))
        seed = _seed(content, opening)
    except InvalidInput:
        damaged = KeyUnfit("this is no key file, or a damaged one", hint="restore it from its backup")
        raise damaged.at(file=path_text) from None
    except PithError as error:
        raise error.at(file=path_text) from None
    signer = SeedSigner(content.key_id, seed)
    if encode_base64(signer.public_key) != content.public_key_b64:
        raise KeyUnfit("the seed does not give the public key in the file").at(file=path_text)
    return signer


def _read_private(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise KeyMissing("there is no key file", hint=_WHERE) from None
    except OSError as error:
        raise KeyMissing(f"the key file can't be opened: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise KeyUnfit("this is no regular file")
        if status.st_uid not in (0, os.geteuid()):
            raise KeyUnfit("the key file belongs to another user", hint=f"look at who, then chown it: {path}")
        if status.st_mode & 0o077:
            raise KeyUnfit(
                f"others can read or write the key file (mode {stat.S_IMODE(status.st_mode):04o})",
                hint=f"chmod 600 {path}; if others had access to the machine, take the key for stolen",
            )
        if status.st_size > _LARGEST_FILE:
            raise KeyUnfit("this is no key file: it is too large")
        return os.read(descriptor, _LARGEST_FILE)
    except OSError as error:
        raise FileFailed(f"can't read the key file: {error.strerror}") from None
    finally:
        os.close(descriptor)


def _seed(content: KeyFile, opening: Opening) -> bytes:
    kdf = content.kdf
    secret = decode_base64(content.seed_b64, SEED_BYTES if kdf is None else _SECRETBOX_BYTES)
    if secret is None or decode_base64(content.public_key_b64, PUBLIC_KEY_BYTES) is None:
        raise InvalidKeyFile("not canonical base64 of the right length")
    if kdf is None:
        return secret
    salt = decode_base64(kdf.salt_b64, argon2id.SALTBYTES)
    fair = 1 <= kdf.operations <= _MAX_OPERATIONS and argon2id.MEMLIMIT_MIN <= kdf.memory <= _MAX_MEMORY
    if salt is None or not fair:
        raise InvalidKeyFile("the KDF's parameters are out of range")
    passphrase = opening.passphrase(content.key_id)
    try:
        return nacl.secret.SecretBox(_stretched(passphrase, kdf, salt)).decrypt(secret)
    except nacl.exceptions.CryptoError:
        raise KeyLocked(f"the passphrase does not open {content.key_id}, or the file is damaged") from None


def _stretched(passphrase: bytes, kdf: Kdf, salt: bytes) -> bytes:
    try:
        return argon2id.kdf(
            nacl.secret.SecretBox.KEY_SIZE, passphrase, salt, opslimit=kdf.operations, memlimit=kdf.memory
        )
    except nacl.exceptions.RuntimeError:
        raise KeyLocked(f"there is not enough memory to unlock the key: it takes {kdf.memory >> 20} MiB") from None
