"""`pith-build schema`: the JSON Schemas of what is read and written."""

from __future__ import annotations

from typing import Annotated

import typer


def schema(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Of what; without it, the names.")] = None,
) -> None:
    """Print the JSON Schema (2020-12) of a document: record, canonical-record, receipt, keyring, and so on.

    A schema tells the form. What binds the parts of a record together, verify checks.
    """
    from pith_builder.cli import output
    from pith_builder.schemas import NAMES, schema

    if name is None:
        for known in NAMES:
            output.print_data(known)
    elif name in NAMES:
        output.print_bytes(schema(name))
    else:
        raise typer.BadParameter(f"there is none of {name!r}: {', '.join(NAMES)}", param_hint="NAME")
