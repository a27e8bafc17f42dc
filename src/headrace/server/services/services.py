"""Settings go in; the database and everything that works on it, put together once, come out."""

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.jobs.alarms import Alarms
from headrace.jobs.alert_book import AlertBook
from headrace.jobs.alerts import Alert
from headrace.jobs.clock import Clock, system_clock
from headrace.jobs.hands import Hands
from headrace.jobs.jobs import Jobs
from headrace.jobs.supervisor import Supervisor
from headrace.jobs.webhooks import Webhooks, log_alert
from headrace.jobs.works import Works
from headrace.records.database import Database
from headrace.server.access.audit import prune, record
from headrace.server.access.control import AccessControl, access_control
from headrace.server.access.decisions import SYSTEM, Target, Who
from headrace.server.access.passwords import Passwords
from headrace.server.access.roles import Action, ObjectKind
from headrace.server.services.alert_rules import AlertRules
from headrace.server.services.alerts import Alerts, read_alerts
from headrace.server.services.applications import Applications
from headrace.server.services.catalog import Catalog
from headrace.server.services.evidence import AlertEvidence
from headrace.server.services.glances import Glances
from headrace.server.services.job_service import JobService
from headrace.server.services.names import Names
from headrace.server.services.once import Once, secret_in
from headrace.server.services.plans import Plans
from headrace.server.services.records import SourceRecords
from headrace.server.services.rejected import ShownRows
from headrace.server.services.surroundings import Surroundings, around_job, around_text
from headrace.server.services.trial import Trial, trial_of
from headrace.server.services.trying import clear_trials
from headrace.server.services.turns import Turns
from headrace.server.services.views import Views
from headrace.server.settings import Settings

__all__ = ["Services", "open_services"]

COMMANDS = 1
"""Planning takes the interpreter, and noting it SQLite's one writer: two at a time were no quicker, others slower."""
STREAMS = 20
"""How many event streams a user may have open: each looks again and again for what is new."""
LOOK_FOR_ALERTS_EVERY = timedelta(seconds=5)
TIDY_UP_EVERY = timedelta(days=1)

_log = logging.getLogger("headrace.server")
_SYSTEM = Target(ObjectKind.SYSTEM)


