"""The papers that a command is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import typer

from pith_builder.cli.network import Arxiv
from pith_builder.cli.options import Kind
from pith_builder.metadata import is_license
from pith_builder.sources.catalog import Catalog
from pith_builder.sources.lookup import Item, papers, with_license
from pith_builder.sources.papers import PaperFile


def now() -> datetime:
    """The clock of this process."""
    return datetime.now(UTC)


def asked_for(
    ctx: typer.Context, ids: list[str] | None, metadata: list[str] | None, source: Kind | None, license_: str | None
) -> Iterator[Item]:
    """The papers of these ids, or all of the metadata file."""
    if not ids and not metadata:
        raise typer.BadParameter("give arXiv ids, or --metadata FILE", param_hint="ID")
    if metadata and len(metadata) > 1:
        raise typer.BadParameter(
            "give one file; several join with: cat FILES | … --metadata -", param_hint="--metadata"
        )
    if metadata and source:
        raise typer.BadParameter("where --metadata is given, nothing else is asked", param_hint="--source")
    if license_ is not None and not is_license(license_):
        raise typer.BadParameter('is no http(s) URI, nor "" for none', param_hint="--license")
    file = PaperFile(metadata[0], now) if metadata else None
    catalog = Catalog(ctx.obj.catalog, ctx.obj.cache, now) if ctx.obj.catalog and not source else None
    items = papers(ids or [], file, catalog, Arxiv(ctx, source or "oai"))
    return items if license_ is None else with_license(items, license_)
