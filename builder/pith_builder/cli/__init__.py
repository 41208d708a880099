"""The command line, `pith-build`: parses, calls, prints. No logic lives here (DESIGN "Command line")."""

from __future__ import annotations

import sys

from pith_builder import __version__


def main(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit code. No exception and no traceback leaves it."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments == ["--version"]:  # the quick way; app.py knows the option too
        print(f"pith-build {__version__}")
        return 0
    from pith_builder.cli.app import run

    return run(arguments)


def entry() -> None:
    """The console script."""
    sys.exit(main())
