"""arXiv as the commands ask it: over the network, or offline among what was fetched before."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import typer

from pith_builder.cli.log import logger
from pith_builder.cli.options import Kind
from pith_builder.cli.settings import Settings

if TYPE_CHECKING:
    from pith_builder.arxiv_id import ArxivId
    from pith_builder.errors import FileFailed
    from pith_builder.sources.lookup import Finder
    from pith_builder.sources.papers import FoundPaper
    from pith_builder.sources.transport import Client


class Arxiv:
    """One of arXiv's interfaces, made ready when the first paper is asked for."""

    def __init__(self, ctx: typer.Context, kind: Kind) -> None:
        self._ctx, self._kind = ctx, kind

    def find(self, asked: ArxivId) -> FoundPaper:
        """The paper. Raises NotFound, VersionMismatch, SourceFailed or FileFailed."""
        return self._finder.find(asked)

    @cached_property
    def _finder(self) -> Finder:
        from pith_builder.sources.arxiv import Offline, Online
        from pith_builder.sources.fetched import Fetched

        settings: Settings = self._ctx.obj
        fetched = Fetched(settings.cache)
        if settings.offline:
            return Offline(self._kind, fetched)
        from pith_builder.sources.atom import Atom
        from pith_builder.sources.oai import Oai

        if self._kind == "oai":
            return Online(Oai(client(self._ctx, settings.oai_url)), fetched, not_kept)
        return Online(Atom(client(self._ctx, settings.atom_url)), fetched, not_kept)


def client(ctx: typer.Context, url: str) -> Client:
    """A client of this URL; its connection is closed when the command ends."""
    from pith_builder.cli.papers import now
    from pith_builder.sources.transport import Client, report_retries

    report_retries(lambda reason, seconds: logger().warning("request_retried", reason=reason, wait=round(seconds, 1)))
    made = Client(url, contact=ctx.obj.contact, interval=ctx.obj.oai_interval, clock=now, own=ctx.obj.cache)
    ctx.call_on_close(made.close)
    return made


def not_kept(error: FileFailed) -> None:
    """An answer that could not be kept stops nothing."""
    logger().warning("answer_not_kept", reason=error.message, file=error.file)
