"""`pith-build reissue`: new receipts after a rotation."""

from __future__ import annotations

from typing import Annotated

import typer


def reissue(
    ctx: typer.Context,
    aliases: Annotated[
        list[str] | None, typer.Argument(metavar="ALIAS", help="Only these records; all that need it without.")
    ] = None,
    numbers: Annotated[
        str | None, typer.Option("--from", metavar="FILE|-", help="Only the records that a file names, one a line.")
    ] = None,
    old_key: Annotated[str | None, typer.Option(metavar="KEY", help="Only records under this key.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="No more records than this.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many records need it.")] = False,
    metadata: Annotated[
        str | None, typer.Option(metavar="FILE", help="Metadata to recompute records from, where no receipt vouches.")
    ] = None,
    trust_last_check: Annotated[
        bool, typer.Option("--trust-last-check", help="Don't verify receipts that the last store check passed.")
    ] = False,
    refused: Annotated[str | None, typer.Option(metavar="FILE", help="Write the refused as JSON Lines.")] = None,
    source: Annotated[
        str | None, typer.Option("--in", metavar="FILE", help="Reissue a file of records instead of the store.")
    ] = None,
    target: Annotated[str | None, typer.Option("--out", metavar="FILE", help="Where the records of --in go.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as a JSON line.")] = False,
) -> None:
    """Make new receipts for records whose key is no longer active, or whose builder is another.

    Nothing is signed that doesn't follow from its canonical bytes, or that nothing vouches for. Killed at any moment,
    the same command goes on where it stopped. Earlier receipts are kept.
    """
    from pathlib import Path

    import msgspec

    from pith_builder import files
    from pith_builder.cli import output, rings
    from pith_builder.cli.papers import now
    from pith_builder.cli.progress import shown
    from pith_builder.cli.signer import active_signer
    from pith_builder.published import Profile
    from pith_builder.sources.recompute import recomputing
    from pith_builder.store import Store
    from pith_builder.store.reissue import Progress, Refusal, Reissue

    if (source is None) != (target is None):
        raise typer.BadParameter("--in and --out go together", param_hint="--in")
    refusals: list[Refusal] = []

    def note(refusal: Refusal) -> None:
        refusals.append(refusal)
        output.print_note(f"refused {refusal.pith_number}: {refusal.reason}")

    signer = active_signer(ctx.obj)
    ring = rings.trusted(ctx.obj)
    profile = Profile(ctx.obj.base_url)
    recompute = recomputing(metadata, ctx.obj.catalog, ctx.obj.cache, now)
    progress = Progress(0)
    if source is not None and target is not None:
        from pith_builder.store.reissue_files import reissue_file

        steps = reissue_file(Path(source), Path(target), ring, signer, profile, now, recompute=recompute, refused=note)
    else:
        store = Store(ctx.obj.store, create=False)
        run = Reissue(
            store, ring, signer, profile, now, recompute=recompute, trust_last_check=trust_last_check, refused=note
        )
        if run.trusted_check:
            output.print_note(
                f"trusting the check of the whole store of {run.trusted_check}: receipts are not verified"
            )
        if dry_run:
            pending = run.pending(old_key)
            output.print_data(output.to_json({"pending": pending}) if as_json else f"{pending} need a new receipt")
            return
        named = _named(aliases, numbers)
        if named is None:
            steps = run.run_all(old_key, limit)
        else:
            steps = run.run_named([store.id_of(alias) for alias in named[:limit]])
    for step in shown(steps, now):
        progress = step
    if refused is not None:
        files.replace(Path(refused), b"".join(msgspec.json.encode(refusal) + b"\n" for refusal in refusals))
    summary = {"reissued": progress.reissued, "refused": progress.refused}
    output.print_data(
        output.to_json(summary) if as_json else f"reissued {progress.reissued}, refused {progress.refused}"
    )
    raise typer.Exit(1 if progress.refused else 0)


def _named(aliases: list[str] | None, numbers: str | None) -> list[str] | None:
    import sys
    from pathlib import Path

    from pith_builder import files

    if numbers is None:
        return aliases or None
    data = sys.stdin.buffer.read() if numbers == "-" else files.read(Path(numbers))
    lines = data.decode(errors="replace").splitlines()
    return (aliases or []) + [line.strip() for line in lines if line.strip()]
