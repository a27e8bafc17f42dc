"""A plan goes in; what of it can be built beside a job that runs it, and what goes on from its own state, come out."""

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.catalog.objects import Stream
from headrace.connectors.datagen.options import DatagenSource
from headrace.connectors.files.options import FilesSource
from headrace.connectors.kafka.options import KafkaSource
from headrace.errors import HeadraceError
from headrace.jobs.upgrade import Fate, compare
from headrace.plan.application import Output, Plan
from headrace.plan.beginning import sources_of
from headrace.plan.together import queries

__all__ = ["Division", "divided"]

HARMLESS = frozenset({"noop", "memory", "console"})
"""Sinks that two drivers may have at once: what they are given stays in the state, or nowhere."""


@dataclass(frozen=True, slots=True)
class Division:
    """The outputs that a builder runs, and the folders of the queries that keep the state they have."""

    built: tuple[Output, ...]
    kept: tuple[str, ...] = ()


def divided(plan: Plan, running: Plan) -> Division:
    """Return how a plan is built beside the one that runs; raise unless two drivers can do that at once.

    What writes to the outside goes on with the job: a second driver would write there too. So it must be the same in
    both plans, and no view may be one query with it.
    """
    built: list[Output] = []
    kept: list[tuple[str, tuple[Output, ...]]] = []
    for folder, members in queries(plan.outputs):
        outside = [each for each in members if _is_outside(each)]
        if not outside:
            built += members
        elif len(outside) < len(members):
            raise _mixed(members, outside)
        else:
            kept.append((folder, members))
    if not built:
        raise _nothing([each for _, members in kept for each in members])
    for source in sources_of(built):
        twice = isinstance(source.options, KafkaSource | FilesSource | DatagenSource)
        if isinstance(source, Stream) and not twice:
            raise _refused(
                f"Stream {source.name} cannot be read a second time: it is of connector {source.connector}.",
                "Streams from Kafka and from files can be.",
            )
    _check_kept(plan, running, [each for _, members in kept for each in members])
    return Division(tuple(built), tuple(folder for folder, _ in kept))


def _check_kept(plan: Plan, running: Plan, kept: Sequence[Output]) -> None:
    """Raise unless outputs can go on from their state when that lies somewhere else."""
    from headrace.spark.heartbeats import idle_after

    for output in kept:
        for source in sources_of([output]):
            if isinstance(source, Stream) and idle_after(source) is not None:
                raise _refused(
                    f"{_named(output)} reads stream {source.name}, whose watermark follows the clock while no "
                    "row comes: that binds its state to where it is.",
                    "Give it a job of its own; it can read views and streams of this one by name.",
                )
    if plan is running or not kept:
        return
    names = {each.name.lower() for each in kept}
    for change in compare(running, plan).changes:
        if change.output.lower() in names and change.fate is not Fate.KEEPS:
            raise _refused(
                f"{change.output} writes to the outside, and would begin anew: {change.why}.",
                "Upgrade without --beside, or leave it as it was.",
            )


def _is_outside(output: Output) -> bool:
    """Say whether an output writes to where a second driver would write too."""
    if output.view is not None:
        return output.view.store != "sqlite" or output.view.path is not None
    return output.sink is not None and output.sink.connector not in HARMLESS


def _mixed(members: Sequence[Output], outside: Sequence[Output]) -> HeadraceError:
    views = ", ".join(each.name for each in members if each not in outside)
    return _refused(
        f"{views} and {', '.join(each.name for each in outside)} share a source, so they are one query, and two "
        f"drivers would write the same at once: {'; '.join(map(_reason, outside))}.",
        f"Give {', '.join(each.name for each in outside)} a job of its own; it can read {views} by name.",
    )


def _nothing(outside: Sequence[Output]) -> HeadraceError:
    return _refused(
        f"It has nothing that could be: {'; '.join(map(_reason, outside))}.",
        "Restart it fresh instead.",
    )


def _refused(detail: str, hint: str) -> HeadraceError:
    return HeadraceError("the application cannot be rebuilt beside itself", detail=detail, hint=hint)


def _reason(output: Output) -> str:
    if output.sink is not None:
        return f"sink {output.name} writes to {output.sink.connector}"
    return f"view {output.name} is kept outside of the job's state"


def _named(output: Output) -> str:
    return f"{'Sink' if output.sink is not None else 'View'} {output.name}"
