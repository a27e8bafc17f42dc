"""Files in and out: what does not parse, what is odd, and what a crash at the worst moment leaves."""

import json
import random
import string
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import Application, HeadraceError
from headrace.connectors.files import sink
from headrace.connectors.files.options import FilesSink
from headrace.spark.storage import Folder

pytestmark = pytest.mark.spark

STREAM = """
CREATE STREAM s (id BIGINT NOT NULL, x DOUBLE, tags ARRAY<STRING>, at TIMESTAMP{extra})
  WITH (connector = 'files', path = 'in', format = '{format}'{options});
"""


def application(folder: Path, text: str, *, format: str = "json", options: str = "", extra: str = "") -> Application:
    (folder / "in").mkdir(exist_ok=True)
    statements = STREAM.format(format=format, options=options, extra=extra) + text
    (folder / "app.sql").write_text(statements)
    return Application.load(folder / "app.sql")


def answer(app: Application) -> list[dict]:
    return app.run_once()[0].rows()


@pytest.fixture(autouse=True)
def _session(engine):
    from headrace.plan.settings import Settings
    from headrace.spark.session import open_session

    open_session(Settings(shuffle_partitions=1), master="local[2]")


def junk(random_: random.Random, number: int) -> str:
    """A line that is right, a little wrong, or nothing like JSON."""
    record = {"id": number, "x": 1.5, "tags": ["a"], "at": "2024-01-01T00:00:00Z"}
    kind = random_.randrange(9)
    if kind == 1:
        record["id"] = random_.choice(["7x", None, 1.5, True, [], {}])
    elif kind == 2:
        record["x"] = random_.choice(["much", {"a": 1}, [1]])
    elif kind == 3:
        record["tags"] = random_.choice(["a", {"a": 1}, [[1]], [1, 2]])
    elif kind == 4:
        record["at"] = random_.choice(["yesterday", "2024-13-01T00:00:00Z", 12])
    elif kind == 5:
        del record[random_.choice(list(record))]
    elif kind == 6:
        return "".join(random_.choices(string.printable.replace("\n", "").replace("\r", ""), k=20))
    line = json.dumps(record)
    return line[: random_.randrange(len(line))] if kind == 7 else line


def test_every_line_is_either_a_row_or_dead_whatever_the_query_uses(tmp_path):
    random_ = random.Random(3)
    lines = [junk(random_, number) for number in range(300)]
    app = application(
        tmp_path,
        "SELECT id, x, tags, at FROM s; SELECT id FROM s; SELECT id FROM s WHERE x > 1;SELECT raw, reason FROM s.dead;",
    )
    (tmp_path / "in" / "junk.jsonl").write_text("\n".join(lines) + "\n")
    whole, narrow, filtered, dead = (answered.rows() for answered in app.run_once())
    assert len(whole) + len(dead) == sum(bool(line.strip()) for line in lines)
    assert len(dead) > 50
    assert sorted(row["id"] for row in narrow) == sorted(row["id"] for row in whole)
    assert sorted(row["id"] for row in filtered) == sorted(row["id"] for row in whole if (row["x"] or 0) > 1)
    assert all(row["reason"] != "does not fit the columns" for row in dead), [
        r for r in dead if "does not" in r["reason"]
    ]
    progress = app.progress()[0]
    assert (progress.rows_in, progress.dead) == (len(whole) + len(dead), len(dead))


def test_a_stream_may_be_judged_by_the_columns_in_use(tmp_path):
    app = application(
        tmp_path, "SELECT id FROM s; SELECT id, x FROM s; SELECT raw FROM s.dead", options=", verify = 'used'"
    )
    (tmp_path / "in" / "a.jsonl").write_text('{"id": 1, "x": 2}\n{"id": 2, "x": "no"}\n{"id": "no", "x": 3}\n{"id":\n')
    narrow, whole, dead = (answered.rows() for answered in app.run_once())
    assert [row["id"] for row in narrow] == [1, 2]
    assert [row["id"] for row in whole] == [1]
    assert len(dead) == 3


def test_empty_files_blank_lines_and_a_line_of_ten_megabytes(tmp_path):
    app = application(tmp_path, "SELECT id, length(tags[0]) AS long FROM s;")
    (tmp_path / "in" / "empty.jsonl").write_text("")
    (tmp_path / "in" / "blank.jsonl").write_text("\n   \n\n")
    long = json.dumps({"id": 1, "tags": ["x" * 10_000_000]})
    (tmp_path / "in" / "long.jsonl").write_text(long + "\n" + json.dumps({"id": 2, "tags": ["y"]}) + "\n")
    assert answer(app) == [{"id": 1, "long": 10_000_000}, {"id": 2, "long": 1}]


