"""The windows that rows are put into: sizes go in, panes and overlaps come out."""

from dataclasses import dataclass
from datetime import timedelta
from math import gcd

from headrace.errors import PlanError

ZERO = timedelta(0)


def micros(duration: timedelta) -> int:
    """Return a duration as whole microseconds, the resolution of Spark's timestamps."""
    return duration // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Tumble:
    """Windows of one size, side by side."""

    size: timedelta
    offset: timedelta = ZERO

    def __post_init__(self) -> None:
        if self.size <= ZERO:
            raise PlanError(f"window size {self.size} is not positive")


@dataclass(frozen=True, slots=True)
class Hop:
    """Windows of one size, opened at a fixed slide.

    >>> hop = Hop(size=timedelta(minutes=10), slide=timedelta(minutes=4))
    >>> hop.overlap, hop.pane
    (3, datetime.timedelta(seconds=120))
    """

    size: timedelta
    slide: timedelta
    offset: timedelta = ZERO

    def __post_init__(self) -> None:
        if not ZERO < self.slide <= self.size:
            raise PlanError(
                f"hop slide {self.slide} is outside (0, {self.size}]",
                hint="Choose a slide no longer than the size; HOP takes the slide first, then the size.",
            )

    @property
    def overlap(self) -> int:
        """The most windows that one row can belong to; state grows by this factor."""
        return -(-self.size // self.slide)

    @property
    def pane(self) -> timedelta:
        """The longest piece of time that no window's edge cuts."""
        return timedelta(microseconds=gcd(micros(self.size), micros(self.slide)))


@dataclass(frozen=True, slots=True)
class Session:
    """Windows that end when nothing has come for the gap."""

    gap: timedelta

    def __post_init__(self) -> None:
        if self.gap <= ZERO:
            raise PlanError(f"session gap {self.gap} is not positive")


@dataclass(frozen=True, slots=True)
class Cumulate:
    """Windows that share a start and grow by a step up to a size.

    >>> Cumulate(size=timedelta(minutes=6), step=timedelta(minutes=2)).overlap
    3
    """

    size: timedelta
    step: timedelta
    offset: timedelta = ZERO

    def __post_init__(self) -> None:
        if not ZERO < self.step <= self.size or self.size % self.step != ZERO:
            raise PlanError(
                f"cumulate size {self.size} is not a multiple of its step {self.step}",
                hint="CUMULATE takes the step first, then the size, for example 1 minute and 1 hour.",
            )

    @property
    def overlap(self) -> int:
        """The most windows that one row can belong to."""
        return self.size // self.step

    @property
    def pane(self) -> timedelta:
        """The piece of time that no window's edge cuts."""
        return self.step


Window = Tumble | Hop | Session | Cumulate
