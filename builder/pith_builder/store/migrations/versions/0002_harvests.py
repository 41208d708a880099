"""Harvests: how far each list of changes was read from its source."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "harvests",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("source", sa.String, nullable=False),
        sa.Column("set_name", sa.String, nullable=False),
        sa.Column("from_day", sa.String, nullable=False),
        sa.Column("until_day", sa.String, nullable=False),
        sa.Column("token", sa.String),
        sa.Column("covers_to", sa.String),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.Column("records", sa.Integer, nullable=False),
        sa.Column("begun_at", sa.String, nullable=False),
        sa.Column("finished_at", sa.String),
    )
