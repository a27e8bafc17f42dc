"""A type as Spark writes it goes in, its parts come out."""

import re
from dataclasses import dataclass

from headrace.errors import HeadraceError

__all__ = ["SparkType", "parse_type"]

NESTED = frozenset({"array", "map", "struct"})
_SAME = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float", "dec": "decimal"}
_SAME |= {"numeric": "decimal", "timestamp_ltz": "timestamp", "varchar": "string", "char": "string", "text": "string"}
_SIMPLE = re.compile(r"([a-z_]+)(?:\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?|interval [a-z ]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SparkType:
    """A type: its plain name, a decimal's digits, and the types inside a nested one by name.

    An array has one inner type, a map two (of its keys and its values).
    """

    name: str
    precision: int = 10
    scale: int = 0
    fields: "tuple[tuple[str, SparkType], ...]" = ()

    @property
    def nested(self) -> bool:
        """Whether values of the type hold other values."""
        return self.name in NESTED


def parse_type(text: str) -> SparkType:
    """Return the parts of a type.

    >>> parse_type("decimal(10,2)")
    SparkType(name='decimal', precision=10, scale=2, fields=())
    >>> [(name, field.name) for name, field in parse_type("struct<a:int,b:map<string,array<date>>>").fields]
    [('a', 'int'), ('b', 'map')]
    """
    text = text.strip().partition(" collate ")[0]
    outer, bracket, rest = text.partition("<")
    name = outer.strip().lower()
    if bracket and name in NESTED and rest.endswith(">"):
        return SparkType(name, fields=tuple(_fields(name, rest[:-1])))
    found = _SIMPLE.fullmatch(text)
    if found is None:
        raise HeadraceError(f"unknown type {text}")
    if found[1] is None:
        return SparkType("interval")
    name = _SAME.get(found[1].lower(), found[1].lower())
    if name == "decimal":
        return SparkType(name, int(found[2] or 10), int(found[3] or 0))
    return SparkType(name)


def _fields(outer: str, text: str) -> list[tuple[str, SparkType]]:
    parts = _split(text)
    if outer == "struct":
        named = [part.partition(":") for part in parts if part.strip()]
        return [(name.strip().strip("`"), parse_type(kind)) for name, _, kind in named]
    return [(name, parse_type(part)) for name, part in zip(("key", "value"), parts, strict=False)]


def _split(text: str) -> list[str]:
    """Return what stands between the commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]
