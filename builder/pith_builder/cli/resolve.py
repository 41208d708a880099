"""`pith-build resolve`: from what people call a paper to its number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pith_builder.errors import cleaned

if TYPE_CHECKING:
    from pith_builder.store.resolve import Numbered, Resolved


def resolve(
    ctx: typer.Context,
    alias: Annotated[str, typer.Argument(help="arXiv id, DOI, pith number in any form, or URL.")],
    all_numbers: Annotated[
        bool, typer.Option("--all", help="All numbers of the paper, newest first, and how each differs from the next.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """Print the pith number that an alias stands for in the store; of a paper with several, the newest.

    A short form that stands for several papers is refused with the candidates.
    """
    from pith_builder.cli import output
    from pith_builder.store import Store
    from pith_builder.store.resolve import resolve

    with output.about(alias):
        found = resolve(Store(ctx.obj.store, create=False), alias)
    if found.meant.withdrawn and not all_numbers:
        output.print_withdrawn(found.meant.withdrawn)
    if all_numbers:
        for number in found.all:
            line = {**_line(alias, number), **_part(number, "differs", "said_at")}
            output.print_data(output.to_json(line) if as_json else _text(number))
    elif as_json:
        others = [_part(number, "pith_number", "version", "differs", "said_at") for number in found.others]
        output.print_data(output.to_json({**_line(alias, found.meant), "others": others}))
    else:
        output.print_data(found.meant.pith_number)
        if found.others:
            output.print_note(_note(found))


def _line(alias: str, number: Numbered) -> dict[str, Any]:
    fields = ("pith_number", "arxiv_id", "version", "transcription", "url", "withdrawn")
    return {"input": cleaned(alias), **_part(number, *fields)}


def _part(number: Numbered, *fields: str) -> dict[str, Any]:
    return {field: getattr(number, field) for field in fields}


def _text(number: Numbered) -> str:
    differs = f" differs in {', '.join(number.differs)}" if number.differs else ""
    withdrawn = f"; withdrawn: {number.withdrawn.reason}" if number.withdrawn else ""
    return f"{number.pith_number} {number.arxiv_id}v{number.version}{differs}{withdrawn}"


def _note(found: Resolved) -> str:
    newest = "" if found.meant is found.all[0] else f", the newest is {found.all[0].pith_number}"
    count = len(found.others)
    return f"{found.meant.arxiv_id} has {count} other number{'s' if count > 1 else ''}{newest}; --all lists them"
