"""The code's own declarations go in, the pages of docs/reference come out.

``python -m headrace.cli.reference --write docs/reference`` writes the pages, ``--check`` says which
of them no longer tell what the code does.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.connectors.formats import FORMATS
from headrace.connectors.options import OptionField, accepted, option_fields, sql_literal
from headrace.connectors.registry import CONNECTORS, Connector, SinkOptions, StreamOptions, TableOptions

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["PAGES", "Page", "connectors_page", "main", "stale_pages", "write_pages"]

COMMAND = "python -m headrace.cli.reference"
_NOTICE = f"<!-- Written by `{COMMAND}`. Change the code, not this page. -->"


@dataclass(frozen=True, slots=True)
class Page:
    """One generated page: its file name and what writes it."""

    name: str
    render: Callable[[], str]


def connectors_page() -> str:
    """Return the page on connectors: every option of every role, and an example of each."""
    parts = [
        _NOTICE,
        "# Connectors",
        "The option `connector` in the `WITH` clause of a stream, a table or a sink chooses its connector. "
        "Names of options may be written in upper or lower case, and every value may be put in quotes. "
        "An option that is not listed is an error.",
        _overview(),
        "## Every stream",
        _option_table(StreamOptions),
        "## Every table",
        _option_table(TableOptions),
        "## Every sink",
        _option_table(SinkOptions),
    ]
    for connector in CONNECTORS:
        parts += _connector_section(connector)
    parts += [
        "## Formats",
        _table(("format", "is", "carries"), [(f"`{each.name}`", each.doc, each.carries) for each in FORMATS]),
    ]
    return "\n\n".join(parts) + "\n"


PAGES = (Page("connectors.md", connectors_page),)


def write_pages(folder: Path) -> None:
    """Write every page into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        (folder / page.name).write_text(page.render(), encoding="utf-8")


def stale_pages(folder: Path) -> list[Path]:
    """Return the pages in the folder that are missing or differ from what would be written."""
    return [
        folder / page.name
        for page in PAGES
        if not (folder / page.name).is_file() or (folder / page.name).read_text(encoding="utf-8") != page.render()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the pages; the answer is the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="The generated pages of the reference.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", metavar="DIR", type=Path, help="write the pages into this folder")
    action.add_argument("--check", metavar="DIR", type=Path, help="exit 1 if a page there is stale")
    chosen = parser.parse_args(arguments)
    if chosen.write is not None:
        write_pages(chosen.write)
        return 0
    stale = stale_pages(chosen.check)
    for path in stale:
        sys.stderr.write(f"{path} is stale; run: {COMMAND} --write {chosen.check}\n")
    return 1 if stale else 0


def _overview() -> str:
    def mark(yes: object) -> str:
        return "yes" if yes is not None else ""

    rows = [
        (
            f"[`{each.name}`](#{each.name})",
            mark(each.source),
            mark(each.table),
            mark(each.sink),
            ", ".join(f"`{name}`" for name in each.formats),
            (each.guarantee or "") if each.sink is not None else "",
        )
        for each in CONNECTORS
    ]
    return _table(("connector", "stream", "table", "sink", "formats", "a sink promises at most"), rows)


def _connector_section(connector: Connector) -> list[str]:
    parts = [f"## {connector.name}", connector.doc]
    roles = (("stream", connector.source), ("table", connector.table), ("sink", connector.sink))
    for role, kind in roles:
        if kind is not None:
            parts += [f"### As a {role}", kind.__doc__ or "", _option_table(kind)]
    parts += ["### Example", f"```sql\n{connector.example_sql.strip()}\n```"]
    return parts


def _option_table(kind: "type[DataclassInstance]") -> str:
    facts = option_fields(kind)
    if not facts:
        return "No options of its own."
    rows = [
        ("*any other*" if each.rest else f"`{each.name}`", _type(each), _default(each), _meaning(each))
        for each in facts
    ]
    return _table(("option", "type", "default", "meaning"), rows)


def _type(facts: OptionField) -> str:
    if facts.choices:
        return ", ".join(f"`{sql_literal(each)}`" for each in facts.choices)
    return accepted(facts)


def _default(facts: OptionField) -> str:
    if facts.required:
        return "**required**"
    if facts.default in (MISSING, None, ()):
        return ""
    return f"`{sql_literal(facts.default)}`"


def _meaning(facts: OptionField) -> str:
    parts = [facts.doc]
    if facts.needs is not None:
        subject = ", ".join(f"`{sql_literal(each)}`" for each in facts.needs.when)
        values = " or ".join(f"`{sql_literal(each)}`" for each in facts.needs.values)
        parts.append(f"{subject + ' only' if subject else 'Only'} with `{facts.needs.option}` {values}.")
    if facts.secret:
        parts.append("Never shown.")
    if not facts.rest and not facts.choices and facts.example != facts.default:
        parts.append(f"Example: `{facts.assignment}`.")
    return " ".join(parts)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    )


if __name__ == "__main__":
    sys.exit(main())
