"""The commands ``headrace broker``: arguments go in; a Kafka on this machine, its condition and its topics come out."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headrace.cli.failures import USER_ERROR

if TYPE_CHECKING:
    from headrace.broker.server import Broker

__all__ = ["broker_app"]

broker_app = typer.Typer(help="Run a Kafka on this machine, for development and small installations.")
topics_app = typer.Typer(help="List the topics of the broker, make one or delete one.")
broker_app.add_typer(topics_app, name="topics", invoke_without_command=True)

Output = Annotated[Literal["text", "json"], typer.Option(help="How the answer is printed.")]
Rows = Annotated[Literal["table", "json", "csv"], typer.Option("--output", help="How rows are printed.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The topic.", show_default=False)]


@broker_app.command()
def start(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Where clients find it, now and later; by default a free one is kept."),
    ] = None,
) -> None:
    """Start the broker unless it runs, and print its address."""
    from headrace.broker.status import kafka_version
    from headrace.jars.fetch import is_present

    if not is_present("broker"):
        sys.stderr.write("fetching Kafka, once (about 40 MB)\n")
    address = _broker().start(port)
    sys.stdout.write(
        f"Kafka {kafka_version()} is ready at {address}\n"
        "Applications find it by themselves: WITH (connector = 'kafka', topic = 'NAME', format = 'json')\n"
        f"Other programs use bootstrap.servers={address}\n"
    )


@broker_app.command()
def stop() -> None:
    """Stop the broker; its topics are kept."""
    sys.stdout.write("the broker is stopped\n" if _broker().stop() else "the broker was not running\n")


@broker_app.command()
def status(output: Output = "text") -> None:
    """Print where the broker is and what it holds; exit 1 if it does not run."""
    from headrace.broker.status import status_of
    from headrace.values import to_json_line

    found = status_of(_broker())
    facts = {
        "running": found.address is not None,
        "address": found.address,
        "pid": found.pid,
        "version": found.version,
        "data": str(found.data),
        "size": found.size,
        "topics": found.topics,
    }
    if output == "json":
        sys.stdout.write(to_json_line(facts) + "\n")
    else:
        facts["running"] = "yes" if facts["running"] else "no"
        facts["size"] = f"{found.size / 1e6:.1f} MB"
        width = max(map(len, facts))
        sys.stdout.writelines(f"{name:<{width}}  {value}\n" for name, value in facts.items() if value is not None)
    if found.address is None:
        raise typer.Exit(USER_ERROR)


@broker_app.command()
def logs(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is written; Ctrl-C ends.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many of the last lines.")] = 50,
) -> None:
    """Print the warnings and errors of the broker."""
    import time

    from headrace.broker.logs import last_lines, new_lines

    file = _broker().log_path
    sys.stdout.writelines(f"{line}\n" for line in last_lines(file, lines))
    if follow:
        sys.stdout.flush()
        for line in new_lines(file, lambda: time.sleep(0.2)):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


@topics_app.callback()
def topics(context: typer.Context, output: Rows = "table") -> None:
    """List the topics of the broker, make one or delete one."""
    if context.invoked_subcommand is not None:
        return
    from headrace.broker.topics import topics as topics_of
    from headrace.cli.render import print_rows

    rows = [
        {"topic": each.name, "partitions": each.partitions, "messages": each.messages} for each in topics_of(_address())
    ]
    print_rows(rows, ["topic", "partitions", "messages"], output, sys.stdout)


@topics_app.command()
def create(
    name: Name,
    partitions: Annotated[int, typer.Option(min=1, help="How many readers can share it.")] = 1,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of Kafka's, as cleanup.policy=compact. Repeatable."),
    ] = None,
) -> None:
    """Make a topic."""
    from headrace.broker.topics import create as create_topic

    options = _pairs(config or ())
    create_topic(_address(), name, partitions, options)
    sys.stdout.write(f"topic {name} is made\n")


@topics_app.command()
def delete(name: Name) -> None:
    """Delete a topic and all that is in it."""
    from headrace.broker.topics import delete as delete_topic

    delete_topic(_address(), name)
    sys.stdout.write(f"topic {name} is deleted\n")


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for name, sign, _ in pairs:
        if not (name and sign):
            raise typer.BadParameter(f'"{name}" is not KEY=VALUE', param_hint="--config")
    return {name: value for name, _, value in pairs}


def _broker() -> "Broker":
    from headrace.broker.server import embedded_broker

    return embedded_broker()


def _address() -> str:
    from headrace.errors import HeadraceError

    address = _broker().running_address()
    if address is None:
        raise HeadraceError("the broker does not run", hint="Start it with: headrace broker start.")
    return address
