"""Users, groups, access lists, tokens, sessions, log-in attempts and the audit log."""

import sqlalchemy as sa
from alembic import op

from headrace.records.base import Instant

revision = "0001_access"
down_revision = None

ROLES = "role IN ('viewer', 'operator', 'developer', 'admin')"


def upgrade() -> None:
    """Bring the tables to this version."""
    _people()
    _lists()
    _keys()
    _audit()


def _people() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("password_hash", sa.String(255), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("password_changed_at", Instant(), nullable=False),
        sa.Column("disabled_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("name", name="uq_users_name"),
        sa.CheckConstraint(ROLES, name=op.f("ck_users_role")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "groups",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_groups"),
        sa.UniqueConstraint("name", name="uq_groups_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "group_members",
        sa.Column("group_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("group_id", "user_id", name="pk_group_members"),
        _to("groups", "group_id", "fk_group_members_group_id_groups"),
        _to("users", "user_id", "fk_group_members_user_id_users"),
    )
    op.create_index("ix_group_members_user_id", "group_members", ["user_id"])


def _lists() -> None:
    op.create_table(
        "object_access",
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=True),
        sa.Column("restricted", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "name", name="pk_object_access"),
        _to("users", "owner_id", "fk_object_access_owner_id_users", "SET NULL"),
    )
    op.create_index("ix_object_access_owner_id", "object_access", ["owner_id"])
    op.create_table(
        "access_entries",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("pattern", sa.String(255), nullable=False),
        sa.Column("effect", sa.String(8), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("group_id", sa.Integer(), nullable=True),
        sa.Column("role", sa.String(16), nullable=True),
        sa.Column("actions", sa.JSON(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_access_entries"),
        _to("users", "user_id", "fk_access_entries_user_id_users"),
        _to("groups", "group_id", "fk_access_entries_group_id_groups"),
        sa.CheckConstraint("effect IN ('allow', 'deny')", name=op.f("ck_access_entries_effect")),
        sa.CheckConstraint("(user_id IS NULL) <> (group_id IS NULL)", name=op.f("ck_access_entries_one_grantee")),
        sa.CheckConstraint("(role IS NULL) <> (actions IS NULL)", name=op.f("ck_access_entries_one_right")),
        sa.CheckConstraint(ROLES, name=op.f("ck_access_entries_role")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_access_entries_kind", "access_entries", ["kind", "pattern"])
    op.create_index("ix_access_entries_user_id", "access_entries", ["user_id"])
    op.create_index("ix_access_entries_group_id", "access_entries", ["group_id"])


def _keys() -> None:
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("role", sa.String(16), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.Column("revoked_at", Instant(), nullable=True),
        sa.Column("last_used_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_api_tokens"),
        _to("users", "user_id", "fk_api_tokens_user_id_users"),
        sa.CheckConstraint(ROLES, name=op.f("ck_api_tokens_role")),
    )
    op.create_index("ix_api_tokens_user_id", "api_tokens", ["user_id"])
    op.create_table(
        "sessions",
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.Column("last_used_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("secret_hash", name="pk_sessions"),
        _to("users", "user_id", "fk_sessions_user_id_users"),
    )
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.create_index("ix_sessions_expires_at", "sessions", ["expires_at"])
    op.create_table(
        "login_attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name_hash", sa.String(64), nullable=False),
        sa.Column("address", sa.String(64), nullable=True),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_login_attempts"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_login_attempts_name_hash", "login_attempts", ["name_hash", "at"])
    op.create_index("ix_login_attempts_address", "login_attempts", ["address", "at"])
    op.create_index("ix_login_attempts_at", "login_attempts", ["at"])


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("actor_id", sa.Integer(), nullable=True),
        sa.Column("actor_name", sa.String(64), nullable=False),
        sa.Column("token_id", sa.String(32), nullable=True),
        sa.Column("address", sa.String(64), nullable=True),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("target_kind", sa.String(16), nullable=False),
        sa.Column("target_name", sa.String(255), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sqlite_autoincrement=True,
    )
    for column in ("at", "actor_name", "action"):
        op.create_index(f"ix_audit_{column}", "audit", [column])
    op.create_index("ix_audit_target_kind", "audit", ["target_kind", "target_name"])
    for statement in KEEP_AUDIT[op.get_bind().dialect.name]:
        op.execute(statement)


def _to(table: str, column: str, name: str, ondelete: str = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{table}.id"], name=name, ondelete=ondelete)


KEEP_AUDIT = {
    "sqlite": (
        """CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
           BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END""",
        """CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit
           BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END""",
    ),
    "postgresql": (
        """CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$""",
        """CREATE TRIGGER audit_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
           FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()""",
    ),
}
"""What makes the database itself refuse to change the audit log."""
