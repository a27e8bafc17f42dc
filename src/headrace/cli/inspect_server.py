"""A text and a server go in; what the server says of it comes out: it knows the views and streams of other jobs."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from headrace.cli.client import Client, connect
from headrace.cli.failures import USER_ERROR, complain
from headrace.cli.inspect import print_json
from headrace.cli.listing import print_lines
from headrace.cli.texts import application_of

__all__ = ["check_on", "explain_on", "try_on"]


def check_on(server: str, file: Path, variables: Mapping[str, str], output: Literal["text", "json"]) -> int:
    """Print whether a server finds an application right, and return the exit code."""
    with connect(server) as client:
        found = client.change("POST", "/check", _text(client, file, variables))
    if output == "json":
        print_json(found)
    else:
        for each in found["diagnostics"]:
            complain(f"{each['severity']}: {each['message']} ({file}:{each['line']}:{each['column']})")
            for part in ("detail", "hint"):
                if each[part] is not None:
                    complain(f"{part}: {each[part]}")
        if found["ok"]:
            sys.stdout.write("ok\n")
    return 0 if found["ok"] else USER_ERROR


def try_on(server: str | None, file: Path, variables: Mapping[str, str], seconds: int, rows: int | None) -> None:
    """Print the rows of an application's last query as a server runs it, without its sinks, as JSON lines."""
    with connect(server) as client:
        body = {**_text(client, file, variables), "seconds": seconds}
        print_lines((data for _, data in client.tried("/try/events", body)), rows)


def explain_on(
    server: str, file: Path, variables: Mapping[str, str], output: Literal["text", "mermaid", "svg", "json"]
) -> None:
    """Print the topology of an application as a server sees it."""
    with connect(server) as client:
        found = client.change("POST", "/explain", _text(client, file, variables))
    if output == "json":
        print_json(found["topology"])
    else:
        sys.stdout.write(found[output] + ("" if found[output].endswith("\n") else "\n"))


def _text(client: Client, file: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return a text as requests have it: with the name that the file would be submitted by, if a job can have it."""
    from headrace.jobs.submission import is_name, name_of

    name = name_of(file)
    return {
        **application_of(client, file),
        "name": name if is_name(name) else None,
        "variables": dict(variables),
    }
