"""Somebody who wants to do something costly goes in; they wait for their turn, or are told that they ask too much."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from headrace.server.services.mistakes import TooManyAtOnce

__all__ = ["Turns"]


class Turns:
    """Lets each user do a few things at a time, and a few more wait for a while; nobody waits for another user."""

    def __init__(self, at_once: int = 4, waiting: int = 8, patience: timedelta = timedelta(seconds=10)) -> None:
        self._at_once, self._waiting, self._patience = at_once, waiting, patience.total_seconds()
        self._running: Counter[str] = Counter()
        self._asking: Counter[str] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def of(self, user: str) -> Iterator[None]:
        """Hold a turn until the end of the block; raise if too many of the user's are under way."""
        with self._changed:
            if self._asking[user] >= self._at_once + self._waiting:
                raise TooManyAtOnce(self._at_once)
            self._asking[user] += 1
            try:
                if not self._changed.wait_for(lambda: self._running[user] < self._at_once, self._patience):
                    raise TooManyAtOnce(self._at_once)
                self._running[user] += 1
            except BaseException:
                self._left(self._asking, user)
                raise
        try:
            yield
        finally:
            with self._changed:
                self._left(self._running, user)
                self._left(self._asking, user)
                self._changed.notify_all()

    def _left(self, counter: Counter[str], user: str) -> None:
        counter[user] -= 1
        if not counter[user]:
            del counter[user]
