"""Commands go in, one after the other; events, rejections and the states that they lead to come out."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import HeadraceError, JobFailed

__all__ = ["COMMAND_ID", "Decided", "Deciding", "Decision", "Rejected", "check_functions", "decide_all"]

COMMAND_ID = "command_id"
"""The column of commands, events and rejections that names the command."""

Row = dict[str, Any]
State = dict[str, Any]
Look = Callable[[Any], State | None]
Decide = Callable[..., Iterable[Mapping[str, Any]]]
Evolve = Callable[[State | None, Row], State]


class Rejected(Exception):
    """A command that is refused, and why; raised by ``decide``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one command: the events that it led to, or the reason why it is refused."""

    command: Row
    events: tuple[Row, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of several commands, and the state of each entity after them."""

    decisions: tuple[Decision, ...]
    states: Mapping[Any, State]

    @property
    def events(self) -> list[Row]:
        """All events, in the order of the commands."""
        return [event for each in self.decisions for event in each.events]

    @property
    def rejections(self) -> list[tuple[Row, str]]:
        """The commands that were refused, each with the reason."""
        return [(each.command, each.reason) for each in self.decisions if each.reason is not None]


def decide_all(
    commands: Iterable[Mapping[str, Any]],
    decide: Decide,
    evolve: Evolve,
    *,
    key: str,
    number: str = "number",
    states: Mapping[Any, State] | None = None,
) -> Decided:
    """Decide commands in memory, as a handler would; ``key`` is the column that names the entity.

    >>> def decide(state, command):
    ...     if command["n"] > 9:
    ...         raise Rejected("too much")
    ...     return [{"added": command["n"]}]
    >>> def evolve(state, event):
    ...     return {"sum": (state["sum"] if state else 0) + event["added"]}
    >>> commands = [{"box": "a", "command_id": str(n), "n": n} for n in (3, 4, 10)]
    >>> decided = decide_all(commands, decide, evolve, key="box")
    >>> decided.states["a"], [reason for _, reason in decided.rejections]
    ({'sum': 7, 'number': 2}, ['too much'])
    """
    known = dict(states or {})
    deciding = Deciding(key, number, decide, evolve, known.get)
    decisions: list[Decision] = []
    seen: set[tuple[Any, Any]] = set()
    for command in commands:
        named = (command[key], command.get(COMMAND_ID))
        if named[1] is None or named not in seen:  # one that comes again has its answer
            seen.add(named)
            decisions.append(deciding(command))
    return Decided(tuple(decisions), {**known, **deciding.states})


@dataclass(slots=True)
class Deciding:
    """Decides commands in their order; each sees what those before it have led to.

    ``look`` gives the state of an entity before the first of them; ``shape`` makes an event look as it will when it is
    read again.
    """

    key: str
    number: str
    decide: Decide
    evolve: Evolve
    look: Look
    shape: Callable[[Row], Row] = dict
    states: dict[Any, State] = field(default_factory=dict)
    _whole: bool = False

    def __post_init__(self) -> None:
        self._whole = takes_states(self.decide)

    def state_of(self, entity: Any) -> State | None:
        """Return the state of an entity as it is now, the caller's to change."""
        if entity not in self.states:
            found = self.look(entity)
            if found is None:
                return None
            self.states[entity] = found
        return dict(self.states[entity])

    def __call__(self, command: Mapping[str, Any]) -> Decision:
        """Decide one command; nothing changes if it is refused or if deciding it fails."""
        entity = command[self.key]
        given = dict(command)
        others = (self.state_of,) if self._whole else ()
        try:
            wanted = list(self.decide(self.state_of(entity), dict(command), *others))
        except Rejected as refused:
            return Decision(given, reason=refused.reason)
        except HeadraceError:
            raise
        except Exception as error:
            raise _failed("decide", error, given) from error
        before = dict(self.states)
        try:
            events = tuple(self._happened(event, given) for event in wanted)
        except BaseException:
            self.states = before
            raise
        return Decision(given, events)

    def _happened(self, event: Mapping[str, Any], command: Row) -> Row:
        entity = event.get(self.key, command[self.key])
        state = self.state_of(entity)
        number = 1 + ((state or {}).get(self.number) or 0)
        own = {self.key: entity, self.number: number, COMMAND_ID: command.get(COMMAND_ID)}
        whole = self.shape({**event, **own})
        self.states[entity] = folded(state, whole, self.evolve, self.number)
        return whole


def folded(state: State | None, event: Row, evolve: Evolve, number: str) -> State:
    """Return the state after an event; it always says how many events are in it."""
    try:
        after = dict(evolve(state, dict(event)))
    except Exception as error:
        raise _failed("evolve", error, event) from error
    return {**after, number: event[number]}


def check_functions(decide: Any, evolve: Any) -> None:
    """Raise if decide or evolve cannot be called as they will be."""
    for name, function, counts in (("decide", decide, (2, 3)), ("evolve", evolve, (2,))):
        if not callable(function) or _arguments(function) not in counts:
            raise HeadraceError(
                f"{name} is not a function of {' or '.join(map(str, counts))} arguments",
                hint="Write decide(state, command) or decide(state, command, state_of), and evolve(state, event).",
            )


def takes_states(decide: Decide) -> bool:
    """Say whether a function wants to see the states of other entities too."""
    return _arguments(decide) == 3


def _arguments(function: Callable[..., Any]) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return sum(each.kind in kinds and each.default is inspect.Parameter.empty for each in parameters)


def _failed(function: str, error: Exception, subject: Row) -> JobFailed:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    line = f" in line {place.tb_lineno} of {place.tb_frame.f_code.co_filename}" if place is not None else ""
    return JobFailed(
        f"{function} failed on command {subject.get(COMMAND_ID)}",
        detail=f"{type(error).__name__}: {error}{line}.",
        hint="Mend the function and start again: the command is still to be decided.",
    )
