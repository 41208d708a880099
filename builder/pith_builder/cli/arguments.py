"""The order of arguments: settings may stand anywhere, and an id alone means `issue`."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

from pith_builder.arxiv_id import ArxivId
from pith_builder.cli.settings import FLAGS
from pith_builder.errors import InvalidArxivId, PithError

_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@")
_ALONE = ("--help", "-h", "--version")


class UnknownCommand(PithError):
    """The first argument is no command and no id, or a setting lacks its value."""

    code = "unknown_command"


def arranged(arguments: list[str], commands: Collection[str]) -> list[str]:
    """`arguments` with the settings first and the command behind them, `issue` where none is named.

    Raises UnknownCommand, with the nearest command, for a first argument that is neither command nor id.
    """
    settings, rest = _parted(arguments)
    _check_no_password(rest)
    if not rest:
        return settings or ["--help"]
    if rest[0] in commands or rest[0] in _ALONE:
        return settings + rest
    first = next((argument for argument in rest if not argument.startswith("-")), None)
    if first is None and not rest[0].startswith("--metadata"):
        return settings + rest  # an option that no program of ours has: the parser names it
    if first is None or _is_id(first) or rest[0] == "--metadata":
        return [*settings, "issue", *rest]
    if first in commands:
        return settings + rest  # an unknown option before the command: the parser names it
    near = get_close_matches(first, commands, n=1)
    hint = f"did you mean: pith-build {near[0]}" if near else "pith-build --help lists the commands"
    raise UnknownCommand(f"{first!r} is no command and no arXiv id", hint=hint)


def _parted(arguments: list[str]) -> tuple[list[str], list[str]]:
    settings: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
        elif argument in FLAGS:
            settings.append(argument)
            if FLAGS[argument]:
                if (value := next(waiting, None)) is None:
                    raise UnknownCommand(f"{argument} needs a value", hint="pith-build --help tells of which kind")
                settings.append(value)
        elif argument.partition("=")[0] in FLAGS:
            settings.append(argument)
        else:
            rest.append(argument)
    return settings, rest


def _check_no_password(rest: list[str]) -> None:
    """A URL with a password goes with `--store` or behind `store copy`; elsewhere messages would print it."""
    given = [argument for argument in rest if _PASSWORD.search(argument)]
    others = [argument for argument in rest if not argument.startswith("-")]
    if given and others != ["store", "copy", *given[:1]]:
        raise UnknownCommand(
            "a store's URL with a password stands where none is expected",
            hint="give it with --store, or as the one argument of: pith-build store copy; better have it in ~/.pgpass",
        )


def _is_id(text: str) -> bool:
    try:
        ArxivId.parse(text)
    except InvalidArxivId:
        return False
    return True
