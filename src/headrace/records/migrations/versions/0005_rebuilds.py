"""Jobs that are rebuilt beside themselves."""

import sqlalchemy as sa
from alembic import op

revision = "0005_rebuilds"
down_revision = "0004_imports"


def upgrade() -> None:
    """Bring the tables to this version."""
    op.add_column("jobs", sa.Column("rebuild", sa.JSON(none_as_null=True), nullable=True))
