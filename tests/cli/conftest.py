from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headrace.cli.main import app

APPLICATION = """
CREATE STREAM clicks (at TIMESTAMP, page STRING, WATERMARK FOR at AS at - INTERVAL 5 SECONDS)
  WITH (connector = 'files', path = '${DATA:-clicks}', format = 'json');
CREATE VIEW views AS SELECT page, window_start, count(*) AS n
  FROM TUMBLE(clicks, at, INTERVAL 1 MINUTE) GROUP BY page, window_start;
SELECT * FROM views WHERE n > 1;
SELECT page, count(*) AS n FROM clicks WHERE page <> '<a & "b">' GROUP BY page;
"""


@pytest.fixture
def application(tmp_path: Path) -> Path:
    file = tmp_path / "app.sql"
    file.write_text(APPLICATION, "utf-8")
    return file


@pytest.fixture
def headrace() -> Callable[..., Result]:
    def invoke(*arguments: object, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(app, [str(each) for each in arguments], env=env)

    return invoke
