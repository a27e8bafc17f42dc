"""The commands ``headrace serve`` and ``headrace up``: options go in; a server runs until it is told to stop."""

import logging
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from headrace.broker.server import Broker
    from headrace.server.process import Started

__all__ = ["serve", "up"]

Host = Annotated[str, typer.Option(help="Where it listens; others than this machine need TLS or --insecure.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")]
Data = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where it keeps its data; by default in the Headrace home.")
]
MoveData = Annotated[
    bool, typer.Option("--move-data", help="The data folder was moved here: note that, and go on with its jobs.")
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", envvar="HEADRACE_DATABASE", help="postgresql+psycopg://… or sqlite:///…"),
]
Certificate = Annotated[Path | None, typer.Option("--tls-certificate", metavar="FILE", help="A PEM file.")]
TlsKey = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="The key of the certificate.")]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Listen beyond this machine without TLS: something in front encrypts.")
]
TrustedProxy = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted-proxy",
        metavar="ADDRESS",
        help="A proxy in front, or its network: who asks, and whether encrypted, is as it says. Repeatable.",
    ),
]
Cores = Annotated[int | None, typer.Option(min=1, help="Cores for all jobs together; by default all.")]
Memory = Annotated[
    int | None, typer.Option(min=512, metavar="MB", help="Memory for all jobs together; by default 70 %.")
]
Nice = Annotated[
    int | None, typer.Option(min=0, max=19, help="How much jobs yield to the server when cores are short; 5.")
]
FirstPassword = Annotated[
    bool | None,
    typer.Option(
        "--change-first-password/--keep-first-password",
        help="Whether the first admin must choose another password; by default beyond this machine.",
    ),
]
LargestRequest = Annotated[
    int | None, typer.Option("--largest-request", min=1, metavar="MB", help="The body of a request; 2 by default.")
]
QuerySeconds = Annotated[
    int | None, typer.Option("--query-seconds", min=1, help="How long a query over views may take; 30 by default.")
]
AuditDays = Annotated[
    int | None, typer.Option("--audit-days", min=30, help="How long the audit log is kept; 400 days by default.")
]
AlertFile = Annotated[Path | None, typer.Option("--alerts", metavar="FILE", help="Rules and webhooks, in YAML.")]


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8642,
    data: Data = None,
    move_data: MoveData = False,
    database: DatabaseUrl = None,
    tls_certificate: Certificate = None,
    tls_key: TlsKey = None,
    insecure: Insecure = False,
    trusted_proxy: TrustedProxy = None,
    cores: Cores = None,
    memory: Memory = None,
    nice: Nice = None,
    alerts: AlertFile = None,
    change_first_password: FirstPassword = None,
    largest_request: LargestRequest = None,
    query_seconds: QuerySeconds = None,
    audit_days: AuditDays = None,
) -> None:
    """Run the server: REST and console. Ctrl-C stops it; jobs run on, and the next server takes them over."""
    _run(
        host=host,
        port=port,
        data=data,
        move_data=move_data,
        database=database,
        tls_certificate=tls_certificate,
        tls_key=tls_key,
        insecure=insecure,
        trusted_proxies=None if trusted_proxy is None else tuple(trusted_proxy),
        cores=cores,
        memory=memory,
        nice=nice,
        alerts=alerts,
        change_first_password=change_first_password,
        largest_request=None if largest_request is None else largest_request * 2**20,
        audit_kept=None if audit_days is None else timedelta(days=audit_days),
        query_limit=None if query_seconds is None else timedelta(seconds=query_seconds),
    )


def up(
    port: Port = 8642,
    data: Data = None,
    move_data: MoveData = False,
    cores: Cores = None,
    memory: Memory = None,
    nice: Nice = None,
    alerts: AlertFile = None,
) -> None:
    """Run broker, server and console on this machine. Ctrl-C stops server and broker; jobs wait for them."""
    from headrace.broker.server import embedded_broker
    from headrace.cli.signals import terminable
    from headrace.cli.warm import warming
    from headrace.jars.fetch import is_present

    if not is_present("broker"):
        sys.stderr.write("fetching Kafka, once (about 40 MB)\n")
    broker = embedded_broker()
    with terminable():
        ran = broker.running_address() is not None
        starting = threading.Thread(target=_start_broker, args=(broker,), name="broker")
        starting.start()  # the server starts meanwhile
        try:
            with warming():
                _run(port=port, data=data, move_data=move_data, cores=cores, memory=memory, nice=nice, alerts=alerts)
        finally:
            starting.join()
            if not ran and broker.stop():
                sys.stdout.write("the broker is stopped\n")


def _start_broker(broker: "Broker") -> None:
    from headrace.cli.failures import complain
    from headrace.errors import HeadraceError

    try:
        sys.stdout.write(f"broker   {broker.start()}\n")
        sys.stdout.flush()
    except HeadraceError as error:  # the server is of use without it
        complain(error.report())


def _run(**options: Any) -> None:
    from headrace.server.process import run_server
    from headrace.server.settings import Settings

    given = {name: value for name, value in options.items() if value is not None}
    for name in ("data", "tls_certificate", "tls_key", "alerts"):
        if name in given:
            given[name] = given[name].absolute()
    settings = Settings(**given).check()
    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING, stream=sys.stderr
    )
    logging.getLogger("headrace").setLevel(logging.INFO)
    run_server(settings, _tell)
    sys.stdout.write("the server is stopped; jobs run on\n")


def _tell(started: "Started") -> None:
    lines = [f"Headrace {started.url}"]
    if started.password is not None:
        lines += [f"log in   {started.name}", f"password {started.password}", "The password is shown this once."]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
