"""A WITH clause in, its options with their true places out, without the parser."""

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headrace.errors import Source, Span
from headrace.language.statements import Option, OptionValue

WithClause = Callable[[str], tuple[tuple[Option, ...], Span]]


def _value(text: str) -> OptionValue:
    if text.startswith("'"):
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    return float(text) if "." in text else int(text)


@pytest.fixture
def with_clause() -> WithClause:
    """Return a function from ``a = 'b', c = 5`` to options and the place of the stream's name."""

    def read(clause: str) -> tuple[tuple[Option, ...], Span]:
        start = "CREATE STREAM events WITH ("
        source = Source("app.sql", f"{start}{clause})")
        options = tuple(
            Option(
                match[1],
                _value(match[2]),
                Span(source, *match.span(1)),
                Span(source, *match.span(2)),
            )
            for match in re.compile(r"(\w+)\s*=\s*('[^']*'|[\w.+-]+)").finditer(source.text, len(start))
        )
        return options, Span(source, 14, 20)

    return read


def _registry_server() -> ModuleType:
    """Return tests/registry_server.py, which no import path leads to in pytest's importlib mode."""
    name = "headrace_tests_registry_server"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "registry_server.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture
def open_schema_registry() -> Callable[..., Any]:
    """Return the context manager that runs a schema registry, for tests that want a user or several of them."""
    return _registry_server().open_schema_registry  # type: ignore[no-any-return]


@pytest.fixture
def schema_registry(open_schema_registry: Callable[..., Any]) -> Iterator[Any]:
    """Give a running schema registry: its ``url``, and ``register(subject, schema)``."""
    with open_schema_registry() as registry:
        yield registry