@dataclass(slots=True)
class Services:
    """All that a server does for those who ask; closed once nobody does any more."""

    settings: Settings
    database: Database
    clock: Clock
    control: AccessControl
    once: Once
    applications: Applications
    jobs: JobService
    names: Names
    plans: Plans
    views: Views
    glances: Glances
    catalog: Catalog
    shown: ShownRows
    alerts: Alerts
    alert_rules: AlertRules
    evidence: AlertEvidence
    records: SourceRecords
    webhooks: Webhooks | None
    commanding: Executor = field(default_factory=lambda: ThreadPoolExecutor(COMMANDS, "commands"))
    """Takes in applications one by one: many at once must not keep others from being answered."""
    streams: Turns = field(default_factory=lambda: Turns(at_once=STREAMS, waiting=0))
    """Held by each answer that lasts."""
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the server ends: whoever follows something ends too."""
    _threads: list[threading.Thread] = field(default_factory=list)
    _supervisor: Supervisor | None = None
    _tidied_after: timedelta | None = None
    """When it was last tidied up, in time that only passes."""

    @property
    def scratch(self) -> Path:
        """The folder that paths of texts without a place of their own are relative to."""
        folder = self.settings.data / "scratch"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    @property
    def trials(self) -> Path:
        """The folder of what trials keep while they run, apart from where texts look for files."""
        return self.settings.data / "trials"

    def around_job(self, who: Who, name: str) -> Surroundings:
        """Return what the text of a job has around it, as far as somebody may use it; nothing if there is no job."""
        return around_job(who, name, self.jobs, self.scratch)

    def around_text(
        self, who: Who, name: str | None, directory: str | None, variables: Mapping[str, str]
    ) -> Surroundings:
        """Return what somebody gives along with the text of an application, or of none yet, if they may."""
        return around_text(who, name, directory, variables, self.control.access, self.scratch)

    def trial(self, who: Who, text: str, around: Surroundings | None = None) -> Trial:
        """Return what is run to try a text, if somebody may; it is code that runs, so it is noted who tries it."""
        self.control.access.require(who, Action.TRY, _SYSTEM)
        given = around or Surroundings(self.scratch)
        made = trial_of(text, given.directory, self.names.resolver(who), given.variables)
        with self.database.transaction() as session:
            record(session, self.clock.now(), who, "application.try", _SYSTEM, {"characters": len(text)})
        return made

    def supervisor(self) -> Supervisor:
        """Return a new supervisor of the jobs."""
        jobs = self.jobs.jobs
        hands = Hands(jobs.folder, self.settings.driver, nice=self.settings.nice)
        works = Works(jobs.store, hands, self.clock)
        return Supervisor(jobs.store, hands, works, self.clock, self.settings.capacity)

    def start(self) -> None:
        """Look after jobs and alerts from now on, each in a thread; raise if another server does."""
        supervisor = self.supervisor()
        supervisor.claim(moved=self.settings.move_data)
        clear_trials(self.trials)
        self._supervisor = supervisor
        self._run("supervisor", lambda: supervisor.run(self.stopping))
        self._run("alerts", lambda: self._look_for_alerts(supervisor))

    def stop(self) -> None:
        """End the threads; jobs live on."""
        self.stopping.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def close(self) -> None:
        """Let go of everything."""
        self.stop()
        self.commanding.shutdown()
        if self.webhooks is not None:
            self.webhooks.close()
        self.database.close()

    def is_ready(self) -> bool:
        """Say whether jobs are looked after."""
        if self._supervisor is None or not self._supervisor.is_at_work or self.stopping.is_set():
            return False
        return all(each.is_alive() for each in self._threads)

    def _run(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _look_for_alerts(self, supervisor: Supervisor) -> None:
        alarms = self.alerts.alarms
        while not self.stopping.wait(LOOK_FOR_ALERTS_EVERY.total_seconds()):
            try:
                if supervisor.is_at_work:
                    alarms.look(self.jobs.samples(SYSTEM))
                else:  # another server may look
                    alarms.forget()
                self.tidy_up()
            except Exception:  # the next look may work
                _log.exception("alerts could not be looked for")

    def tidy_up(self) -> int:
        """Remove what is older than it need be kept, once a day; return how many entries of the audit log went."""
        passed = self.clock.passed()
        if self._tidied_after is not None and passed - self._tidied_after < TIDY_UP_EVERY:
            return 0
        self._tidied_after = passed
        self.alerts.book.tidy(self.clock.now())
        with self.database.transaction() as session:
            return prune(session, self.clock.now(), self.settings.audit_kept)


def open_services(settings: Settings, *, clock: Clock | None = None, passwords: Passwords | None = None) -> Services:
    """Open the database of a server, brought up to date, and put together what works on it."""
    settings.check()
    clock = clock or system_clock()
    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise HeadraceError(f'the folder "{settings.data}" cannot be made', detail=f"{error.strerror}.") from error
    database = Database.open(settings.database_url)
    control = access_control(database, clock.now, passwords)
    applications = Applications(database, control.access, clock.now)
    kept = Jobs(database, settings.data / "jobs", settings.capacity, clock)
    plans = Plans(kept)
    names = Names(kept, plans, control.access)
    jobs = JobService(kept, control.access, applications, names, clock.now)
    file = read_alerts(settings.alerts)
    webhooks = Webhooks(file.webhooks) if file.webhooks else None
    tell: list[Callable[[Alert], None]] = [log_alert]
    if webhooks is not None:
        tell.append(webhooks.send)
    book = AlertBook(database)
    alarms = Alarms(file.rules, tell, clock, book)
    rules = AlertRules(
        file.rules,
        from_file=settings.alerts is not None,
        alarms=alarms,
        database=database,
        access=control.access,
        clock=clock.now,
    )
    views = Views(jobs, plans, control.access, settings.query_limit)
    catalog = Catalog(jobs, plans, control.access)
    shown, alerts = ShownRows(jobs, plans, views, control.access), Alerts(alarms, book, jobs, clock.now)
    return Services(
        settings=settings,
        database=database,
        clock=clock,
        control=control,
        once=Once(database, clock.now, secret_in(settings.data / "requests.key")),
        applications=applications,
        jobs=jobs,
        names=names,
        plans=plans,
        views=views,
        glances=Glances(views),
        shown=shown,
        catalog=catalog,
        alerts=alerts,
        alert_rules=rules,
        evidence=AlertEvidence(alerts, jobs, shown),
        records=SourceRecords(jobs, catalog),
        webhooks=webhooks,
    )
