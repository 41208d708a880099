"""Digests from metadata, for records for which no receipt vouches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import PithError
from pith_builder.record import canonical_record
from pith_builder.sources.catalog import Catalog
from pith_builder.sources.papers import FoundPaper
from pith_builder.times import Clock


def recomputing(
    metadata: str | None, catalog: list[Path], cache: Path, clock: Clock
) -> Callable[[list[ArxivId]], dict[ArxivId, bytes]] | None:
    """From papers to the digests that their metadata give: of a file where one is named, else of the catalogue."""
    paths = [Path(metadata)] if metadata is not None else catalog
    if not paths:
        return None
    source = Catalog(paths, cache, clock)

    def recompute(papers: list[ArxivId]) -> dict[ArxivId, bytes]:
        digests = {}
        for paper, found in source.select(papers).items():
            if isinstance(found, FoundPaper):
                with contextlib.suppress(PithError):
                    digests[paper] = canonical_record(found.metadata).digest()
        return digests

    return recompute
