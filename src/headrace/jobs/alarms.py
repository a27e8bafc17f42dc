"""Rules and the figures of jobs go in, look by look; everybody who wants to know is told of the alerts."""

from collections.abc import Callable, Iterable, Sequence

from headrace.jobs.alert_book import AlertBook
from headrace.jobs.alerts import Alert, Memory, evaluate, resumed
from headrace.jobs.clock import Clock
from headrace.jobs.metrics import Sample
from headrace.jobs.rules import Rule

__all__ = ["Alarms"]


class Alarms:
    """Rules that are looked at from time to time; what begins or ends is told, and noted in a book.

    The first look goes on from the alerts that stand there as if this had told them itself.
    """

    def __init__(
        self, rules: Sequence[Rule], tell: Sequence[Callable[[Alert], None]], clock: Clock, book: AlertBook
    ) -> None:
        self.rules = tuple(rules)
        self._tell, self._clock, self._book = tuple(tell), clock, book
        self._memory: Memory | None = None
        self._to_note: list[Alert] = []

    def look(self, samples: Iterable[Sample]) -> list[Alert]:
        """Return the alerts that begin or end now, after everybody was told.

        What cannot be noted is noted at the next look; who is killed between telling and noting tells it twice.
        """
        self._note()
        if self._memory is None:
            self._memory = resumed(self._book.open(), self._clock.passed())
        alerts = evaluate(self.rules, samples, self._memory, self._clock.now(), self._clock.passed())
        self._to_note += alerts
        for alert in alerts:
            for tell in self._tell:
                tell(alert)
        self._note()
        return alerts

    @property
    def firing(self) -> tuple[Alert, ...]:
        """The alerts that hold now; before the first look, those that held when somebody looked last."""
        memory = self._memory
        return tuple(self._book.open()) if memory is None else tuple(memory.firing.values())

    def forget(self) -> None:
        """Forget what was seen: another server may look now, and the next look goes on from what that has noted."""
        self._memory = None

    def _note(self) -> None:
        if self._to_note:
            self._book.note(self._to_note)
            self._to_note.clear()
