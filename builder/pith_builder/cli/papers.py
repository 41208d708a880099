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


def asked_for(settings: Settings, ids: list[str] | None, metadata: str | None) -> Iterator[Item]:
    """The papers of these ids, or all of the metadata file."""
    if not ids and metadata is None:
        raise typer.BadParameter("give arXiv ids, or --metadata FILE", param_hint="ID")
    file = None if metadata is None else PaperFile(metadata, now)
    catalog = Catalog(settings.catalog, settings.cache, now) if settings.catalog else None
    return papers(ids or [], file, catalog)
