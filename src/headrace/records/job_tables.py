"""The tables of jobs: what people asked for, what became of it, where it is, and the commands that were applied."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from headrace.records.base import Base, Instant

__all__ = ["CommandRow", "DataFolderRow", "EventRow", "JobRow", "SavepointRow", "VersionRow"]


class JobRow(Base):
    """A job; ``revision`` grows with every change, so that nobody overwrites what he has not seen."""

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    owner: Mapped[str | None] = mapped_column(String(200))
    state: Mapped[str] = mapped_column(String(20), index=True)
    wanted: Mapped[str] = mapped_column(String(20))
    reason: Mapped[str] = mapped_column(Text)
    error: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    version: Mapped[int] = mapped_column(Integer)
    ran_version: Mapped[int] = mapped_column(Integer)
    """The last version that was seen running, 0 for none."""
    attempt: Mapped[int] = mapped_column(Integer)
    restarts: Mapped[list[str]] = mapped_column(JSON)
    restart_count: Mapped[int] = mapped_column(Integer)
    waits: Mapped[int] = mapped_column(Integer)
    launch_at: Mapped[datetime | None] = mapped_column(Instant)
    since: Mapped[datetime] = mapped_column(Instant)
    submitted_at: Mapped[datetime] = mapped_column(Instant)
    queued_at: Mapped[datetime] = mapped_column(Instant)
    cores: Mapped[int] = mapped_column(Integer)
    memory: Mapped[int] = mapped_column(Integer)
    master: Mapped[str | None] = mapped_column(String(500))
    savepoint: Mapped[str | None] = mapped_column(String(32))
    """The savepoint that is to be taken once no driver runs."""
    pending: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """What is to be done to the state before the next driver starts."""
    deleted_at: Mapped[datetime | None] = mapped_column(Instant)
    revision: Mapped[int] = mapped_column(Integer)
    rebuild: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Of a hidden job that builds another anew beside it: which one, and how far it is."""


class DataFolderRow(Base):
    """Where the folders of all jobs are; there is one row at most."""

    __tablename__ = "data_folder"

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(32))
    """What stands in the folder itself: a path alone may be another folder by now."""
    path: Mapped[str] = mapped_column(Text)
    machine: Mapped[str] = mapped_column(String(255))
    at: Mapped[datetime] = mapped_column(Instant)


class VersionRow(Base):
    """One text of an application, with all that it is filled and found with."""

    __tablename__ = "job_versions"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    text: Mapped[str] = mapped_column(Text)
    directory: Mapped[str] = mapped_column(Text)
    file: Mapped[str | None] = mapped_column(Text)
    variables: Mapped[dict[str, str]] = mapped_column(JSON)
    state: Mapped[str] = mapped_column(Text)
    """The folder or URL below which its checkpoints are."""
    provides: Mapped[list[str]] = mapped_column(JSON)
    uses: Mapped[list[str]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(Instant)
    created_by: Mapped[str | None] = mapped_column(String(200))
    imports: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True))
    """What it reads of other jobs, as their versions were when this one was made."""


class SavepointRow(Base):
    """A copy of a job's state: ``wanted``, ``ready`` or ``failed``."""

    __tablename__ = "job_savepoints"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    version: Mapped[int] = mapped_column(Integer)
    status: Mapped[str] = mapped_column(String(20))
    created_at: Mapped[datetime] = mapped_column(Instant)
    created_by: Mapped[str | None] = mapped_column(String(200))
    manifest: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    error: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


class CommandRow(Base):
    """A command that was applied; it is written in the transaction of its effect."""

    __tablename__ = "job_commands"

    id: Mapped[str] = mapped_column(String(100), primary_key=True)
    kind: Mapped[str] = mapped_column(String(40))
    digest: Mapped[str] = mapped_column(String(64))
    outcome: Mapped[dict[str, Any]] = mapped_column(JSON)
    at: Mapped[datetime] = mapped_column(Instant, index=True)


class EventRow(Base):
    """A move of a job from state to state, for people who want to know what happened."""

    __tablename__ = "job_events"
    __table_args__ = (Index("ix_job_events_job_id_id", "job_id", "id"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    at: Mapped[datetime] = mapped_column(Instant)
    state: Mapped[str] = mapped_column(String(20))
    reason: Mapped[str] = mapped_column(Text)
    error: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
