"""`pith-build issue`, the default command: a signed record of each paper, kept in the store."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from pith_builder.cli.options import Ids, License, MetadataFile, SourceName

if TYPE_CHECKING:
    from pith_builder.sources.lookup import Item


def issue(
    ctx: typer.Context,
    ids: Ids = None,
    metadata: MetadataFile = None,
    source: SourceName = None,
    license_: License = None,
    enrichment: Annotated[
        str | None,
        typer.Option(metavar="FILE|-", help="What is known around one paper; replaces what was given before."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole record, one JSON line a paper.")] = False,
) -> None:
    """Issue papers: print the pith number of each, sign its record and keep it in the store.

    A paper that is in the store already is not issued twice. It needs a signing key: pith-build keys generate.
    """
    from pathlib import Path

    from pith_builder.cli import output
    from pith_builder.cli.log import log_outcome, logger
    from pith_builder.cli.papers import asked_for, now
    from pith_builder.cli.signer import active_signer
    from pith_builder.enrichment import Enrichment
    from pith_builder.errors import InvalidInput, PithError, Refused
    from pith_builder.files import read
    from pith_builder.issue import Issuer
    from pith_builder.published import Profile
    from pith_builder.store import Store

    found: Iterable[Item] = asked_for(ctx, ids, metadata, source, license_)
    around = None
    issuer = Issuer(active_signer(ctx.obj), Profile(ctx.obj.base_url), clock=now)
    if enrichment is not None:
        if len(ids or []) > 1:
            raise typer.BadParameter("goes with one paper", param_hint="--enrichment")
        try:
            around = Enrichment.from_json(sys.stdin.buffer.read() if enrichment == "-" else read(Path(enrichment)))
        except InvalidInput as error:
            raise error.at(file=enrichment) from None
        if unknown := around.unknown():
            logger().warning("enrichment_fields_unknown", fields=",".join(unknown), file=enrichment)
        found = list(found)
        if len(found) > 1:
            raise typer.BadParameter("goes with one paper", param_hint="--enrichment")
    store = Store(ctx.obj.store)
    items = output.Items(json=as_json)
    counts = {"issued": 0, "stored": 0, "updated": 0, "failed": 0}
    for item in found:
        if isinstance(item.found, PithError):
            items.failed(item.group, item.input, item.found, item.line)
            counts["failed"] += 1
            continue
        try:
            outcome = store.issue(item.found.metadata, item.found.provenance, issuer, around)
        except (InvalidInput, Refused) as error:
            items.failed(item.group, item.input, error, item.line)
            counts["failed"] += 1
            continue
        record = outcome.record
        counts[outcome.action] += 1
        items.done(item.group, record.to_json() if as_json else record.pith_number)
        log_outcome(outcome, item.found.provenance)
    if sum(counts.values()) > 1:
        logger().info("run_finished", **counts)
    raise typer.Exit(items.exit_code())
