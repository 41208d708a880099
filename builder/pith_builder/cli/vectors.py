"""`pith-build vectors`: the conformance vectors, for other implementations and for ours."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pith_builder.testing.conformance import RuleReport

vectors = typer.Typer(help="Test implementations against the conformance vectors.", no_args_is_help=True)


@vectors.command()
def check(
    with_: Annotated[str, typer.Option("--with", metavar="CMD", help="The command that answers; see docs/vectors.md.")],
    rule: Annotated[list[str] | None, typer.Option(metavar="RULE", help="Only this rule; may be repeated.")] = None,
    folder: Annotated[
        str | None,
        typer.Option("--vectors", metavar="DIR", help="Their folder; default those of this version."),
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, max=86400, help="For each answer.")] = 10,
    strict: Annotated[bool, typer.Option("--strict", help="An unsupported test counts as failed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a rule, and one with the sums.")] = False,
) -> None:
    """Run an implementation over the vectors: a line of JSON in for each test, a line out.

    Prints how many tests of each rule passed, and what failed and how.
    """
    import shlex
    from pathlib import Path

    from pith_builder.cli import output
    from pith_builder.testing.conformance import check
    from pith_builder.testing.vectors.files import default_folder, read_vectors

    try:
        command = shlex.split(with_)
    except ValueError as error:
        raise typer.BadParameter(f"{error}", param_hint="--with") from None
    if not command:
        raise typer.BadParameter("it is empty", param_hint="--with")
    files = read_vectors(default_folder() if folder is None else Path(folder))
    if unknown := set(rule or ()) - {file.rule for file in files}:
        raise typer.BadParameter(f"there is no rule {min(unknown)}", param_hint="--rule")
    reports = []
    for report in check([file for file in files if not rule or file.rule in rule], command, timeout):
        reports.append(report)
        if as_json:
            output.print_data(output.to_json(report))
        else:
            _print_row(report.rule, report.passed, report.failed, report.unsupported, title=len(reports) == 1)
    sums = {name: sum(getattr(report, name) for report in reports) for name in ("passed", "failed", "unsupported")}
    if as_json:
        output.print_data(output.to_json(sums))
    else:
        _print_row("all", **sums)
        _print_failures(reports)
    raise typer.Exit(1 if sums["failed"] or (strict and sums["unsupported"]) else 0)


def _print_row(rule: str, passed: int, failed: int, unsupported: int, *, title: bool = False) -> None:
    from pith_builder.cli import output

    if title:
        output.print_data(f"{'rule':<16}{'passed':>8}{'failed':>8}{'unsupported':>13}")
    output.print_data(f"{rule:<16}{passed:>8}{failed:>8}{unsupported:>13}")


def _print_failures(reports: list[RuleReport]) -> None:
    from pith_builder.cli import output

    for report in reports:
        for failure in report.failures:
            output.print_data(f"FAILED {report.rule} {failure.id}: {failure.comment}")
            output.print_data(f"  expected {failure.expected}")
            output.print_data(f"  got      {failure.got}")


@vectors.command()
def serve() -> None:
    """Answer the vectors' questions with our own implementation: a line of JSON in, a line out, to the end of input."""
    from pith_builder.cli import output
    from pith_builder.testing.serve import serve

    for line in serve(sys.stdin.buffer):
        output.print_bytes(line)
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            raise output.ReaderGone from None
