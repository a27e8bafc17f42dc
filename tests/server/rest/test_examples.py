"""OpenAPI shows an example of every body and of every answer, and each is as its schema and its model have it."""

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel

from headrace.server.rest import models, problems, system
from headrace.server.rest.models.fields import APPLICATION, Page, Wish
from support.rest_server import RestServer, Visitor

JSON = "application/json"
MODULES = [import_module(f"{models.__name__}.{each.name}") for each in pkgutil.iter_modules(models.__path__)]
MODELS = {
    each.__name__: each
    for module in [*MODULES, problems, system]
    for _, each in inspect.getmembers(module, inspect.isclass)
    if issubclass(each, BaseModel) and each not in {BaseModel, Page, Wish}
}


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    made = RestServer(tmp_path_factory.mktemp("examples"))
    yield made.app.openapi()
    made.end()


def test_every_body_and_every_answer_has_an_example(described: dict[str, Any]) -> None:
    bodies, answers = dict(_bodies(described)), dict(_answers(described))
    assert len(bodies) > 15
    assert len(answers) > 50
    without = [name for name, media in (bodies | answers).items() if not _is_shown(described, media)]
    assert without == []


def test_every_example_is_as_its_schema_has_it(described: dict[str, Any]) -> None:
    count = 0
    for place, schema in _schemas(described, "#"):
        count += len(schema["examples"])
        check = jsonschema_rs.Draft202012Validator(
            {**schema, "components": described["components"]}, validate_formats=True
        )
        wrong = [error.message for each in schema["examples"] for error in check.iter_errors(each)]
        assert wrong == [], place
    assert count > 60


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_example_is_as_its_model_has_it(name: str) -> None:
    model = MODELS[name]
    examples = model.model_json_schema().get("examples", [])
    assert examples != [] or name in {"Place", "InvalidField"}  # parts of a problem, which has one
    for each in examples:
        read = model.model_validate(each)
        told = read.model_dump(mode="json", exclude_unset=issubclass(model, Wish) or model is problems.Problem)
        assert told == each  # an answer shows all its fields


def test_the_text_of_the_examples_is_right(server: RestServer, developer: Visitor) -> None:
    assert developer.post("/check", {"text": APPLICATION}).json()["ok"] is True


def test_what_has_no_example_is_found(described: dict[str, Any]) -> None:
    fields = {"a": {"type": "string"}, "b": {"type": "integer", "examples": [1]}}
    assert not _is_shown(described, {"schema": {"type": "object", "properties": fields}})
    assert not _is_shown(described, {"schema": {"type": "array", "items": fields["a"]}})
    assert not _is_shown(described, {"schema": {}})
    assert _is_shown(described, {"schema": {"type": "object", "properties": {"b": fields["b"]}}})


def _bodies(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, operation in _operations(described):
        for kind, media in operation.get("requestBody", {}).get("content", {}).items():
            if kind == JSON:
                yield f"{name}: body", media


def _answers(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, operation in _operations(described):
        for status, answer in operation["responses"].items():
            for kind, media in answer.get("content", {}).items():
                if kind == JSON and status.startswith("2"):
                    yield f"{name}: {status}", media


def _operations(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _is_shown(described: dict[str, Any], part: dict[str, Any]) -> bool:
    """Say whether a body, an answer or a schema has an example: of its own, or of all that it consists of."""
    if part.get("example") is not None or part.get("examples"):
        return True
    if "schema" in part:
        return _is_shown(described, part["schema"])
    if "$ref" in part:
        return _is_shown(described, described["components"]["schemas"][Path(part["$ref"]).name])
    if "anyOf" in part:
        return any(_is_shown(described, each) for each in part["anyOf"])
    if "items" in part:
        return _is_shown(described, part["items"])
    fields = part.get("properties", {})
    return bool(fields) and all(_is_shown(described, each) for each in fields.values())


def _schemas(part: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the schemas that have examples, each with its place."""
    if isinstance(part, list):
        for number, each in enumerate(part):
            yield from _schemas(each, f"{place}/{number}")
    elif isinstance(part, dict):
        if isinstance(part.get("examples"), list):
            yield place, part
        for name, each in part.items():
            if name != "examples":
                yield from _schemas(each, f"{place}/{name}")
