"""The tables of applications, dashboards, requests and acknowledged alerts."""

import sqlalchemy as sa
from alembic import op

from headrace.records.base import Instant

revision = "0003_server"
down_revision = "0002_jobs"


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "applications",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_applications"),
    )
    op.create_table(
        "application_versions",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("created_by", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(
            ["name"], ["applications.name"], name="fk_application_versions_name_applications", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("name", "number", name="pk_application_versions"),
    )
    op.create_table(
        "dashboards",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("changed_at", Instant(), nullable=False),
        sa.Column("changed_by", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_dashboards"),
    )
    op.create_table(
        "requests",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(100), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.JSON(), nullable=True),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "key", name="pk_requests"),
    )
    op.create_index("ix_requests_at", "requests", ["at"])
    op.create_table(
        "acknowledged_alerts",
        sa.Column("alert", sa.String(64), nullable=False),
        sa.Column("job", sa.String(200), nullable=False),
        sa.Column("by", sa.String(200), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("alert", name="pk_acknowledged_alerts"),
    )
