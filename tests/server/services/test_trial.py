"""What is run to try a text: its last query, on nothing but its own folder."""

import asyncio
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.application import Application
from headrace.catalog.imports import Import
from headrace.cli import trial as process
from headrace.errors import HeadraceError
from headrace.server.services.trial import Trial, application_in, mistake_in, trial_of
from headrace.server.services.trying import TriedRow, clear_trials, rows_of
from support.rest_server import RestServer

TEXT = """
SET state = '{elsewhere}';
SET trigger = '2 seconds';
CREATE STREAM s (a INT, b STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH (connector = 'files', path = 'in', late = 'keep');
CREATE MATERIALIZED VIEW counts WITH (store = 'postgres', url = 'postgresql://ann:hush@db/views')
  AS SELECT a, count(*) AS n FROM s GROUP BY a;
CREATE MATERIALIZED VIEW kept WITH (path = '{elsewhere}/views.sqlite') AS SELECT a FROM s;
CREATE SINK copies WITH (connector = 'files', path = '{elsewhere}/out');
INSERT INTO copies SELECT a FROM s;
CREATE SINK shown WITH (connector = 'console') AS SELECT b FROM s;
OBSERVE seen AS SELECT count(*) AS rows FROM s;
SHOW STREAMS;
SELECT b FROM s;
SELECT n * 2 AS double, a FROM counts;
"""


def nobody(job: str, relation: str) -> Import:
    raise HeadraceError(f"no {job}.{relation}")


def left(tmp_path: Path, text: str, **variables: str) -> tuple[Trial, Application]:
    """Return a trial, and what its process makes of it."""
    folder = tmp_path / "trial"
    folder.mkdir()
    trial = trial_of(text, tmp_path, nobody, variables)
    trial.write(folder)
    return trial, application_in(folder)


def test_only_the_last_query_runs_and_all_that_it_keeps_is_in_its_folder(tmp_path: Path) -> None:
    trial, application = left(tmp_path, TEXT.format(elsewhere=tmp_path / "elsewhere"))
    assert trial.columns == (("double", "BIGINT"), ("a", "INT"))
    plan = application.plan
    assert [(each.role, each.relation.names) for each in plan.outputs] == [("select", ("double", "a"))]
    assert (plan.answers, plan.observations, plan.sinks) == ([], {}, {})
    assert application.state_folder() == str(tmp_path / "trial" / "state" / "trial")
    assert plan.settings.trigger.total_seconds() == 2
    assert application.directory == tmp_path
    assert not (tmp_path / "elsewhere").exists()


def test_paths_are_relative_to_the_directory_and_functions_are_found_there(tmp_path: Path) -> None:
    text = "CREATE FUNCTION twice(a INT) RETURNS INT LANGUAGE PYTHON AS 'own:twice'; SELECT twice(1) AS two"
    (tmp_path / "own.py").write_text("def twice(a):\n    return 2 * a\n")
    _, application = left(tmp_path, text)
    assert application.directory == tmp_path
    with pytest.raises(HeadraceError, match="module own is not found"):
        trial_of(text, tmp_path / "trial", nobody)


def test_variables_are_filled_once(tmp_path: Path) -> None:
    trial, _ = left(tmp_path, "SELECT '${WHO}' AS who, '$${WHO}' AS plain", WHO="$${o'neil}")
    assert trial.text == "SELECT '$${o\\'neil}' AS who, '${WHO}' AS plain"
    assert "neil" not in repr(trial)


def test_a_text_without_a_query_cannot_be_tried(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="there is no query to try"):
        trial_of("CREATE STREAM s (a INT) WITH (connector = 'memory'); SHOW STREAMS", tmp_path, nobody)


@pytest.mark.parametrize("tried", [True, False])
def test_kafka_is_not_told_what_a_trial_has_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried: bool) -> None:
    told: list[str] = []
    place = SimpleNamespace(is_local=False)
    run = SimpleNamespace(
        place=place, add=lambda *_, **__: None, start=lambda: None, report=told.append, stop=lambda: None
    )
    monkeypatch.setattr(Application, "session", lambda _: None)
    monkeypatch.setattr(Application, "_open", lambda *_, **__: run)
    application = Application(directory=tmp_path, name="shop", tried=tried).sql("SELECT 1 AS one")
    application.start()
    assert told == ([] if tried else ["headrace-shop"])


