"""Dashboards that know the file they came from."""

import sqlalchemy as sa
from alembic import op

revision = "0007_dashboard_files"
down_revision = "0006_watch"


def upgrade() -> None:
    """Bring the tables to this version."""
    op.add_column("dashboards", sa.Column("file_digest", sa.String(64), nullable=True))
