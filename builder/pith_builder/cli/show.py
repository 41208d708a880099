"""`pith-build show`: a stored record, or a part of it."""

from __future__ import annotations

from typing import Annotated

import typer


def show(
    ctx: typer.Context,
    alias: Annotated[str, typer.Argument(help="arXiv id, DOI, pith number in any form, or URL.")],
    part: Annotated[str | None, typer.Option(help="Only this field of the record, such as receipt.")] = None,
    provenance: Annotated[bool, typer.Option("--provenance", help="Where the metadata came from.")] = False,
    raw_form: Annotated[
        bool,
        typer.Option(
            "--raw", help="What arXiv answered when the metadata were fetched, as it came: of a sync, the whole page."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The record as published, on one line.")] = False,
) -> None:
    """Show a record of the store."""
    import msgspec

    from pith_builder.cli import output
    from pith_builder.sources.fetched import Fetched
    from pith_builder.store import Store

    with output.about(alias):
        stored = Store(ctx.obj.store, create=False).get(alias)
    raw = stored.record.to_json()
    if stored.withdrawn:
        output.print_withdrawn(stored.withdrawn)
    if raw_form:
        output.print_bytes(Fetched(ctx.obj.cache).raw(stored.provenance.raw_sha256 or ""))
        return
    if provenance:
        told = {"recorded_at": stored.recorded_at, "record_withdrawn": stored.withdrawn}
        raw = msgspec.json.encode({**told, **msgspec.to_builtins(stored.provenance)})
    elif part is not None:
        fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        if part not in fields:
            raise typer.BadParameter(f"{part} is none of {', '.join(fields)}", param_hint="--part")
        raw = bytes(fields[part])
    output.print_data(raw if as_json else msgspec.json.format(raw, indent=2))
