"""Where a command's papers come from: a file that is named, or the catalogue and then arXiv."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import ConflictingMetadata, InvalidArxivId, NotFound, PithError, VersionMismatch
from pith_builder.sources.catalog import Catalog
from pith_builder.sources.papers import FoundPaper, PaperFile


class Item(msgspec.Struct, frozen=True):
    """One paper that was asked for: `input` names it, `group` the file it is a row of, or itself; `line` if known."""

    input: str
    group: str
    found: FoundPaper | PithError
    line: int = 0


class Finder(Protocol):
    """Where a paper is looked for that no file describes. Raises a PithError where it isn't found."""

    def find(self, asked: ArxivId) -> FoundPaper: ...


def papers(
    ids: list[str], metadata: PaperFile | None, catalog: Catalog | None, arxiv: Finder | None = None
) -> Iterator[Item]:
    """The papers of a command, in order: all of `metadata` where no ids are given, else one item an id.

    Where a metadata file is given, nothing else is looked at. arXiv is asked for what the catalogue doesn't describe,
    when its turn comes.
    """
    if metadata is not None and not ids:
        for entry in metadata:
            place = f"{metadata.name}:{entry.line}" if entry.line else metadata.name
            yield Item(place, metadata.name, entry.found, entry.line)
        return
    parsed = {text: _parse(text) for text in ids}
    wanted = [asked for asked in parsed.values() if isinstance(asked, ArxivId)]
    source = metadata or catalog
    found = source.select(wanted) if source and wanted else {}
    answers: dict[ArxivId, FoundPaper | PithError] = {}
    for text in ids:
        asked = parsed[text]
        if isinstance(asked, PithError):
            yield Item(text, text, asked)
        elif metadata is None and arxiv is not None and _is_left_to_arxiv(asked, found.get(asked)):
            if asked not in answers:
                answers[asked] = _asked_of(arxiv, asked, catalog, found.get(asked))
            yield Item(text, text, answers[asked])
        else:  # a row that can't be read is one of the file's, beside others that can
            yield Item(text, str(source), found.get(asked) or _nowhere(asked, source))


def with_license(items: Iterator[Item], license_: str) -> Iterator[Item]:
    """The items, with this licence where the source knows none ("" says that arXiv has none).

    A source that knows another is believed: such a paper is refused, since a wrong licence is a wrong number.
    """
    for item in items:
        if not isinstance(item.found, FoundPaper) or item.found.metadata.license == license_:
            yield item
        elif item.found.metadata.license is None:
            metadata = msgspec.structs.replace(item.found.metadata, license=license_)
            provenance = msgspec.structs.replace(item.found.provenance, license_given=True)
            yield msgspec.structs.replace(item, found=FoundPaper(metadata, provenance))
        else:
            error = ConflictingMetadata(
                f"the source says that the licence of {item.found.metadata.id} is "
                f"{item.found.metadata.license or 'none'}, not {license_ or 'none'}",
                field="license",
                hint="leave --license out",
            )
            yield msgspec.structs.replace(item, found=error)


def _is_left_to_arxiv(asked: ArxivId, found: FoundPaper | PithError | None) -> bool:
    """Whether the catalogue doesn't know a paper, or only older versions than the one asked for."""
    return found is None or (isinstance(found, VersionMismatch) and found.newest < (asked.version or 0))


def _asked_of(
    arxiv: Finder, asked: ArxivId, catalog: Catalog | None, mismatch: FoundPaper | PithError | None
) -> FoundPaper | PithError:
    try:
        return arxiv.find(asked)
    except PithError as error:
        if isinstance(mismatch, VersionMismatch):
            return VersionMismatch(f"{mismatch.message}; {error.message}", mismatch.newest, hint=mismatch.hint)
        if isinstance(error, NotFound) and catalog is not None:
            return _nowhere(asked, catalog, f", and {error.message}", error.hint)
        return error


def _parse(text: str) -> ArxivId | InvalidArxivId:
    try:
        return ArxivId.parse(text)
    except InvalidArxivId as error:
        return error


def _nowhere(asked: ArxivId, source: PaperFile | Catalog | None, further: str = "", hint: str = "") -> NotFound:
    if isinstance(source, PaperFile):
        return NotFound(f"{asked} is not in {source.name}", hint="--metadata is the only place that was looked at")
    looked = f"not in the catalogue ({source})" if source else "there is no catalogue"
    if source and source.unreadable:
        looked += f", of which {len(source.unreadable)} places can't be read, the first: {source.unreadable[0]}"
    return NotFound(
        f"the metadata of {asked} are nowhere: {looked}{further}",
        hint=hint or "give them with --metadata FILE, or a catalogue with --catalog",
    )
