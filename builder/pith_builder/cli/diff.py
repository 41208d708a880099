"""`pith-build diff`: why two numbers differ."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pith_builder.published import PithRecord


def diff(
    ctx: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help="An alias in the store, a file of one record, or -.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The same.")],
    as_json: Annotated[bool, typer.Option("--json", help="The differences as one JSON line.")] = False,
) -> None:
    """Tell in which fields of the canonical record two numbers differ, one line a field: old -> new.

    Of hashes it shows the titles or excerpts behind them. Exit code 0 if they are the same, 1 if they differ.
    """
    from pith_builder.cli import output
    from pith_builder.diff import differences

    if a == b == "-":
        raise typer.BadParameter("standard input can be one of the two", param_hint="A B")
    first, second = _record(ctx, a), _record(ctx, b)
    found = differences(first, second)
    if as_json:
        output.print_data(output.to_json({"a": str(first.number), "b": str(second.number), "differs": found}))
    else:
        for difference in found:
            for line in difference.lines():
                output.print_data(line)
    raise typer.Exit(1 if found else 0)


def _record(ctx: typer.Context, name: str) -> PithRecord:
    from pith_builder.cli import output
    from pith_builder.sources.published import read_record
    from pith_builder.store import Store

    with output.about(name):
        # unlike Path's methods, these give False for a name that is too long
        if name == "-" or (os.path.exists(name) and not os.path.isdir(name)):  # noqa: PTH110, PTH112
            return read_record(name)
        stored = Store(ctx.obj.store, create=False).get(name)
    if stored.withdrawn:
        output.print_withdrawn(stored.withdrawn)
    return stored.record
