"""Numbers and receipts as an Arrow table: the columns of a corpus in Parquet, and of what engines of clusters give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pith_builder.corpus.numbered import NumberedReceipt
from pith_builder.documents import typed
from pith_builder.errors import InvalidRecord, StorageFailed
from pith_builder.receipt import Receipt
from pith_builder.record import CanonicalRecord

try:
    import pyarrow as pa
except ImportError as error:
    raise StorageFailed(f"a table needs pyarrow: {error}", hint="pip install 'pith-build[arrow]'") from None

_RECEIPT_FIELDS = [pa.field(name, pa.string()) for name in Receipt.__struct_fields__]

#: The columns. `canonical_sha256` is 64 hex digits, `canonical_record` the canonical bytes as text (PROTOCOL §2).
SCHEMA: pa.Schema = pa.schema(
    [
        pa.field("pith_number", pa.string()),
        pa.field("arxiv_id", pa.string()),
        pa.field("version", pa.int32()),
        pa.field("canonical_sha256", pa.string()),
        pa.field("canonical_record", pa.string()),
        pa.field("receipt", pa.struct(_RECEIPT_FIELDS)),
        pa.field("created_at", pa.string()),
    ]
)

_NOTHING = (None,) * (len(SCHEMA) - 1)
_NO_RECEIPT = (None,) * len(_RECEIPT_FIELDS)


def to_batch(rows: Sequence[NumberedReceipt]) -> pa.RecordBatch:
    """The rows as a batch of `SCHEMA`."""
    return pa.record_batch(columns(rows), schema=SCHEMA)


def columns(rows: Sequence[NumberedReceipt | None]) -> list[pa.Array]:
    """The columns of `SCHEMA`; null in all of them for a row that is None."""
    if not rows:
        return [pa.array([], field.type) for field in SCHEMA]
    flat = zip(*[_NOTHING if row is None else _flat(row) for row in rows], strict=True)
    receipts = zip(*[_NO_RECEIPT if row is None else msgspec.structs.astuple(row.receipt) for row in rows], strict=True)
    by_name = dict(zip([name for name in SCHEMA.names if name != "receipt"], flat, strict=True))
    receipt = pa.StructArray.from_arrays(
        [pa.array(values, pa.string()) for values in receipts],
        fields=_RECEIPT_FIELDS,
        mask=pa.array([row is None for row in rows]),
    )
    return [receipt if field.name == "receipt" else pa.array(by_name[field.name], field.type) for field in SCHEMA]


def _flat(row: NumberedReceipt) -> tuple[Any, ...]:
    canonical = row.canonical_record.to_bytes().decode()
    return row.pith_number, row.arxiv_id, row.version, row.receipt.canonical_sha256, canonical, row.created_at


def from_row(row: Mapping[str, Any]) -> NumberedReceipt:
    """The number and receipt in one row, as `RecordBatch.to_pylist` gives it.

    Raises InvalidRecord or InvalidJson with the column at fault; whether digest, number and signature hold is for a
    verifier to say.
    """
    text, digest = row.get("canonical_record"), row.get("canonical_sha256")
    canonical = CanonicalRecord.from_json(text if isinstance(text, str) else "null")
    if canonical.to_bytes().decode() != text:
        raise InvalidRecord("is not in canonical form", field="canonical_record")
    given = {name: value for name, value in row.items() if name != "canonical_sha256"}
    numbered = typed(NumberedReceipt, {**given, "canonical_record": canonical}, InvalidRecord)
    if digest != numbered.receipt.canonical_sha256:
        raise InvalidRecord("is not the digest of the receipt", field="canonical_sha256")
    return numbered


__all__ = ["SCHEMA", "columns", "from_row", "pa", "to_batch"]
