"""Harvests: how far each list of changes was read from its source."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _text() -> sa.String:
    return sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "harvests",
        sa.Column("id", _NUMBER, sa.Identity(always=True), primary_key=True),
        sa.Column("source", _text(), nullable=False, comment="URL of the interface"),
        sa.Column("set_name", _text(), nullable=False, comment="empty for all"),
        sa.Column("from_day", _text(), nullable=False),
        sa.Column("until_day", _text(), nullable=False, comment="empty for no end"),
        sa.Column("token", _text(), comment="asks for the next page; null for the first"),
        sa.Column("covers_to", _text(), nullable=False, comment="changes up to this day are in the list"),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.Column("records", sa.Integer, nullable=False),
        sa.Column("begun_at", _text(), nullable=False),
        sa.Column("finished_at", _text()),
    )
