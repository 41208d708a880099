"""Where a command's papers come from: a file that is named, or the catalogue, for the ids that are asked for."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import InvalidArxivId, NotFound, PithError
from pith_builder.sources.catalog import Catalog
from pith_builder.sources.papers import FoundPaper, PaperFile


class Item(msgspec.Struct, frozen=True):
    """One paper that was asked for: `input` names it, `group` the file it is a row of, or itself."""

    input: str
    group: str
    found: FoundPaper | PithError


def papers(ids: list[str], metadata: PaperFile | None, catalog: Catalog | None) -> Iterator[Item]:
    """The papers of a command, in order: all of `metadata` where no ids are given, else one item an id.

    Where a metadata file is given, nothing else is looked at.
    """
    if metadata is not None and not ids:
        for entry in metadata:
            yield Item(entry.place, metadata.name, entry.found)
        return
    parsed = {text: _parse(text) for text in ids}
    wanted = [asked for asked in parsed.values() if isinstance(asked, ArxivId)]
    source = metadata or catalog
    found = source.select(wanted) if source and wanted else {}
    for text in ids:
        asked = parsed[text]
        if isinstance(asked, PithError):
            yield Item(text, text, asked)
        else:  # a row that can't be read is one of the file's, beside others that can
            yield Item(text, str(source), found.get(asked) or _nowhere(asked, source))


def _parse(text: str) -> ArxivId | InvalidArxivId:
    try:
        return ArxivId.parse(text)
    except InvalidArxivId as error:
        return error


def _nowhere(asked: ArxivId, source: PaperFile | Catalog | None) -> NotFound:
    if isinstance(source, PaperFile):
        return NotFound(f"{asked} is not in {source.name}", hint="--metadata is the only place that was looked at")
    looked = f"not in the catalogue ({source})" if source else "there is no catalogue"
    if source and source.unreadable:
        looked += f", of which {len(source.unreadable)} places can't be read, the first: {source.unreadable[0]}"
    return NotFound(
        f"the metadata of {asked} are nowhere: {looked}, and this version asks no network source",
        hint="give them with --metadata FILE, or a catalogue with --catalog",
    )
