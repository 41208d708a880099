"""Digests from metadata, for records for which no receipt vouches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import PithError
from pith_builder.metadata import PaperMetadata
from pith_builder.record import canonical_record
from pith_builder.sources.catalog import Catalog
from pith_builder.sources.papers import FoundPaper, PaperFile
from pith_builder.sources.records import read_descriptions
from pith_builder.times import Clock


def recomputing(
    metadata: str | None, catalog: list[Path], cache: Path, clock: Clock
) -> Callable[[list[ArxivId]], dict[ArxivId, bytes]] | None:
    """From papers to the digests that their metadata give: of a file where one is named, else of the catalogue."""
    if metadata is not None and not Path(metadata).is_file():  # standard input, or what can be read only once
        descriptions = read_descriptions(PaperFile(metadata, clock))
        return lambda papers: _digests({paper: descriptions[paper] for paper in papers if paper in descriptions})
    paths = [Path(metadata)] if metadata is not None else catalog
    if not paths:
        return None
    source = Catalog(paths, cache, clock)

    def recompute(papers: list[ArxivId]) -> dict[ArxivId, bytes]:
        found = source.select(papers)
        return _digests({paper: f.metadata for paper, f in found.items() if isinstance(f, FoundPaper)})

    return recompute


def _digests(described: dict[ArxivId, PaperMetadata]) -> dict[ArxivId, bytes]:
    digests = {}
    for paper, metadata in described.items():
        with contextlib.suppress(PithError):  # a licence that isn't known gives no digest
            digests[paper] = canonical_record(metadata).digest()
    return digests
