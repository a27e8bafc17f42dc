"""Every table of the server's database, imported in one place so that none is forgotten."""

from headrace.records import access_tables, job_tables, server_tables
from headrace.records.base import Base

__all__ = ["Base", "access_tables", "job_tables", "server_tables"]
