"""Arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

Kind = Literal["oai", "atom"]

Ids = Annotated[list[str] | None, typer.Argument(metavar="ID", help="arXiv ids, URLs or DOIs.")]
MetadataFile = Annotated[
    list[str] | None, typer.Option(metavar="FILE|-", help="Metadata: one object, JSON Lines or snapshot rows.")
]
SourceName = Annotated[
    Kind | None, typer.Option(help="Ask this interface of arXiv, not the catalogue; atom tells no licence.")
]
License = Annotated[
    str | None,
    typer.Option("--license", metavar="URI", help='The licence where the source knows none; "" if arXiv has none.'),
]
