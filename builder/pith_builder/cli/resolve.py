"""`pith-build resolve`: from what people call a paper to its number."""

from __future__ import annotations

from typing import Annotated

import typer


def resolve(
    ctx: typer.Context,
    alias: Annotated[str, typer.Argument(help="arXiv id, DOI, pith number in any form, or URL.")],
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON line.")] = False,
) -> None:
    """Print the pith number that an alias stands for in the store; of a paper with several, the newest.

    A short form that stands for several papers is refused with the candidates.
    """
    from pith_builder.cli import output
    from pith_builder.errors import cleaned
    from pith_builder.store import Store

    with output.about(alias):
        record = Store(ctx.obj.store, create=False).get(alias).record
    line = {
        "input": cleaned(alias),
        "pith_number": record.pith_number,
        "arxiv_id": record.source.id,
        "version": record.source.version,
        "transcription": record.number.transcription(),
        "url": record.links.html,
    }
    output.print_data(output.to_json(line) if as_json else record.pith_number)
