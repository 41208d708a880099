"""`pith-build corpus`: many papers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pith_builder.corpus.checkpoint import Counts
    from pith_builder.corpus.progress import Progress
    from pith_builder.store import Store

corpus = typer.Typer(help="Many papers: issue a whole snapshot, export it, verify it.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="The summary as a JSON line.")]


@corpus.command("issue")
def issue(
    ctx: typer.Context,
    snapshot: Annotated[
        str,
        typer.Argument(
            metavar="SNAPSHOT|-",
            help="Snapshot rows or metadata as JSON Lines, plain, .gz or .zst; with ray also Parquet.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Write numbers and receipts into this folder, not into the store."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Processes that sign; as many as there are cores.")
    ] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Where they run: here, or on a Ray cluster (needs --out).")
    ] = "local",
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
    from pathlib import Path

    from pith_builder.cli import output, passphrase
    from pith_builder.cli.papers import now
    from pith_builder.cli.signer import key_source
    from pith_builder.corpus.beside import repeats_path
    from pith_builder.corpus.into_folder import REJECTS
    from pith_builder.corpus.notes import by_code
    from pith_builder.corpus.run import Interrupted
    from pith_builder.corpus.stopping import Stopping
    from pith_builder.published import Profile

    if out is not None and rejects is not None:
        raise typer.BadParameter("with --out they are in that folder", param_hint="--rejects")
    if engine == "ray" and out is None:
        raise typer.BadParameter("a cluster writes into a folder: name it with --out", param_hint="--engine")
    if engine == "ray" and snapshot == "-":
        raise typer.BadParameter("workers can't read standard input: name a file", param_hint="SNAPSHOT")
    keys, profile = key_source(ctx.obj), Profile(ctx.obj.base_url)
    ending = "ending behind this batch" if engine == "local" else "ending; shards that are not whole are given up"
    stopping = Stopping(_telling_of_the_end(ending))
    was_finished = out is not None and _is_finished(Path(out))
    try:
        with _shown() as show:
            if engine == "ray" and out is not None:
                from pith_builder.corpus.cluster.extra import check_installed

                check_installed()
                from pith_builder.corpus.cluster.engine import issue_with_ray

                listed = Path(out) / REJECTS
                with stopping:
                    counts = issue_with_ray(
                        [snapshot],
                        Path(out),
                        keys=keys,
                        profile=profile,
                        workers=workers,
                        max_rejects=max_errors,
                        restart=restart,
                        progress=show,
                        stop=stopping.is_asked,
                    )
            else:
                from pith_builder.corpus.local import issue_locally

                last = issue_locally(
                    snapshot,
                    ctx.obj.store if out is None else Path(out),
                    keys=keys,
                    passphrase=passphrase.existing,
                    clock=now,
                    profile=profile,
                    rejects=None if rejects is None else Path(rejects),
                    workers=workers,
                    max_rejects=max_errors,
                    restart=restart,
                    progress=show,
                    stopping=stopping,
                )
                counts, listed = last.counts, Path(out) / REJECTS if out else Path(last.rejects)
    except Interrupted:
        output.print_note("stopped; what is issued is kept, and the same command goes on")
        raise typer.Exit(130) from None
    output.print_data(output.to_json(counts) if as_json else _sentence(counts))
    if was_finished:
        output.print_note("the run was finished already")
    if counts.rejected:
        codes = ", ".join(f"{count} {code}" for code, count in by_code(listed).items())
        output.print_note(f"rejects: {listed}{f' ({codes})' if codes else ''}")
    if counts.repeated:
        output.print_note(f"repeated rows: {repeats_path(listed)}")
    raise typer.Exit(1 if counts.rejected else 0)


def _is_finished(folder: Path) -> bool:
    """Whether a folder holds a finished run; one that can't be told is for the run itself to refuse."""
    from pith_builder.corpus.status import of_folder
    from pith_builder.errors import PithError

    try:
        found = of_folder(folder)
    except PithError:
        return False
    return found is not None and found.state == "finished"


def _telling_of_the_end(what: str) -> Callable[[], None]:
    """What tells it from a signal handler, which may have come in the middle of a print."""
    import contextlib
    import os

    def tell() -> None:
        with contextlib.suppress(OSError):
            os.write(2, f"{what}; a second Ctrl-C ends at once\n".encode())

    return tell


_SECONDS_A_LOG_LINE = 30


@contextmanager
def _shown() -> Iterator[Callable[[Progress], None]]:
    """What shows progress: a line that changes on a terminal, now and then a line in the log elsewhere."""
    import sys
    import time

    import msgspec

    from pith_builder.cli.log import logger
    from pith_builder.cli.progress import line

    logged = time.monotonic()
    with line() as show_text:

        def show(progress: Progress) -> None:
            nonlocal logged
            show_text(str(progress))
            if not sys.stderr.isatty() and time.monotonic() - logged >= _SECONDS_A_LOG_LINE:
                logger().info("corpus_progress", **msgspec.structs.asdict(progress))
                logged = time.monotonic()

        yield show


def _sentence(counts: Counts) -> str:
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

    from pith_builder.cli import output
    from pith_builder.corpus.status import of_folder, of_store
    from pith_builder.errors import NotFound
    from pith_builder.store import Store

    if collisions:
        if folder is not None:
            raise typer.BadParameter("it is about the store, and goes with no DIR", param_hint="--collisions")
        _print_collisions(Store(ctx.obj.store, create=False), as_json=as_json)
        return
    found = of_folder(Path(folder)) if folder else of_store(Store(ctx.obj.store, create=False))
    if found is None:
        place, option = (f" in {folder}", f" --out {folder}") if folder else (" here", "")
        raise NotFound(f"there was no corpus run{place}", hint=f"pith-build corpus issue SNAPSHOT{option}")
    if as_json:
        output.print_data(output.to_json(found.rest | {"state": found.state, "progress": found.progress}))
        return
    going_on = "; the same command goes on" if found.state == "stopped" else ""
    output.print_data(f"{found.input_name}: {found.state}{going_on}")
    output.print_data(f"key {found.key_id}, {found.since}")
    output.print_data(_sentence(found.counts) if found.state == "finished" else str(found.progress))


def _print_collisions(store: Store, *, as_json: bool) -> None:
    from pith_builder.cli import output
    from pith_builder.store.collisions import collisions

    found = list(collisions(store))
    if not found:
        output.print_note("no short form of 8 symbols stands for several numbers")
    for collision in found:
        if as_json:
            output.print_data(output.to_json(collision))
            continue
        output.print_data(collision.short_form)
        for number in collision.numbers:
            output.print_data(f"  {number.pith_number} {number.arxiv_id}v{number.version}")
