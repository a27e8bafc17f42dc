"""``headrace try`` without Spark: what it asks of a server, and what it prints."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headrace.server.rest import language
from headrace.server.services.trial import Trial
from headrace.server.services.trying import TriedRow
from support.served import Served


def test_functions_beside_the_file_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[tuple[Trial, object]] = []

    async def rows_of(trial: Trial, _: Path, seconds: int) -> AsyncIterator[TriedRow]:
        found.append((trial, seconds))
        yield TriedRow("insert", (42,))

    monkeypatch.setattr(language, "rows_of", rows_of)
    folder = tmp_path / "some where"
    folder.mkdir()
    (folder / "own.py").write_text("def twice(a):\n    return 2 * a\n")
    text = "CREATE FUNCTION twice(a INT) RETURNS INT LANGUAGE PYTHON AS 'own:twice'; SELECT twice(${N}) AS double;"
    (folder / "a query.sql").write_text(text)
    server = Served(tmp_path)
    try:
        printed = server.run("try", "some where/a query.sql", "--var", "N=21", "--for", "7")
    finally:
        server.end()
    assert json.loads(printed) == {"_change": "insert", "double": 42}
    [(trial, seconds)] = found
    assert (trial.directory, seconds) == (folder, 7)
    assert "twice(21)" in trial.text


def test_who_may_not_submit_the_application_may_not_try_it_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def rows_of(*_: object) -> AsyncIterator[TriedRow]:
        yield TriedRow("insert", (1,))

    monkeypatch.setattr(language, "rows_of", rows_of)
    for name in ("shop", "fraud", "application"):
        (tmp_path / f"{name}.sql").write_text("SELECT 1 AS one;")
    for name in ("card", "folder"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "application.sql").write_text("SELECT 1 AS one;")
    (tmp_path / "a query.sql").write_text("SELECT 1 AS one;")
    server = Served(tmp_path)
    try:
        denied = {"kind": "application", "user": "dora", "actions": ["submit"], "effect": "deny"}
        chief, dora = server.logged_in("chief"), server.visitor("dora", "developer")
        for pattern in ("shop", "card", "application"):
            assert chief.post("/access", {**denied, "pattern": pattern}).status_code == 201
        token = server.with_token(dora).headers["Authorization"].removeprefix("Bearer ")
        for command in ("try", "check", "explain"):
            ask = ("--server", server.url)
            for file in ("shop.sql", "card/application.sql"):
                assert "may not submit" in server.refused(command, file, *ask, HEADRACE_TOKEN=token)
            for file in ("fraud.sql", "folder/application.sql", "a query.sql"):
                server.run(command, file, *ask, HEADRACE_TOKEN=token)
    finally:
        server.end()
