"""Passphrases: from the environment, from a file, or asked for on the terminal; never from an argument."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pith_builder import files
from pith_builder.errors import FileFailed, KeyLocked

VARIABLE, FILE_VARIABLE = "PITH_KEY_PASSPHRASE", "PITH_KEY_PASSPHRASE_FILE"


def new() -> bytes:
    """A passphrase for a new key, asked for twice. Raises KeyLocked where there is no way to get one."""
    return _given() or _asked("Passphrase of the new key", twice=True)


def existing(key_id: str) -> bytes:
    """The passphrase of a key. Raises KeyLocked where there is no way to get one."""
    return _given() or _asked(f"Passphrase of {key_id}", twice=False)


def _given() -> bytes | None:
    if value := os.environ.get(VARIABLE):
        return os.fsencode(value)
    if path := os.environ.get(FILE_VARIABLE):
        try:
            content = files.read(Path(path)).rstrip(b"\r\n")
        except FileFailed as error:
            raise KeyLocked(f"the passphrase file: {error.message}").at(file=path) from None
        if not content:
            raise KeyLocked("the passphrase file is empty").at(file=path)
        return content
    return None


def _asked(prompt: str, *, twice: bool) -> bytes:
    import typer

    if not sys.stdin.isatty():
        raise KeyLocked(
            "a passphrase is needed, and there is no terminal to ask for it",
            hint=f"set {FILE_VARIABLE} to a file that holds it",
        )
    try:
        value: str = typer.prompt(prompt, hide_input=True, confirmation_prompt=twice, err=True)
    except typer.Abort:
        raise KeyLocked("no passphrase was given") from None
    return os.fsencode(value)
