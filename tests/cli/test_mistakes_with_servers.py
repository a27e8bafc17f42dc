"""What users get wrong about servers, and servers that go away: told in words, never as an internal error."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import client as client_module
from headrace.cli.client import Client
from headrace.cli.main import app
from headrace.errors import HeadraceError
from headrace.server.access.decisions import SYSTEM
from support.job_yard import APPLICATION
from support.served import Served
from support.waiting import until


def refused(*arguments: str) -> list[str]:
    """Return the lines of the complaint of a command that a user got wrong."""
    done = CliRunner().invoke(app, list(arguments), env={"HEADRACE_SERVER": None, "HEADRACE_TOKEN": None})
    assert done.exit_code == 1, done.output
    assert "internal error" not in done.stderr
    lines = done.stderr.splitlines()
    assert lines[0].startswith("error: ")
    return lines


@pytest.mark.parametrize("address", ["foo", "localhost:8642", "ftp://host", "http://", "http://host:x"])
def test_a_server_has_an_address(address: str) -> None:
    for command in (["job", "list", "--server", address], ["login", address, "--user", "ann"]):
        assert refused(*command) == [
            f'error: "{address}" is not the address of a server',
            "hint: Write it as http://localhost:8642 or https://host.",
        ]


@pytest.fixture
def elsewhere() -> str:
    """Give the address of a port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_server_that_is_away_is_told_by_commands_that_follow_too(elsewhere: str) -> None:
    for command in (["job", "logs", "shop", "-f"], ["job", "logs", "shop"], ["job", "stop", "shop"]):
        first, detail, hint = refused(*command, "--server", elsewhere)
        assert first == f"error: the server at {elsewhere} cannot be reached"
        assert detail.startswith("detail: ")
        assert hint == "hint: Start it: headrace serve."


def test_something_else_that_answers_is_told() -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{other.server_port}"
        assert refused("job", "list", "--server", url)[0] == f"error: what answers at {url} is not a Headrace server"
        other.shutdown()


def test_who_follows_waits_a_while_for_a_server_that_went_away(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    answers = iter(
        [
            httpx.Response(200, text='id: 7\ndata: "one"\n\n'),
            httpx.ConnectError("refused"),
            httpx.ConnectError("refused"),
            httpx.Response(200, text='id: 8\ndata: "two"\n\nevent: end\ndata: null\n\n'),
        ]
    )
    asked: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("Last-Event-ID"))
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    class Broken(httpx.MockTransport):
        """Breaks the first answer off instead of ending it."""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            found = super().handle_request(request)
            if len(asked) == 1:
                text = found.read()

                def parts():
                    yield text
                    raise httpx.ReadError("gone")

                return httpx.Response(200, content=parts())
            return found

    monkeypatch.setattr(client_module, "BETWEEN_TRIES", 0)
    with httpx.Client(base_url="http://there", transport=Broken(answer)) as http:
        assert [data for _, data in Client("http://there", http).events("/x")] == ["one", "two"]
    assert asked == [None, "7", "7", "7"]


def test_who_follows_gives_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("gone")

    monkeypatch.setattr(client_module, "PATIENCE", -1.0)
    with (
        httpx.Client(base_url="http://there", transport=httpx.MockTransport(answer)) as http,
        pytest.raises(HeadraceError, match="the server at http://there cannot be reached"),
    ):
        list(Client("http://there", http).events("/x"))


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("nonsense", "the URL of the database is not one that can be used"),
        ("oracle9://host/x", "the URL of the database is not one that can be used"),
        (
            "postgresql+psycopg://ann:geheim@127.0.0.1:1/x",
            'the database "postgresql+psycopg://ann:***@127.0.0.1:1/x" cannot be used',
        ),
        ("sqlite:////nowhere/at/all.sqlite", 'the database "sqlite:////nowhere/at/all.sqlite" cannot be used'),
    ],
)
def test_a_database_that_cannot_be_used(tmp_path: Path, url: str, told: str) -> None:
    first, detail, hint = refused("serve", "--port", "0", "--data", str(tmp_path), "--database", url)
    assert first == f"error: {told}"
    assert detail.startswith("detail: ")
    assert hint.startswith("hint: ")
    assert "geheim" not in detail


