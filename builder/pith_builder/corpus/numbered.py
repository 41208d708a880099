"""A number and its receipt on one line: what a corpus run gives without a store, and the rows of a table of numbers."""

from __future__ import annotations

import msgspec

from pith_builder.issue import Signed
from pith_builder.receipt import Receipt
from pith_builder.record import CanonicalRecord


class NumberedReceipt(msgspec.Struct, frozen=True):
    """A paper's number with all that proves it: the canonical record that is hashed, and the receipt over its digest.

    `created_at` is in record form (PROTOCOL §4): the whole record is this, the paper's metadata and the profile.
    """

    pith_number: str
    arxiv_id: str
    version: int
    canonical_record: CanonicalRecord
    receipt: Receipt
    created_at: str

    @classmethod
    def of(cls, signed: Signed) -> NumberedReceipt:
        """The line of a paper that was signed."""
        source = signed.canonical.source
        return cls(str(signed.number), source.id, source.version, signed.canonical, signed.receipt, signed.created_at)
