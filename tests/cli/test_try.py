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
