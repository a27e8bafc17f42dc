"""The real process, over a real socket, and the command line as its client."""

import ipaddress
import re
import signal
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from typer.testing import CliRunner

from headrace.cli.main import app
from support.homes import own_home
from support.job_yard import APPLICATION, kill_drivers
from support.waiting import until

FAKE = Path(__file__).parent.parent / "support" / "serve_fake.py"
SERVE = ("-m", "headrace.cli.main", "serve", "--port", "0", "--data", "data")
SPARK = (*SERVE, "--cores", "2", "--nice", "0")
"""For jobs that run Spark: other tests may take the cores."""


class Process:
    """A server in a process of its own, and commands of the same user."""

    def __init__(self, folder: Path, *command: str) -> None:
        # NiceGUI behaves differently when it believes to be tested by pytest.
        everything = own_home(folder).items()
        self.environment = {key: value for key, value in everything if not key.startswith(("PYTEST", "NICEGUI"))}
        self.folder = folder
        self.command = command
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *self.command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.printed: list[str] = []
        for line in self.process.stdout:
            self.printed.append(line)
            if line.startswith("Headrace"):
                break
        else:
            raise AssertionError(self.process.stderr.read() if self.process.stderr else "")
        self.url = self.printed[-1].split()[1]

    def run(self, *arguments: str, code: int = 0, **variables: str) -> str:
        """Return what a command of the same user prints; raise unless it ends as it should."""
        with chdir(self.folder):
            done = CliRunner().invoke(app, list(arguments), env={**self.environment, **variables})
        assert done.exit_code == code, done.output
        if code:
            assert done.stdout == ""
        return done.stderr if code else done.stdout

    def end(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        printed, errors = self.process.communicate(timeout=240)
        assert self.process.returncode == 0, errors
        return printed

    def leave_nothing(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        kill_drivers(self.folder / "data" / "jobs")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path, str(FAKE), "data")
    yield made
    made.leave_nothing()


def test_serve_answers_and_ends(tmp_path: Path) -> None:
    server = Process(tmp_path, *SERVE)
    try:
        assert httpx.get(f"{server.url}/health/ready", timeout=120).json() == {"status": "ok"}
        assert httpx.get(f"{server.url}/api/v1/jobs", timeout=120).status_code == 401
        assert 'action="/login"' in httpx.get(f"{server.url}/", follow_redirects=True, timeout=120).text
        with httpx.Client(base_url=server.url, timeout=120) as http:
            assert server.process.stdout is not None
            password = next(line.split()[1] for line in server.process.stdout if line.startswith("password"))
            body = {"name": "admin", "password": password}
            assert http.post("/api/v1/login", json=body).json()["role"] == "admin"
            assert "users" in http.get("/api/v1/openapi.json").text
            # somebody who follows something does not keep the server from ending
            with http.stream("GET", "/api/v1/jobs/none/events/events") as answer:
                assert answer.status_code == 404
        assert "jobs run on" in server.end()
        assert stat.S_IMODE((tmp_path / "data" / "local-token").stat().st_mode) == 0o600
    finally:
        server.leave_nothing()


def test_serve_speaks_tls(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    options = ("--tls-certificate", str(certificate), "--tls-key", str(key))
    server = Process(tmp_path, *SERVE, *options)
    try:
        assert server.url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(certificate))
        assert httpx.get(f"{server.url}/health/live", verify=context, timeout=120).json() == {"status": "ok"}
        assert re.search(r"admin +\| admin", server.run("user", "list", SSL_CERT_FILE=str(certificate)))
        assert "cannot be reached" in server.run("user", "list", code=1)
        server.end()
    finally:
        server.leave_nothing()


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for this machine and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, secret


def test_serve_refuses_to_be_reached_from_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headrace.cli.main", "serve", "--host", "0.0.0.0", "--port", "0"],
        cwd=tmp_path,
        env=own_home(tmp_path),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: without TLS the server listens only on this machine\n")


def test_the_command_line_is_a_client(server: Process, tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(APPLICATION)
    assert server.run("job", "submit", "shop.sql", "--wait") == "job shop is running: running\n"
    assert re.search(r"shop +\| running", server.run("job", "list"))
    assert '"name": "totals"' in server.run("job", "show", "shop", "--output", "json")
    assert server.run("job", "submit", "shop.sql", code=1).startswith('error: there is a job "shop" already\n')
    (tmp_path / "wrong.sql").write_text(APPLICATION + "SELECT nme FROM s;")
    assert "wrong.sql:4:8" in server.run("job", "submit", "wrong.sql", code=1)
    (tmp_path / "new.sql").write_text(APPLICATION.replace("sum(v)", "max(v)"))
    assert "rebuilt" in server.run("job", "upgrade", "shop", "new.sql", "--dry-run")
    assert "is running" in server.run("job", "upgrade", "shop", "new.sql", "--wait")
    assert "is running" in server.run("job", "restart", "shop", "--wait")
    assert "is stopped" in server.run("job", "stop", "shop", "--savepoint", "--wait")
    until(lambda: "ready" in server.run("job", "savepoints", "shop"))
    server.run("job", "logs", "shop")
    assert server.run("job", "delete", "shop") == "job shop is deleted\n"
    assert server.run("job", "show", "shop", code=1) == 'error: there is no job "shop"\n'
    (tmp_path / "crash.sql").write_text(APPLICATION)
    told = server.run("job", "submit", "crash.sql", "--var", "BEHAVE=user-error", "--wait", code=3)
    assert told.startswith("error: job crash failed: it broke in attempt 1")


def test_alerts_rows_and_sharing_by_the_command_line(server: Process, tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(APPLICATION + "SELECT k FROM s;")
    server.run("job", "submit", "shop.sql", "--wait")
    assert re.search(r"crash loop +\| crash-loop +\| \* .*standard", server.run("alert", "rules"))
    told = server.run("alert", "set", "far behind", "--kind", "lag", "--messages", "1000", "--lasting", "1 minute")
    assert told == "rule far behind counts from now on\n"
    assert "messages 1000, lasting 1 minute" in server.run("alert", "rules")
    assert "lacks messages" in server.run("alert", "set", "wrong", "--kind", "lag", code=1)
    assert server.run("alert", "remove", "far behind") == "rule far behind is removed\n"
    assert server.run("alert", "list").endswith("(0 rows)\n")
    assert server.run("job", "rows", "shop").endswith("(0 rows)\n")
    assert server.run("job", "rejected", "shop").endswith("(0 rows)\n")
    server.run("user", "add", "ann")
    assert re.search(
        r"allow +\| user +\| ann ", server.run("job", "share", "shop", "--user", "ann", "--role", "operator")
    )
    assert server.run("job", "share", "shop", "--user", "ann", "--remove").endswith("(0 rows)\n")


def test_users_tokens_and_logging_in(server: Process, tmp_path: Path) -> None:
    printed = server.run("user", "add", "ann", "--role", "operator")
    password = printed.split()[-1]
    assert re.search(r"ann +\| operator", server.run("user", "list"))
    assert server.run("user", "change", "ann", "--role", "viewer") == "user ann is viewer\n"
    new = "several words of ann"
    given = {"HEADRACE_PASSWORD": password, "HEADRACE_NEW_PASSWORD": new}
    assert "logged in" in server.run("login", server.url, "--user", "ann", **given)
    assert "the name or the password is wrong" in server.run("login", server.url, "--user", "ann", code=1, **given)
    password = new
    credentials = Path(server.environment["HEADRACE_HOME"]) / "credentials"
    assert stat.S_IMODE(credentials.stat().st_mode) == 0o600
    assert "may not" in server.run("user", "list", code=1)
    token = server.run("token", "create", "ci", "--user", "ann", HEADRACE_PASSWORD=password).strip()
    assert server.run("job", "list", HEADRACE_TOKEN=token).endswith("(0 rows)\n")
    listed = server.run("token", "list", "--user", "ann", HEADRACE_PASSWORD=password)
    found = re.search(r"([0-9a-f]{16}) +\| ci ", listed)
    assert found is not None, listed
    server.run("token", "revoke", found[1], "--user", "ann", HEADRACE_PASSWORD=password)
    assert "nobody is logged in" in server.run("job", "list", code=1, HEADRACE_TOKEN=token)
    server.run("logout")
    assert "ann" in server.run("user", "list")


def test_jobs_outlive_the_server(server: Process, tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(APPLICATION)
    server.run("job", "submit", "shop.sql", "--wait")
    [lives] = tmp_path.glob("data/jobs/*/lives")
    pid = int(lives.read_text().split()[2])
    server.process.kill()
    server.process.communicate()
    assert "no server is known" in server.run("job", "list", code=1)
    server.start()
    assert server.printed[-1].startswith("Headrace")
    until(lambda: re.search(r"shop +\| running", server.run("job", "list")))
    assert psutil.pid_exists(pid)
    assert len(lives.read_text().splitlines()) == 1
    assert "is stopped" in server.run("job", "stop", "shop", "--wait")
    assert "jobs run on" in server.end()


FROM_KAFKA = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'kafka', topic = 't', format = 'json');
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM s GROUP BY k;
"""


def test_from_a_time_and_beside_itself_by_command_line(server: Process, tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(FROM_KAFKA)
    server.run("job", "submit", "shop.sql", "--wait")
    told = server.run("job", "restart", "shop", "--from", "2024-05-01T00:00:00Z", "--source", "s", "--wait")
    assert "the first message of each partition that is not earlier than 2024-05-01T00:00:00Z" in told
    [folder] = tmp_path.glob("data/jobs/[0-9a-f]*")
    assert '"2024-05-01T00:00:00+00:00"' in (folder / "state" / "shop" / "begin.json").read_text()
    refused = server.run("job", "restart", "shop", "--from", "2024-05-01T00:00:00Z", "--source", "z", code=1)
    assert refused.startswith('error: the application reads no source "z"\n')
    assert "--source" in server.run("job", "restart", "--help")

    assert server.run("job", "rebuild", "shop").startswith("the rebuild of shop is building: ")
    assert "is being rebuilt" in server.run("job", "restart", "shop", "--fresh", code=1)
    assert server.run("job", "rebuild", "shop", "--cancel") == "the rebuild of shop is given up\n"
    until(lambda: "is not being rebuilt" in server.run("job", "rebuild", "shop", "--status"))
    (folder / "position").write_text("0")  # it has read nothing, so whoever builds it has caught up at once
    assert server.run("job", "rebuild", "shop", "--wait") == "job shop has the rebuilt state\n"
    (tmp_path / "new.sql").write_text(FROM_KAFKA.replace("sum(v)", "max(v)"))
    told = server.run("job", "upgrade", "shop", "new.sql", "--beside", "--wait")
    assert told.endswith("job shop has the rebuilt state\n")
    assert re.search(r"version +3\n", server.run("job", "show", "shop"))


@pytest.mark.long
def test_a_rebuild_outlives_the_server(server: Process, tmp_path: Path) -> None:
    """The server is killed again and again while a job is rebuilt; whatever it was at, it ends well."""
    (tmp_path / "shop.sql").write_text(FROM_KAFKA)
    server.run("job", "submit", "shop.sql", "--wait")
    [folder] = tmp_path.glob("data/jobs/[0-9a-f]*")
    (folder / "position").write_text("0")
    server.run("job", "rebuild", "shop")
    for _ in range(5):
        server.process.kill()
        server.process.communicate()
        server.start()
    until(lambda: "is not being rebuilt" in server.run("job", "rebuild", "shop", "--status"))
    until(lambda: re.search(r"shop +\| running +\| +2", server.run("job", "list")))
    starts = [line.split()[1] for line in (folder / "lives").read_text().splitlines() if line.startswith("start")]
    assert starts == ["1", "2"], "it was started once on each state"
    until(lambda: [each.name[:9] for each in (folder / "state").iterdir()] == [".rebuilt-"])
