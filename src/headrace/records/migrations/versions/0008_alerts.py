"""Alerts that last longer than a server; who took note of one stands beside it."""

import sqlalchemy as sa
from alembic import op

from headrace.records.base import Instant

revision = "0008_alerts"
down_revision = "0007_dashboard_files"


def upgrade() -> None:
    """Bring the tables to this version; what was noted of alerts that ended with their server is of no use."""
    op.create_table(
        "alerts",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("job", sa.String(200), nullable=False),
        sa.Column("output", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("over_at", Instant(), nullable=True),
        sa.Column("acknowledged_by", sa.String(200), nullable=True),
        sa.Column("acknowledged_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_alerts"),
    )
    op.create_index("ix_alerts_job", "alerts", ["job"])
    op.create_index("ix_alerts_over_at", "alerts", ["over_at"])
    op.drop_table("acknowledged_alerts")
