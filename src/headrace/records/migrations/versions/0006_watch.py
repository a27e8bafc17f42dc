"""Passwords that must be changed, rules of alerts that people have made, and an audit log that may lose its oldest."""

import sqlalchemy as sa
from alembic import op

from headrace.records.base import Instant

revision = "0006_watch"
down_revision = "0005_rebuilds"


def upgrade() -> None:
    """Bring the tables to this version."""
    must_change: sa.Column[bool] = sa.Column(
        "must_change_password", sa.Boolean(), nullable=False, server_default=sa.false()
    )
    op.add_column("users", must_change)
    op.create_table(
        "alert_rules",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("changed_at", Instant(), nullable=False),
        sa.Column("changed_by", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_alert_rules"),
    )
    for statement in KEEP_AUDIT[op.get_bind().dialect.name]:
        op.execute(statement)


KEEP_AUDIT = {
    "sqlite": (
        "DROP TRIGGER audit_is_not_removed",
        """CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit
           WHEN old.at > strftime('%Y-%m-%d %H:%M:%f', 'now', '-30 days')
           BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END""",
    ),
    "postgresql": (
        "DROP TRIGGER audit_is_kept ON audit",
        """CREATE TRIGGER audit_is_kept BEFORE UPDATE OR TRUNCATE ON audit
           FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()""",
        """CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit
           FOR EACH ROW WHEN (OLD.at > now() - interval '30 days') EXECUTE FUNCTION audit_is_append_only()""",
    ),
}
"""What makes the database itself refuse to change the audit log, and to remove what is younger than 30 days."""
