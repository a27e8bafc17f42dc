"""The console's backend over a real server: what a session may, sees and changes."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.jobs.clock import system_clock
from headrace.jobs.states import State
from headrace.server.access.mistakes import Forbidden
from headrace.server.backend import language, rows
from headrace.server.backend.backend import ServerBackend
from headrace.server.console.backend import Backend, NotSignedIn
from headrace.server.console.values.jobs import RestartOptions, RunOptions
from headrace.server.console.values.people import Entry, Target
from headrace.server.console.values.rows import RowBatch
from headrace.server.services.trial import Trial
from headrace.server.services.trying import TriedRow
from support.job_yard import APPLICATION
from support.rest_server import PASSWORD, RestServer
from support.waiting import PATIENCE


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    made = RestServer(tmp_path)
    yield made
    made.end()


def backend_of(server: RestServer, name: str, role: str) -> ServerBackend:
    return ServerBackend(server.services, server.visitor(name, role).cookies["headrace_session"])


def run(awaited: Any) -> Any:
    return asyncio.run(awaited)


def first(stream: AsyncIterator[Any]) -> Any:
    async def got() -> Any:
        try:
            return await asyncio.wait_for(anext(stream), PATIENCE)
        finally:
            await stream.aclose()  # type: ignore[attr-defined]

    return asyncio.run(got())


def test_it_does_all_that_the_console_asks_for() -> None:
    for name, asked in inspect.getmembers(Backend, inspect.isfunction):
        if not name.startswith("_"):
            given = inspect.signature(getattr(ServerBackend, name))
            assert list(given.parameters) == list(inspect.signature(asked).parameters), name


def test_nobody_is_sent_to_the_log_in(server: RestServer) -> None:
    nobody = ServerBackend(server.services, None)
    for asked in (nobody.me(), nobody.jobs(), nobody.catalog(), nobody.users(), nobody.check("")):
        with pytest.raises(NotSignedIn):
            run(asked)
    with pytest.raises(NotSignedIn):
        first(nobody.logs("shop"))


def test_signing_in_and_out(server: RestServer) -> None:
    server.visitor("dora", "developer")
    secret = run(ServerBackend(server.services, None).sign_in("dora", PASSWORD, "127.0.0.1"))
    dora = ServerBackend(server.services, secret)
    assert run(dora.me()).role == "developer"
    run(dora.sign_out())
    with pytest.raises(NotSignedIn):
        run(dora.me())


def test_a_job_from_the_editor_to_its_end(server: RestServer) -> None:
    dora = backend_of(server, "dora", "developer")
    [wrong] = run(dora.check("SELECT nme FROM nothing"))
    assert (wrong.line, wrong.severity) == (1, "error")
    assert [each.severity for each in run(dora.check(APPLICATION))] == ["warning"]
    assert run(dora.explain(APPLICATION)).graph.nodes
    run(dora.save_application("shop", APPLICATION))
    assert run(dora.submit("shop", APPLICATION, RunOptions())) == "shop"
    [kept] = run(dora.applications())
    assert (kept.name, kept.jobs) == ("shop", ("shop",))
    server.go_until("shop", State.RUNNING)

    [summary] = run(dora.jobs())
    assert (summary.state, summary.health, summary.reason) == ("running", "good", "")
    job = run(dora.job("shop"))
    assert {each.node for each in job.steps} == {node.id for node in job.graph.nodes}
    assert [(each.name, each.kind) for each in job.outputs] == [("totals", "view")]
    assert job.versions[0].text == APPLICATION
    assert {each.name for each in run(dora.catalog())} == {"s", "totals"}

    log = server.jobs.folder_of(server.jobs.show("shop")).log_path
    with log.open("a") as file:
        file.write("2026-11-16 12:00:00,123 WARNING headrace: slow\n")
    [line] = first(dora.logs("shop"))[-1:]
    assert (line.level, line.text[-4:]) == ("WARN", "slow")
    assert line.at is not None

    changed = APPLICATION.replace("sum(v)", "max(v)")
    report = run(dora.upgrade_report("shop", changed))
    assert [(each.name, each.verdict) for each in report.items] == [("totals", "rebuilt")]
    run(dora.upgrade("shop", changed))
    run(dora.stop("shop", savepoint=False))
    server.go_until("shop", State.STOPPED)
    run(dora.delete_job("shop"))
    assert run(dora.jobs()) == []


def test_an_error_is_told_until_the_job_has_got_over_it(server: RestServer) -> None:
    """It does not come and go with each restart."""
    dora = backend_of(server, "dora", "developer")
    run(dora.submit("shop", APPLICATION, RunOptions({"BEHAVE": "crash-once-1"})))
    server.go_until("shop", State.RESTARTING)
    assert str(run(dora.job("shop")).error) == "error: it broke in attempt 1\ndetail: On purpose."
    server.go_until("shop", State.RUNNING)
    assert run(dora.job("shop")).error.message == "it broke in attempt 1"
    server.services.clock = replace(system_clock(), now=lambda: datetime.now(UTC) + timedelta(minutes=2))
    assert run(dora.job("shop")).error is None


def test_rows_and_their_changes(server: RestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    threads, changed = [], rows._changed

    def noted(*given: Any) -> RowBatch:
        threads.append(threading.current_thread())
        return changed(*given)

    monkeypatch.setattr(rows, "_changed", noted)
    dora = backend_of(server, "dora", "developer")
    run(dora.submit("shop", APPLICATION, RunOptions()))
    with server.totals() as totals:
        totals.take([("a", 1), ("b", 2)])
        page = run(dora.view_rows("totals", search="b"))
        assert (page.rows, page.total, page.keys) == ((("b", 2),), 1, ('["b"]',))
        assert run(dora.query("SELECT count(*) AS n FROM totals")).rows == ((2,),)

        async def followed() -> Any:
            changes = dora.changes("totals")
            begun = await anext(changes)
            assert (begun.rows, [each.name for each in begun.columns]) == ((), ["k", "total"])
            await asyncio.to_thread(totals.take, [("a", 3)], [("a", 1)])
            batch = await anext(changes)
            await changes.aclose()
            return batch

        batch = run(followed())
        assert (batch.rows, batch.changes, batch.keys) == ((("a", 3),), ("update",), ('["a"]',))
    assert threads
    assert threading.main_thread() not in threads  # many rows take long, and others wait for the event loop
    with pytest.raises(HeadraceError, match="cannot be tapped"):
        first(dora.tap("s"))


def test_a_viewer_sees_and_changes_nothing(server: RestServer) -> None:
    dora, vera = backend_of(server, "dora", "developer"), backend_of(server, "vera", "viewer")
    run(dora.submit("shop", APPLICATION, RunOptions()))
    assert [job.name for job in run(vera.jobs())] == ["shop"]
    assert not run(vera.may("stop", Target("job", "shop")))
    assert run(dora.may("stop", Target("job", "shop")))
    assert run(vera.may("tap", Target("stream", "s")))
    for refused in (
        vera.submit("other", APPLICATION, RunOptions()),
        vera.stop("shop", savepoint=False),
        vera.upgrade("shop", APPLICATION),
        vera.delete_job("shop"),
        vera.save_application("shop", "x"),
        vera.save_dashboard("shop", "title: x\npanels: []"),
        vera.check("SELECT 1"),
        vera.users(),
        vera.entries(),
        vera.audit(),
    ):
        with pytest.raises(Forbidden):
            run(refused)
    with pytest.raises(Forbidden):
        first(vera.preview("SELECT 1"))


OWN = """
CREATE FUNCTION twice(a INT) RETURNS INT LANGUAGE PYTHON AS 'own:twice';
CREATE STREAM s (a INT, b STRING) WITH (connector = 'files', path = 'in');
SELECT twice(a) AS double FROM s WHERE b IN ('${REGION}', '${API_TOKEN}');
"""


@pytest.fixture
def own(server: RestServer, tmp_path: Path) -> Path:
    """Return the folder of the job ``shop``, whose text has a function, a relative path and variables."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "own.py").write_text("def twice(a):\n    return 2 * a\n")
    values = {"BEHAVE": "run", "REGION": "north", "API_TOKEN": "hush-hush"}
    server.submit(server.visitor("ann", "developer"), text=OWN, directory=str(folder), variables=values)
    return folder


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[Trial]:
    """Return what is tried from now on; nothing of it runs."""
    found: list[Trial] = []

    async def rows_of(trial: Trial, _: Path) -> AsyncIterator[TriedRow]:
        found.append(trial)
        yield TriedRow("insert", (2,))

    monkeypatch.setattr(language, "rows_of", rows_of)
    return found


