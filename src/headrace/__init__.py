"""Headrace: continuous queries whose answers stay current, on Apache Spark."""

from headrace.application import Application
from headrace.errors import HeadraceError

__all__ = ["Application", "HeadraceError"]
