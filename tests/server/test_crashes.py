"""Whatever is killed, the server, a driver or the broker: all jobs run again, and views hold what was sent, once."""

import random
from pathlib import Path

import pytest

from support.server_crashes import Town

pytestmark = pytest.mark.spark


@pytest.mark.long
def test_one_kill_of_each(tmp_path: Path) -> None:
    town = Town(tmp_path, ("sums", "windows"), rate=100, random_=random.Random(7))
    try:
        town.start()
        for what in ("server", "driver", "broker"):
            town.kill(what)
        town.finish()
        assert town.job("sums")["restarts"] >= 1  # its driver was the one that was killed
        town.end()
    finally:
        town.leave_nothing()
