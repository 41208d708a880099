"""The key ring's file, and where the private keys of a home lie."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from pith_builder import files
from pith_builder.errors import InvalidInput
from pith_builder.keyring import KeyRing


def load(path: Path) -> KeyRing:
    """The ring in a file; an empty one where there is no file. Raises InvalidKeyRing, InvalidJson or FileFailed."""
    with files.failing("read the key ring", path):
        if not os.path.lexists(path):
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
