"""The key ring's file, and the ceremony that makes a key: the private half in a key file, the public in the ring."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from pith_builder import files
from pith_builder.errors import InvalidInput, InvalidSetting, shown
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.signers import key_file
from pith_builder.signing import SeedSigner
from pith_builder.times import Clock

_ISSUER = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,62}", re.ASCII)


def load(path: Path) -> KeyRing:
    """The ring in a file; an empty one where there is no file. Raises InvalidKeyRing, InvalidJson or FileFailed."""
    if not path.exists():
        return KeyRing.empty()
    try:
        return KeyRing.from_json(files.read(path))
    except InvalidInput as error:
        raise error.at(file=str(path)) from None


def change(path: Path, step: Callable[[KeyRing], KeyRing]) -> KeyRing:
    """Put `step(ring)` in the place of the ring in the file, one process at a time. The old file stays on any error."""
    files.make_folder(path.parent)
    with files.locked(path.with_name(f".{path.name}.lock")):
        ring = step(load(path))
        files.replace(path, msgspec.json.format(ring.to_json(), indent=1) + b"\n")
    return ring


def private_folder(home: Path) -> Path:
    """Where the private keys of a home lie."""
    return home / "keys" / "private"


def key_path(home: Path, key_id: str) -> Path:
    """Where the private key with this id lies."""
    return private_folder(home) / f"{key_id}.key"


def generate(
    ring_path: Path,
    home: Path,
    *,
    issuer: str,
    passphrase: bytes | None,
    level: str,
    clock: Clock,
) -> RingKey:
    """Make a key: active where the ring has no active one, else `next`. Returns its entry in the ring.

    The private half is on the disk before the ring names the key; without a passphrase it stays
    unencrypted. Raises InvalidSetting for an issuer's name that can't be one.
    """
    if not _ISSUER.fullmatch(issuer):
        raise InvalidSetting(
            f"{shown(issuer)} can't be an issuer's name",
            field="issuer",
            hint="letters, digits, dots and hyphens, at most 63",
        )
    folder = private_folder(home)
    files.make_folder(folder)
    made: list[RingKey] = []

    def step(ring: KeyRing) -> KeyRing:
        now = clock()
        key_id = f"{issuer}-v{_next_version(ring, folder, issuer)}-{now:%Y-%m}"
        seed = key_file.new_seed()
        signer = SeedSigner(key_id, seed)
        entry = RingKey.of(key_id, signer.public_key, "next" if ring.active() else "active", "receipts", now)
        key_file.write(key_path(home, key_id), signer, seed, passphrase, level)
        made.append(entry)
        return ring.with_key(entry)

    change(ring_path, step)
    return made[0]


def _next_version(ring: KeyRing, folder: Path, issuer: str) -> int:
    names = [key.key_id for key in ring.keys] + [path.stem for path in folder.glob("*.key")]
    form = re.compile(rf"{re.escape(issuer)}-v(\d+)-\d{{4}}-\d\d", re.ASCII)
    return 1 + max((int(match[1]) for name in names if (match := form.fullmatch(name))), default=0)
