"""The command line, `pith-build`: parses, calls, prints. No logic lives here (DESIGN "Command line")."""

from __future__ import annotations

import os
import sys

from pith_builder import __version__


def main(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit code. No exception and no traceback leaves it."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not _has_output():
        return 5
    if arguments == ["--version"]:  # the quick way; app.py knows the option too
        try:
            print(f"pith-build {__version__}", flush=True)
        except OSError:
            return 5
        return 0
    try:
        from pith_builder.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:  # while the program is still loading
        return 130


def _has_output() -> bool:
    """Whether there is a standard output; a missing standard input or error is as good as an empty one."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115  # lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # lives as long as the process
    if sys.stdout is None:
        print("pith-build: standard output is closed", file=sys.stderr)
        return False
    return True


def entry() -> None:
    """The console script."""
    sys.exit(main())