def test_the_text_of_a_job_is_looked_at_and_tried_with_what_the_job_has(
    server: RestServer, own: Path, trials: list[Trial]
) -> None:
    dora = backend_of(server, "dora", "developer")
    assert run(dora.check(OWN, "shop")) == []
    told = run(dora.explain(OWN, "shop"))
    assert "north" in told.text
    assert "hush" not in f"{told.text} {told.graph}"
    assert any("****" in f"{node}" for node in told.graph.nodes)
    assert first(dora.preview(OWN, "shop")).rows == ((2,),)
    [trial] = trials
    assert trial.directory == own
    assert "'north', 'hush-hush'" in trial.text

    wrong = OWN.replace("path = 'in'", "path = 'in', format = '${API_TOKEN}'")
    [mistake] = run(dora.check(wrong, "shop"))
    assert "****" in f"{mistake}"
    assert "hush" not in f"{mistake}"
    for asked in (dora.explain(wrong, "shop"), anext(dora.preview(wrong, "shop"))):
        with pytest.raises(HeadraceError) as raised:
            run(asked)
        shown = f"{raised.value.message} {raised.value.detail} {raised.value.hint}"
        assert "****" in shown
        assert "hush" not in shown


def test_what_a_job_has_is_for_those_who_may_give_it_another_text(
    server: RestServer, own: Path, trials: list[Trial]
) -> None:
    dora = backend_of(server, "dora", "developer")
    denied = {"effect": "deny", "kind": "job", "pattern": "shop", "user": "dora", "actions": ["upgrade"]}
    assert server.visitor("chief", "admin").post("/access", denied).status_code == 201
    for name in ("shop", "SHOP", "other", "", server.jobs.show("shop").id):
        [mistake] = run(dora.check(OWN, name))
        assert (mistake.message, mistake.line, mistake.hint) == (
            "the variable REGION has no value",
            4,
            "Submit asks for it; write ${NAME:-default} to see here what the text would do.",
        )
    with pytest.raises(HeadraceError, match="the variable API_TOKEN has no value"):
        first(dora.preview("SELECT '${API_TOKEN}' AS token", "shop"))
    with pytest.raises(HeadraceError, match="module own is not found"):
        first(dora.preview(OWN.replace("${", "$${"), "shop"))
    assert trials == []


