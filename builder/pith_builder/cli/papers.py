"""The papers that a command is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import typer

from pith_builder.cli.settings import Settings
from pith_builder.sources.catalog import Catalog
from pith_builder.sources.lookup import Item, papers
from pith_builder.sources.papers import PaperFile


def now() -> datetime:
    """The clock of this process."""
    return datetime.now(UTC)


def asked_for(settings: Settings, ids: list[str] | None, metadata: list[str] | None) -> Iterator[Item]:
    """The papers of these ids, or all of the metadata file."""
    if not ids and not metadata:
        raise typer.BadParameter("give arXiv ids, or --metadata FILE", param_hint="ID")
    if metadata and len(metadata) > 1:
        raise typer.BadParameter(
            "give one file; several join with: cat FILES | … --metadata -", param_hint="--metadata"
        )
    file = PaperFile(metadata[0], now) if metadata else None
    catalog = Catalog(settings.catalog, settings.cache, now) if settings.catalog else None
    return papers(ids or [], file, catalog)
