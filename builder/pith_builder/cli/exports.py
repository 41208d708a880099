"""`pith-build corpus export` and `corpus verify`: a store in files, and the check of many records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from pith_builder.corpus.verification import Failure

Workers = Annotated[int | None, typer.Option(min=1, max=256, help="Processes; as many as there are cores.")]


def export(
    ctx: typer.Context,
    out: Annotated[str, typer.Option(metavar="DIR", help="The folder to make; new, or empty.")],
    form: Annotated[
        Literal["records", "table"],
        typer.Option(help="Whole records as JSON Lines, or the table of numbers and receipts as Parquet."),
    ] = "records",
    workers: Workers = None,
    as_json: Annotated[bool, typer.Option("--json", help="What it holds as a JSON line.")] = False,
) -> None:
    """Export the whole store into files, of one moment, in the order of numbers, with a manifest.

    Others go on writing into the store. The same records give the same files. Until the manifest is there the export is
    not finished; after a kill the same command starts over.
    """
    from pathlib import Path

    from pith_builder.cli import output
    from pith_builder.cli.log import logger
    from pith_builder.cli.progress import line
    from pith_builder.corpus import processes
    from pith_builder.corpus.export import Exported
    from pith_builder.corpus.export import export as run

    counts = Exported(0)
    with line() as show:
        for counts in run(ctx.obj.store, Path(out), form, workers or processes.usual_count()):
            show(f"{counts.records} of {counts.total} records", counts.records, counts.total)
    summary = {"records": counts.records, "withdrawn": counts.withdrawn, "files": counts.files}
    text = f"{counts.records} records, {counts.withdrawn} withdrawn, in {counts.files} files"
    output.print_data(output.to_json(summary) if as_json else text)
    logger().info("corpus_exported", out=out, form=form, **summary)


def corpus_verify(
    ctx: typer.Context,
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="A corpus in files; without it, the store.", show_default=False)
    ] = None,
    workers: Workers = None,
    as_json: Annotated[bool, typer.Option("--json", help="Failures and summary as JSON lines.")] = False,
) -> None:
    """Check a corpus in files by its manifest, or every record of the store, in several processes.

    Of files: every record, every file's size and SHA-256, the counts, and that no number stands twice. Of the store:
    what store check looks at; but only that one is remembered for reissue.
    """
    from pathlib import Path

    import msgspec

    from pith_builder.cli import output, rings
    from pith_builder.cli.progress import line
    from pith_builder.corpus import processes
    from pith_builder.corpus.verification import Verified, verify_folder, verify_store

    def failed(failure: Failure) -> None:
        place = ":".join(str(part) for part in (failure.file, failure.line) if part is not None)
        text = ": ".join(filter(None, (place, failure.pith_number, failure.reason)))
        output.print_data(output.to_json(failure) if as_json else f"FAILED {text}")

    ring, count = rings.trusted(ctx.obj), workers or processes.usual_count()
    if folder is None:
        run = verify_store(ctx.obj.store, ring, failed, count)
    else:
        run = verify_folder(Path(folder), ring, failed, count)
    counts = Verified(0)
    with line() as show:
        for counts in run:
            text = f"{counts.records} of {counts.total} records, {counts.failed} failed"
            show(text, counts.records, counts.total)
    summary = {name: value for name, value in msgspec.structs.asdict(counts).items() if name != "total"}
    text = f"{counts.records} records, {counts.failed} failed"
    if folder is not None:
        text += f"; {counts.files} files, {counts.files_failed} failed"
    output.print_data(output.to_json(summary) if as_json else text)
    raise typer.Exit(0 if counts.ok else 1)
