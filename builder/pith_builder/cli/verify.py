"""`pith-build verify`: check records offline."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from pith_builder.errors import cleaned

if TYPE_CHECKING:
    from pith_builder.verify import VerificationReport


def verify(
    ctx: typer.Context,
    records: Annotated[
        list[str] | None, typer.Argument(metavar="FILE|-", help="Records: one a file, or JSON Lines.")
    ] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="FILE", help="Metadata of the papers, to check titles and abstracts too.")
    ] = None,
    pin: Annotated[
        str | None, typer.Option(metavar="FILE", help="Trust of the key ring only what this one leads to.")
    ] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="What held then, as 2026-11-30T12:00:00Z.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the outcome of each record.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One report a record, as a JSON line.")] = False,
) -> None:
    """Check records offline: one line a check, passed, failed or not checked with the reason.

    The signature covers the digest of the canonical record and nothing else; what is not bound is listed.
    """
    from pith_builder.cli import output, rings
    from pith_builder.cli.papers import now
    from pith_builder.errors import PithError
    from pith_builder.sources.papers import PaperFile
    from pith_builder.sources.records import check_records, read_descriptions
    from pith_builder.times import parse_seconds
    from pith_builder.verify import NOT_BOUND

    if not records:
        raise typer.BadParameter("give record files, or - for standard input", param_hint="FILE")
    time = None if at is None else parse_seconds(at)
    if at is not None and time is None:
        raise typer.BadParameter(f"{at} is no time such as 2026-11-30T12:00:00Z", param_hint="--at")
    descriptions = None if metadata is None else read_descriptions(PaperFile(metadata, now))
    ring = rings.trusted(ctx.obj) if pin is None else rings.followed(ctx.obj, pin)
    items = output.Items(json=as_json)
    for name in records:
        for place, result in check_records(name, ring, descriptions, time):
            if isinstance(result, PithError):
                items.failed(name, place, result)
            elif as_json:
                line = {
                    "input": cleaned(place),
                    "ok": result.ok,
                    **{f: getattr(result, f) for f in result.__struct_fields__},
                }
                items.done(name, output.to_json(line), 0 if result.ok else 1)
            else:
                if not quiet:
                    _print_report(place, result)
                outcome = f"ok: {result.pith_number}"
                if not result.ok:
                    outcome = f"FAILED: {result.pith_number or place}: {', '.join(c.name for c in result.failed)}"
                items.done(name, outcome, not result.ok)
    if not quiet and not as_json:
        output.print_data("not bound by hash or signature: " + "; ".join(NOT_BOUND))
    raise typer.Exit(items.exit_code())


_SIGNS = {"passed": ("passed", "green"), "failed": ("FAILED", "red"), "not_checked": ("not checked", "yellow")}


def _print_report(place: str, report: VerificationReport) -> None:
    from pith_builder.cli import output

    output.print_data(f"{place}: {report.pith_number or 'no record'}")
    for check in report.checks if report.pith_number else report.failed:
        word, colour = _SIGNS[check.status]
        line = f"  {_coloured(f'{word:<12}', colour)} {check.name}{check.reason and f': {cleaned(check.reason)}'}"
        output.print_data(line.encode())
    if report.issuer:
        output.print_data(f"  issuer {report.issuer}, key {report.key_id}")
    if report.unknown_fields:
        output.print_data(f"  unknown fields: {', '.join(report.unknown_fields)}")


def _coloured(text: str, colour: str) -> str:
    return typer.style(text, fg=colour) if _is_terminal() and not os.environ.get("NO_COLOR") else text


def _is_terminal() -> bool:
    return sys.stdout.isatty()
