"""Noise in place of Avro: always a reason or a text, never another exception, and never much memory."""

import json
import random
import tracemalloc
from collections.abc import Callable
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.kafka.avro import AvroError, decode_batch, decode_plain, schema_of

MEGABYTE = 1 << 20


def one(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "One", "fields": [{"name": "a", "type": kind}]}


EMPTY = {"type": "record", "name": "Empty", "fields": [{"name": "n", "type": "null"}]}
CHAIN = {"type": "record", "name": "Chain", "fields": [{"name": "next", "type": ["null", "Chain"]}]}
TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "below", "type": {"type": "array", "items": "Tree"}},
        {"name": "named", "type": {"type": "map", "values": "Tree"}},
    ],
}
ENDLESS = {"type": "record", "name": "Endless", "fields": [{"name": "again", "type": "Endless"}]}
SCHEMAS = {
    "columns": schema_of(
        "Columns",
        [
            ("id", "BIGINT"),
            ("text", "STRING"),
            ("price", "DECIMAL(38, 10)"),
            ("at", "TIMESTAMP"),
            ("day", "DATE"),
            ("tags", "MAP<STRING, ARRAY<STRUCT<a: INT, b: BINARY>>>"),
        ],
    ),
    "longs": one({"type": "array", "items": "long"}),
    "booleans": one({"type": "array", "items": "boolean"}),
    "texts": one({"type": "map", "values": "string"}),
    "nulls": one({"type": "array", "items": "null"}),
    "arrays of nulls": one({"type": "array", "items": {"type": "array", "items": "null"}}),
    "empties": one({"type": "array", "items": EMPTY}),
    "maps of arrays of nulls": one({"type": "map", "values": {"type": "array", "items": ["null", "null"]}}),
    "bytes": one("bytes"),
    "decimal": one({"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}),
    "chain": CHAIN,
    "tree": TREE,
    "endless": ENDLESS,
}
FILLINGS: dict[str, Callable[[int], bytes]] = {
    "random": lambda size: random.Random(size).randbytes(size),
    "small": lambda size: bytes(random.Random(size).choices((0, 1, 2, 3, 4), k=size)),
    **{f"0x{byte:02x}": lambda size, byte=byte: bytes([byte]) * size for byte in (0, 1, 2, 4, 0x7E, 0x80, 0xFE, 0xFF)},
    "count of 2^62": lambda size: (b"\xfe" + b"\xff" * 8 + b"\x7f" + b"\x00" * size)[:size],
    "count of -2^63": lambda size: (b"\xff" * 9 + b"\x01" + b"\x00" * size)[:size],
    "counts of half a million": lambda size: (b"\x80\x80\x3e\x00" * (size // 4 + 1))[:size],
}


def outcome(value: bytes, schema: Any) -> str:
    """Return the reason, or the text after JSON has read it; anything else fails the test."""
    try:
        text = decode_plain(value, schema)
    except AvroError as problem:
        assert len(str(problem)) < 400
        return str(problem)
    assert isinstance(json.loads(text), dict)
    return text


@pytest.mark.parametrize("schema", SCHEMAS)
@given(value=st.binary(max_size=200) | st.lists(st.sampled_from((0, 1, 2, 3, 4, 6, 255)), max_size=200).map(bytes))
def test_small_noise(schema: str, value: bytes) -> None:
    outcome(value, SCHEMAS[schema])


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_noise_takes_memory_in_proportion(schema: str, filling: str) -> None:
    for size in (7, 1_000, MEGABYTE // 16):
        value = FILLINGS[filling](size)
        tracemalloc.start()
        outcome(value, SCHEMAS[schema])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # An item of one byte has its place in a list and its text, which JSON then makes a value of.
        assert peak < 250 * size + MEGABYTE


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_noise_of_a_megabyte(schema: str, filling: str) -> None:
    outcome(FILLINGS[filling](MEGABYTE), SCHEMAS[schema])


@pytest.mark.parametrize("depth", [10, 200])
def test_records_within_records_are_read(depth: int) -> None:
    text = decode_plain(b"\x02" * depth + b"\x00", CHAIN)
    assert text.count("next") == depth + 1


@pytest.mark.parametrize("depth", [2_000, 100_000, MEGABYTE])
@pytest.mark.parametrize("schema", [CHAIN, TREE, ENDLESS], ids=["chain", "tree", "endless"])
def test_endless_records_within_records_are_not(schema: Any, depth: int) -> None:
    assert outcome(b"\x02" * depth, schema) == "does not fit the schema: nested too deeply"


def test_arrays_of_nothing_are_refused() -> None:
    for schema in ("nulls", "empties"):
        assert outcome(b"\x04\x00\x00\x00\x00", SCHEMAS[schema]) == (
            "does not fit the schema: a: an array has items that take no bytes"
        )
        assert outcome(b"\x00", SCHEMAS[schema]) == '{"a":[]}'


def test_a_decimal_of_a_megabyte_is_refused_before_its_digits_are_made() -> None:
    value = b"\x80\x80\x80\x01" + b"\x7f" * MEGABYTE
    assert outcome(value, SCHEMAS["decimal"]) == "does not fit the schema: a: a decimal has more than 38 digits"


def test_a_batch_of_noise() -> None:
    dice = random.Random(1)
    values = [dice.randbytes(dice.randrange(300)) for _ in range(2_000)]
    texts, reasons = decode_batch(values, lambda value: decode_plain(value, SCHEMAS["columns"]))
    assert all((text is None) != (reason is None) for text, reason in zip(texts, reasons, strict=True))


@given(value=st.binary(max_size=60))
def test_fastavro_reads_what_is_read_here(value: bytes) -> None:
    """Whatever noise happens to be a record here is the same record to fastavro."""
    schema = one({"type": "map", "values": ["null", "long", "string", {"type": "array", "items": "double"}]})
    try:
        text = decode_plain(value, schema)
    except AvroError:
        return
    read = fastavro.schemaless_reader(BytesIO(value), fastavro.parse_schema(schema), None)
    assert json.loads(text) == json.loads(json.dumps(read).replace("NaN", '"NaN"').replace("Infinity", '"Infinity"'))
