"""What a supervisor does in the world: a job goes in; processes, signals and files are the effect.

Every deed may be done twice, and may end half done, without a second driver coming to be: the lock of a job's folder is
taken before the process is made and passes on to it, so there is no moment in which two could think that they have it.
"""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil

from headrace.jobs import processes
from headrace.jobs.decisions import Wanted
from headrace.jobs.folder import Driver, JobFolder, Launch, Outcome, write_whole
from headrace.jobs.model import Job, Version
from headrace.jobs.observation import Sight, look
from headrace.jobs.queue import Claim
from headrace.jobs.reports import Cause, Report

__all__ = ["DRIVER", "Hands"]

DRIVER = (sys.executable, "-P", "-m", "headrace.jobs.driver")


class Hands:
    """The deeds of one server on one machine; ``root`` holds a folder for each job."""

    def __init__(
        self,
        root: Path,
        command: Sequence[str] = DRIVER,
        environment: Mapping[str, str] | None = None,
        *,
        nice: int = 0,
    ) -> None:
        self.root = root.resolve()  # as drivers know it, and mark what they start with it
        self._nice = nice
        self._command = tuple(command)
        self._environment = dict(os.environ if environment is None else environment)
        if path := self._environment.get("PYTHONPATH"):  # drivers run in their own folders
            self._environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(each) for each in path.split(os.pathsep))
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._pushing: set[int] = set()
        """Those that were to give way, but that could not be told so yet."""

    def folder(self, job_id: str) -> JobFolder:
        """Return the folder of a job."""
        return JobFolder(self.root / job_id)

    def look(self, job: Job) -> Sight:
        """Return what is seen of a job."""
        return look(self.folder(job.id))

    def held(self, job: Job) -> Claim:
        """Return what a job has: until its driver has ended also what that was given, if the next is to have less."""
        claim = job.claim()
        if job.wanted is Wanted.RUN:
            return claim
        try:
            given = self.folder(job.id).launch()
        except OSError:  # which a look at it tells
            return claim
        if given is None:
            return claim
        return Claim(claim.name, max(claim.cores, given.cores), max(claim.memory, given.memory))

    def launch(self, job: Job, version: Version, attempt: int) -> bool:
        """Start the driver of an attempt; False if a driver lives or this attempt was started before."""
        folder = self.folder(job.id).make()
        directory = Path(version.directory)
        if directory.parent.parent == self.root:  # the application names none; a builder may come before its job
            JobFolder(directory.parent).make()
            directory.mkdir(mode=0o700, exist_ok=True)
        lock = folder.take_lock()
        if lock is None:
            return False
        try:
            last = folder.driver()
            if last is not None and last.attempt == attempt:
                return False
            write_whole(folder.application_path, version.text, durable=True)
            folder.write_launch(
                Launch(
                    attempt=attempt,
                    name=job.application,
                    application=str(folder.application_path),
                    directory=version.directory,
                    state=version.state,
                    variables=version.variables,
                    master=job.master,
                    cores=job.cores,
                    memory=job.memory,
                    has_run=job.ran_version == version.number,
                    version=version.number,
                    imports=tuple(each.as_dict() for each in version.imports),
                    beside=job.rebuild is not None,
                    only=tuple((job.rebuild or {}).get("only", ())),
                )
            )
            self._start(folder, attempt, lock)
        finally:
            os.close(lock)
        return True

    def _start(self, folder: JobFolder, attempt: int, lock: int) -> None:
        log = os.open(folder.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            child = subprocess.Popen(
                [*self._command, str(folder.path), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder.path,
                env={**self._environment, processes.MARK: str(folder.path)},
                pass_fds=(lock,),
                start_new_session=True,
            )
        except OSError as error:
            said = Report("the driver could not be started", detail=f"{error.strerror}.")
            folder.write_driver(Driver(attempt, 0, 0.0))
            folder.write_outcome(Outcome(attempt, "failed", datetime.now(UTC), Cause.FAILURE, said))
            return
        finally:
            os.close(log)
        self._children[child.pid] = child
        if self._nice and not processes.give_way(child.pid, self._nice):
            self._pushing.add(child.pid)
        # the driver notes this too: whoever dies first, the other has done it
        folder.write_driver(processes.identity(child.pid, attempt) or Driver(attempt, child.pid, 0.0))

    def ask_to_stop(self, job: Job, attempt: int) -> None:
        """Put a request to stop into the folder."""
        self.folder(job.id).ask("stop", attempt)

    def terminate(self, job: Job) -> None:
        """Send the driver a signal to stop."""
        driver = self.folder(job.id).driver()
        if driver is not None:
            processes.terminate(driver)

    def kill(self, job: Job) -> None:
        """End the driver and all that it started."""
        folder = self.folder(job.id)
        driver = folder.driver()
        if driver is not None and processes.is_alive(driver):
            processes.kill(driver)
            return
        for process in processes.remains(folder.path):  # it holds the lock, but who it is was never noted
            with suppress(psutil.Error):
                process.kill()

    def end_remains(self, job: Job) -> None:
        """End what a dead driver left running, before its state is touched: a Java without its driver may write on."""
        processes.end_remains(self.folder(job.id).path)

    def remove(self, job: Job) -> None:
        """Delete the folder of a job that is no more; it is put aside first, so that no half of it can be met."""
        folder = self.folder(job.id).path
        gone = self.root / f".gone-{job.id}-{secrets.token_hex(4)}"
        with suppress(FileNotFoundError):
            os.rename(folder, gone)
        for each in self.root.glob(f".gone-{job.id}-*"):
            shutil.rmtree(each, ignore_errors=True)

    def reap(self) -> None:
        """Let the system forget the drivers that have ended, so that they are no zombies."""
        for pid, child in list(self._children.items()):
            if child.poll() is not None:
                del self._children[pid]
        for pid in list(self._pushing):
            if pid not in self._children or processes.give_way(pid, self._nice):
                self._pushing.discard(pid)

    def let_go(self) -> None:
        """Leave the drivers to themselves: they live on without us."""
        for child in self._children.values():
            if child.poll() is None:
                child.returncode = 0  # it is nobody's child any more; Python would warn of it otherwise
        self._children.clear()
