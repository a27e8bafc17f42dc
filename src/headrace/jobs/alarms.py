"""Rules and the figures of jobs go in, look by look; everybody who wants to know is told of the alerts."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from headrace.jobs.alerts import Alert, Memory, evaluate
from headrace.jobs.clock import Clock
from headrace.jobs.metrics import Sample
from headrace.jobs.rules import Rule

__all__ = ["Alarms"]


class Alarms:
    """Rules that are looked at from time to time; what begins or ends is told, and the last of it remembered."""

    def __init__(self, rules: Sequence[Rule], tell: Sequence[Callable[[Alert], None]], clock: Clock) -> None:
        self.rules = tuple(rules)
        self.recent: deque[Alert] = deque(maxlen=500)
        self._tell, self._clock, self._memory = tuple(tell), clock, Memory()

    def look(self, samples: Iterable[Sample]) -> list[Alert]:
        """Return the alerts that begin or end now, after everybody was told."""
        alerts = evaluate(self.rules, samples, self._memory, self._clock.now(), self._clock.passed())
        for alert in alerts:
            self.recent.append(alert)
            for tell in self._tell:
                tell(alert)
        return alerts

    @property
    def firing(self) -> tuple[Alert, ...]:
        """The alerts that hold now."""
        return tuple(self._memory.firing.values())
