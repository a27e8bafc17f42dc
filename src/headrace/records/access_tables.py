"""The tables of users and access: who there is, what they may, what they hold and what they did."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, ForeignKey, Index, Integer, String, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from headrace.records.base import Base, Instant

__all__ = [
    "AccessEntryRow",
    "ApiTokenRow",
    "AuditRow",
    "GroupMemberRow",
    "GroupRow",
    "LoginAttemptRow",
    "ObjectAccessRow",
    "SessionRow",
    "UserRow",
]

NAME = String(64)
OBJECT_NAME = String(255)
HASH = String(64)
ROLES = "('viewer', 'operator', 'developer', 'admin')"


class UserRow(Base):
    """A person or a program that may log in; numbers are never given twice."""

    __tablename__ = "users"
    __table_args__ = (
        UniqueConstraint("name"),
        CheckConstraint(f"role IN {ROLES}", name="role"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(NAME)
    role: Mapped[str] = mapped_column(String(16))
    password_hash: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(Instant())
    password_changed_at: Mapped[datetime] = mapped_column(Instant())
    disabled_at: Mapped[datetime | None] = mapped_column(Instant())
    must_change_password: Mapped[bool] = mapped_column(server_default=false())


class GroupRow(Base):
    """Users who are named together in access lists."""

    __tablename__ = "groups"
    __table_args__ = (UniqueConstraint("name"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(NAME)
    created_at: Mapped[datetime] = mapped_column(Instant())


class GroupMemberRow(Base):
    """That a user belongs to a group."""

    __tablename__ = "group_members"

    group_id: Mapped[int] = mapped_column(ForeignKey("groups.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True)


class ObjectAccessRow(Base):
    """Who owns an object, and whether only those whom its list names may reach it."""

    __tablename__ = "object_access"

    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    name: Mapped[str] = mapped_column(OBJECT_NAME, primary_key=True)
    owner_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"), index=True)
    restricted: Mapped[bool]


class AccessEntryRow(Base):
    """One line of an access list: a user or a group, and a role or actions, on one object or on many."""

    __tablename__ = "access_entries"
    __table_args__ = (
        CheckConstraint("effect IN ('allow', 'deny')", name="effect"),
        CheckConstraint("(user_id IS NULL) <> (group_id IS NULL)", name="one_grantee"),
        CheckConstraint("(role IS NULL) <> (actions IS NULL)", name="one_right"),
        CheckConstraint(f"role IN {ROLES}", name="role"),
        Index(None, "kind", "pattern"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    pattern: Mapped[str] = mapped_column(OBJECT_NAME)
    effect: Mapped[str] = mapped_column(String(8))
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    group_id: Mapped[int | None] = mapped_column(ForeignKey("groups.id", ondelete="CASCADE"), index=True)
    role: Mapped[str | None] = mapped_column(String(16))
    actions: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    created_at: Mapped[datetime] = mapped_column(Instant())


class ApiTokenRow(Base):
    """A token by which a program acts for a user; of its secret only a hash is kept."""

    __tablename__ = "api_tokens"
    __table_args__ = (CheckConstraint(f"role IN {ROLES}", name="role"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(NAME)
    secret_hash: Mapped[str] = mapped_column(HASH)
    role: Mapped[str | None] = mapped_column(String(16))
    created_at: Mapped[datetime] = mapped_column(Instant())
    expires_at: Mapped[datetime] = mapped_column(Instant())
    revoked_at: Mapped[datetime | None] = mapped_column(Instant())
    last_used_at: Mapped[datetime | None] = mapped_column(Instant())


class SessionRow(Base):
    """A browser that is logged in; of its secret only a hash is kept."""

    __tablename__ = "sessions"

    secret_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(Instant())
    expires_at: Mapped[datetime] = mapped_column(Instant(), index=True)
    last_used_at: Mapped[datetime] = mapped_column(Instant())


class LoginAttemptRow(Base):
    """A log-in that has failed, or is being checked; the name is hashed, for people type passwords there."""

    __tablename__ = "login_attempts"
    __table_args__ = (
        Index(None, "name_hash", "at"),
        Index(None, "address", "at"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name_hash: Mapped[str] = mapped_column(HASH)
    address: Mapped[str | None] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(Instant(), index=True)


class AuditRow(Base):
    """Something that was done, or refused; the database refuses to change it, and to remove it within 30 days."""

    __tablename__ = "audit"
    __table_args__ = (Index(None, "target_kind", "target_name"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)
    at: Mapped[datetime] = mapped_column(Instant(), index=True)
    actor_id: Mapped[int | None]
    actor_name: Mapped[str] = mapped_column(NAME, index=True)
    token_id: Mapped[str | None] = mapped_column(String(32))
    address: Mapped[str | None] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(NAME, index=True)
    target_kind: Mapped[str] = mapped_column(String(16))
    target_name: Mapped[str] = mapped_column(OBJECT_NAME)
    outcome: Mapped[str] = mapped_column(String(16))
    details: Mapped[dict[str, Any]] = mapped_column(JSON())
