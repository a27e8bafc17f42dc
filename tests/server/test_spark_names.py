"""Two real jobs through the server: one keeps a view, the other adds it up by name, and is killed in the middle."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.test_process import SPARK, Process
from support.waiting import until

pytestmark = pytest.mark.spark

SHOP = """
SET shuffle_partitions = 1;
CREATE STREAM orders (customer STRING, amount INT) WITH (connector = 'files', path = 'in');
CREATE MATERIALIZED VIEW totals AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
"""
SPREAD = """
SET shuffle_partitions = 1;
CREATE MATERIALIZED VIEW spread AS
  SELECT count(*) AS customers, sum(total) AS total, max(total) AS most FROM shop.totals;
"""
PATIENCE = 480
AT_REST = {"stopped", "failed", "finished"}


class Orders:
    """What customers order, and what the second job should make of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.totals: dict[str, int] = {}
        self.files = 0

    def arrive(self, *orders: tuple[str, int]) -> None:
        for customer, amount in orders:
            self.totals[customer] = self.totals.get(customer, 0) + amount
        lines = [json.dumps({"customer": customer, "amount": amount}) for customer, amount in orders]
        self.files += 1
        (self.folder / f".{self.files}").write_text("\n".join(lines) + "\n")
        (self.folder / f".{self.files}").rename(self.folder / f"{self.files}.json")

    def spread(self) -> list[dict[str, Any]]:
        several = self.totals.values()
        return [{"customers": len(several), "total": sum(several), "most": max(several)}]


@pytest.mark.long
def test_a_job_adds_up_the_view_of_another_and_is_killed(tmp_path: Path) -> None:
    orders = Orders(tmp_path / "in")
    orders.arrive(("ann", 10), ("bob", 3))
    server = Process(tmp_path, *SPARK)
    token = (tmp_path / "data" / "local-token").read_text().strip()
    http = httpx.Client(base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=120)

    def right() -> bool:
        rows = http.post("/views/query", json={"sql": "SELECT customers, total, most FROM spread"}).json().get("rows")
        return rows == orders.spread()

    def submit(name: str, text: str) -> str:
        body = {"name": name, "text": text, "directory": str(tmp_path), "memory": 700}
        answer = http.post("/jobs", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    try:
        submit("shop", SHOP)
        spread = submit("spread", SPREAD)
        until(right, PATIENCE)
        orders.arrive(("ann", 5), ("cleo", 40))
        until(right, PATIENCE)

        before = http.get("/jobs/spread").json()["restarts"]
        process = json.loads((tmp_path / "data" / "jobs" / spread / "driver.json").read_text())["pid"]
        orders.arrive(("bob", 1), ("dan", 2))
        os.killpg(process, signal.SIGKILL)
        orders.arrive(("ann", -14), ("cleo", -30))
        until(right, PATIENCE)
        assert http.get("/jobs/spread").json()["restarts"] > before

        refused = http.delete("/jobs/shop")
        assert refused.status_code == 409
        [shop] = [each for each in http.get("/catalog").json()["items"] if each["name"] == "totals"]
        assert shop["used_by"] == ["spread"]
    finally:
        for name in ("spread", "shop"):
            http.post(f"/jobs/{name}/stop", json={})
        for name in ("spread", "shop"):
            until(lambda name=name: http.get(f"/jobs/{name}").json().get("state", "stopped") in AT_REST, PATIENCE)  # type: ignore[misc]
        http.close()
        server.end()
