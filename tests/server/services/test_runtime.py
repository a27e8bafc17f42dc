from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headrace.application import Application
from headrace.jobs.figures import Figures, Meter, as_dict, from_dict
from headrace.jobs.states import State
from headrace.plan.topology import topology
from headrace.records.database import Database
from headrace.server.console.theme import tone_of_health, tone_of_state, word_of_health
from headrace.server.services.runtime import health_of, node_figures
from headrace.spark.progress import Progress
from support.job_yard import Yard

HEALTH = {
    State.SUBMITTED: "unknown",
    State.STARTING: "unknown",
    State.RUNNING: "good",
    State.DEGRADED: "warning",
    State.RESTARTING: "warning",
    State.STOPPING: "unknown",
    State.STOPPED: "unknown",
    State.FINISHED: "good",
    State.FAILED: "bad",
}


def test_the_health_of_each_state(tmp_path: Path) -> None:
    yard = Yard(tmp_path, Database.open(f"sqlite:///{tmp_path / 'server.sqlite'}"))
    job = yard.submit()
    yard.end()
    assert {state: health_of(replace(job, state=state)) for state in State} == HEALTH


PATTERNS = """
CREATE STREAM s (k INT, at TIMESTAMP, v INT, WATERMARK FOR at AS at) WITH (connector = 'memory');
CREATE VIEW pairs AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY at
  MEASURES b.v AS v PATTERN (a b) WITHIN INTERVAL 1 DAY);
CREATE VIEW triples AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY at
  MEASURES c.v AS v PATTERN (a b c) WITHIN INTERVAL 1 DAY);
CREATE MATERIALIZED VIEW counts AS
  SELECT k, count(*) AS n FROM (SELECT * FROM pairs UNION ALL SELECT * FROM triples) GROUP BY k;
CREATE SINK shown WITH (connector = 'console') AS SELECT * FROM pairs;
"""


def test_each_pattern_has_the_rows_of_its_own_state(tmp_path: Path) -> None:
    yard = Yard(tmp_path, Database.open(f"sqlite:///{tmp_path / 'server.sqlite'}"))
    job = yard.submit()
    yard.end()
    plan = Application().sql(PATTERNS).plan
    graph = topology(plan)

    def figures(name: str, **operators: int) -> Figures:
        states = {each.replace("_", " ", 1): {"rows": float(n), "bytes": 10.0 * n} for each, n in operators.items()}
        return Figures(name, 1, 0, 0, 0, 0, timedelta(0), None, None, 99, 990, 0, 0, operators=states)

    found = node_figures(
        plan,
        graph,
        job,
        [figures("counts", pattern_pairs=3, pattern_triples=5, other=91), figures("shown", pattern_pairs=4)],
    )
    titles = {node.id: node.title for node in graph.nodes}
    states = {titles[each.node]: (each.state_rows, each.state_bytes) for each in found if each.state_rows is not None}
    assert states == {
        "search the rows of each k for a b within 1 day": (7, 70),  # of both queries
        "search the rows of each k for a b c within 1 day": (5, 50),
    }
    others = [each.note for each in found if each.note]
    assert others == ["99 rows of state in all steps"]  # of the count, which Spark's name does not tell apart


JOIN = """
CREATE STREAM orders (id INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS) WITH (connector = 'memory');
CREATE STREAM payments (id INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS) WITH (connector = 'memory');
CREATE MATERIALIZED VIEW paid AS SELECT o.id FROM orders o JOIN payments p ON o.id = p.id
  AND p.at BETWEEN o.at AND o.at + INTERVAL 1 MINUTE;
"""


def test_each_source_has_its_rate_and_each_step_the_watermark(tmp_path: Path) -> None:
    at = datetime(2024, 1, 1, tzinfo=UTC)
    (tmp_path / "app.sql").write_text(JOIN)
    plan = Application.load(tmp_path / "app.sql", {}).plan
    graph = topology(plan)
    yard = Yard(tmp_path, Database.open(f"sqlite:///{tmp_path / 'server.sqlite'}"))
    job = replace(yard.submit(), state=State.RUNNING)
    yard.end()
    progress = Progress("paid", watermark_at=at, seen={"orders": 10, "payments": 5})
    meter = Meter()
    meter.measure(progress, at)
    figures = meter.measure(
        replace(progress, rows_in=45, seen={"orders": 40, "payments": 15}), at + timedelta(seconds=2)
    )
    assert from_dict(as_dict(figures)) == figures
    found = node_figures(plan, graph, job, [figures])
    rates = {each.node: each.rows_per_second for each in found}
    sources = {node.title.split()[-1]: rates[node.id] for node in graph.nodes if node.role == "source"}
    assert sources == {"orders": 15.0, "payments": 5.0}
    assert len(found) == len(graph.nodes)
    assert {(each.watermark_at, each.lag, each.health) for each in found} == {(at, timedelta(seconds=2), "good")}


def test_what_is_on_its_way_asks_for_no_attention() -> None:
    for state in (State.STARTING, State.STOPPING):
        assert (word_of_health(HEALTH[state]), tone_of_health(HEALTH[state])) == ("", "tone-idle")
        assert tone_of_state(state) == "tone-busy"


LOOKED_UP = """
CREATE STREAM orders (id INT, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'memory');
CREATE TABLE people (id INT, name STRING) WITH (connector = 'files', path = 'people', refresh = '10 minutes');
CREATE MATERIALIZED VIEW named AS SELECT o.id, p.name FROM orders o JOIN people p ON o.id = p.id;
"""


def test_a_table_that_is_looked_up_has_no_rate_and_no_watermark(tmp_path: Path) -> None:
    at = datetime(2024, 1, 1, tzinfo=UTC)
    plan = Application().sql(LOOKED_UP).plan
    graph = topology(plan)
    yard = Yard(tmp_path, Database.open(f"sqlite:///{tmp_path / 'server.sqlite'}"))
    job = replace(yard.submit(), state=State.RUNNING)
    yard.end()
    figures = Figures("named", 1, 9, 3.0, 0, 0, timedelta(0), at, timedelta(0), 0, 0, 0, 0, rows_of={"orders": 9})
    titles = {node.id: node.title for node in graph.nodes}
    found = {titles[each.node]: each for each in node_figures(plan, graph, job, [figures])}
    table, stream = found["read table people"], found["read stream orders"]
    assert (table.rows_per_second, table.watermark_at, table.health) == (None, None, "good")
    assert stream.watermark_at == at
