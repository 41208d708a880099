"""`pith-build store`: the store as a whole."""

from __future__ import annotations

from typing import Annotated

import typer

store = typer.Typer(help="Look after the store.", no_args_is_help=True)


@store.command()
def check(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Failures and summary as JSON lines.")] = False,
) -> None:
    """Verify every record of the store and every earlier receipt. What passes is remembered for reissue."""
    from pith_builder.cli import output, rings
    from pith_builder.cli.papers import now
    from pith_builder.store import Store
    from pith_builder.store.check import Counts, check_store

    def failed(number: str, reason: str) -> None:
        line = {"pith_number": number, "reason": reason}
        output.print_data(output.to_json(line) if as_json else f"FAILED {number}: {reason}")

    counts = Counts(0)
    for step in check_store(Store(ctx.obj.store, create=False), rings.trusted(ctx.obj), now, failed):
        counts = step
    summary = {"records": counts.checked, "failed": counts.failed}
    output.print_data(output.to_json(summary) if as_json else f"{counts.checked} records, {counts.failed} failed")
    raise typer.Exit(1 if counts.failed else 0)


@store.command()
def stats(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON line.")] = False,
) -> None:
    """Tell what the store holds, under which keys, since when, and how large it is."""
    import msgspec

    from pith_builder.cli import output, rings
    from pith_builder.store import Store
    from pith_builder.store.stats import stats

    found = stats(Store(ctx.obj.store, create=False), rings.trusted(ctx.obj))
    if as_json:
        output.print_data(output.to_json(found))
        return
    for name, value in msgspec.structs.asdict(found).items():
        if name == "keys":
            for key in found.keys:
                output.print_data(f"{'key':<18} {key.key_id}  {key.fingerprint}  {key.state}  {key.use}  {key.records}")
        else:
            output.print_data(f"{name:<18} {'-' if value is None else value}")


@store.command()
def migrate(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON line.")] = False,
) -> None:
    """Bring the store to the newest schema, and print from which to which; make an empty one where there is none.

    Any other command does it too when it opens the store.
    """
    from pith_builder.cli import output
    from pith_builder.store.database import NEWEST, open_engine, revision

    before = revision(ctx.obj.store)
    open_engine(ctx.obj.store)
    output.print_data(output.to_json({"from": before, "to": NEWEST}) if as_json else f"{before or 'none'} -> {NEWEST}")


@store.callback()
def _store() -> None:
    """Look after the store."""
