"""What changed at arXiv, issued into the store: page by page, each followed by its checkpoint.

A page is issued record by record, and issuing is idempotent: a page that was interrupted is asked for again, and what
the store has of it already stays as it is. So nothing is lost and nothing comes twice, whenever a run ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from pith_builder.errors import InvalidInput, PithError, Refused, SourceMalformed
from pith_builder.sources.oai import Listed, Oai, TokenExpired
from pith_builder.sources.papers import FoundPaper
from pith_builder.sources.transport import Answer
from pith_builder.store.harvests import Checkpoints, Harvest
from pith_builder.store.store import Action

_RESTARTS = 3


class Counts(msgspec.Struct):
    """What a run did so far: pages and records read, and what became of the records.

    `size` is how many records the source says there are in the list, None where it doesn't say.
    """

    size: int | None = None
    pages: int = 0
    records: int = 0
    issued: int = 0
    updated: int = 0
    stored: int = 0
    deleted: int = 0
    refused: int = 0
    restarted: int = 0


class Work(Protocol):
    """What is done with each record, and with the answers that they stand in."""

    def issue(self, found: FoundPaper) -> Action: ...

    def keep(self, answer: Answer, papers: list[FoundPaper]) -> None: ...

    def refused(self, listed: Listed, error: PithError) -> None: ...

    def deleted(self, listed: Listed) -> None: ...


def sync(
    oai: Oai,
    harvest: Harvest,
    checkpoints: Checkpoints,
    work: Work,
    counts: Counts,
) -> Iterator[None]:
    """Read a harvest to its end and issue what it lists; returns after each page, with `counts` grown.

    Raises SourceFailed, StoreFailed or KeyUnusable: the same harvest goes on later where this run ended.
    """
    while True:
        try:
            for page in oai.pages(harvest.window.question(), harvest.token):
                work.keep(
                    page.answer, [record.found for record in page.records if isinstance(record.found, FoundPaper)]
                )
                for listed in page.records:
                    _count(counts, _become(listed, work))
                harvest = checkpoints.page_done(harvest, page.token, page.day, len(page.records))
                counts.pages, counts.size = counts.pages + 1, page.size
                yield
        except TokenExpired as error:
            if counts.restarted == _RESTARTS:
                error.hint = "the list takes longer than its tokens last: take shorter ones, with --until"
                raise
            counts.restarted += 1
            harvest = checkpoints.restart(harvest)
        else:
            return


def _become(listed: Listed, work: Work) -> str:
    """What becomes of a record: the field of the counts."""
    if listed.found is None:
        work.deleted(listed)
        return "deleted"
    try:
        if isinstance(listed.found, PithError):
            raise listed.found
        return work.issue(listed.found)
    except (InvalidInput, Refused, SourceMalformed) as error:
        work.refused(listed, error)
        return "refused"


def _count(counts: Counts, what: str) -> None:
    counts.records += 1
    setattr(counts, what, getattr(counts, what) + 1)