@pytest.mark.parametrize("other", ["DOUBLE", "FLOAT"])  # read by Headrace, or by Spark alone
def test_what_a_folder_says_of_its_files_is_a_column_of_their_rows(tmp_path, other):
    for day in (1, 2):
        folder = tmp_path / "in" / f"day=2024-01-0{day}" / "kind=a"
        folder.mkdir(parents=True)
        (folder / "1.json").write_text(f'{{"id": {day}, "x": 0.5}}\n\t\n{{"id": "x"}}\n')
    text = f"""
      CREATE STREAM s (id BIGINT, x {other}, day DATE NOT NULL) WITH (connector = 'files', path = 'in');
      SELECT id, x, day FROM s; SELECT reason FROM s.dead;"""
    (tmp_path / "app.sql").write_text(text)
    rows, dead = (each.rows() for each in Application.load(tmp_path / "app.sql").run_once())
    assert [(row["id"], row["x"], str(row["day"])) for row in rows] == [(1, 0.5, "2024-01-01"), (2, 0.5, "2024-01-02")]
    assert [row["reason"] for row in dead] == ['column "id" is not BIGINT: x'] * 2


def test_what_is_wrong_is_told_with_times_as_they_are_written(tmp_path):
    app = application(tmp_path, "SELECT reason FROM s.dead;", options=", timestamp_format = 'dd.MM.yyyy'")
    (tmp_path / "in" / "1.json").write_text('{"id": 1, "x": "much", "at": "31.12.2024"}\n')
    assert answer(app) == [{"reason": 'column "x" is not DOUBLE: much'}]


