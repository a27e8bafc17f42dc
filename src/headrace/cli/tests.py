"""Paths go in, the report of their test cases comes out on stdout, with the exit code."""

import sys
from collections.abc import Sequence
from pathlib import Path

from headrace.cli.quiet import start_spark, temporary_log
from headrace.cli.signals import terminable
from headrace.plan.settings import Settings
from headrace.testing.discover import discover
from headrace.testing.files import read_file
from headrace.testing.report import print_report
from headrace.testing.runner import run_files

__all__ = ["run_tests"]


def run_tests(paths: Sequence[Path], *, rewrite: bool) -> int:
    """Run every case below the paths on one Spark session and return the exit code."""
    files = [read_file(path) for path in discover(paths)]
    from headrace.spark.session import open_session
    from headrace.testing.spark_driver import SparkEngine

    with terminable(), temporary_log() as log:
        start_spark(lambda: open_session(Settings(), master="local[2]", name="headrace test"), log)
        return print_report(run_files(files, SparkEngine(), rewrite=rewrite), sys.stdout)
