"""The check at the end of these tests sees what failed in a page, and only that."""

from server.console.conftest import failures_in

FAILED = """\
Traceback (most recent call last):
  File "/somewhere/headrace/server/console/layout.py", line 59, in build
    await builder(*args, **kwargs)
ValueError: no such thing
"""
LEFT = """\
An element has been deleted but is still being used.
Stack (most recent call last):
  File "/somewhere/headrace/server/console/pages/job.py", line 97, in refresh
    self.under.text = text
Traceback (most recent call last):
  File "/somewhere/uvicorn/protocols/http.py", line 1, in run
    raise ClientDisconnected
ClientDisconnected
"""


def test_a_failure_of_a_page_is_seen_and_a_browser_that_left_is_not() -> None:
    assert failures_in(f"a page of the console failed\n{FAILED}{LEFT}") == [FAILED.rstrip("\n")]
    assert failures_in(LEFT) == []
