"""A server in this process: real database, real drivers without Spark, and clients of each role."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.rest_server import RestServer, Visitor


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    made = RestServer(tmp_path)
    yield made
    made.end()


@pytest.fixture
def admin(server: RestServer) -> Visitor:
    return server.visitor("chief", "admin")


@pytest.fixture
def developer(server: RestServer) -> Visitor:
    return server.visitor("dora", "developer")


@pytest.fixture
def operator(server: RestServer) -> Visitor:
    return server.visitor("otto", "operator")


@pytest.fixture
def viewer(server: RestServer) -> Visitor:
    return server.visitor("vera", "viewer")


@pytest.fixture
def everybody(server: RestServer) -> Callable[[str], Visitor]:
    """Give a visitor of a role, or one who is nobody."""
    return lambda role: server.nobody() if role == "nobody" else server.visitor(f"a-{role}", role)