@pytest.mark.parametrize("quiet", [True, False])
@pytest.mark.parametrize("ending", ["disabled", "demoted", "logged out"])
def test_a_query_that_is_tried_ends_with_the_rights_of_its_user(
    server: RestServer, monkeypatch: pytest.MonkeyPatch, ending: str, quiet: bool
) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def rows_of(*_: object) -> AsyncIterator[TriedRow]:
        begun.set()
        try:
            while True:
                await (asyncio.Event().wait() if quiet else asyncio.sleep(0))
                yield TriedRow("insert", (1,))
        finally:
            ended.set()

    monkeypatch.setattr(language, "rows_of", rows_of)
    monkeypatch.setattr(language, "CHECK_EVERY", 0.01)
    dora, root = backend_of(server, "dora", "developer"), backend_of(server, "root", "admin")

    async def tried() -> None:
        preview = dora.preview("CREATE STREAM s (a INT) WITH (connector = 'memory'); SELECT a FROM s")
        reading = asyncio.ensure_future(_read(preview))
        await begun.wait()
        assert not reading.done()
        match ending:
            case "disabled":
                await root.change_user("dora", active=False)
            case "demoted":
                await root.change_user("dora", role="viewer")
            case "logged out":
                await dora.sign_out()
        await reading

    with pytest.raises(Forbidden if ending == "demoted" else NotSignedIn):
        run(asyncio.wait_for(tried(), PATIENCE))
    assert ended.is_set()


async def _read(stream: AsyncIterator[Any]) -> None:
    async for _ in stream:
        pass


