"""Whatever is killed, and whenever: every row is in the sink once, and every window has its count."""

import random

import pytest

from headrace.broker.server import Broker
from support.crashes import Job, kill_broker, kill_driver

pytestmark = pytest.mark.spark


@pytest.fixture
def job(tmp_path, request):
    rows, per_batch = request.param
    broker = Broker(tmp_path / "broker")
    job = Job(tmp_path, broker, rows, per_batch, random.Random(4))
    try:
        job.prepare()
        yield job
    finally:
        job.kill()
        broker.stop()


@pytest.mark.parametrize("job", [(2_000, 50)], indirect=True)
def test_kills_of_the_driver_lose_and_double_nothing(job, request):
    # Nine, so that it dies once at each place inside a commit.
    kill_driver(job, 9 if request.config.getoption("--long") else 3)
    assert not job.is_complete(), "the job was done before it was killed often enough: give it more rows"
    job.finish()
    job.check()


@pytest.mark.long
@pytest.mark.parametrize("job", [(1_500, 50)], indirect=True)
def test_kills_of_the_broker_lose_and_double_nothing(job):
    kill_broker(job, 3)
    assert not job.is_complete(), "the job was done before the broker was killed often enough: give it more rows"
    job.finish()
    job.check()
