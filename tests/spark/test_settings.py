"""Settings of an application reach Spark, and nobody else."""

import subprocess
import sys

import pytest

RUN = """
from contextlib import suppress

import psutil
from headrace.plan.settings import Settings
from headrace.spark.session import open_session

own = {"spark.hadoop.fs.s3a.secret.key": r"hush = \\a: b#\u00fc", "spark.driver.memory": "700m"}
session = open_session(Settings(spark=own), master="local[1]", brief=True)
commands = []
for each in psutil.Process().children(recursive=True):
    with suppress(psutil.Error):  # the scripts that start Java may end at any moment
        commands.append(" ".join(each.cmdline()))
assert any("-Xmx700m" in each for each in commands), commands
assert not any("hush" in each or "s3a" in each for each in commands), commands
assert session._jsc.hadoopConfiguration().get("fs.s3a.secret.key") == own["spark.hadoop.fs.s3a.secret.key"]
session.stop()
"""


@pytest.mark.spark
def test_a_secret_does_not_stand_in_the_list_of_processes():
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