def test_csv_with_header_and_broken_rows(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text('id,name,x\n1,"a, b",1.5\nseven,c,2\n3,d\n,e,1\n')
    app = Application(directory=tmp_path).sql(
        "CREATE STREAM c (id INT NOT NULL, name STRING, x DOUBLE)"
        " WITH (connector = 'files', path = 'in', format = 'csv');"
        "SELECT * FROM c; SELECT * FROM c.dead; SELECT name FROM c; SELECT count(*) AS n FROM c;"
    )
    rows, dead, names, counted = (answered.rows() for answered in app.run_once())
    assert (names, counted) == ([{"name": "a, b"}], [{"n": 1}])
    assert rows == [{"id": 1, "name": "a, b", "x": 1.5}]
    assert sorted(row["raw"] for row in dead) == [",e,1.0", "3,d", "seven,c,2"]


def test_text_and_parquet_and_tables(tmp_path):
    (tmp_path / "lines.txt").write_text("one two\nthree\n")
    (tmp_path / "names.csv").write_text("word,name\none,ONE\n")
    app = Application(directory=tmp_path).sql(
        "CREATE STREAM lines (line STRING) WITH (connector = 'files', path = 'lines.txt', format = 'text');"
        "CREATE TABLE names (word STRING, name STRING) WITH (connector = 'files', path = 'names.csv', format = 'csv');"
        "CREATE SINK kept WITH (connector = 'files', path = 'out', format = 'parquet') AS SELECT line FROM lines;"
        "SELECT word, name FROM (SELECT explode(split(line, ' ')) AS word FROM lines) w LEFT JOIN names USING (word)"
        " ORDER BY word DESC;"
    )
    assert answer(app) == [
        {"word": "two", "name": None},
        {"word": "three", "name": None},
        {"word": "one", "name": "ONE"},
    ]
    app = Application(directory=tmp_path).sql(
        "CREATE STREAM kept (line STRING) WITH (connector = 'files', path = 'out', format = 'parquet');"
        "SELECT * FROM kept;"
    )
    assert answer(app) == [{"line": "one two"}, {"line": "three"}]


def test_a_path_that_leads_nowhere_and_one_that_would_be_sql(tmp_path):
    for path in ("nowhere", "in''; DROP TABLE s; --", "no*such"):
        app = Application(directory=tmp_path).sql(
            f"CREATE STREAM s (x INT) WITH (connector = 'files', path = '{path}'); SELECT * FROM s;"
        )
        with pytest.raises(HeadraceError) as caught:
            app.run_once()
        assert "does not exist" in caught.value.message or "no file matches" in caught.value.message


def read_out(folder: Path) -> list[int]:
    return sorted(json.loads(line)["id"] for file in folder.rglob("*.json") for line in file.read_text().splitlines())


@pytest.mark.parametrize("moment", ["before writing", "while moving", "after publishing"])
def test_a_files_sink_neither_loses_nor_doubles_rows_when_a_batch_dies(tmp_path, monkeypatch, moment):
    app = application(
        tmp_path,
        "CREATE SINK out WITH (connector = 'files', path = 'out', guarantee = 'exactly-once') AS SELECT id FROM s;",
        options=", max_files_per_batch = 1",
    )
    for number in range(3):
        lines = [json.dumps({"id": number * 10 + i}) for i in range(10)]
        (tmp_path / "in" / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    real = sink.write_batch
    calls = []

    def dying(frame, options, folder, run, batch):
        calls.append(batch)
        if batch != 1 or calls.count(1) > 1:
            return real(frame, options, folder, run, batch)
        if moment == "before writing":
            raise RuntimeError("killed")
        real(frame, options, folder, run, batch)
        if moment == "while moving":
            folder.remove(next(name for name in folder.files() if f"-{batch:08d}-" in name))
        raise RuntimeError("killed")

    monkeypatch.setattr(sink, "write_batch", dying)
    app.start()
    with pytest.raises(HeadraceError):
        app.process_available()
    app.stop()
    app = Application.load(tmp_path / "app.sql").start().process_available()
    app.stop()
    assert calls.count(1) == 2
    assert read_out(tmp_path / "out") == list(range(30))


def test_a_run_to_the_end_replaces_its_own_files(tmp_path):
    app = application(tmp_path, "CREATE SINK out WITH (connector = 'files', path = 'out') AS SELECT id FROM s;")
    (tmp_path / "in" / "a.jsonl").write_text('{"id": 1}\n')
    app.run_once()
    (tmp_path / "in" / "b.jsonl").write_text('{"id": 2}\n')
    Application.load(tmp_path / "app.sql").run_once()
    assert read_out(tmp_path / "out") == [1, 2]
    assert not [path for path in (tmp_path / "out").iterdir() if path.is_dir()]


def test_two_queries_that_write_into_one_folder_leave_each_other_alone(tmp_path, monkeypatch):
    spark = SparkSession.getActiveSession()
    folder, options = Folder(str(tmp_path / "out")), FilesSink(path="out")
    real, moved = Folder.move, []

    def move(self, name, target, new_name):
        if not moved:  # the other one writes its batch while ours is being moved in
            moved.append(new_name)
            sink.write_batch(spark.range(10, 20), options, folder, "other", 0)
        real(self, name, target, new_name)
        moved.append(new_name)

    monkeypatch.setattr(Folder, "move", move)
    sink.write_batch(spark.range(10).repartition(2), options, folder, "mine", 0)
    assert read_out(tmp_path / "out") == list(range(20))
    assert not [path for path in (tmp_path / "out").iterdir() if path.is_dir()]


def test_what_a_killed_run_had_written_aside_goes_with_its_files(tmp_path):
    folder = Folder(str(tmp_path / "out"))
    aside = tmp_path / "out" / "_headrace_staging-mine-00000003" / "a=1"
    aside.mkdir(parents=True)
    (aside / "part-0.json").write_text('{"id": 1}\n')
    (tmp_path / "out" / "mine-00000002-00000.json").write_text('{"id": 1}\n')
    (tmp_path / "out" / "other-00000002-00000.json").write_text('{"id": 2}\n')
    sink.forget_run(folder, "mine")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["other-00000002-00000.json"]


def test_a_changed_query_is_refused_on_its_old_checkpoint(tmp_path):
    app = application(tmp_path, "CREATE MATERIALIZED VIEW v AS SELECT x, count(*) AS n FROM s GROUP BY x;")
    (tmp_path / "in" / "a.jsonl").write_text('{"id": 1, "x": 2}\n')
    app.start().process_available()
    assert app.rows("v") == [{"x": 2.0, "n": 1}]
    app.stop()
    (tmp_path / "in" / "b.jsonl").write_text('{"id": 1, "x": 2}\n')
    app = Application.load(tmp_path / "app.sql").start().process_available()
    assert app.rows("v") == [{"x": 2.0, "n": 2}]
    app.stop()
    changed = application(tmp_path, "CREATE MATERIALIZED VIEW v AS SELECT x, max(id) AS n FROM s GROUP BY x;")
    with pytest.raises(HeadraceError) as caught:
        changed.start()
    assert "is not the one that its checkpoint was made by" in caught.value.message
    assert "COUNT(*)" in caught.value.detail
    assert "MAX(id)" in caught.value.detail
    assert "--fresh" in caught.value.hint


def test_a_changed_type_is_refused_on_an_old_checkpoint_and_a_column_that_is_not_read_is_not(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"id": 1, "x": 2}\n')
    query = "CREATE MATERIALIZED VIEW v AS SELECT x, count(*) AS n FROM s GROUP BY x;"
    application(tmp_path, query).start().process_available().stop()
    note = tmp_path / ".headrace" / "app" / "v" / "plan.json"
    noted = json.loads(note.read_text())
    note.write_text(json.dumps({"version": 1, **{name: noted[name] for name in ("shuffle_partitions", "steps")}}))
    (tmp_path / "in" / "b.jsonl").write_text('{"id": 2, "x": 2}\n')
    app = application(tmp_path, query, extra=", more STRING").start().process_available()
    assert app.rows("v") == [{"x": 2.0, "n": 2}]
    app.stop()
    assert json.loads(note.read_text()) == noted
    text = (tmp_path / "app.sql").read_text()
    (tmp_path / "app.sql").write_text(text.replace("x DOUBLE", "x STRING"))
    with pytest.raises(HeadraceError) as caught:
        Application.load(tmp_path / "app.sql").start()
    assert "is not the one that its checkpoint was made by" in caught.value.message
    assert caught.value.detail == "What changed: column x of s is now STRING."
    assert "--fresh" in caught.value.hint


def test_a_failing_expression_and_a_failing_function_are_told_without_a_trace(tmp_path):
    (tmp_path / "mine.py").write_text("def broken(x):\n    raise ValueError(f'no {x}')\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"id": 1, "x": 0}\n')
    app = application(tmp_path, "SELECT id / x AS y FROM s;")
    with pytest.raises(HeadraceError) as caught:
        app.run_once()
    assert "division by zero" in caught.value.message
    assert "try_divide" in caught.value.hint
    app = application(
        tmp_path,
        "CREATE FUNCTION broken(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS 'mine:broken';"
        "SELECT broken(x) AS y FROM s;",
    )
    with pytest.raises(HeadraceError) as caught:
        app.run_once()
    assert "a Python function raised an error" in caught.value.message
    assert "no 0.0" in caught.value.detail


def test_rows_that_change_may_have_a_column_of_variant(tmp_path):
    (tmp_path / "t").mkdir()
    lines = ['{"k": 1, "doc": "[1]"}', '{"k": 2, "doc": "[2]"}', '{"k": 1, "doc": "[3]"}']
    (tmp_path / "t" / "1.json").write_text("\n".join(lines) + "\n")
    Application(directory=tmp_path).sql("""
        SET shuffle_partitions = 1;
        CREATE TABLE t (k INT, doc STRING, PRIMARY KEY (k)) WITH (connector = 'files', path = 't');
        CREATE SINK out WITH (connector = 'files', path = 'out') AS
          SELECT k, parse_json(doc) AS doc, named_struct('d', parse_json(doc)) AS held FROM t;
    """).run_once()
    rows = [json.loads(line) for file in (tmp_path / "out").glob("*.json") for line in file.read_text().splitlines()]
    assert sorted(rows, key=lambda row: row["k"]) == [
        {"k": 1, "doc": [3], "held": {"d": [3]}, "_change": "insert"},
        {"k": 2, "doc": [2], "held": {"d": [2]}, "_change": "insert"},
    ]


def test_what_spark_refuses_of_rows_that_change_is_told_at_its_place(tmp_path):
    (tmp_path / "mine.py").write_text("def near(x, y):\n    return abs(x - y) < 2\n")
    app = Application(directory=tmp_path).sql("""
        CREATE FUNCTION near(x INT, y INT) RETURNS BOOLEAN LANGUAGE PYTHON AS 'mine:near';
        CREATE TABLE a (k INT, n INT, PRIMARY KEY (k)) WITH (connector = 'memory');
        CREATE TABLE b (k INT, n INT, PRIMARY KEY (k)) WITH (connector = 'memory');
        CREATE MATERIALIZED VIEW v AS SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.k = b.k AND near(a.n, b.n);
    """)
    with pytest.raises(HeadraceError) as caught:
        app.start()
    app.stop()
    assert "Python" in caught.value.message
    assert caught.value.span is not None
