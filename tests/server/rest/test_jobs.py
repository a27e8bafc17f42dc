"""Jobs by REST: submitted, listed, steered, looked at."""

import threading
from concurrent.futures import ThreadPoolExecutor

from headrace.jobs.states import State
from headrace.server.services.services import COMMANDS
from support.job_yard import APPLICATION
from support.rest_server import RestServer, Visitor
from support.waiting import until


def test_many_submissions_keep_nobody_from_reading(server: RestServer, developer: Visitor) -> None:
    going_on = threading.Event()
    for _ in range(COMMANDS):
        server.services.commanding.submit(going_on.wait)
    body = {"text": APPLICATION}
    with ThreadPoolExecutor(5) as clients:
        try:
            asked = [clients.submit(developer.post, "/jobs", {"name": f"job-{each}", **body}) for each in range(5)]
            assert developer.get("/jobs").json()["items"] == []
            assert not any(each.done() for each in asked)
        finally:
            going_on.set()
        assert [each.result().status_code for each in asked] == [202] * 5
    assert len(developer.get("/jobs").json()["items"]) == 5


def test_a_job_from_submission_to_deletion(server: RestServer, developer: Visitor) -> None:
    submitted = server.submit(developer)
    assert (submitted["name"], submitted["state"], submitted["owner"]) == ("shop", "submitted", "dora")
    server.go_until("shop", State.RUNNING)
    assert developer.get("/jobs/shop").json()["state"] == "running"
    assert developer.delete("/jobs/shop").status_code == 409

    assert developer.post("/jobs/shop/stop", {"savepoint": True}).status_code == 202
    server.go_until("shop", State.STOPPED)
    server.go_until("shop", State.STOPPED)
    [savepoint] = developer.get("/jobs/shop/savepoints").json()["items"]
    assert savepoint["status"] == "ready"

    assert developer.post("/jobs/shop/restart", {"savepoint": savepoint["id"]}).status_code == 202
    server.go_until("shop", State.RUNNING)
    states = [each["state"] for each in developer.get("/jobs/shop/events").json()["items"]]
    assert states[:5] == ["submitted", "starting", "running", "stopping", "stopped"]
    assert states[-1] == "running"

    assert developer.post("/jobs/shop/stop", {}).status_code == 202
    server.go_until("shop", State.STOPPED)
    assert developer.delete(f"/jobs/shop/savepoints/{savepoint['id']}").status_code == 204
    assert developer.delete("/jobs/shop").status_code == 202
    assert developer.get("/jobs/shop").status_code == 404
    assert developer.get("/applications/shop").json()["text"] == APPLICATION


FROM_KAFKA = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'kafka', topic = 't', format = 'json');
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM s GROUP BY k;
"""


def test_a_job_starts_from_a_time_and_says_where_each_source_begins(server: RestServer, developer: Visitor) -> None:
    server.submit(developer, text=FROM_KAFKA)
    server.go_until("shop", State.RUNNING)
    answer = developer.post("/jobs/shop/restart", {"from_time": "2024-01-01T00:00:00Z"})
    assert answer.status_code == 202
    [begins] = answer.json()["sources"]
    assert (begins["source"], begins["at_time"]) == ("s", True)
    assert "2024-01-01T00:00:00Z" in begins["where"]
    refused = developer.post("/jobs/shop/restart", {"from_time": "2024-01-01T00:00:00Z", "sources": ["z"]})
    assert refused.status_code == 422
    assert refused.json()["title"] == 'the application reads no source "z"'


def test_a_job_is_rebuilt_beside_itself(server: RestServer, developer: Visitor) -> None:
    server.submit(developer, text=FROM_KAFKA)
    server.go_until("shop", State.RUNNING)
    assert developer.get("/jobs/shop/rebuild").json() is None
    assert developer.post("/jobs/shop/rebuild", {}).status_code == 202
    assert developer.get("/jobs/shop/rebuild").json()["phase"] == "building"
    assert [each["name"] for each in developer.get("/jobs").json()["items"]] == ["shop"]
    assert developer.post("/jobs/shop/rebuild", {}).status_code == 422
    assert developer.delete("/jobs/shop/rebuild").status_code == 202
    newer = {"text": FROM_KAFKA.replace("sum(v)", "max(v)"), "beside": True}

    def gone() -> bool:
        server.supervisor.tick()
        return developer.get("/jobs/shop/rebuild").json() is None

    until(gone)
    report = developer.post("/jobs/shop/upgrade", newer)
    assert report.status_code == 202
    assert [each["fate"] for each in report.json()["changes"]] == ["rebuilt"]
    assert report.json()["job"]["version"] == 1
    assert developer.get("/jobs/shop/rebuild").json()["phase"] == "building"
    hidden = next(job for job in server.jobs.store.all() if job.rebuild is not None and job.deleted_at is None)
    assert developer.get(f"/jobs/{hidden.id}").status_code == 404
    assert b"#rebuild" not in developer.get("/metrics").content


def test_what_cannot_be_rebuilt_is_told(server: RestServer, developer: Visitor) -> None:
    server.submit(developer)
    refused = developer.post("/jobs/shop/rebuild", {})
    assert refused.status_code == 422
    assert "cannot be read a second time" in refused.json()["detail"]
