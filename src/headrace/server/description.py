"""A web application goes in; the description of its interface, as OpenAPI has it, comes out."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from headrace.server.rest.problems import Problem

__all__ = ["description"]

_PLACE = "#/components/schemas/"


def description(app: FastAPI) -> dict[str, Any]:
    """Return the description of an interface, with problem details in place of FastAPI's own errors."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas = found["components"]["schemas"]
        problem = Problem.model_json_schema(ref_template=f"{_PLACE}{{model}}")
        schemas.update(problem.pop("$defs", {}))
        schemas["Problem"] = problem
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        for schema in schemas.values():
            for each in schema.get("examples", ()):
                _put_back_nulls(each, schema, schemas)
        app.openapi_schema = found
    return app.openapi_schema


def _put_back_nulls(example: Any, schema: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Give an example the fields that it must have; FastAPI leaves out those that are null.

    >>> example = {"items": [{"id": 1}]}
    >>> item = {"required": ["id", "error"], "properties": {"id": {}, "error": {}}}
    >>> page = {"properties": {"items": {"items": {"$ref": "#/components/schemas/Item"}}}}
    >>> _put_back_nulls(example, page, {"Item": item})
    >>> example
    {'items': [{'id': 1, 'error': None}]}
    """
    if "$ref" in schema:
        schema = schemas[schema["$ref"].removeprefix(_PLACE)]
    for each in schema.get("anyOf", ()):
        _put_back_nulls(example, each, schemas)
    if isinstance(example, list):
        for each in example:
            _put_back_nulls(each, schema.get("items", {}), schemas)
    elif isinstance(example, dict):
        for name in schema.get("required", ()):
            example.setdefault(name, None)
        for name, each in schema.get("properties", {}).items():
            _put_back_nulls(example.get(name), each, schemas)
