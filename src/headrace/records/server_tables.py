"""The tables of what a server keeps besides jobs: applications, dashboards, alerts, and requests that were answered."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from headrace.records.base import Base, Instant

__all__ = ["AlertRow", "AlertRuleRow", "ApplicationRow", "ApplicationVersionRow", "DashboardRow", "RequestRow"]


class ApplicationRow(Base):
    """An application that is kept by its name; ``version`` is the newest of its texts."""

    __tablename__ = "applications"

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    version: Mapped[int] = mapped_column(Integer)


class ApplicationVersionRow(Base):
    """One text of an application."""

    __tablename__ = "application_versions"

    name: Mapped[str] = mapped_column(ForeignKey("applications.name", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    text: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(Instant)
    created_by: Mapped[str] = mapped_column(String(200))


class DashboardRow(Base):
    """The dashboard of an application, as YAML; ``file_digest`` is the SHA-256 of the file it was last taken of."""

    __tablename__ = "dashboards"

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    text: Mapped[str] = mapped_column(Text)
    changed_at: Mapped[datetime] = mapped_column(Instant)
    changed_by: Mapped[str] = mapped_column(String(200))
    file_digest: Mapped[str | None] = mapped_column(String(64))


class RequestRow(Base):
    """A request that changes something and has a key: under way without a status, else with what was answered."""

    __tablename__ = "requests"

    user_id: Mapped[int] = mapped_column(Integer, primary_key=True)
    key: Mapped[str] = mapped_column(String(100), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64))
    status: Mapped[int | None] = mapped_column(Integer)
    body: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    at: Mapped[datetime] = mapped_column(Instant, index=True)


class AlertRow(Base):
    """An alert from its beginning: it holds while it has no end, and somebody may have taken note of it."""

    __tablename__ = "alerts"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    rule: Mapped[str] = mapped_column(Text)
    job: Mapped[str] = mapped_column(String(200), index=True)
    output: Mapped[str | None] = mapped_column(Text)
    message: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(Instant)
    over_at: Mapped[datetime | None] = mapped_column(Instant, index=True)
    acknowledged_by: Mapped[str | None] = mapped_column(String(200))
    acknowledged_at: Mapped[datetime | None] = mapped_column(Instant)


class AlertRuleRow(Base):
    """A rule of alerts that people have made; its options are those of a file."""

    __tablename__ = "alert_rules"

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    options: Mapped[dict[str, Any]] = mapped_column(JSON)
    changed_at: Mapped[datetime] = mapped_column(Instant)
    changed_by: Mapped[str] = mapped_column(String(200))
