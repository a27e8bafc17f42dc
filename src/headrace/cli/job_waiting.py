"""A job that was asked for something goes in; how it is, once it is so if that is waited for, comes out on stdout."""

import sys
import time
from typing import Any

from headrace.cli.client import Client
from headrace.errors import JobFailed

__all__ = ["FINAL", "rebuilt", "told"]

POLL = 0.3
FINAL = {"stopped", "finished", "failed"}


def told(client: Client, job: dict[str, Any], wait: bool, wanted: set[str], after: int = 0) -> None:
    """Print how a job is, if that is to be waited for once it is as wanted, in an attempt after one, or has ended."""
    while wait and not (job["state"] in wanted and job["attempt"] > after):
        if job["state"] in FINAL and job["wanted"] != "restart":
            _check_ended_well(job, wanted)
            break
        time.sleep(POLL)
        job = client.get(f"/jobs/{job['id']}")
    sys.stdout.write(f"job {job['name']} is {job['state']}: {job['reason']}\n")


def _check_ended_well(job: dict[str, Any], wanted: set[str]) -> None:
    """Raise if a job has failed, or was stopped, and that is not what was wanted."""
    if job["state"] == "finished" or job["state"] in wanted:
        return
    error = (job["error"] if job["state"] == "failed" else None) or {}
    raise JobFailed(
        f"job {job['name']} {'failed' if job['state'] == 'failed' else 'was stopped'}: "
        f"{error.get('message') or job['reason']}",
        detail=error.get("detail"),
        hint=error.get("hint"),
    )


def rebuilt(client: Client, job: str, wait: bool, version: int = 0) -> None:
    """Print how far a rebuild of a version is, once it is over if that is to be waited for."""
    while True:
        found = client.get(f"/jobs/{job}/rebuild")
        if found is None or found["phase"] in {"swapped", "cancelled"}:
            swapped = version and client.get(f"/jobs/{job}")["version"] > version
            sys.stdout.write(f"job {job} {'has the rebuilt state' if swapped else 'is not being rebuilt'}\n")
            return
        if found["phase"] == "failed":
            error = found["error"] or {}
            raise JobFailed(
                f"the rebuild of {job} failed: {error.get('message') or found['reason']}",
                detail=error.get("detail"),
                hint=error.get("hint"),
            )
        if not wait:
            behind = "" if found["behind"] is None else f", {found['behind']} messages behind"
            sys.stdout.write(f"the rebuild of {job} is {found['phase']}: {found['reason']}{behind}\n")
            return
        time.sleep(POLL)
