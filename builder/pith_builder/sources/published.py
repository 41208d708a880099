"""Published records in files: one object, or JSON Lines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pith_builder.errors import InvalidInput, InvalidJson
from pith_builder.published import PithRecord
from pith_builder.sources.pieces import Piece, pieces
from pith_builder.sources.records import opened


def record_pieces(name: str) -> Iterator[Piece]:
    """The documents of a file or of standard input (`-`), in order. Raises FileFailed."""
    with opened(name) as stream:
        yield from pieces(stream)


def read_record(name: str) -> PithRecord:
    """The one record of a file or of standard input (`-`). Raises FileFailed, InvalidJson, InvalidRecord."""
    found = list(itertools.islice(record_pieces(name), 2))
    if not found:
        raise InvalidJson("there is no record in it").at(file=name)
    if len(found) > 1:
        raise InvalidJson("there is more than one record in it", hint="give a file that holds one").at(file=name)
    try:
        return PithRecord.from_json(found[0].data)
    except InvalidInput as error:
        raise error.at(file=name, line=found[0].line) from None
