"""Records in files, under verification."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

from pith_builder import files
from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import InvalidInput, InvalidJson, PithError
from pith_builder.keyring import KeyRing
from pith_builder.metadata import PaperMetadata
from pith_builder.published import PithRecord
from pith_builder.sources.papers import FoundPaper, PaperFile
from pith_builder.sources.pieces import pieces
from pith_builder.verify import VerificationReport, verify


def check_records(
    name: str, keyring: KeyRing, papers: PaperFile | None, at: datetime | None
) -> Iterator[tuple[str, VerificationReport | PithError]]:
    """A report, or why there is none, for each record of a file or of standard input (`-`), with its place.

    A record whose paper is not among `papers` is checked without metadata. Raises FileFailed.
    """
    found = False
    with _opened(name) as stream:
        for piece in pieces(stream):
            found = True
            place = f"{name}:{piece.line}"
            try:
                yield place, verify(piece.data, keyring, _metadata_for(piece.data, papers), at)
            except InvalidInput as error:
                yield place, error.at(file=name, line=piece.line)
    if not found:
        yield name, InvalidJson("there is no record in it").at(file=name)


def _metadata_for(data: bytes, papers: PaperFile | None) -> PaperMetadata | None:
    if papers is None:
        return None
    with contextlib.suppress(InvalidInput):
        source = PithRecord.from_json(data).canonical_record.source
        asked = ArxivId(source.id, source.version)
        found = papers.select([asked]).get(asked)
        if isinstance(found, FoundPaper):
            return found.metadata
        if found is not None:
            raise found
    return None


@contextlib.contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    with files.failing("read the file", name):
        if name == "-":
            yield sys.stdin.buffer
        else:
            with open(name, "rb") as stream:
                yield stream
