"""`pith-build store withdraw`: a record that was issued in error."""

from __future__ import annotations

from typing import Annotated

import typer

from pith_builder.errors import cleaned


def withdraw(
    ctx: typer.Context,
    alias: Annotated[str, typer.Argument(metavar="NUMBER", help="A number, or an alias that means one alone.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="What is wrong with it; shown with it from now on.")],
    as_json: Annotated[bool, typer.Option("--json", help="Number and mark as a JSON line.")] = False,
) -> None:
    """Mark a record as issued in error. It stays, resolves and verifies, with the notice; nothing is deleted.

    A record that is marked keeps its first mark.
    """
    from pith_builder.cli import output
    from pith_builder.cli.log import logger
    from pith_builder.cli.papers import now
    from pith_builder.store import Store
    from pith_builder.store.withdraw import withdraw

    if not reason.strip():
        raise typer.BadParameter("say what is wrong with the record", param_hint="--reason")
    with output.about(alias):
        marked = withdraw(Store(ctx.obj.store, create=False), alias, reason, now)
    output.print_data(output.to_json(marked) if as_json else marked.pith_number)
    if marked.already:
        output.print_note("it is marked already, and the first mark stays")
        output.print_withdrawn(marked.withdrawn)
    else:
        logger().info("record_withdrawn", pith_number=marked.pith_number, reason=cleaned(reason))
