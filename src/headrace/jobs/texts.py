"""The text of an application goes in; its plan, and what it has to do with other jobs, come out. No JVM is started."""

import os
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.application import Application
from headrace.catalog.imports import Import
from headrace.catalog.objects import Stream, Table
from headrace.connectors.files.options import FilesSink, FilesSource, FilesTable
from headrace.connectors.kafka.options import KafkaReading, KafkaSink, KafkaSource
from headrace.errors import HeadraceError, PlanError, shallow
from headrace.jobs.model import Version
from headrace.language import fill
from headrace.plan.application import Plan, check_runnable

__all__ = ["feeds", "is_local", "local_state", "plan_text", "planned", "provided_by", "state_root", "used_by"]


def plan_text(
    text: str, name: str, directory: Path, variables: Mapping[str, str], imports: Iterable[Import] = ()
) -> Plan:
    """Return the plan of a text; raise HeadraceError, with the place, for a mistake in it."""
    application = Application(directory=directory, name=name, durable=True).reading(imports)
    application.add(fill(text, f"{name}.sql", ChainMap(dict(variables), dict(os.environ))))
    if not application.plan.outputs:
        raise PlanError(
            "nothing to run",
            detail="The application publishes no rows.",
            hint="Add a CREATE MATERIALIZED VIEW, a CREATE SINK … AS SELECT, or a SELECT.",
        )
    with shallow():
        check_runnable(application.plan)
    return application.plan


def planned(version: Version) -> Plan:
    """Return the plan of a version."""
    name, directory = f"version {version.number}", Path(version.directory)
    return plan_text(version.text, name, directory, version.variables, version.imports)


def state_root(plan: Plan, directory: Path, default: Path) -> str:
    """Return the folder or URL for the state: what SET says, else the job's own."""
    named = plan.settings.state
    if named is None:
        return str(default)
    return named if "://" in named else str(directory / named)


def is_local(root: str) -> bool:
    """Say whether state below a root is on this machine, where Headrace itself can reach it."""
    return "://" not in root or root.startswith("file://")


def local_state(root: str, name: str) -> Path:
    """Return the state folder of an application below a root; raise if it is not on this machine."""
    if not is_local(root):
        raise HeadraceError(
            f"the state of {name} is at {root}, where only Spark can reach it",
            hint="Copy it there with the tools of that store while the job is stopped.",
        )
    return Path(root.removeprefix("file://")) / name


def provided_by(plan: Plan, directory: Path) -> list[str]:
    """Return what the sinks of an application write that others may read: topics and folders."""
    found = []
    for output in plan.outputs:
        options = None if output.sink is None else output.sink.options
        if isinstance(options, KafkaSink) and options.topic:
            found.append(f"topic {_brokers(options.bootstrap_servers)}/{options.topic}")
        elif isinstance(options, FilesSink):
            found.append(f"files {_path(options.path, directory)}")
    return sorted(set(found))


def used_by(plan: Plan, directory: Path) -> list[str]:
    """Return what the streams and tables of an application read that others may write."""
    found = []
    sources: list[Stream | Table] = [*plan.streams.values(), *plan.tables.values()]
    for each in sources:
        options = each.options
        if isinstance(options, KafkaReading):
            brokers = _brokers(options.bootstrap_servers)
            found += [f"topic {brokers}/{topic}" for topic in options.topic or ()]
            if isinstance(options, KafkaSource) and options.topic_pattern is not None:
                found.append(f"topics {brokers}/{options.topic_pattern}")
        elif isinstance(options, FilesSource | FilesTable):
            found.append(f"files {_path(options.path, directory)}")
    return sorted(set(found))


def feeds(provided: str, used: str) -> bool:
    """Say whether what one job writes is what another reads.

    >>> feeds("files /out", "files /out/*.json"), feeds("files /out", "files /outer"), feeds("topic b/x", "topic b/x")
    (True, False, True)
    >>> feeds("topic b/bids-eu", "topics b/bids-.*"), feeds("topic b/bids", "topics b/bids-.*")
    (True, False)
    """
    if provided == used:
        return True
    if provided.startswith("topic ") and used.startswith("topics "):
        brokers, _, topic = provided.removeprefix("topic ").partition("/")
        of, _, pattern = used.removeprefix("topics ").partition("/")
        return brokers == of and re.fullmatch(pattern, topic) is not None
    return provided.startswith("files ") and used.startswith(provided.rstrip("/") + "/")


def _brokers(servers: str | None) -> str:
    named = servers or os.environ.get("HEADRACE_BOOTSTRAP_SERVERS") or "embedded"
    return ",".join(sorted(each.strip() for each in named.split(",")))


def _path(path: str, directory: Path) -> str:
    if re.match(r"[a-z0-9]+://", path):
        return path
    return os.path.normpath(directory / path)
