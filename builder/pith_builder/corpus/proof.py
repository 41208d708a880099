"""Whether what stands in a corpus holds by itself: a record, or a number with its receipt and canonical record."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import msgspec

from pith_builder.case import Case, Check, run
from pith_builder.checks import CHECKS
from pith_builder.corpus.numbered import NumberedReceipt
from pith_builder.documents import loads, typed
from pith_builder.errors import InvalidInput, InvalidRecord, cut
from pith_builder.keyring import KeyRing
from pith_builder.published import PithRecord
from pith_builder.receipt import Receipt
from pith_builder.record import CanonicalRecord
from pith_builder.verify import verify

#: The checks of a record that look at nothing but what `_Proof` has.
_PROVING = {
    *("canonical_bytes", "digest", "number", "times_in_order"),
    *("signature", "key_known", "key_valid"),
}


class Verdict(NamedTuple):
    """What was found of a line or row: the number it claims, if that can be read, and what is wrong, or nothing."""

    pith_number: str | None
    fault: str


def record_verdict(line: bytes, ring: KeyRing) -> Verdict:
    """The verdict on a record, as `verify` sees it."""
    try:
        report = verify(line, ring)
    except InvalidInput as error:
        return _unreadable(error)
    return Verdict(report.pith_number, _joined(report.failed))


def line_verdict(line: bytes, ring: KeyRing) -> Verdict:
    """The verdict on a line of numbers and receipts."""
    try:
        return numbered_verdict(typed(NumberedReceipt, loads(line), InvalidRecord), ring)
    except InvalidInput as error:
        return _unreadable(error)


def table_verdicts(rows: bytes, ring: KeyRing) -> list[Verdict]:
    """The verdicts on rows of the table of numbers and receipts, which come as a serialized record batch."""
    import pyarrow as pa

    from pith_builder.corpus.table import SCHEMA, from_row

    def verdict(row: dict[str, Any] | None) -> Verdict:
        if row is None:
            return Verdict(None, "holds text that is no UTF-8")
        try:
            return numbered_verdict(from_row(row), ring)
        except InvalidInput as error:
            return _unreadable(error)

    def python(batch: pa.RecordBatch) -> list[dict[str, Any] | None]:
        try:
            return list(batch.to_pylist())
        except UnicodeDecodeError:  # in which row, Arrow doesn't say
            alone = [batch.slice(n, 1) for n in range(batch.num_rows)]
            return [None] if len(alone) == 1 else [row for one in alone for row in python(one)]

    return [verdict(row) for row in python(pa.ipc.read_record_batch(pa.py_buffer(rows), SCHEMA))]


def numbered_verdict(numbered: NumberedReceipt, ring: KeyRing) -> Verdict:
    """The verdict on a number and its receipt: digest, number, ids, times, and the signature by a key of the ring."""
    source = numbered.canonical_record.source
    if (numbered.arxiv_id, numbered.version) != (source.id, source.version):
        return Verdict(numbered.pith_number, "id and version are not those of the canonical record")
    proof = _Proof(
        numbered.pith_number,
        numbered.receipt.canonical_sha256,
        numbered.canonical_record,
        numbered.receipt,
        numbered.created_at,
        numbered.created_at,
    )
    case = Case(cast(PithRecord, proof), ring, None, None)
    checks = [run(check, case) for check in CHECKS if check.name in _PROVING]
    return Verdict(numbered.pith_number, _joined([check for check in checks if check.status == "failed"]))


class _Proof(msgspec.Struct, frozen=True):
    """So much of a record as a number needs to be proven."""

    pith_number: str
    canonical_sha256: str
    canonical_record: CanonicalRecord
    receipt: Receipt
    created_at: str
    updated_at: str


def _joined(failed: list[Check]) -> str:
    return "; ".join(f"{check.name}: {check.reason}" for check in failed)


def _unreadable(error: InvalidInput) -> Verdict:
    return Verdict(None, cut(f"{error.field}: {error.message}" if error.field else error.message))