def failed(trial: Trial, folder: Path) -> HeadraceError:
    """Return how a trial fails that has no row, in a process of its own."""

    async def rows() -> list[TriedRow]:
        return [row async for row in rows_of(trial, folder, 200)]

    with pytest.raises(HeadraceError) as raised:
        asyncio.run(rows())
    assert list(folder.iterdir()) == []
    return raised.value


def test_the_process_of_a_trial_tells_a_mistake_in_the_text(tmp_path: Path) -> None:
    error = failed(Trial("SELECT nme FROM (SELECT 1 AS name)", Path("/"), (), (("nme", "INT"),)), tmp_path)
    assert (error.message, error.hint) == ('unknown column "nme"', 'Did you mean "name"?')


def in_place_of_the_process(script: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script.write_text(text)
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))


PRINTS = f"""#!{sys.executable} -P
import subprocess, sys
from pathlib import Path
from headrace.cli import trial

def run(*_, stream, **__):
    print('{{"a": 1}}')
    subprocess.run(["echo", '{{"a": 2}}'], check=True)
    print("error: of mine", file=sys.stderr)
    stream.write('{{"a": 3}}\\n')

trial.run_foreground = run
sys.exit(trial.run(Path(sys.argv[4]), 1))
"""


def test_what_functions_print_is_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def rows() -> list[TriedRow]:
        trial = trial_of("SELECT 1 AS a", tmp_path, nobody)
        return [row async for row in rows_of(trial, tmp_path / "folder")]

    (tmp_path / "folder").mkdir()
    in_place_of_the_process(tmp_path / "process", PRINTS, monkeypatch)
    assert asyncio.run(rows()) == [TriedRow("insert", (3,))]


def test_a_trial_that_ends_without_a_word_tells_the_last_that_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "echo password = hush, so long > $4/said.log; kill -9 $$"
    in_place_of_the_process(tmp_path / "process", f"#!/bin/sh\n{said}\n", monkeypatch)
    (tmp_path / "folder").mkdir()
    error = failed(trial_of("SELECT 1 AS a", tmp_path, nobody), tmp_path / "folder")
    assert (error.message, error.detail) == ("the query failed", "Its last words: password = ***** so long")


def test_a_hint_names_nothing_that_goes_with_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial_of("SELECT 1 AS one", tmp_path, nobody).write(tmp_path)

    def told(error: HeadraceError) -> tuple[str, str | None, str | None]:
        def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(process, "run_foreground", fail)
        assert process.main(tmp_path, 1, io.StringIO()) == 1
        found = mistake_in(tmp_path)
        return found.message, found.detail, found.hint

    log = tmp_path / "state" / "trial" / "spark.log"
    started = HeadraceError("Spark could not be started", detail="It said: no room", hint=f"All it said is in {log}.")
    assert told(started) == ("Spark could not be started", "It said: no room", None)
    function = HeadraceError("it failed", hint="Mend the function and run again: it resumes from its checkpoint.")
    assert told(function) == ("it failed", None, "Mend the function and run again.")


def test_a_server_that_starts_removes_what_trials_left(tmp_path: Path) -> None:
    server = RestServer(tmp_path)
    folder = server.services.trials / "trial-x1"
    folder.mkdir(parents=True)
    (folder / "trial.json").write_text("hush")
    (server.services.scratch / "trial-mine").mkdir()
    server.services.start()
    try:
        assert not server.services.trials.exists()
        assert [each.name for each in server.services.scratch.iterdir()] == ["trial-mine"]
    finally:
        server.end()


def test_nothing_is_left_where_nothing_was(tmp_path: Path) -> None:
    clear_trials(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_a_text_does_not_meet_the_folders_of_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tmp_path / "seen"
    in_place_of_the_process(tmp_path / "process", f"#!/bin/sh\necho $4 > {seen}\n", monkeypatch)
    server = RestServer(tmp_path)
    try:
        answer = server.visitor("dora", "developer").post("/try/events", {"text": "SELECT 1 AS one"})
        assert answer.status_code == 200, answer.text
        place = Path(seen.read_text().strip()).parent
        assert (place.name, list(place.iterdir())) == ("trials", [])
        assert not place.is_relative_to(server.services.scratch)
    finally:
        server.end()
