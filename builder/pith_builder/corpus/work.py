"""What is done with a chunk of rows: each paper is signed, and comes out ready to be written. Runs in every worker.

The steps are those of the Issuer. All receipts of a chunk have the time at which its work began.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from pith_builder.corpus.notes import Reject
from pith_builder.corpus.snapshot import Chunk
from pith_builder.errors import InvalidInput, Refused
from pith_builder.issue import Issuer, Signed
from pith_builder.metadata import PaperMetadata
from pith_builder.published import Profile
from pith_builder.signing import Signer
from pith_builder.sources.papers import read_value
from pith_builder.sources.pieces import Piece, rows
from pith_builder.times import Clock

#: Makes the item for a paper of what was signed, its metadata, the object in the row, and the row.
Item = Callable[[Signed, PaperMetadata, dict[str, Any], Piece], Any]

#: What an item is, which depends on where it goes: from the name of the input and the time of the chunk.
Shape = Callable[[str, datetime], Item]


class Done(NamedTuple):
    """What came of a chunk: how many rows stood in it, an item for each paper, and the rows that gave none."""

    rows: int
    items: list[Any]
    rejects: list[Reject]


def work(chunk: Chunk, signer: Signer, profile: Profile, clock: Clock, shape: Shape, name: str) -> Done:
    """Sign the papers of a chunk of the input `name`. Raises KeyUnusable."""
    begun = clock()
    issuer, item = Issuer(signer, profile, clock=lambda: begun), shape(name, begun)
    items: list[Any] = []
    rejects: list[Reject] = []
    for piece in rows(io.BytesIO(chunk.data), chunk.begin.line, chunk.begin.offset):
        try:
            value, metadata = read_value(piece.data)
            items.append(item(issuer.sign(metadata), metadata, value, piece))
        except (InvalidInput, Refused) as error:
            rejects.append(Reject.of(piece, error))
    return Done(len(items) + len(rejects), items, rejects)
