"""Records in files, under verification."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

from pith_builder import files
from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import InvalidInput, InvalidJson, InvalidRecord, NotFound, PithError
from pith_builder.keyring import KeyRing
from pith_builder.metadata import PaperMetadata
from pith_builder.published import PithRecord
from pith_builder.sources.papers import PaperFile
from pith_builder.sources.pieces import pieces
from pith_builder.verify import VerificationReport, verify

Descriptions = dict[ArxivId, PaperMetadata]


def read_descriptions(papers: PaperFile) -> Descriptions:
    """The metadata in a file by id and version. Raises the error of the first place that can't be read."""
    found: Descriptions = {}
    for entry in papers:
        if isinstance(entry.found, PithError):
            raise entry.found
        found[entry.found.metadata.id] = entry.found.metadata
    return found


def check_records(
    name: str, keyring: KeyRing, descriptions: Descriptions | None, at: datetime | None
) -> Iterator[tuple[str, VerificationReport | PithError]]:
    """A report, or why there is none, for each record of a file or of standard input (`-`), with its place.

    Where descriptions are given, a record whose paper is not among them fails. Raises FileFailed.
    """
    found = False
    with opened(name) as stream:
        for piece in pieces(stream):
            found = True
            place = f"{name}:{piece.line}"
            try:
                metadata = None if descriptions is None else _described(piece.data, descriptions)
                yield place, verify(piece.data, keyring, metadata, at)
            except (InvalidInput, NotFound) as error:
                yield place, error.at(file=name, line=piece.line)
    if not found:
        yield name, InvalidJson("there is no record in it").at(file=name)


def _described(data: bytes, descriptions: Descriptions) -> PaperMetadata | None:
    try:
        paper = PithRecord.from_json(data).canonical_record.arxiv_id
    except InvalidRecord:
        return None
    if paper not in descriptions:
        raise NotFound(
            f"the metadata given do not describe {paper}", hint="leave --metadata out, or give the right file"
        )
    return descriptions[paper]


@contextlib.contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """A file of records, or standard input (`-`). Raises FileFailed."""
    with files.failing("read the file", name):
        if name == "-":
            yield sys.stdin.buffer
        else:
            with open(name, "rb") as stream:
                yield stream
