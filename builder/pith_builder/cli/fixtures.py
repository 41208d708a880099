"""`pith-build fixtures`: documents to test with."""

from __future__ import annotations

from typing import Annotated

import typer

fixtures = typer.Typer(help="Make documents to test with.", no_args_is_help=True)


@fixtures.command()
def generate(
    out: Annotated[str | None, typer.Option(metavar="DIR", help="The folder to write; new or empty.")] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="What everything follows from, to the byte.")] = 0,
    count: Annotated[int, typer.Option(min=1, max=1000, metavar="K", help="Papers of each kind.")] = 1,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this kind or set; may be repeated.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the kinds and sets, and what each is for.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over what an earlier run wrote.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The summary, or the list, as JSON lines.")] = False,
) -> None:
    """Write records of made-up papers, the keys they are signed with, and broken documents with what must come of them.

    The same seed gives the same bytes on every machine. manifest.json is written last and names every file.
    The keys are TEST keys: anyone can sign with them.
    """
    from pathlib import Path

    from pith_builder.cli import output
    from pith_builder.testing import folder
    from pith_builder.testing import generate as generated

    names = generated.all_names()
    if list_:
        width = max(map(len, names))
        for name, about in names.items():
            line = output.to_json({"kind": name, "about": about}) if as_json else f"{name:<{width}}  {about}".encode()
            output.print_data(line)
        return
    if out is None:
        raise typer.BadParameter("name the folder to write", param_hint="--out")
    for name in kind or ():
        if name not in names:
            near = generated.nearest(name)
            hint = f"did you mean {near}?" if near else "--list tells all kinds"
            raise typer.BadParameter(f"{name!r} is no kind; {hint}", param_hint="--kind")
    written = folder.write(Path(out), generated.fixtures(seed, count, kind or None), force=force)
    if as_json:
        summary = {"out": out, "seed": seed, "count": count, "kinds": kind or list(generated.default_names())}
        output.print_data(output.to_json(summary | written._asdict()))
    else:
        output.print_data(f"{written.files} files, manifest {written.manifest_sha256}")


@fixtures.callback()
def _fixtures() -> None:
    """Make documents to test with."""
