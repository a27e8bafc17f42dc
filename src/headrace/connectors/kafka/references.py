"""A schema and those that it refers to go in, one Avro schema that stands alone comes out."""

from typing import Any

from headrace.connectors.kafka.avro_reader import Schema, split_name

__all__ = ["merge"]

_NAMED = ("record", "error", "enum", "fixed")


def merge(schema: Schema, referred: list[Schema]) -> Schema:
    """Return the schema with the definition of each type that it takes from the others at its first use.

    >>> merge({"type": "array", "items": "shop.Id"}, [{"type": "fixed", "name": "Id", "namespace": "shop", "size": 8}])
    {'type': 'array', 'items': {'type': 'fixed', 'name': 'shop.Id', 'size': 8}}
    """
    types: dict[str, dict[str, Any]] = {}
    for each in referred:
        _taken_out(each, "", types)
    merged: Schema = _put_in(_taken_out(schema, "", types), types, set())
    return merged


def _taken_out(schema: Any, namespace: str, types: dict[str, dict[str, Any]]) -> Any:
    """Move every named type into ``types``, under its full name, and leave the name in its place."""
    if isinstance(schema, list):
        return [_taken_out(branch, namespace, types) for branch in schema]
    if isinstance(schema, str):
        full = f"{namespace}.{schema}"
        return full if namespace and "." not in schema and full in types else schema
    kind = schema["type"]
    if kind not in _NAMED:
        inner = {key: _taken_out(schema[key], namespace, types) for key in ("items", "values") if key in schema}
        return {**schema, **inner} if isinstance(kind, str) else _taken_out(kind, namespace, types)
    space, full = split_name(schema, namespace)
    moved = {key: value for key, value in schema.items() if key != "namespace"} | {"name": full}
    if not space:
        moved["namespace"] = ""  # or else it would take that of the type around it
    types[full] = moved
    if "fields" in moved:
        moved["fields"] = [
            field | {"type": _taken_out(field["type"], space, types)} for field in schema.get("fields", [])
        ]
    return full


def _put_in(schema: Any, types: dict[str, dict[str, Any]], done: set[str]) -> Any:
    if isinstance(schema, list):
        return [_put_in(branch, types, done) for branch in schema]
    if isinstance(schema, str):
        if schema not in types or schema in done:
            return schema
        done.add(schema)
        return _put_in(types[schema], types, done)
    result = dict(schema)
    if "fields" in result:
        result["fields"] = [field | {"type": _put_in(field["type"], types, done)} for field in result["fields"]]
    for key in ("items", "values"):
        if key in result:
            result[key] = _put_in(result[key], types, done)
    return result
