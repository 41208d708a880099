"""Published records in files: one object, or JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator

from pith_builder.errors import InvalidInput, InvalidJson
from pith_builder.published import PithRecord
from pith_builder.sources.pieces import Piece, pieces
from pith_builder.sources.records import opened


def record_pieces(name: str) -> Iterator[Piece]:
    """The documents of a file or of standard input (`-`), in order. Raises FileFailed, or InvalidJson for none."""
    found = False
    with opened(name) as stream:
        for piece in pieces(stream):
            found = True
            yield piece
    if not found:
        raise InvalidJson("there is no record in it").at(file=name)


def read_record(name: str) -> PithRecord:
    """The one record of a file or of standard input (`-`). Raises FileFailed, InvalidJson, InvalidRecord."""
    first, *others = record_pieces(name)
    if others:
        raise InvalidJson("there is more than one record in it", hint="give a file that holds one").at(file=name)
    try:
        return PithRecord.from_json(first.data)
    except InvalidInput as error:
        raise error.at(file=name, line=first.line) from None
