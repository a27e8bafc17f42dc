"""A job goes in; the plan of its version, made once, comes out."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.jobs.jobs import Jobs
from headrace.jobs.model import Job, Version
from headrace.jobs.texts import local_state, plan_text
from headrace.plan.application import Plan
from headrace.views.kept import Kept

__all__ = ["Planned", "Plans"]

MOST = 500


@dataclass(frozen=True, slots=True)
class Planned:
    """A job with the version that counts now and its plan, which nobody may change."""

    job: Job
    version: Version
    plan: Plan

    def kept(self) -> Kept:
        """Return where its views are."""
        root = self.version.state
        local = "://" not in root or root.startswith("file://")
        state = local_state(root, self.job.name) if local else None
        return Kept(Path(self.version.directory), state, self.job.name)


@dataclass(slots=True)
class Plans:
    """Plans by job and version; the newest few hundred are remembered."""

    jobs: Jobs
    _known: "OrderedDict[tuple[str, int], tuple[Version, Plan]]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, job: Job) -> Planned:
        """Return a job with its plan; raise if its text is no longer right, as when a function's file has gone."""
        key = (job.id, job.version)
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
        if found is None:
            version = self.jobs.store.version(job.id, job.version)
            directory = Path(version.directory)
            plan = plan_text(version.text, job.name, directory, version.variables, version.imports)
            found = (version, plan)
            with self._lock:
                self._known[key] = found
                while len(self._known) > MOST:
                    self._known.popitem(last=False)
        return Planned(job, *found)

    def of_all(self, jobs: "list[Job]") -> list[Planned]:
        """Return the plans of those jobs that can be planned."""
        planned = []
        for job in jobs:
            try:
                planned.append(self.of(job))
            except HeadraceError:  # its own page says what is wrong with it
                continue
        return planned
