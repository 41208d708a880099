"""`pith-build store import`: others' published records."""

from __future__ import annotations

from typing import Annotated

import typer

from pith_builder.errors import cleaned


def import_records(
    ctx: typer.Context,
    records: Annotated[
        list[str] | None, typer.Argument(metavar="FILE|-", help="Records: one a file, or JSON Lines.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a record, and the summary.")] = False,
) -> None:
    """Take others' published records into the store: each is verified with the key ring, and kept whole.

    A later state of a record takes the place of the earlier one, which is kept. What is stored under a key of our own
    is never replaced. Killed at any moment, the same command goes on.
    """
    from pith_builder.cli import output, rings
    from pith_builder.cli.log import logger
    from pith_builder.cli.papers import now
    from pith_builder.errors import PithError
    from pith_builder.store import Store
    from pith_builder.store.importing import Import

    if not records:
        raise typer.BadParameter("give record files, or - for standard input", param_hint="FILE")
    ring = rings.trusted(ctx.obj)
    run = Import(Store(ctx.obj.store), ring, now)
    items = output.Items(json=as_json)
    counts = {"imported": 0, "updated": 0, "stored": 0, "failed": 0}
    try:
        for name in records:
            for place, result in run.run(name):
                if isinstance(result, PithError):
                    items.failed(name, place, result)
                    counts["failed"] += 1
                    continue
                counts[result.action] += 1
                if as_json:
                    line = {"input": cleaned(place), "action": result.action, "pith_number": result.pith_number}
                    items.done(name, output.to_json(line))
                else:
                    items.passed(name)
                if result.action != "stored":
                    logger().info(f"record_{result.action}", pith_number=result.pith_number, source=cleaned(name))
    finally:
        text = ", ".join(f"{what} {count}" for what, count in counts.items())
        output.print_data(output.to_json(counts) if as_json else text)
    raise typer.Exit(items.exit_code())
