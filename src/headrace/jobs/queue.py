"""Jobs that want cores and memory go in; which of them may start, and what the others wait for, come out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.errors import HeadraceError

__all__ = ["Capacity", "Claim", "admit", "check_fits"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The cores and the megabytes of memory that all jobs of a server may use together."""

    cores: int
    memory: int


@dataclass(frozen=True, slots=True)
class Claim:
    """What one job uses, or wants to use."""

    name: str
    cores: int
    memory: int


def check_fits(claim: Claim, capacity: Capacity) -> None:
    """Raise if a job could never start.

    >>> check_fits(Claim("a", 3, 512), Capacity(2, 4096))
    Traceback (most recent call last):
    ...
    headrace.errors.HeadraceError: error: job "a" can never start: it wants 3 cores, and the server has 2
    hint: Ask for less, or give the server more.
    """
    wants = _beyond(claim, capacity)
    if wants is not None:
        raise HeadraceError(
            f'job "{claim.name}" can never start: {wants}', hint="Ask for less, or give the server more."
        )


def admit(waiting: Sequence[Claim], holding: Iterable[Claim], capacity: Capacity) -> list[str | None]:
    """Return for each that waits, first come first, None if it may start now, else what it waits for.

    Nobody is overtaken: a small job behind a large one waits too, so that the large one's turn comes. Only one that is
    too large for the whole server, which had more when it came, holds up nobody.

    >>> admit([Claim("c", 1, 100), Claim("d", 1, 100)], [Claim("a", 1, 100), Claim("b", 1, 100)], Capacity(2, 4096))
    ['waits for 1 core; 2 of 2 are in use by a, b', 'waits behind c']
    """
    held = list(holding)
    verdicts: list[str | None] = []
    blocked: str | None = None
    for claim in waiting:
        wants = _beyond(claim, capacity)
        if wants is not None:
            verdicts.append(f"waits for a larger server: {wants}")
            continue
        if blocked is not None:
            verdicts.append(f"waits behind {blocked}")
            continue
        missing = _missing(claim, held, capacity)
        verdicts.append(missing)
        if missing is None:
            held.append(claim)
        else:
            blocked = claim.name
    return verdicts


def _beyond(claim: Claim, capacity: Capacity) -> str | None:
    """Return what a job wants more of than there is, None if it fits."""
    wants = []
    if claim.cores > capacity.cores:
        wants.append(f"it wants {_cores(claim.cores)}, and the server has {capacity.cores}")
    if claim.memory > capacity.memory:
        wants.append(f"it wants {claim.memory} MB of memory, and the server has {capacity.memory}")
    return " and ".join(wants) or None


def _missing(claim: Claim, held: Sequence[Claim], capacity: Capacity) -> str | None:
    cores, memory = sum(each.cores for each in held), sum(each.memory for each in held)
    missing = []
    if cores + claim.cores > capacity.cores:
        short = min(claim.cores, cores + claim.cores - capacity.cores)
        missing.append(f"{_cores(short)}; {cores} of {capacity.cores} are in use")
    if memory + claim.memory > capacity.memory:
        short = min(claim.memory, memory + claim.memory - capacity.memory)
        missing.append(f"{short} MB of memory; {memory} of {capacity.memory} are in use")
    if not missing:
        return None
    names = sorted(each.name for each in held)
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"waits for {', and for '.join(missing)}{f' by {shown}' if names else ''}"


def _cores(number: int) -> str:
    return "1 core" if number == 1 else f"{number} cores"
