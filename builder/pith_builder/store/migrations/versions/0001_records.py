"""Records, receipts and earlier blocks; the last two can't be changed or deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "records",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("canonical_sha256", sa.BLOB, nullable=False, unique=True),
        sa.Column("suffix", sa.String(26), nullable=False, unique=True),
        sa.Column("arxiv_id", sa.String, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("base_url", sa.String, nullable=False),
        sa.Column("created_at", sa.String, nullable=False),
        sa.Column("said_at", sa.String),
        sa.Column("recorded_at", sa.String, nullable=False),
        sa.Column("canonical", sa.BLOB, nullable=False),
        sa.Column("provenance", sa.BLOB, nullable=False),
        sa.Column("withdrawn", sa.BLOB),
        sa.Column("paper", sa.BLOB, nullable=False),
        sa.Column("snapshot", sa.BLOB, nullable=False),
        sa.Column("surroundings", sa.BLOB, nullable=False),
        sa.Column("enrichment", sa.BLOB),
        sa.Column("layout", sa.BLOB),
    )
    op.create_index("records_by_paper", "records", ["arxiv_id", "version"])
    op.create_table(
        "current",
        sa.Column("record_id", sa.Integer, sa.ForeignKey("records.id"), primary_key=True),
        sa.Column("receipt_id", sa.Integer, nullable=False),
        sa.Column("updated_at", sa.String, nullable=False),
        sa.Column("key_fingerprint", sa.String(32), nullable=False),
        sa.Column("receipt_builder", sa.String, nullable=False),
    )
    op.create_index("current_by_key", "current", ["key_fingerprint", "receipt_builder"])
    op.create_table(
        "receipts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("record_id", sa.Integer, sa.ForeignKey("records.id"), nullable=False),
        sa.Column("receipt", sa.BLOB, nullable=False),
        sa.Column("recorded_at", sa.String, nullable=False),
    )
    op.create_index("ix_receipts_record_id", "receipts", ["record_id"])
    op.create_table(
        "checks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("checked_at", sa.String, nullable=False),
        sa.Column("last_receipt_id", sa.Integer, nullable=False),
        sa.Column("records", sa.Integer, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False),
    )
    op.create_table(
        "earlier_blocks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("record_id", sa.Integer, sa.ForeignKey("records.id"), nullable=False),
        sa.Column("paper", sa.BLOB, nullable=False),
        sa.Column("snapshot", sa.BLOB, nullable=False),
        sa.Column("surroundings", sa.BLOB, nullable=False),
        sa.Column("enrichment", sa.BLOB),
        sa.Column("provenance", sa.BLOB, nullable=False),
        sa.Column("updated_at", sa.String, nullable=False),
        sa.Column("replaced_at", sa.String, nullable=False),
    )
    op.create_index("ix_earlier_blocks_record_id", "earlier_blocks", ["record_id"])
    for table in ("receipts", "earlier_blocks"):
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            )
