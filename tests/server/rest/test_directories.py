"""Texts that come with a folder: who may name one, and that functions and paths are looked for there."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headrace.server.rest import language
from headrace.server.services.trial import Trial
from headrace.server.services.trying import TriedRow
from support.rest_server import RestServer, Visitor

TEXT = "CREATE FUNCTION twice(a INT) RETURNS INT LANGUAGE PYTHON AS 'own:twice'; SELECT twice(${N}) AS double;"
ROUTES = ("/check", "/explain", "/try/events")
SEEN = {"/check": '"ok":true', "/explain": "TWICE(21)", "/try/events": '"double":42'}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "own"
    made.mkdir()
    (made / "own.py").write_text("def twice(a):\n    return 2 * a\n")
    return made


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[Trial]:
    """Return what is tried from now on; nothing of it runs."""
    found: list[Trial] = []

    async def rows_of(trial: Trial, *_: object) -> AsyncIterator[TriedRow]:
        found.append(trial)
        yield TriedRow("insert", (42,))

    monkeypatch.setattr(language, "rows_of", rows_of)
    return found


@pytest.mark.parametrize("route", ROUTES)
def test_functions_are_found_in_the_folder(
    server: RestServer, developer: Visitor, folder: Path, trials: list[Trial], route: str
) -> None:
    body = {"text": TEXT, "directory": str(folder), "variables": {"N": "21"}}
    answer = developer.post(route, body)
    assert answer.status_code == 200, answer.text
    assert SEEN[route] in answer.text.replace(": ", ":")
    assert [each.directory for each in trials] == ([folder] if route == "/try/events" else [])
    without = developer.post(route, {**body, "directory": None})
    assert "module own is not found" in without.text


@pytest.mark.parametrize("route", ROUTES)
def test_a_folder_is_named_by_those_who_may_submit(
    server: RestServer, developer: Visitor, admin: Visitor, folder: Path, trials: list[Trial], route: str
) -> None:
    denied = {"effect": "deny", "kind": "application", "pattern": "shop", "user": "dora", "actions": ["submit"]}
    assert admin.post("/access", denied).status_code == 201
    body = {"name": "shop", "text": "SELECT 1 AS double", "directory": str(folder)}
    assert developer.post("/jobs", body).status_code == 403
    assert developer.post(route, body).status_code == 403
    assert trials == []
    assert developer.post(route, {**body, "directory": None}).status_code == 200


@pytest.mark.parametrize("route", ROUTES)
def test_a_folder_that_is_not_there_is_a_mistake(
    server: RestServer, developer: Visitor, folder: Path, trials: list[Trial], route: str
) -> None:
    answer = developer.post(route, {"text": "SELECT 1 AS one", "directory": str(folder / "nowhere")})
    assert (answer.status_code, trials) == (422, [])
    assert answer.json()["title"].endswith("is not there")
