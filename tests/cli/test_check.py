import json
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_right_application_is_ok(headrace, application):
    result = headrace("check", application)
    assert result.exit_code == 0
    assert result.stdout == "ok: 4 statements, 2 outputs\n"
    assert result.stderr == "warning: query_2: state grows for ever: one row for each page\n"


def test_a_mistake_is_reported_on_stderr_alone(headrace, application):
    application.write_text("SELECT nme FROM nothing;", "utf-8")
    result = headrace("check", application)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert '"nothing"' in result.stderr
    assert "Traceback" not in result.stderr


def test_json_says_what_is_right(headrace, application):
    result = headrace("check", application, "--output", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "ok": True,
        "statements": 4,
        "outputs": 2,
        "warnings": [{"name": "query_2", "warning": "state grows for ever: one row for each page"}],
    }


def test_json_says_what_is_wrong(headrace, application):
    application.write_text("SELECT 1 +;", "utf-8")
    result = headrace("check", application, "--output", "json")
    assert result.exit_code == 1
    verdict = json.loads(result.stdout)
    assert verdict["ok"] is False
    assert verdict["error"]["place"]["line"] == 1


def test_a_missing_file_is_a_users_error(headrace, tmp_path):
    result = headrace("check", tmp_path / "none.sql")
    assert result.exit_code == 1
    assert "cannot be read" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["chekc"],
        ["check"],
        ["check", "app.sql", "--var", "NAME"],
        ["check", "app.sql", "--var", "1=2"],
        ["run", "app.sql", "--output", "xml"],
        ["run", "app.sql", "--once", "--fresh"],
        ["run", "app.sql", "--for", "-1"],
        ["explain", "app.sql", "--output", "png"],
    ],
)
def test_wrong_usage_exits_with_2(headrace, arguments):
    result = headrace(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_variables_come_from_options_then_from_the_environment(headrace, application):
    application.write_text("CREATE STREAM ${NAME} (x INT) WITH (connector = 'memory'); SELECT x FROM ${NAME};", "utf-8")
    assert headrace("check", application, env={"NAME": "s"}).exit_code == 0
    assert headrace("check", application, "--var", "NAME=t", env={"NAME": "1 2"}).exit_code == 0
    unfilled = headrace("check", application, env={"NAME": None})
    assert unfilled.exit_code == 1
    assert "variable NAME has no value" in unfilled.stderr


def test_version(headrace):
    result = headrace("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("headrace 0.")


def test_an_internal_error_is_short_and_leaves_a_traceback(headrace, application, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("surprise")

    monkeypatch.setattr("headrace.cli.inspect.check_file", fail)
    result = headrace("check", application)
    assert result.exit_code == 3
    assert "internal error, please report it: ZeroDivisionError: surprise" in result.stderr
    log = Path(result.stderr.split("traceback is in ")[1].strip().rstrip("."))
    assert "Traceback" in log.read_text("utf-8")
    log.unlink()


def test_fifty_statements_are_checked_and_explained_without_spark(tmp_path):
    lines = [
        "CREATE STREAM s0 (at TIMESTAMP, k STRING, x INT, WATERMARK FOR at AS at - INTERVAL 1 SECOND) "
        "WITH (connector = 'memory');"
    ]
    lines += [
        f"CREATE VIEW v{n} AS SELECT k, window_end, sum(x) AS x{n} "
        f"FROM HOP(s0, at, INTERVAL 1 MINUTE, INTERVAL 5 MINUTES) GROUP BY k, window_end HAVING sum(x) > {n};"
        for n in range(25)
    ]
    lines += [f"SELECT upper(k) AS k, x{n} + 1 AS y FROM v{n} WHERE x{n} < 100;" for n in range(24)]
    file = tmp_path / "fifty.sql"
    file.write_text("\n".join(lines), "utf-8")
    script = (
        "import sys\n"
        "from headrace.cli.main import app\n"
        "for command in ('check', 'explain'):\n"
        "    try:\n"
        "        app([command, sys.argv[1]])\n"
        "    except SystemExit as end:\n"
        "        assert end.code == 0, end.code\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'pyspark', 'py4j', 'pandas'}))\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, file], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0] == "ok: 50 statements, 24 outputs"
    assert lines[-1] == "[]"


def test_a_closed_pipe_ends_quietly(application):
    command = f"{sys.executable} -m headrace.cli.main explain {application} | head -1"
    ran = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert ran.stdout == "select query_1\n"
    assert ran.stderr == ""
