"""An application and two functions go in; its commands are decided, each once, and events and rejections come out."""

import threading
from collections.abc import Callable
from datetime import timedelta

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from headrace.application import Application
from headrace.errors import HeadraceError, JobFailed, PlanError
from headrace.events.clients import ANSWER, Follower, connection, refusal, told
from headrace.events.current import CurrentRows
from headrace.events.decisions import Decide, Evolve, check_functions
from headrace.events.session import Handled, Session
from headrace.events.shape import EventTables, event_tables
from headrace.events.states import States
from headrace.language.mistakes import did_you_mean

__all__ = ["CommandHandler"]

TRANSACTION = timedelta(minutes=1)
"""How long the commands of one transaction may take to decide; readers may have to wait so long after a crash."""
_FENCED = frozenset({KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED})


class CommandHandler:
    """Decides the commands of an application against a view of its events.

    ``decide(state, command)`` returns events or raises Rejected; with a third parameter it is given a function by
    which it sees the state of other entities. ``evolve(state, event)`` returns the state after an event. A state is
    the view's row, brought up to date with the events that the view does not show yet. ``remember`` is how long a
    command that comes again is known; ``notice`` is told of messages that are no commands. Of two handlers with one
    name the later fences the earlier off.
    """

    def __init__(
        self,
        application: Application,
        *,
        decide: Decide,
        evolve: Evolve,
        view: str,
        commands: str = "commands",
        events: str = "events",
        rejections: str = "rejections",
        name: str | None = None,
        remember: timedelta = timedelta(days=7),
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        check_functions(decide, evolve)
        self.tables = event_tables(application.plan, commands, events, rejections)
        _check_view(application, view, self.tables)
        self.name = f"headrace-handler-{name or f'{application.name}-{self.tables.events.name}'}"
        self.handled = Handled()
        self._base = application.directory
        self._functions = (decide, evolve)
        self._notice = notice
        self._view = CurrentRows(application, view, self.tables.events_topic)
        self._states = States(self.tables, self._view, remember, notice)

    def run(self, stopping: threading.Event | None = None, *, once: bool = False) -> Handled:
        """Decide commands until told to stop, or ``once`` until the end of those that are there."""
        tables = self.tables
        with (
            Follower(tables.events.options, self._base, tables.events_topic) as events,
            Follower(tables.rejections.options, self._base, tables.rejections_topic) as rejections,
        ):
            consumer = self._consumer()
            try:
                producer = self._producer()  # first of all: from here on nobody else of this name writes
                session = Session(
                    tables,
                    self._states,
                    self._functions,
                    producer,
                    consumer,
                    events,
                    rejections,
                    self._notice,
                    self.handled,
                )
                session.run(stopping or threading.Event(), once=once)
            except KafkaException as error:
                raise self._failure(error) from error
            finally:
                consumer.close()
                self._view.close()
        return self.handled

    def _producer(self) -> Producer:
        producer = Producer(
            {
                **connection(self.tables.events.options, self._base),
                "transactional.id": self.name,
                "transaction.timeout.ms": int(TRANSACTION.total_seconds() * 1000),
                "linger.ms": 5,
            }
        )
        producer.init_transactions(ANSWER.total_seconds())
        return producer

    def _consumer(self) -> Consumer:
        with told():
            return Consumer(
                {
                    **connection(self.tables.commands.options, self._base),
                    "group.id": self.name,
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "earliest",
                    "isolation.level": "read_committed",
                }
            )

    def _failure(self, error: KafkaException) -> HeadraceError:
        if error.args[0].code() not in _FENCED:
            return refusal(error)
        return JobFailed(
            "another handler has taken over",
            detail=f"Of all with the name {self.name}, the one that started last decides.",
            hint="Nothing is lost: what this one had not committed, the other decides.",
        )


def _check_view(application: Application, view: str, tables: EventTables) -> None:
    outputs = {each.name.lower(): each for each in application.plan.outputs if each.role == "view"}
    found = outputs.get(view.lower())
    if found is None:
        raise PlanError(
            f'the application has no materialised view "{view}"',
            hint=did_you_mean(view, [each.name for each in outputs.values()]),
        )
    if [each.lower() for each in found.key] != [tables.key.lower()] or tables.number not in found.relation.names:
        raise PlanError(
            f'view "{view}" has not one row for each {tables.key}',
            detail="Commands are decided against its rows, and the events after them.",
            hint=f"Group by {tables.key} alone, and add max({tables.number}) AS {tables.number} to its columns.",
            span=found.span,
        )
