"""One PostgreSQL and one Redis for all tests of a process."""

from collections.abc import Iterator

import pytest

from support.databases import PostgresServer, RedisServer, postgres_server, redis_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server
