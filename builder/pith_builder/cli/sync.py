"""`pith-build sync`: the store follows arXiv."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pith_builder.errors import PithError
    from pith_builder.sources.oai import Listed
    from pith_builder.sources.papers import FoundPaper
    from pith_builder.sources.transport import Answer
    from pith_builder.store import Store
    from pith_builder.store.store import Action
    from pith_builder.store.sync import Counts

_SET = re.compile(r"[A-Za-z0-9_.!~*'():-]+", re.ASCII)


def _day(text: str | None) -> str | None:
    from datetime import date

    try:
        if text is None or str(date.fromisoformat(text)) == text:
            return text
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r} is no day such as 2024-03-12")


def sync(
    ctx: typer.Context,
    from_day: Annotated[
        str | None,
        typer.Option("--from", metavar="DAY", callback=_day, help="What changed since this day, such as 2024-03-12."),
    ] = None,
    until_day: Annotated[
        str | None, typer.Option("--until", metavar="DAY", callback=_day, help="What changed up to this day.")
    ] = None,
    set_name: Annotated[str | None, typer.Option("--set", metavar="SET", help="One set of papers, such as cs.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be done, and write nothing.")] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Read lists that were interrupted from their beginning.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Refused records and the summary as JSON lines.")] = False,
) -> None:
    """Issue what is new or changed at arXiv, by its OAI-PMH interface.

    Without --from it goes on: first with what was interrupted, then where the last sync ended. It may be stopped at any
    moment: the same command goes on, and run again it changes nothing.
    """
    import contextlib

    from pith_builder import files
    from pith_builder.cli import output
    from pith_builder.cli.log import logger
    from pith_builder.cli.network import client
    from pith_builder.cli.papers import now
    from pith_builder.errors import SourceMalformed, SourceRefused
    from pith_builder.sources.oai import Oai
    from pith_builder.store.harvests import Checkpoints, Harvest, Harvests, Window
    from pith_builder.store.sync import Counts
    from pith_builder.store.sync import sync as read

    if ctx.obj.offline:
        raise typer.BadParameter("a sync asks arXiv", param_hint="--offline")
    if until_day and (not from_day or until_day < from_day):
        raise typer.BadParameter("goes with --from, an earlier day", param_hint="--until")
    if set_name and not _SET.fullmatch(set_name):
        raise typer.BadParameter("is no name of a set", param_hint="--set")
    if from_day and from_day > str(now().date()):
        raise typer.BadParameter("is still to come", param_hint="--from")
    with contextlib.ExitStack() as stack:
        if not dry_run:
            files.make_folder(ctx.obj.home)
            hint = "another sync of this home is running"
            stack.enter_context(files.locked(ctx.obj.home / "sync.lock", wait=False, hint=hint))
        work = _Work(ctx, as_json=as_json, dry_run=dry_run)
        harvests = None if work.store is None else Harvests(work.store, now)
        source = ctx.obj.oai_url
        if from_day:
            window = Window(source, from_day, until_day or "", set_name or "")
            due = [harvests.of(window) if harvests else Harvest(window)]
        else:
            due = harvests.due(source, set_name or "") if harvests else []
        if not due:
            raise typer.BadParameter(
                "no list from this source has begun: name the day from which on, such as that of the metadata snapshot",
                param_hint="--from",
            )
        if not from_day and harvests:
            for begin, end in harvests.gaps(source, set_name or ""):
                logger().warning("days_never_asked_for", **{"from": begin, "until": end})
        oai, counts = Oai(client(ctx, source)), Counts()
        checkpoints = Checkpoints() if dry_run or harvests is None else harvests
        failure: PithError | None = None
        try:
            for harvest in due:
                logger().info("harvest_resumed" if harvest.token else "harvest_begun", **harvest.window.question())
                try:
                    for _ in read(oai, checkpoints.restart(harvest) if restart else harvest, checkpoints, work, counts):
                        logger().info("page_done", **_told(counts))
                except (SourceMalformed, SourceRefused) as error:  # of this list; the others may be sound
                    logger().error("harvest_failed", **harvest.window.question(), code=error.code)
                    failure = failure or error
        finally:
            output.print_data(
                output.to_json(_told(counts) | {"dry_run": dry_run}) if as_json else _sentence(counts, dry_run=dry_run)
            )
    if failure is not None:
        raise failure
    raise typer.Exit(1 if counts.refused else 0)


class _Work:
    """What is done with each record: issued into the store, or looked at in a dry run."""

    def __init__(self, ctx: typer.Context, *, as_json: bool, dry_run: bool) -> None:
        from pith_builder.cli.papers import now
        from pith_builder.cli.signer import active_signer
        from pith_builder.errors import NotFound
        from pith_builder.issue import Issuer
        from pith_builder.published import Profile
        from pith_builder.sources.fetched import Fetched
        from pith_builder.store import Store

        self._as_json = as_json
        self._profile, self._now = Profile(ctx.obj.base_url), now
        self._fetched = None if dry_run else Fetched(ctx.obj.cache)
        self._issuer = None if dry_run else Issuer(active_signer(ctx.obj), self._profile, clock=now)
        self.store: Store | None
        try:
            self.store = Store(ctx.obj.store, create=not dry_run)
        except NotFound:  # only in a dry run, where all would be new
            self.store = None

    def issue(self, found: FoundPaper) -> Action:
        from pith_builder.cli.log import log_outcome

        if self.store is None:
            return "issued"
        if self._issuer is None:
            return self.store.would(found.metadata, found.provenance, self._profile, self._now)
        outcome = self.store.issue(found.metadata, found.provenance, self._issuer)
        if outcome.action != "stored":
            log_outcome(outcome, found.provenance)
        return outcome.action

    def keep(self, answer: Answer, papers: list[FoundPaper]) -> None:
        from pith_builder.cli.network import not_kept
        from pith_builder.sources.arxiv import keep

        if self._fetched is not None:
            keep(self._fetched, answer, papers, not_kept)

    def refused(self, listed: Listed, error: PithError) -> None:
        from pith_builder.cli import output
        from pith_builder.cli.log import logger

        if self._as_json:
            output.print_data(output.error_line(listed.name, error))
        logger().error("record_refused", paper=listed.name, code=error.code, reason=error.message, hint=error.hint)

    def deleted(self, listed: Listed) -> None:
        from pith_builder.cli.log import logger

        logger().warning("record_deleted_at_source", paper=listed.name, since=listed.datestamp)


def _told(counts: Counts) -> dict[str, int]:
    import msgspec

    return {name: value for name, value in msgspec.structs.asdict(counts).items() if value is not None}


def _sentence(counts: Counts, *, dry_run: bool) -> str:
    what = f"issued {counts.issued}, updated {counts.updated}, unchanged {counts.stored}"
    rest = f"deleted at arXiv {counts.deleted}, refused {counts.refused}"
    return f"{'dry run: ' if dry_run else ''}{what}, {rest}; {counts.records} records on {counts.pages} pages"
