"""Views never disagree, and no store, feed or table loses or doubles a row, whenever the process is killed."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.databases import postgres_server
from views.bank import Bank
from views.crashes import MOMENTS, Job, Reader, check, kill_again_and_again

pytestmark = pytest.mark.spark


@contextmanager
def read_meanwhile(job: Job) -> Iterator[Reader]:
    reader = Reader(job, Bank(job.transfers))
    reader.start()
    try:
        yield reader
    finally:
        job.kill()
        reader.end()


def test_killed_at_any_moment_every_state_is_one_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    with postgres_server() as server:
        job = Job(tmp_path, 8, random.Random(5), server.new_database())
        job.prepare()
        with read_meanwhile(job) as reader:
            kill_again_and_again(job, len(MOMENTS))
            assert not job.is_complete(), "all was read before it was killed: give it more files"
            job.finish()
        assert not reader.mistakes, "\n".join(reader.mistakes)
        assert reader.states > 1  # one between two starts, and the last, however slowly it looks
        assert reader.bank.is_complete()
        assert job.kills == dict.fromkeys(MOMENTS, 1)
        check(job)
