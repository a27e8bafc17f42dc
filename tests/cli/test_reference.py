"""The generated pages: current, complete, and said to be stale when they are."""

from pathlib import Path

import pytest

from headrace.cli.reference import PAGES, connectors_page, main, stale_pages
from headrace.connectors.options import option_fields
from headrace.connectors.registry import CONNECTORS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def test_the_pages_in_the_repository_are_current() -> None:
    assert stale_pages(REFERENCE) == [], "run: python -m headrace.cli.reference --write docs/reference"


def test_what_is_written_is_current(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert main(["--write", str(folder)]) == 0
    assert sorted(each.name for each in folder.iterdir()) == sorted(page.name for page in PAGES)
    assert main(["--check", str(folder)]) == 0


def test_a_stale_page_is_named_with_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--write", str(tmp_path)])
    page = tmp_path / "connectors.md"
    page.write_text(page.read_text(encoding="utf-8") + "by hand\n", encoding="utf-8")
    assert main(["--check", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    expected = f"{page} is stale; run: python -m headrace.cli.reference --write {tmp_path}\n"
    assert captured.err == expected


def test_a_missing_page_is_stale(tmp_path: Path) -> None:
    assert main(["--check", str(tmp_path / "nothing")]) == 1


def test_wrong_usage_is_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
    assert "--write" in capsys.readouterr().err


def test_every_option_is_on_the_page() -> None:
    page = connectors_page()
    for connector in CONNECTORS:
        section = page.split(f"\n## {connector.name}\n")[1].split("\n## ")[0]
        assert connector.example_sql.strip() in section
        for kind in (connector.source, connector.table, connector.sink):
            for facts in option_fields(kind) if kind is not None else ():
                assert facts.rest or f"| `{facts.name}` |" in section


def test_tables_have_as_many_cells_as_heads() -> None:
    width = 0
    for line in connectors_page().splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = line.replace("\\|", "").count("|")
        width = width or cells
        assert cells == width, line