def test_people(server: RestServer) -> None:
    root = backend_of(server, "root", "admin")
    password = run(root.add_user("nina", "viewer"))
    run(root.add_group("ops"))
    run(root.change_user("nina", role="operator", groups=["ops"]))
    [nina] = [each for each in run(root.users()) if each.name == "nina"]
    assert (nina.role, nina.groups, nina.active) == ("operator", ("ops",), True)
    assert run(root.groups())[0].members == ("nina",)
    run(root.add_entry(Entry("", "deny", "group", "ops", "job", "prod-*", "stop, restart")))
    [entry] = run(root.entries())
    assert (entry.grantee, entry.rights) == ("ops", "restart, stop")
    run(root.delete_entry(entry.id))
    made = run(root.add_token("ci", "viewer", timedelta(days=90)))
    assert made.token.id in {each.id for each in run(root.tokens())}
    run(root.revoke_token(made.token.id))
    assert run(root.tokens()) == []
    assert run(root.reset_password("nina")) != password
    run(root.change_user("nina", active=False))
    run(root.delete_group("ops"))
    found = run(root.audit(search="nina")).entries
    assert {"user.create", "user.set_role", "user.disable", "group.add_member"} <= {each.action for each in found}
    assert all("nina" in f"{each.target} {each.detail}" for each in found)
    for search in ("", "nina"):
        everything = run(root.audit(search=search)).entries
        pages, before = [], None
        while not pages or before is not None:
            page = run(root.audit(search=search, before=before, limit=3))
            pages.append(page.entries)
            before = page.older
        assert sum(pages, ()) == everything
        assert {len(each) for each in pages[:-1]} == {3}


def test_dashboards(server: RestServer) -> None:
    dora = backend_of(server, "dora", "developer")
    with pytest.raises(HeadraceError, match="no panel of kind"):
        run(dora.save_dashboard("shop", "title: Shop\npanels:\n- {kind: pie, title: T, query: SELECT 1}"))
    run(dora.save_dashboard("shop", "title: Shop\npanels: []"))
    [kept] = run(dora.dashboards())
    assert (kept.name, kept.title, kept.panels) == ("shop", "Shop", 0)
    assert run(dora.dashboard("shop")) == "title: Shop\npanels: []"
    seen = run(dora.dashboard("shop"))
    run(backend_of(server, "dan", "developer").save_dashboard("shop", "title: Dan's\npanels: []", expected=seen))
    for expected in (seen, ""):
        with pytest.raises(HeadraceError, match="no longer as you have seen it") as raised:
            run(dora.save_dashboard("shop", "title: Dora's\npanels: []", expected=expected))
        assert (raised.value.detail or "").startswith("dan changed it at ")
    assert run(dora.dashboard("shop")) == "title: Dan's\npanels: []"


def test_it_tells_when_users_were_last_seen_and_deletes_them(server: RestServer) -> None:
    admin = backend_of(server, "chief", "admin")
    first = run(admin.add_user("ann", "viewer"))
    assert first
    seen = {each.name: each.last_seen_at for each in run(admin.users())}
    assert seen["ann"] is None
    assert abs((seen["chief"] - server.services.clock.now()).total_seconds()) < 300
    run(admin.sign_out())
    again = ServerBackend(server.services, server.logged_in("chief").cookies["headrace_session"])
    assert {each.name: each.last_seen_at for each in run(again.users())}["chief"] is not None
    run(again.delete_user("ann"))
    assert [each.name for each in run(again.users())] == ["chief"]


def test_it_submits_with_options_starts_fresh_and_deletes_savepoints(server: RestServer) -> None:
    developer = backend_of(server, "dora", "developer")
    options = RunOptions({"BEHAVE": "run"}, cores=2, memory=700)
    assert run(developer.submit("shop", APPLICATION, options)) == "shop"
    server.go_until("shop", State.RUNNING)
    job = server.jobs.show("shop")
    assert (job.cores, job.memory) == (2, 700)
    assert server.jobs.versions(job.id)[0].variables == {"BEHAVE": "run"}
    made = run(developer.make_savepoint("shop"))
    server.go_until("shop", State.RUNNING)
    run(developer.stop("shop", savepoint=False))
    server.go_until("shop", State.STOPPED)
    assert [each.id for each in run(developer.job("shop")).savepoints] == [made]
    run(developer.delete_savepoint("shop", made))
    assert run(developer.job("shop")).savepoints == ()
    run(developer.restart("shop", RestartOptions(fresh=True)))
    assert server.jobs.show("shop").pending == {"kind": "fresh", "from": 1}
