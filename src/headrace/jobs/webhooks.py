"""Alerts go in and are posted to addresses, to each by a thread of its own; whoever gives them never waits."""

import logging
import queue
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

import httpx

from headrace.jobs.alerts import Alert

__all__ = ["Webhooks", "log_alert"]

MOST_WAITING = 1000

_log = logging.getLogger("headrace.alerts")


def log_alert(alert: Alert) -> None:
    """Write an alert into the server's log."""
    place = alert.job if alert.output is None else f"{alert.job}, {alert.output}"
    _log.warning("%s %s: %s: %s", "alert" if alert.firing else "resolved", alert.rule, place, alert.message)


class Webhooks:
    """Posts every alert as JSON to every address; one that does not answer keeps no other from its alerts."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        timeout: timedelta = timedelta(seconds=5),
        delays: Sequence[timedelta] = (timedelta(seconds=1), timedelta(seconds=5), timedelta(seconds=30)),
    ) -> None:
        self._addresses = [_Address(url, timeout, delays) for url in dict.fromkeys(urls)]

    def send(self, alert: Alert) -> None:
        """Take in an alert; what too many wait for already is only logged."""
        for each in self._addresses:
            each.send(alert)

    def close(self, within: timedelta = timedelta(seconds=5)) -> None:
        """Deliver what waits, for a while, and end."""
        deadline = time.monotonic() + within.total_seconds()
        for each in self._addresses:
            each.close_soon()
        for each in self._addresses:
            each.end(max(0.0, deadline - time.monotonic()))


class _Address:
    """Posts alerts to one address, a few times if need be; what cannot be delivered is logged."""

    def __init__(self, url: str, timeout: timedelta, delays: Sequence[timedelta]) -> None:
        self._url, self._delays = url, tuple(delays)
        self._waiting: queue.Queue[Alert | None] = queue.Queue(MOST_WAITING)
        self._closing = threading.Event()
        self._given_up = threading.Event()
        self._client = httpx.Client(timeout=timeout.total_seconds(), follow_redirects=False)
        self._thread = threading.Thread(target=self._deliver_all, name=f"webhook {_host(url)}", daemon=True)
        self._thread.start()

    def send(self, alert: Alert) -> None:
        try:
            self._waiting.put_nowait(alert)
        except queue.Full:
            _log.error("alert %s is not sent to %s: too many wait already", alert.rule, _host(self._url))

    def close_soon(self) -> None:
        """Try nothing a second time from now on, and end after what waits."""
        self._closing.set()
        with suppress(queue.Full):  # then it ends when it is given up
            self._waiting.put_nowait(None)

    def end(self, within: float) -> None:
        self._thread.join(within)
        self._given_up.set()
        self._client.close()

    def _deliver_all(self) -> None:
        while (alert := self._waiting.get()) is not None and not self._given_up.is_set():
            try:
                self._deliver(alert)
            except Exception:  # the next one may be delivered all the same
                _log.exception("alert %s could not be sent", alert.rule)

    def _deliver(self, alert: Alert) -> None:
        reason = ""
        for delay in (*self._delays, None):
            try:
                answer = self._client.post(self._url, json=alert.as_dict())
                if answer.is_success:
                    return
                reason = f"it answered {answer.status_code}"
                if answer.is_client_error and answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
                    break  # it will not like it better the next time
            except httpx.HTTPError as error:
                reason = type(error).__name__
            if delay is None or self._closing.wait(delay.total_seconds()):
                break
        _log.error("alert %s was not delivered to %s: %s", alert.rule, _host(self._url), reason)


def _host(url: str) -> str:
    """Return the host of an address: the rest may be a secret."""
    return httpx.URL(url).host
