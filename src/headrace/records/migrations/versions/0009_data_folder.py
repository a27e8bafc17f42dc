"""The data folder of the jobs, noted where every server on the database sees it."""

import sqlalchemy as sa
from alembic import op

from headrace.records.base import Instant

revision = "0009_data_folder"
down_revision = "0008_alerts"


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "data_folder",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("machine", sa.String(255), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_data_folder"),
    )
