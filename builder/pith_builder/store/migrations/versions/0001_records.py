"""Records, receipts and earlier blocks; the last two can't be changed or deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_REFUSED = {"sqlite": ("UPDATE", "DELETE"), "postgresql": ("UPDATE", "DELETE", "TRUNCATE")}
_REFUSE = """
    CREATE FUNCTION pith_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation'; END $$
"""


def _text(length: int | None = None) -> sa.String:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def _id() -> sa.Column[int]:
    return sa.Column("id", _NUMBER, sa.Identity(always=True), primary_key=True)


def upgrade() -> None:
    op.create_table(
        "records",
        _id(),
        sa.Column("canonical_sha256", sa.LargeBinary, nullable=False, unique=True, comment="32 bytes"),
        sa.Column("suffix", _text(26), nullable=False, unique=True),
        sa.Column("arxiv_id", _text(), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("base_url", _text(), nullable=False),
        sa.Column("created_at", _text(), nullable=False),
        sa.Column("said_at", _text(), comment="when the source said so; orders records of one version"),
        sa.Column("recorded_at", _text(), nullable=False, comment="when this store took the record in"),
        sa.Column("canonical", sa.LargeBinary, nullable=False, comment="the canonical bytes"),
        sa.Column("provenance", sa.LargeBinary, nullable=False),
        sa.Column("withdrawn", sa.LargeBinary, comment="when and why, if the record was issued in error"),
        sa.Column("paper", sa.LargeBinary, nullable=False),
        sa.Column("snapshot", sa.LargeBinary, nullable=False, comment="the graph snapshot without its paper block"),
        sa.Column("surroundings", sa.LargeBinary, nullable=False, comment="events, citations and the like"),
        sa.Column("enrichment", sa.LargeBinary, comment="as it was given, if it was"),
        sa.Column("layout", sa.LargeBinary, comment="fields beyond schema 1.0, in place; null where there are none"),
    )
    op.create_index("records_by_paper", "records", ["arxiv_id", "version"])
    op.create_table(
        "current",
        sa.Column("record_id", _NUMBER, sa.ForeignKey("records.id"), primary_key=True, autoincrement=False),
        sa.Column("receipt_id", _NUMBER, nullable=False, comment="the newest receipt"),
        sa.Column("updated_at", _text(), nullable=False),
        sa.Column("key_fingerprint", _text(32), nullable=False, comment="of the key of the newest receipt"),
        sa.Column("receipt_builder", _text(), nullable=False, comment="builder version of the newest receipt"),
    )
    op.create_index("current_by_key", "current", ["key_fingerprint", "receipt_builder"])
    op.create_table(
        "receipts",
        _id(),
        sa.Column("record_id", _NUMBER, sa.ForeignKey("records.id"), nullable=False),
        sa.Column("receipt", sa.LargeBinary, nullable=False),
        sa.Column("recorded_at", _text(), nullable=False),
    )
    op.create_index("ix_receipts_record_id", "receipts", ["record_id"])
    op.create_table(
        "checks",
        _id(),
        sa.Column("checked_at", _text(), nullable=False, comment="when a check of the whole store began"),
        sa.Column("last_receipt_id", _NUMBER, nullable=False, comment="receipts up to this one were checked"),
        sa.Column("records", _NUMBER, nullable=False),
        sa.Column("failed", _NUMBER, nullable=False),
    )
    op.create_table(
        "earlier_blocks",
        _id(),
        sa.Column("record_id", _NUMBER, sa.ForeignKey("records.id"), nullable=False),
        sa.Column("paper", sa.LargeBinary, nullable=False),
        sa.Column("snapshot", sa.LargeBinary, nullable=False),
        sa.Column("surroundings", sa.LargeBinary, nullable=False),
        sa.Column("enrichment", sa.LargeBinary),
        sa.Column("provenance", sa.LargeBinary, nullable=False),
        sa.Column("updated_at", _text(), nullable=False, comment="of the record while it had these blocks"),
        sa.Column("replaced_at", _text(), nullable=False),
    )
    op.create_index("ix_earlier_blocks_record_id", "earlier_blocks", ["record_id"])
    _append_only("receipts", "earlier_blocks")


def _append_only(*tables: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_REFUSE)
    for table in tables:
        for change in _REFUSED[op.get_bind().dialect.name]:
            op.execute(f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} {_refusing(table)}")


def _refusing(table: str) -> str:
    if op.get_bind().dialect.name == "postgresql":
        return "FOR EACH STATEMENT EXECUTE FUNCTION pith_append_only()"
    return f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
