"""One Redis for all tests of a process."""

from collections.abc import Iterator

import pytest

from support.databases import RedisServer, redis_server


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server
