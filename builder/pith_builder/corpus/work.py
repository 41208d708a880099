"""What is done with a chunk of rows: each paper is signed, and comes out ready to be written. Runs in every worker.

The steps are those of the Issuer. All receipts of a chunk have the time at which its work began.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, TypeVar

from pith_builder.corpus.notes import Reject
from pith_builder.corpus.repeats import entry
from pith_builder.corpus.snapshot import Chunk
from pith_builder.errors import InvalidInput, Refused
from pith_builder.issue import Issuer, Signed
from pith_builder.published import Profile
from pith_builder.signing import Signer
from pith_builder.sources.papers import read_paper
from pith_builder.sources.pieces import Piece, rows
from pith_builder.sources.rows import Described
from pith_builder.times import Clock

_T = TypeVar("_T")
_Result = TypeVar("_Result")

#: Makes the item for a paper of what was signed, what its row says, and the row.
Item = Callable[[Signed, Described, Piece], bytes]

#: What an item is, which depends on where it goes: from the name of the input and the time of the chunk.
Shape = Callable[[str, datetime], Item]


class Done(NamedTuple):
    """What came of a chunk: so many papers, their items joined, their entries for finding repeats, and the rejects."""

    papers: int
    items: bytes
    entries: bytes
    rejects: list[Reject]

    @property
    def rows(self) -> int:
        """How many rows stood in the chunk."""
        return self.papers + len(self.rejects)


def work(chunk: Chunk, signer: Signer, profile: Profile, clock: Clock, shape: Shape, name: str) -> Done:
    """Sign the papers of a chunk of the input `name`. Raises KeyUnusable.

    Each step is taken for all rows before the next one: its code then stays in the processor's caches, which saves a
    fifth of the time.
    """
    begun = clock()
    issuer, item = Issuer(signer, profile, clock=lambda: begun), shape(name, begun)
    rejects: list[Reject] = []

    def done(step: Callable[[_T], _Result], piece: Piece, given: _T) -> _Result | None:
        try:
            return step(given)
        except (InvalidInput, Refused) as error:
            rejects.append(Reject.of(piece, error))
            return None

    pieces = list(rows(io.BytesIO(chunk.data), chunk.begin.line, chunk.begin.offset))
    read = [(piece, paper) for piece in pieces if (paper := done(read_paper, piece, piece.data))]
    signed = [(piece, paper, made) for piece, paper in read if (made := done(issuer.sign, piece, paper.metadata))]
    items = [item(made, paper, piece) for piece, paper, made in signed]
    entries = [entry(made.digest, paper.metadata.id, piece.line, piece.offset) for piece, paper, made in signed]
    return Done(len(items), b"".join(items), b"".join(entries), sorted(rejects, key=lambda reject: reject.line))
