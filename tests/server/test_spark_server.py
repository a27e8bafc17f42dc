"""One real job through REST and through the command line: Spark, files in, a materialised view out."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from headrace.server.backend.backend import ServerBackend
from headrace.server.console.values.rows import RowBatch
from server.test_process import SPARK, Process
from support.served import Served
from support.waiting import until

pytestmark = pytest.mark.spark

TEXT = """
SET shuffle_partitions = 1;
CREATE STREAM orders (customer STRING, amount INT) WITH (connector = 'files', path = 'in');
CREATE MATERIALIZED VIEW totals AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
"""
PATIENCE = 480


def arrive(folder: Path, number: int, amount: int) -> None:
    (folder / f".{number}").write_text(json.dumps({"customer": "ann", "amount": amount}) + "\n")
    (folder / f".{number}").rename(folder / f"{number}.json")


def test_a_job_through_rest_and_the_command_line(tmp_path: Path) -> None:
    incoming = tmp_path / "in"
    incoming.mkdir()
    (tmp_path / "shop.sql").write_text(TEXT)
    arrive(incoming, 1, 10)
    server = Process(tmp_path, *SPARK)
    token = (tmp_path / "data" / "local-token").read_text().strip()
    http = httpx.Client(base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=120)

    def state(wanted: str) -> None:
        until(lambda: http.get("/jobs/shop").json()["state"] == wanted, PATIENCE)

    def total(wanted: int) -> None:
        def there() -> bool:
            rows = http.post("/views/query", json={"sql": "SELECT total FROM totals"}).json().get("rows")
            return rows == [{"total": wanted}]

        until(there, PATIENCE)

    try:
        body = {"name": "shop", "text": TEXT, "directory": str(tmp_path), "memory": 800}
        assert http.post("/jobs", json=body).status_code == 202
        state("running")
        total(10)
        assert http.get("/views/totals/row", params={"key": "ann"}).json()["rows"] == [{"customer": "ann", "total": 10}]
        assert http.post("/jobs/shop/stop", json={}).status_code == 202
        state("stopped")

        arrive(incoming, 2, 5)
        assert "is running" in server.run("job", "restart", "shop", "--wait")
        total(15)
        assert "headrace_rows_in_total" in httpx.get(f"{server.url}/metrics", timeout=120).text
        until(lambda: '"state": "running"' in server.run("job", "show", "shop", "--output", "json"), PATIENCE)
        assert "is stopped" in server.run("job", "stop", "shop", "--wait")
        assert server.run("job", "delete", "shop") == "job shop is deleted\n"
    finally:
        http.post("/jobs/shop/stop", json={})
        until(lambda: http.get("/jobs/shop").json().get("state") not in {"running", "starting", "stopping"}, PATIENCE)
        http.close()
        server.end()


def test_a_query_is_tried_without_its_sinks(tmp_path: Path) -> None:
    incoming = tmp_path / "in"
    incoming.mkdir()
    (tmp_path / "shop.sql").write_text(TEXT)
    arrive(incoming, 1, 10)
    server = Served(tmp_path)
    dora = ServerBackend(server.services, server.visitor("dora", "developer").cookies["headrace_session"])
    out = tmp_path / "out"
    text = f"""
    SET state = '{out}';
    CREATE STREAM orders (customer STRING, amount INT) WITH (connector = 'files', path = '{incoming}');
    CREATE MATERIALIZED VIEW doubled WITH (path = '{out}/views.sqlite') AS SELECT *, amount * 2 AS double FROM orders;
    CREATE SINK copies WITH (connector = 'files', path = '{out}', format = 'json') AS SELECT * FROM orders;
    SHOW STREAMS;
    SELECT amount FROM orders;
    SELECT customer, double FROM doubled;
    """
    with_function = f"""
    CREATE FUNCTION twice(n INT) RETURNS INT LANGUAGE PYTHON AS 'own:twice';
    {text.replace(str(incoming), "in").replace("amount * 2", "twice(amount)")}
    """
    said = 'print(\'{"customer": "nobody"}\')'
    (tmp_path / "own.py").write_text(f"{said}\ndef twice(n):\n    {said}\n    return 2 * n\n")
    (tmp_path / "tried.sql").write_text(with_function)

    async def first() -> RowBatch:
        rows = dora.preview(text)
        try:
            return await asyncio.wait_for(anext(rows), PATIENCE)
        finally:
            await rows.aclose()

    try:
        batch = asyncio.run(first())
        assert "no query to try" in server.refused("try", "shop.sql")
        printed = server.run("try", "tried.sql", "--for", "200", "--rows", "1")
        until(lambda: list(server.settings.data.glob("trials/*")) == [], PATIENCE)
    finally:
        server.end()
    assert [each.name for each in batch.columns] == ["customer", "double"]
    assert (batch.rows, batch.changes) == ((("ann", 20),), ("insert",))
    assert json.loads(printed) == {"_change": "insert", "customer": "ann", "double": 20}
    assert not out.exists()
    assert not (tmp_path / "__pycache__").exists()
