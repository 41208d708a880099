"""`pith-build corpus`: many papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pith_builder.corpus.checkpoint import Checkpoint
    from pith_builder.corpus.crew import Crew
    from pith_builder.store import Store

corpus = typer.Typer(help="Many papers: issue a whole snapshot, export it, verify it.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="The summary as a JSON line.")]


@corpus.command("issue")
def issue(
    ctx: typer.Context,
    snapshot: Annotated[
        str,
        typer.Argument(metavar="SNAPSHOT|-", help="Snapshot rows or metadata as JSON Lines, plain, .gz or .zst."),
    ],
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Write numbers and receipts into this folder, not into the store."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="Processes that sign; as many as there are cores.")
    ] = None,
    rejects: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where rows that give no record are listed; rejects.jsonl.")
    ] = None,
    max_errors: Annotated[int | None, typer.Option(min=0, help="Stop when more rows than this gave no record.")] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Leave a run that stopped, and begin anew.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Issue a whole corpus into the store, or into a folder. Stopped at any moment, the same command goes on.

    A row that gives no record is listed with its line and the reason, and the run goes on. Run again over a newer
    snapshot, it issues what is new or changed.
    """
    import os
    from pathlib import Path

    from pith_builder.cli import output, passphrase
    from pith_builder.cli.papers import now
    from pith_builder.cli.signer import key_source
    from pith_builder.corpus.checkpoint import Checkpoint, RunSettings
    from pith_builder.corpus.crew import Crew, Plan
    from pith_builder.corpus.into_folder import IntoFolder
    from pith_builder.corpus.into_store import IntoStore
    from pith_builder.corpus.run import Interrupted, Run
    from pith_builder.corpus.snapshot import opened
    from pith_builder.corpus.stopping import Stopping
    from pith_builder.published import Profile
    from pith_builder.signing import fingerprint
    from pith_builder.store import Store
    from pith_builder.times import receipt_time

    if out is not None and rejects is not None:
        raise typer.BadParameter("with --out they are in that folder", param_hint="--rejects")
    profile, keys = Profile(ctx.obj.base_url), key_source(ctx.obj)
    asked: dict[str, bytes] = {}

    def remembered(key_id: str) -> bytes:
        asked[key_id] = passphrase.existing(key_id)
        return asked[key_id]

    with opened(snapshot) as source:
        signer = keys.signer(remembered, now)
        signer.opened()  # before anything begins: a passphrase may be asked for
        target = IntoStore(Store(ctx.obj.store), signer, profile, now) if out is None else IntoFolder(Path(out))
        time = receipt_time(now())
        fresh = Checkpoint(
            snapshot if snapshot == "-" else str(Path(snapshot).absolute()),
            source.identity,
            RunSettings.of(signer, profile),
            str(Path(rejects or "rejects.jsonl").absolute()),
            *(time, time, time),
        )
        count = workers or len(os.sched_getaffinity(0))
        crew = Crew(Plan(keys, fingerprint(signer.public_key), profile, target.shape, snapshot), count, asked)
        stopping = Stopping()
        try:
            begun = target.begin(fresh, restart=restart)
            run = Run(source, target, crew.results, begun, now, max_rejects=max_errors, stop=stopping.is_asked)
            with stopping:
                _show(run.go(), crew)
        except Interrupted:
            output.print_note(
                f"stopped behind line {run.checkpoint.place.line}; what is issued is kept, the same command goes on"
            )
            raise typer.Exit(130) from None
        finally:
            crew.stop()
            target.close()
    counts = run.checkpoint.counts
    output.print_data(output.to_json(counts) if as_json else _sentence(run.checkpoint))
    raise typer.Exit(1 if counts.rejected else 0)


_SECONDS_A_LOG_LINE = 30


def _show(steps: Iterator[Checkpoint], crew: Crew) -> None:
    """Do the steps, shown as they come: a line that changes on a terminal, now and then a line in the log elsewhere."""
    import os
    import sys
    import time

    import msgspec

    from pith_builder.cli.log import logger
    from pith_builder.cli.progress import line
    from pith_builder.corpus.progress import progress

    logged = time.monotonic()
    with line() as show:
        for checkpoint in steps:
            now = progress(checkpoint, [os.getpid(), *crew.process_ids()])
            show(str(now))
            if not sys.stderr.isatty() and time.monotonic() - logged >= _SECONDS_A_LOG_LINE:
                logger().info("corpus_progress", **msgspec.structs.asdict(now))
                logged = time.monotonic()


def _sentence(checkpoint: Checkpoint) -> str:
    counts = checkpoint.counts
    told = f"{counts.rows} rows: issued {counts.issued}, updated {counts.updated}, stored {counts.stored}"
    return f"{told}, rejected {counts.rejected}, repeated {counts.repeated}"


@corpus.command()
def status(
    ctx: typer.Context,
    folder: Annotated[str | None, typer.Argument(metavar="DIR", help="The folder of a run with --out.")] = None,
    collisions: Annotated[
        bool, typer.Option("--collisions", help="Instead: the short forms of the store that stand for several numbers.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """How the newest run of the store, or of a folder, goes: also while it is running elsewhere."""
    from pathlib import Path

    import msgspec

    from pith_builder.cli import output
    from pith_builder.corpus.checkpoint import Checkpoint
    from pith_builder.corpus.into_folder import read_checkpoint
    from pith_builder.corpus.progress import progress
    from pith_builder.errors import NotFound
    from pith_builder.store import Store, runs

    if collisions:
        if folder is not None:
            raise typer.BadParameter("it is about the store, and goes with no DIR", param_hint="--collisions")
        _print_collisions(Store(ctx.obj.store, create=False), as_json=as_json)
        return
    if folder is not None:
        found = read_checkpoint(Path(folder))
    else:
        kept = runs.latest(Store(ctx.obj.store, create=False).engine)
        found = None if kept is None else Checkpoint.read(kept.checkpoint)
    if found is None:
        raise NotFound("there was no corpus run here", hint="pith-build corpus issue SNAPSHOT")
    now = progress(found)
    if as_json:
        output.print_data(output.to_json(msgspec.to_builtins(found) | {"progress": now}))
        return
    output.print_data(f"{found.input_name}: {'finished' if found.finished_at else 'not finished'}")
    output.print_data(f"key {found.settings.key_id}, begun {found.begun_at}, saved {found.saved_at}")
    output.print_data(_sentence(found))
    if not found.finished_at:
        output.print_data(str(now))


def _print_collisions(store: Store, *, as_json: bool) -> None:
    from pith_builder.cli import output
    from pith_builder.store.collisions import collisions

    for found in collisions(store):
        if as_json:
            output.print_data(output.to_json(found))
            continue
        output.print_data(found.short_form)
        for number in found.numbers:
            output.print_data(f"  {number.pith_number} {number.arxiv_id}v{number.version}")
