"""What a server is started with: options go in, checked settings come out."""

import ipaddress
import os
import ssl
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import psutil

from headrace.errors import HeadraceError
from headrace.jars.home import headrace_home
from headrace.jobs.hands import DRIVER
from headrace.jobs.queue import Capacity
from headrace.server.access.audit import LEAST_KEPT

__all__ = ["DEFAULT_PORT", "MEGABYTE", "Settings", "is_loopback"]

DEFAULT_PORT = 8642
MEGABYTE = 2**20
SHARE_OF_MEMORY = 0.7
"""How much of the machine's memory jobs may use, unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where a server keeps its data, where it listens, and how much of the machine its jobs may use.

    >>> Settings(data=Path("data"), host="0.0.0.0").check()
    Traceback (most recent call last):
    ...
    headrace.errors.HeadraceError: error: without TLS the server listens only on this machine
    detail: 0.0.0.0 can be reached from others, and passwords would travel in the clear.
    hint: Give --tls-certificate and --tls-key, or --insecure if something in front of the server encrypts.
    """

    data: Path = field(default_factory=lambda: headrace_home() / "server")
    move_data: bool = False
    """Whether the data folder that the database names was moved to ``data``."""
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    database: str | None = None
    """The URL of a database; a file of SQLite in the data folder without it."""
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    insecure: bool = False
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto count."""
    cores: int = field(default_factory=lambda: max(2, os.cpu_count() or 1))
    memory: int = field(default_factory=lambda: max(2048, int(psutil.virtual_memory().total * SHARE_OF_MEMORY / 2**20)))
    """Megabytes."""
    alerts: Path | None = None
    """A YAML file with rules and webhooks."""
    driver: tuple[str, ...] = DRIVER
    """The command of a job's process."""
    nice: int = 10
    """How much drivers yield to the server when cores are short, from 0 to 19."""
    console: bool = True
    largest_request: int = 2 * MEGABYTE
    """Bytes of a request's body; more is refused unread."""
    query_limit: timedelta = timedelta(seconds=30)
    """How long a query over views may take."""
    audit_kept: timedelta = timedelta(days=400)
    """How long entries of the audit log are kept; at least 30 days."""
    change_first_password: bool | None = None
    """Whether the first admin must choose a password; None: if others than this machine can reach the server."""

    def check(self) -> "Settings":
        """Return the settings; raise if passwords and tokens would travel in the clear, or files are missing."""
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise HeadraceError("a certificate and its key go together", hint="Give --tls-certificate and --tls-key.")
        for file in (self.tls_certificate, self.tls_key, self.alerts):
            if file is not None and not file.is_file():
                raise HeadraceError(f'there is no file "{file}"')
        for address in self.trusted_proxies:
            _check_network(address)
        if self.audit_kept < LEAST_KEPT:
            raise HeadraceError(f"the audit log is kept for {LEAST_KEPT.days} days at least")
        if not (self.is_encrypted or self.insecure or is_loopback(self.host)):
            raise HeadraceError(
                "without TLS the server listens only on this machine",
                detail=f"{self.host} can be reached from others, and passwords would travel in the clear.",
                hint="Give --tls-certificate and --tls-key, or --insecure if something in front of the server "
                "encrypts.",
            )
        return self

    def check_certificate(self) -> None:
        """Raise if the certificate and its key cannot be used; nothing is wrong without them."""
        if self.tls_certificate is not None and self.tls_key is not None:
            _check_pair(self.tls_certificate, self.tls_key)

    @property
    def is_encrypted(self) -> bool:
        """Whether it speaks TLS."""
        return self.tls_certificate is not None

    @property
    def first_password_is_temporary(self) -> bool:
        """Whether the first admin must choose another password than the one that is shown.

        >>> [Settings(data=Path("data"), host=host).first_password_is_temporary for host in ("127.0.0.1", "10.0.0.1")]
        [False, True]
        """
        return not is_loopback(self.host) if self.change_first_password is None else self.change_first_password

    @property
    def database_url(self) -> str:
        """The URL of the database."""
        return self.database or f"sqlite:///{self.data / 'server.sqlite'}"

    @property
    def capacity(self) -> Capacity:
        """What all jobs may use together."""
        return Capacity(self.cores, self.memory)


def _check_pair(certificate: Path, key: Path) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as error:  # of which what ssl finds wrong is one
        raise HeadraceError(
            "the certificate and its key cannot be used",
            detail=f"{error}.",
            hint="Both are PEM files, the key has no password and is that of the certificate.",
        ) from error


def _check_network(address: str) -> None:
    try:
        ipaddress.ip_network(address)
    except ValueError as error:
        raise HeadraceError(
            f'"{address}" is not the address of a proxy',
            detail=f"{error}.",
            hint="Give the address from which it asks the server, as 10.0.0.5, or a network, as 10.0.0.0/24.",
        ) from error


def is_loopback(host: str) -> bool:
    """Say whether an address can be reached from this machine alone.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("10.0.0.1"), is_loopback("")
    (True, True, True, False, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