def test_a_certificate_that_is_none(tmp_path: Path) -> None:
    for name in ("certificate", "key"):
        (tmp_path / name).write_text("not a PEM file")
    files = ["--tls-certificate", str(tmp_path / "certificate"), "--tls-key", str(tmp_path / "key")]
    told = refused("serve", "--port", "0", "--data", str(tmp_path), *files)
    assert told[0] == "error: the certificate and its key cannot be used"
    assert told[2] == "hint: Both are PEM files, the key has no password and is that of the certificate."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rules: [3]", "a rule of alerts cannot be 3"),
        ("rules: [{kind: lag, name: behind}]", 'an alert of kind "lag" lacks messages'),
        ("rules: [{kind: lag}]", 'an alert of kind "lag" lacks name and messages'),
        ("webhooks: [not a url]", '"not a url" is not the address of a webhook'),
        ("webhooks: ['ftp://host/x']", '"ftp://host/x" is not the address of a webhook'),
        ("webhooks: [3]", '"3" is not the address of a webhook'),
        ("3", 'a file of alerts has a list "rules"'),
    ],
)
def test_a_file_of_alerts_with_mistakes(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "alerts.yaml").write_text(text)
    found = refused("serve", "--port", "0", "--data", str(tmp_path), "--alerts", str(tmp_path / "alerts.yaml"))
    assert found[0] == f"error: {told}"
    assert found[-1].startswith("hint: ")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "shop.sql").write_text(APPLICATION)
    made = Served(tmp_path)
    yield made
    made.end()


def test_a_rule_that_lacks_an_option_names_it(server: Served) -> None:
    told = server.refused("alert", "set", "behind", "--kind", "lag").splitlines()
    assert told[0] == 'error: an alert of kind "lag" lacks messages'
    assert told[-1] == "hint: Say messages, too."


def test_the_dashboard_beside_an_application_is_taken_along(server: Served) -> None:
    board, edited = server.folder / "dashboard.yaml", "title: Edited\npanels: []\n"

    def upgraded(*options: str) -> str:
        waiting = () if "--dry-run" in options else ("--wait",)  # the next one is refused until it runs
        done = server.invoked("job", "upgrade", "shop", "shop.sql", *options, *waiting)
        assert done.exit_code == 0, done.output
        return done.stderr

    board.write_text("title: Sales\npanels: [3]\n")
    assert "a panel has fields" in server.refused("job", "submit", "shop.sql")
    assert server.run("job", "list").endswith("(0 rows)\n")
    board.write_text("title: Sales\npanels: []\n")
    server.run("job", "submit", "shop.sql", "--name", "plain", "--no-dashboard")
    server.refused("dashboard", "show", "plain")
    assert server.invoked("job", "submit", "shop.sql", "--wait").stderr == "dashboard shop is saved\n"
    assert server.run("dashboard", "show", "shop") == board.read_text()
    assert upgraded() == ""
    board.write_text("title: Sales and more\npanels: []\n")
    assert upgraded("--dry-run") == ""
    assert upgraded() == "dashboard shop is saved\n"
    assert server.run("dashboard", "show", "shop") == board.read_text()

    server.services.applications.save_dashboard(SYSTEM, "shop", edited)  # as the console does
    told = upgraded()
    assert told.startswith('warning: the dashboard is not taken along: the dashboard "shop" was edited on the server\n')
    assert "hint: Take the file's in its place with --dashboard FILE" in told
    assert server.run("dashboard", "show", "shop") == edited
    assert upgraded("--dashboard", "dashboard.yaml") == "dashboard shop is saved\n"
    assert server.run("dashboard", "show", "shop") == board.read_text()
    wrong = server.invoked("job", "submit", "shop.sql", "--dashboard", "dashboard.yaml", "--no-dashboard")
    assert wrong.exit_code == 2


def test_waiting_ends_when_the_job_has(server: Served) -> None:
    done = server.run("job", "submit", "shop.sql", "--var", "BEHAVE=finish", "--wait")
    assert done == "job shop is finished: all its input was read\n"
    server.run("job", "submit", "shop.sql", "--name", "first", "--cores", "4")
    with server.running("job", "submit", "shop.sql", "--name", "second", "--cores", "4", "--wait") as waiting:
        until(lambda: "second" in server.run("job", "list", "--state", "submitted"), 30)
        server.run("job", "stop", "second")
        assert waiting.wait(30) == 3


def test_waiting_for_a_savepoint_that_is_damaged_ends(server: Served) -> None:
    server.run("job", "submit", "shop.sql", "--wait")
    server.run("job", "stop", "shop", "--savepoint", "--wait")
    [line] = server.run("job", "savepoints", "shop", "--output", "json").splitlines()
    savepoint = json.loads(line)["id"]
    folder = server.jobs.folder_of(server.jobs.show("shop"))
    for file in folder.savepoints_path.rglob("*"):
        if file.is_file():
            file.write_text("damaged")
    done = server.invoked("job", "restart", "shop", "--savepoint", savepoint, "--wait")
    assert done.exit_code == 3, done.output
    assert "job shop failed" in done.stderr
