"""The fields beyond schema 1.0 that a record had, beside its earlier blocks."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    comment = "of the record while it had these blocks"
    op.add_column("earlier_blocks", sa.Column("layout", sa.LargeBinary, comment=comment))
