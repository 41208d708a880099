"""Corpus runs: how far each was read into the store."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _text() -> sa.String:
    return sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "corpus_runs",
        sa.Column("id", _NUMBER, sa.Identity(always=True), primary_key=True),
        sa.Column("checkpoint", sa.LargeBinary, nullable=False, comment="input, settings, key, place and counts"),
        sa.Column("finished_at", _text()),
    )
