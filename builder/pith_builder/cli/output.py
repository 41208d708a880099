"""Data to standard output, errors and progress to standard error, and the exit code that follows."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from pith_builder.cli.arguments import UnknownCommand
from pith_builder.errors import (
    Ambiguous,
    InvalidInput,
    InvalidSetting,
    KeyUnusable,
    PithError,
    Refused,
    StorageFailed,
    cleaned,
)

if TYPE_CHECKING:
    from pith_builder.store import Withdrawal

#: Families of errors -> exit code, the first that fits (DESIGN "Exit codes").
EXIT_CODES: tuple[tuple[type[PithError], int], ...] = (
    (UnknownCommand, 2),
    (InvalidSetting, 2),
    (InvalidInput, 3),
    (Refused, 1),
    (KeyUnusable, 4),
    (StorageFailed, 5),
)


def exit_code(error: PithError) -> int:
    """The exit code of an error that ends a command."""
    return next((code for family, code in EXIT_CODES if isinstance(error, family)), 1)


class ReaderGone(Exception):
    """Who read our standard output went away."""


@contextlib.contextmanager
def about(name: str) -> Iterator[None]:
    """Errors inside are about this input."""
    try:
        yield
    except PithError as error:
        error.input = name
        raise


def print_data(line: str | bytes) -> None:
    """One line to standard output, UTF-8 whatever the locale is; text without terminal escapes."""
    print_bytes((line if isinstance(line, bytes) else cleaned(line).encode()) + b"\n")


def print_bytes(data: bytes) -> None:
    """Bytes to standard output, as they are."""
    try:
        sys.stdout.buffer.write(data)
    except BrokenPipeError:
        raise ReaderGone from None


def print_note(text: str) -> None:
    """One line to standard error, without terminal escapes; a failure there stops nothing."""
    with contextlib.suppress(OSError):
        sys.stderr.buffer.write(cleaned(text).encode() + b"\n")
        sys.stderr.flush()


def print_withdrawn(withdrawal: Withdrawal) -> None:
    """The notice that goes with a record that was issued in error."""
    print_note(f"withdrawn on {withdrawal.at}: {withdrawal.reason}")


def print_error(error: PithError) -> None:
    """An error for a person: what, where, and what to do next."""
    print_note(f"pith-build: {error}")
    if isinstance(error, Ambiguous):
        for candidate in error.candidates:
            print_note(f"  {candidate}")
    if error.hint:
        print_note(f"  {error.hint}")


def print_failure(error: PithError, *, json: bool) -> None:
    """An error that ends a command, for a person or as a JSON line."""
    if json:
        print_data(error_line(error.input, error))
    else:
        print_error(error)


def error_line(name: str | None, error: PithError) -> bytes:
    """A failure as one JSON line (DESIGN "Streams")."""
    return msgspec.json.encode({"input": None if name is None else cleaned(name), "error": error.to_dict()})


class Items:
    """The items of a command: prints each, and keeps what the exit code depends on.

    Items belong to groups: the rows of one file, or an argument by itself. A group in which nothing could be read
    is invalid input; beside others that could, an unreadable item is a failed item.
    """

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self._codes: dict[str, set[int]] = {}

    def done(self, group: str, line: str | bytes, code: int = 0) -> None:
        """An item that came out, as the line to print; `code` is 1 for a verification that failed."""
        self.passed(group, code)
        print_data(line)

    def passed(self, group: str, code: int = 0) -> None:
        """An item that came out, of which nothing is printed."""
        self._codes.setdefault(group, set()).add(code)

    def failed(self, group: str, name: str, error: PithError, line: int = 0) -> None:
        """An item that failed, in the line of the file that is its group, if it is one of several there."""
        if line:
            error = error.at(file=group, line=line)
        self._codes.setdefault(group, set()).add(exit_code(error))
        if self.json:
            print_data(error_line(name, error))
        else:
            print_error(error if error.file or error.message.startswith(name) else _named(error, name))

    def exit_code(self) -> int:
        """The highest of all groups."""
        return max((_code_of_group(codes) for codes in self._codes.values()), default=0)


def _code_of_group(codes: set[int]) -> int:
    if 3 in codes and codes != {3}:
        codes = codes - {3} | {1}
    return max(codes)


def _named(error: PithError, name: str) -> PithError:
    return error if name in error.message else error.at(file=name)


def to_json(value: Any) -> bytes:
    """A value as one JSON line."""
    return msgspec.json.encode(value)
