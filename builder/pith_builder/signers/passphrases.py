"""Passphrases that the environment gives, to commands and to workers that have nobody to ask."""

from __future__ import annotations

import os
from pathlib import Path

from pith_builder import files
from pith_builder.errors import FileFailed, KeyLocked

VARIABLE, FILE_VARIABLE = "PITH_KEY_PASSPHRASE", "PITH_KEY_PASSPHRASE_FILE"

#: What to do where there is none.
GIVE_ONE = f"set {VARIABLE}, or {FILE_VARIABLE} to a file that holds it"


def given() -> bytes | None:
    """The passphrase in PITH_KEY_PASSPHRASE, or in the file PITH_KEY_PASSPHRASE_FILE. Raises KeyLocked."""
    if value := os.environ.get(VARIABLE):
        return os.fsencode(value).rstrip(b"\r\n")
    if path := os.environ.get(FILE_VARIABLE):
        try:
            content = files.read(Path(path)).rstrip(b"\r\n")
        except FileFailed as error:
            raise KeyLocked(f"the passphrase file: {error.message}").at(file=path) from None
        if not content:
            raise KeyLocked("the passphrase file is empty").at(file=path)
        return content
    return None


def of_worker(key_id: str) -> bytes:
    """The passphrase of a key where there is nobody to ask. Raises KeyLocked."""
    passphrase = given()
    if passphrase is None:
        raise KeyLocked(f"{key_id} needs a passphrase, and this worker's environment has none", hint=GIVE_ONE)
    return passphrase
