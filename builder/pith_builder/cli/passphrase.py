"""Passphrases: from the environment, from a file, or asked for on the terminal; never from an argument."""

from __future__ import annotations

import getpass
import os
import sys

from pith_builder.cli.output import print_note
from pith_builder.errors import KeyLocked
from pith_builder.signers import passphrases


def new() -> bytes:
    """A passphrase for a new key, asked for twice. Raises KeyLocked where there is no way to get one."""
    return passphrases.given() or _asked("Passphrase of the new key", twice=True)


def existing(key_id: str) -> bytes:
    """The passphrase of a key. Raises KeyLocked where there is no way to get one."""
    return passphrases.given() or _asked(f"Passphrase of {key_id}", twice=False)


def _asked(prompt: str, *, twice: bool) -> bytes:
    if not _has_terminal():
        raise KeyLocked(
            "a passphrase is needed, and there is no terminal to ask for it",
            hint=passphrases.GIVE_ONE,
        )
    try:
        while not (value := getpass.getpass(f"{prompt}: ")):
            print_note("an empty passphrase protects nothing; Ctrl-C gives up")
        if twice and getpass.getpass("The same again: ") != value:
            raise KeyLocked("the two passphrases differ", hint="try again")
    except EOFError:
        raise KeyLocked("no passphrase was given") from None
    return os.fsencode(value)


def _has_terminal() -> bool:
    """Whether getpass can ask: on the controlling terminal, whatever standard input is, or on standard input."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return sys.stdin.isatty()
    return True
