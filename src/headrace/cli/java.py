"""The environment goes in; nothing comes out, or an error that says which Java is needed."""

import os
from collections.abc import Mapping

from headrace.jars.java import find_java

__all__ = ["check_java"]


def check_java(environment: Mapping[str, str] = os.environ) -> None:
    """Raise if the Java that Spark would start is missing or too old."""
    find_java(environment)
