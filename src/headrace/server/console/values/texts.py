"""Texts that the server keeps, as the pages show them."""

from dataclasses import dataclass
from datetime import datetime

__all__ = ["ApplicationSummary", "DashboardSummary"]


@dataclass(frozen=True, slots=True)
class ApplicationSummary:
    """An application that is kept by the server."""

    name: str
    changed_at: datetime
    changed_by: str
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DashboardSummary:
    """A dashboard beside an application."""

    name: str
    title: str
    application: str
    panels: int
