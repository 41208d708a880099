"""`pith-build compute`: numbers and canonical records, without key or store."""

from __future__ import annotations

from typing import Annotated

import typer

from pith_builder.cli.options import Ids, License, MetadataFile, SourceName


def compute(
    ctx: typer.Context,
    ids: Ids = None,
    metadata: MetadataFile = None,
    source: SourceName = None,
    license_: License = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a paper, with its canonical record.")] = False,
) -> None:
    """Compute the pith number of papers, without a key and without a store."""
    from pith_builder.cli import output
    from pith_builder.cli.papers import asked_for
    from pith_builder.errors import PithError
    from pith_builder.number import PithNumber
    from pith_builder.record import canonical_record

    items = output.Items(json=as_json)
    for item in asked_for(ctx, ids, metadata, source, license_):
        try:
            if isinstance(item.found, PithError):
                raise item.found
            record = canonical_record(item.found.metadata)
        except PithError as error:
            items.failed(item.group, item.input, error, item.line)
            continue
        digest = record.digest()
        number = str(PithNumber.from_digest(digest, record.year))
        line = {
            "arxiv_id": record.source.id,
            "version": record.source.version,
            "pith_number": number,
            "canonical_sha256": digest.hex(),
            "canonical_record": record,
        }
        items.done(item.group, output.to_json(line) if as_json else number)
    raise typer.Exit(items.exit_code())
