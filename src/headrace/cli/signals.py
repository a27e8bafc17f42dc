"""Ctrl-C and SIGTERM go in, a request to stop between two batches comes out; a second one stops at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

__all__ = ["Stopping", "terminable"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Stopping:
    """Whether the user wants an end; ``told`` is called at the first signal, from the main thread."""

    told: Callable[[], None]
    event: threading.Event = field(default_factory=threading.Event)
    signalled: bool = False

    def listen(self) -> None:
        """Take the signals over; to be called again once Spark has started, which takes Ctrl-C itself."""
        for number in _SIGNALS:
            signal.signal(number, self._handle)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.signalled:
            raise KeyboardInterrupt
        self.signalled = True
        self.event.set()
        self.told()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen for signals, and leave them as they were; one that comes after the end is too late."""
        before = [signal.getsignal(number) for number in _SIGNALS]
        self.listen()
        try:
            yield
        finally:
            for number, handler in zip(_SIGNALS, before, strict=True):
                signal.signal(number, signal.SIG_IGN if self.signalled else handler)


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM end a run as Ctrl-C does, so that nothing is left behind."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
