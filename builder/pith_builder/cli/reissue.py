"""`pith-build reissue`: new receipts after a rotation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pith_builder.store.reissue import Refusal


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

    from pith_builder import files
    from pith_builder.cli import output, rings
    from pith_builder.cli.papers import now
    from pith_builder.cli.progress import line
    from pith_builder.cli.signer import active_signer
    from pith_builder.keyring import KeyRing
    from pith_builder.published import Profile
    from pith_builder.sources.recompute import recomputing
    from pith_builder.store import Store
    from pith_builder.store.reissue import Progress, Reissue
    from pith_builder.store.reissue_files import FileReissue

    named = _named(aliases, numbers)
    if (source is None) != (target is None):
        raise typer.BadParameter("--in and --out go together", param_hint="--in")
    if source is not None and (named is not None or old_key or limit or dry_run or trust_last_check):
        raise typer.BadParameter("goes without choices among stored records", param_hint="--in")
    if named is not None and old_key:
        raise typer.BadParameter("goes without named records", param_hint="--old-key")
    own = rings.own(ctx.obj)
    ring, profile = own.trusting(KeyRing.registry()), Profile(ctx.obj.base_url)
    signer = active_signer(ctx.obj, own)
    recompute = recomputing(metadata, ctx.obj.catalog, ctx.obj.cache, now)
    refusals = _Refusals(as_json=as_json)
    if source is not None and target is not None:
        signer.opened()
        steps = FileReissue(
            Path(source), Path(target), ring, signer, profile, now, recompute=recompute, refused=refusals.note
        ).run()
    else:
        store = Store(ctx.obj.store, create=False)
        run = Reissue(
            *(store, ring, signer, profile, now),
            recompute=recompute,
            trust_last_check=trust_last_check,
            refused=refusals.note,
        )
        if run.trusted_check:
            output.print_note(f"trusting the check of the store of {run.trusted_check}: receipts are not verified")
        ids = None if named is None else [store.row_of(alias) for alias in named]
        pending = run.pending(old_key) if ids is None else run.pending_named(ids)
        if dry_run:
            pending = min(pending, limit or pending)
            output.print_data(output.to_json({"pending": pending}) if as_json else f"{pending} need a new receipt")
            return
        if pending:
            signer.opened()  # before any transaction: a passphrase may be asked for
        steps = run.run_all(old_key, limit) if ids is None else run.run_named(ids, limit)
    progress = Progress(0)
    begun = False
    try:
        with line() as show:
            for step in steps:
                progress, begun = step, True
                done = step.reissued + step.refused
                show(f"{done} of {step.total}, {step.refused} refused", done, step.total)
    finally:
        if refused is not None and begun:
            files.replace(Path(refused), refusals.to_json_lines())
        summary = {"reissued": progress.reissued, "refused": progress.refused}
        text = f"reissued {progress.reissued}, refused {progress.refused}"
        output.print_data(output.to_json(summary) if as_json else text)
    raise typer.Exit(4 if progress.signer_failed else 1 if progress.refused else 0)


class _Refusals:
    """The records that were refused, told as they come and listed at the end."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._all: list[Refusal] = []

    def note(self, refusal: Refusal) -> None:
        from pith_builder.cli import output
        from pith_builder.errors import Refused

        self._all.append(refusal)
        if self._as_json:
            error = Refused(refusal.reason).to_dict() | {"code": refusal.code}
            output.print_data(output.to_json({"input": refusal.pith_number, "error": error}))
        else:
            output.print_note(f"refused {refusal.pith_number}: {refusal.reason}")

    def to_json_lines(self) -> bytes:
        import msgspec

        return b"".join(msgspec.json.encode(refusal) + b"\n" for refusal in self._all)


def _named(aliases: list[str] | None, numbers: str | None) -> list[str] | None:
    import sys
    from pathlib import Path

    from pith_builder import files

    if numbers is None:
        return aliases or None
    data = sys.stdin.buffer.read() if numbers == "-" else files.read(Path(numbers))
    lines = data.decode(errors="replace").splitlines()
    return (aliases or []) + [line.strip() for line in lines if line.strip()]
