"""The tables. A stored record can be rebuilt whole; receipts and earlier blocks are only ever appended (DESIGN).

Canonical bytes and JSON are kept as bytes, never as a database's own JSON type, which would reorder them. Times
are text in the receipt's form. The migrations make these tables; this module is how the code names them.
"""

from sqlalchemy import (
    BLOB,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
)

metadata = MetaData()

# The large columns stand last: a row's beginning is read without them.
records = Table(
    "records",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("canonical_sha256", BLOB, nullable=False, unique=True, comment="32 bytes"),
    Column("suffix", String(26), nullable=False, unique=True),
    Column("arxiv_id", String, nullable=False),
    Column("version", Integer, nullable=False),
    Column("base_url", String, nullable=False),
    Column("created_at", String, nullable=False),
    Column("said_at", String, comment="when the source said so; orders records of one version"),
    Column("recorded_at", String, nullable=False, comment="when this store took the record in"),
    Column("canonical", BLOB, nullable=False, comment="the canonical bytes"),
    Column("provenance", BLOB, nullable=False),
    Column("withdrawn", BLOB, comment="when and why, if the record was issued in error"),
    Column("paper", BLOB, nullable=False),
    Column("snapshot", BLOB, nullable=False, comment="the graph snapshot without its paper block"),
    Column("surroundings", BLOB, nullable=False, comment="events, citations and the like"),
    Column("enrichment", BLOB, comment="as it was given, if it was"),
    Column("layout", BLOB, comment="fields beyond schema 1.0, in place; null where there are none"),
    Index("records_by_paper", "arxiv_id", "version"),
)

# What a new receipt changes, in rows of their own: rewriting the wide ones would cost several times as much.
current = Table(
    "current",
    metadata,
    Column("record_id", Integer, ForeignKey("records.id"), primary_key=True),
    Column("receipt_id", Integer, nullable=False, comment="the newest receipt"),
    Column("updated_at", String, nullable=False),
    Column("key_fingerprint", String(32), nullable=False, comment="of the key of the newest receipt"),
    Column("receipt_builder", String, nullable=False, comment="builder version of the newest receipt"),
    Index("current_by_key", "key_fingerprint", "receipt_builder"),
)

receipts = Table(
    "receipts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("record_id", Integer, ForeignKey("records.id"), nullable=False, index=True),
    Column("receipt", BLOB, nullable=False),
    Column("recorded_at", String, nullable=False),
)

checks = Table(
    "checks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("checked_at", String, nullable=False, comment="when a check of the whole store began"),
    Column("last_receipt_id", Integer, nullable=False, comment="receipts up to this one were checked"),
    Column("records", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
)

earlier_blocks = Table(
    "earlier_blocks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("record_id", Integer, ForeignKey("records.id"), nullable=False, index=True),
    Column("paper", BLOB, nullable=False),
    Column("snapshot", BLOB, nullable=False),
    Column("surroundings", BLOB, nullable=False),
    Column("enrichment", BLOB),
    Column("provenance", BLOB, nullable=False),
    Column("updated_at", String, nullable=False, comment="of the record while it had these blocks"),
    Column("replaced_at", String, nullable=False),
)

harvests = Table(
    "harvests",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("source", String, nullable=False, comment="URL of the interface"),
    Column("set_name", String, nullable=False, comment="empty for all"),
    Column("from_day", String, nullable=False),
    Column("until_day", String, nullable=False, comment="empty for no end"),
    Column("token", String, comment="asks for the next page; null before the first"),
    Column("covers_to", String, comment="changes up to this day are in the list; null before the first page"),
    Column("pages", Integer, nullable=False),
    Column("records", Integer, nullable=False),
    Column("begun_at", String, nullable=False),
    Column("finished_at", String),
)
