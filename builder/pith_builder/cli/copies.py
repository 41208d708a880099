"""`pith-build store backup` and `store copy`: the store in a file, or in another database."""

from __future__ import annotations

from typing import Annotated

import typer


def backup(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The SQLite file to make; it is a store itself.")],
    force: Annotated[bool, typer.Option("--force", help="Take the place of a file that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="What it holds as a JSON line.")] = False,
) -> None:
    """Back the whole store up into one SQLite file, of one moment, while others go on writing.

    The file is there whole or not at all. The keys are no part of the store: back up keys/ of the home too.
    """
    from pathlib import Path

    from pith_builder.cli import output
    from pith_builder.cli.log import logger
    from pith_builder.cli.progress import line
    from pith_builder.store import Store
    from pith_builder.store.backup import back_up

    store = Store(ctx.obj.store, create=False)
    with line() as show:
        made = back_up(store.engine, Path(file), force=force, show=show)
    output.print_data(output.to_json(made) if as_json else f"{made.records} records, {made.bytes} bytes")
    logger().info("store_backed_up", file=file, records=made.records, bytes=made.bytes)


def copy(
    ctx: typer.Context,
    to: Annotated[str, typer.Argument(metavar="URL", help="The store to copy to; made if there is none.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a table.")] = False,
) -> None:
    """Copy the whole store into another database, ids and history and all, and compare both at the end.

    The copy is of one moment, while others go on writing. What the other database has must be a part of this store: an
    earlier copy is brought up to date, and after a kill the same command goes on.
    """
    from pith_builder.cli import output
    from pith_builder.cli.log import logger
    from pith_builder.cli.progress import line
    from pith_builder.store import Store
    from pith_builder.store.copying import Copy
    from pith_builder.store.database import place

    source, target = Store(ctx.obj.store, create=False), Store(to)
    run = Copy(source.engine, target.engine)
    with line() as show:
        for table in run.run():
            show(f"{table.table}: {table.rows}")
    for table in run.tables:
        text = f"{table.table:<15} {table.rows}  new {table.new}  changed {table.changed}  sha256 {table.sha256}"
        output.print_data(output.to_json(table) if as_json else text)
    logger().info("store_copied", to=place(target.engine), rows=sum(table.rows for table in run.tables))
