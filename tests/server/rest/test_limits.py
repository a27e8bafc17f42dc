"""Requests that are too large, and queries that take too long."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from headrace.jobs.states import State
from support.job_yard import APPLICATION
from support.rest_server import ADDRESS, RestServer, Visitor

LONG = "SELECT count(*) AS n FROM totals a, totals b, totals c, totals d"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    made = RestServer(tmp_path, largest_request=10_000, query_limit=timedelta(seconds=3))
    yield made
    made.end()


def test_a_body_that_is_too_large_is_refused(server: RestServer, developer: Visitor) -> None:
    assert developer.post("/jobs", {"name": "shop", "text": APPLICATION + " " * 9_000}).status_code == 202
    answer = developer.post("/jobs", {"name": "other", "text": APPLICATION + " " * 10_000})
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "urn:headrace:problem:too-large"
    assert "--largest-request" in answer.json()["hint"]
    assert len(developer.get("/jobs").json()["items"]) == 1


def test_a_body_of_untold_length_is_not_read_to_its_end(server: RestServer, developer: Visitor) -> None:
    sent = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 1
            yield b" " * 1000

    async def post() -> httpx.Response:
        transport = httpx.ASGITransport(server.app)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, cookies=developer.cookies) as client:
            headers = {**developer.headers, "Content-Type": "application/json"}
            return await client.post("/api/v1/jobs", content=parts(), headers=headers)

    assert asyncio.run(post()).status_code == 413
    assert sent < 20


def test_a_length_that_is_no_number_is_refused(server: RestServer, developer: Visitor) -> None:
    answer = developer.post("/jobs", {}, headers={"Content-Length": "many"})
    assert answer.status_code == 413


def test_a_query_that_takes_too_long_is_ended(server: RestServer, developer: Visitor) -> None:
    server.submit(developer)
    server.go_until("shop", State.RUNNING)
    with server.totals() as totals:
        totals.take([(f"customer {n}", n) for n in range(300)])
        answer = developer.post("/views/query", {"sql": LONG})
        assert answer.status_code == 422
        assert answer.json()["type"] == "urn:headrace:problem:query-too-long"
        assert answer.json()["title"] == "the query took longer than 3 seconds"
        assert "index" in answer.json()["hint"]
        few = developer.post("/views/query", {"sql": "SELECT count(*) AS n FROM totals"})
        assert few.json()["rows"] == [{"n": 300}]
