"""The tables. A stored record can be rebuilt whole; receipts and earlier blocks are only ever appended (DESIGN).

Canonical bytes and JSON are kept as bytes, never as a database's own JSON type, which would reorder them. Times
are text in the receipt's form. The migrations make these tables; this module is how the code names them.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
)

metadata = MetaData()


def _text(length: int | None = None) -> String:
    """Text that is compared and ordered by code point, whatever the language of the database is."""
    return String(length).with_variant(String(length, collation="C"), "postgresql")


_Number = BigInteger().with_variant(Integer, "sqlite")


def _id() -> Column[int]:
    # Always given by the INSERT itself: the check of a whole store relies on later receipts having higher ids.
    return Column("id", _Number, Identity(always=True), primary_key=True)


# The large columns stand last: a row's beginning is read without them.
records = Table(
    "records",
    metadata,
    _id(),
    Column("canonical_sha256", LargeBinary, nullable=False, unique=True, comment="32 bytes"),
    Column("suffix", _text(26), nullable=False, unique=True),
    Column("arxiv_id", _text(), nullable=False),
    Column("version", Integer, nullable=False),
    Column("base_url", _text(), nullable=False),
    Column("created_at", _text(), nullable=False),
    Column("said_at", _text(), comment="when the source said so; orders records of one version"),
    Column("recorded_at", _text(), nullable=False, comment="when this store took the record in"),
    Column("canonical", LargeBinary, nullable=False, comment="the canonical bytes"),
    Column("provenance", LargeBinary, nullable=False),
    Column("withdrawn", LargeBinary, comment="when and why, if the record was issued in error"),
    Column("paper", LargeBinary, nullable=False),
    Column("snapshot", LargeBinary, nullable=False, comment="the graph snapshot without its paper block"),
    Column("surroundings", LargeBinary, nullable=False, comment="events, citations and the like"),
    Column("enrichment", LargeBinary, comment="as it was given, if it was"),
    Column("layout", LargeBinary, comment="fields beyond schema 1.0, in place; null where there are none"),
    Index("records_by_paper", "arxiv_id", "version"),
)

# What a new receipt changes, in rows of their own: rewriting the wide ones would cost several times as much. Whoever
# changes a record or its receipts locks its row here first, several in the order of record_id.
current = Table(
    "current",
    metadata,
    Column("record_id", _Number, ForeignKey("records.id"), primary_key=True, autoincrement=False),
    Column("receipt_id", _Number, nullable=False, comment="the newest receipt"),
    Column("updated_at", _text(), nullable=False),
    Column("key_fingerprint", _text(32), nullable=False, comment="of the key of the newest receipt"),
    Column("receipt_builder", _text(), nullable=False, comment="builder version of the newest receipt"),
    Index("current_by_key", "key_fingerprint", "receipt_builder"),
)

receipts = Table(
    "receipts",
    metadata,
    _id(),
    Column("record_id", _Number, ForeignKey("records.id"), nullable=False, index=True),
    Column("receipt", LargeBinary, nullable=False),
    Column("recorded_at", _text(), nullable=False),
)

checks = Table(
    "checks",
    metadata,
    _id(),
    Column("checked_at", _text(), nullable=False, comment="when a check of the whole store began"),
    Column("last_receipt_id", _Number, nullable=False, comment="receipts up to this one were checked"),
    Column("records", _Number, nullable=False),
    Column("failed", _Number, nullable=False),
)

earlier_blocks = Table(
    "earlier_blocks",
    metadata,
    _id(),
    Column("record_id", _Number, ForeignKey("records.id"), nullable=False, index=True),
    Column("paper", LargeBinary, nullable=False),
    Column("snapshot", LargeBinary, nullable=False),
    Column("surroundings", LargeBinary, nullable=False),
    Column("enrichment", LargeBinary),
    Column("provenance", LargeBinary, nullable=False),
    Column("updated_at", _text(), nullable=False, comment="of the record while it had these blocks"),
    Column("replaced_at", _text(), nullable=False),
    Column("layout", LargeBinary, comment="of the record while it had these blocks"),
)

harvests = Table(
    "harvests",
    metadata,
    _id(),
    Column("source", _text(), nullable=False, comment="URL of the interface"),
    Column("set_name", _text(), nullable=False, comment="empty for all"),
    Column("from_day", _text(), nullable=False),
    Column("until_day", _text(), nullable=False, comment="empty for no end"),
    Column("token", _text(), comment="asks for the next page; null for the first"),
    Column("covers_to", _text(), nullable=False, comment="changes up to this day are in the list"),
    Column("pages", Integer, nullable=False),
    Column("records", Integer, nullable=False),
    Column("begun_at", _text(), nullable=False),
    Column("finished_at", _text()),
)

corpus_runs = Table(
    "corpus_runs",
    metadata,
    _id(),
    Column("checkpoint", LargeBinary, nullable=False, comment="input, settings, key, place and counts"),
    Column("finished_at", _text()),
)
