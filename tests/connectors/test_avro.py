"""Avro to JSON text and rows to Avro, against fastavro where it can be trusted."""

import base64
import json
import math
import struct
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import partial
from io import BytesIO
from typing import Any
from uuid import UUID

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.kafka.avro import (
    AvroError,
    decode_batch,
    decode_confluent,
    decode_plain,
    encode,
    schema_of,
)
from headrace.connectors.kafka.registry import Registry, RegistryUnreachable
from headrace.errors import HeadraceError

CLICK = {
    "type": "record",
    "name": "Click",
    "fields": [{"name": "id", "type": "long"}, {"name": "page", "type": ["null", "string"]}],
}


def one(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "One", "fields": [{"name": "a", "type": kind}]}


def written(schema: Any, row: dict[str, Any]) -> bytes:
    """Return a record as fastavro writes it."""
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return out.getvalue()


def text_of(kind: Any, value: Any) -> str:
    """Return the JSON text of one value after fastavro wrote it."""
    return decode_plain(written(one(kind), {"a": value}), one(kind)).removeprefix('{"a":').removesuffix("}")


def reason(value: bytes, schema: Any) -> str:
    with pytest.raises(AvroError) as caught:
        decode_plain(value, schema)
    return str(caught.value)


def number(value: int) -> bytes:
    """Return a number as Avro writes it."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10}
SUIT = {"type": "enum", "name": "Suit", "symbols": ["HEARTS", "SPADES"]}


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("null", None, "null"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
        ("int", -(2**31), "-2147483648"),
        ("int", 2**31 - 1, "2147483647"),
        ("long", -(2**63), "-9223372036854775808"),
        ("long", 2**63 - 1, "9223372036854775807"),
        ("float", 0.5, "0.5"),
        ("double", 0.1, "0.1"),
        ("double", 1e300, "1e+300"),
        ("double", math.nan, '"NaN"'),
        ("double", math.inf, '"Infinity"'),
        ("float", -math.inf, '"-Infinity"'),
        ("string", 'ä"\n\x00😀', '"ä\\"\\n\\u0000😀"'),
        ("bytes", b"\x00\xff", '"AP8="'),
        ("bytes", b"", '""'),
        ({"type": "fixed", "name": "F", "size": 3}, b"abc", '"YWJj"'),
        (SUIT, "SPADES", '"SPADES"'),
        ({"type": "array", "items": "int"}, [], "[]"),
        ({"type": "array", "items": ["null", "int"]}, [1, None, -1], "[1,null,-1]"),
        ({"type": "map", "values": "int"}, {}, "{}"),
        ({"type": "map", "values": "int"}, {"a b": 1, '"': 2}, '{"a b":1,"\\"":2}'),
        (["null", "string"], None, "null"),
        (["null", "string"], "x", '"x"'),
        (["string", "null"], None, "null"),
        (["string", "null"], "x", '"x"'),
        (["null", "int", "string", CLICK], {"id": 1, "page": None}, '{"id":1,"page":null}'),
        (["null", "int", "string"], "x", '"x"'),
        (CLICK, {"id": 7, "page": "/"}, '{"id":7,"page":"/"}'),
    ],
)
def test_plain_types(kind: Any, value: Any, text: str) -> None:
    assert text_of(kind, value) == text


@pytest.mark.parametrize(
    ("base", "logical", "ticks", "text"),
    [
        ("long", "timestamp-millis", 1_704_103_200_123, "2024-01-01T10:00:00.123000Z"),
        ("long", "timestamp-micros", 1_704_103_200_123_456, "2024-01-01T10:00:00.123456Z"),
        ("long", "timestamp-micros", 1_704_103_200_000_000, "2024-01-01T10:00:00Z"),
        ("long", "timestamp-micros", -1, "1969-12-31T23:59:59.999999Z"),
        ("long", "timestamp-nanos", 1_704_103_200_123_456_789, "2024-01-01T10:00:00.123456Z"),
        ("long", "local-timestamp-millis", 1_704_103_200_123, "2024-01-01T10:00:00.123000"),
        ("long", "local-timestamp-micros", 1_704_103_200_123_456, "2024-01-01T10:00:00.123456"),
        ("long", "local-timestamp-nanos", -1, "1969-12-31T23:59:59.999999"),
        ("int", "date", 19_723, "2024-01-01"),
        ("int", "date", -719_162, "0001-01-01"),
        ("int", "time-millis", 36_000_007, "10:00:00.007000"),
        ("long", "time-micros", 86_399_999_999, "23:59:59.999999"),
        ("long", "time-micros", 0, "00:00:00.000000"),
    ],
)
def test_times(base: str, logical: str, ticks: int, text: str) -> None:
    assert decode_plain(number(ticks), one({"type": base, "logicalType": logical})) == f'{{"a":"{text}"}}'


@pytest.mark.parametrize(
    ("base", "logical", "ticks", "why"),
    [
        ("long", "timestamp-millis", 2**62, "timestamp 4611686018427387904 is outside the years 1 to 9999"),
        ("long", "timestamp-micros", -(2**63), "timestamp -9223372036854775808 is outside the years 1 to 9999"),
        ("int", "date", 3_000_000, "date 3000000 is outside the years 1 to 9999"),
        ("int", "date", 2**60, f"date {2**60} is outside the years 1 to 9999"),
        ("int", "time-millis", 86_400_000, "time 86400000 is outside the day"),
        ("long", "time-micros", -1, "time -1 is outside the day"),
    ],
)
def test_times_that_are_none(base: str, logical: str, ticks: int, why: str) -> None:
    schema = one({"type": base, "logicalType": logical})
    assert reason(number(ticks), schema) == f"does not fit the schema: a: {why}"


@pytest.mark.parametrize("digits", ["0", "1.5", "-0.05", "12345678901234567890.1234567891", "-9999999999.9999999999"])
def test_decimals_keep_their_digits(digits: str) -> None:
    text = text_of(DECIMAL, Decimal(digits))
    assert Decimal(text) == Decimal(digits)
    assert len(text.rpartition(".")[2]) == 10
    fixed = {"type": "fixed", "name": "Money", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 10}
    assert text_of(fixed, Decimal(digits)) == text


def test_decimals_without_places() -> None:
    assert text_of({"type": "bytes", "logicalType": "decimal", "precision": 4}, Decimal(-42)) == "-42"
    assert decode_plain(b"\x00", one({"type": "bytes", "logicalType": "decimal", "precision": 4})) == '{"a":0}'


def test_a_decimal_with_too_many_digits() -> None:
    small = one({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 1})
    assert decode_plain(b"\x02\x63", small) == '{"a":9.9}'
    assert reason(b"\x02\x64", small) == "does not fit the schema: a: a decimal has more than 2 digits"


def test_a_decimal_that_the_specification_ignores() -> None:
    assert decode_plain(b"\x02\x64", one({"type": "bytes", "logicalType": "decimal"})) == '{"a":"ZA=="}'
    wrong = {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}
    assert decode_plain(b"\x02\x64", one(wrong)) == '{"a":"ZA=="}'


def test_uuids() -> None:
    uuid = UUID("12345678-1234-5678-1234-567812345678")
    assert text_of({"type": "string", "logicalType": "uuid"}, uuid) == f'"{uuid}"'
    fixed = {"type": "fixed", "name": "Id", "size": 16, "logicalType": "uuid"}
    assert decode_plain(uuid.bytes, one(fixed)) == f'{{"a":"{uuid}"}}'
    assert reason(b"123", one(fixed)).startswith("does not fit the schema: a: ")


def test_logical_types_that_nobody_knows_are_ignored() -> None:
    assert text_of({"type": "string", "logicalType": "colour"}, "red") == '"red"'
    assert decode_plain(number(5), one({"type": "long", "logicalType": "date"})) == '{"a":5}'


def test_named_types_are_used_again() -> None:
    schema = {
        "type": "record",
        "name": "Deal",
        "namespace": "cards",
        "fields": [
            {"name": "first", "type": SUIT},
            {"name": "second", "type": "Suit"},
            {"name": "third", "type": ["null", "cards.Suit"]},
        ],
    }
    row = {"first": "HEARTS", "second": "SPADES", "third": "HEARTS"}
    assert json.loads(decode_plain(written(schema, row), schema)) == row


def test_a_type_within_a_type() -> None:
    assert decode_plain(b"\x02x", one({"type": {"type": "string"}})) == '{"a":"x"}'


def test_a_type_may_hold_itself() -> None:
    tree = {
        "type": "record",
        "name": "Tree",
        "fields": [{"name": "v", "type": "int"}, {"name": "below", "type": {"type": "array", "items": "Tree"}}],
    }
    row = {"v": 1, "below": [{"v": 2, "below": []}, {"v": 3, "below": [{"v": 4, "below": []}]}]}
    assert json.loads(decode_plain(written(tree, row), tree)) == row


def test_blocks_with_their_length() -> None:
    longs = one({"type": "array", "items": "long"})
    assert decode_plain(number(-2) + number(2) + number(1) + number(2) + number(1) + number(3) + b"\x00", longs) == (
        '{"a":[1,2,3]}'
    )


def test_the_last_of_equal_keys_counts() -> None:
    pair = number(1) + b"k"
    value = number(2) + pair + number(1) + pair + number(2) + b"\x00"
    assert decode_plain(value, one({"type": "map", "values": "int"})) == '{"a":{"k":2}}'


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        ("string", b"\x0aab", "a: 5 bytes are announced where 2 are left"),
        ("string", b"\x05ab", "a: -3 bytes are announced where 2 are left"),
        ("string", b"\x02\xff", "a: text is not UTF-8"),
        ("long", b"", "a: the bytes end too early"),
        ("long", b"\xff", "a: the bytes end too early"),
        ("long", b"\xff" * 20, "a: a number has more than 64 bits"),
        ("long", b"\xff" * 9 + b"\x03", "a: a number has more than 64 bits"),
        ("int", number(2**31), "a: 2147483648 is no int"),
        ("double", b"1234567", "a: the bytes end too early"),
        ("boolean", b"\x02", "a: byte 0x02 is no boolean"),
        (SUIT, number(2), "a: there is no symbol 2"),
        (SUIT, number(-1), "a: there is no symbol -1"),
        (["null", "int"], number(2), "a: there is no branch 2 in a union"),
        (["null", "int"], number(-1), "a: there is no branch -1 in a union"),
        (["null", "int", "string"], number(-1), "a: there is no branch -1 in a union"),
        ({"type": "fixed", "name": "F", "size": 10**15}, b"abc", f"a: {10**15} bytes are announced where 3 are left"),
        ({"type": "array", "items": "int"}, number(3) + b"\x00", "a: 3 items are announced where 1 bytes are left"),
        (CLICK, number(1) + b"\x02\x08ab", "a: page: 4 bytes are announced where 2 are left"),
        ("null", b"\x00", "1 byte is left after the record"),
        ("int", b"\x00\x00\x00", "2 bytes are left after the record"),
    ],
)
def test_what_does_not_fit_is_said(kind: Any, value: bytes, why: str) -> None:
    assert reason(value, one(kind)) == f"does not fit the schema: {why}"


def test_numbers_may_be_written_longer_than_need_be() -> None:
    assert decode_plain(b"\x82\x00\x84\x80\x00", one(["null", "int"])) == '{"a":2}'


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("string", "the schema is string, not a record"),
        ({"type": "array", "items": "int"}, "the schema is array, not a record"),
        (["null", CLICK], "the schema is a union, not a record"),
        (one("Nowhere"), "the schema uses type Nowhere, which it does not define"),
        ({"type": "record", "name": "R"}, "the schema is not valid Avro: KeyError 'fields'"),
        ({"type": "record", "fields": []}, "the schema is not valid Avro: KeyError 'name'"),
        (
            one({"type": "bytes", "logicalType": "decimal", "precision": 10**12}),
            "the schema has a decimal of 1000000000000 digits, and 1000 are the most",
        ),
    ],
)
def test_schemas_that_cannot_be_read(schema: Any, why: str) -> None:
    assert reason(b"", schema) == why
    assert reason(b"", schema) == why


def header(id: int) -> bytes:
    return b"\x00" + id.to_bytes(4, "big")


def test_the_wire_format(schema_registry: Any) -> None:
    id = schema_registry.register("clicks-value", CLICK)
    registry = Registry(schema_registry.url)
    value = encode(id, CLICK, {"id": 7, "page": "/"})
    assert value == header(id) + written(CLICK, {"id": 7, "page": "/"})
    assert decode_confluent(value, registry) == '{"id":7,"page":"/"}'
    assert decode_confluent(value, registry) == '{"id":7,"page":"/"}'
    assert schema_registry.requests == [f"GET /schemas/ids/{id}"]


def test_each_record_is_read_as_its_writer_wrote_it(schema_registry: Any) -> None:
    added = {**CLICK, "fields": [{"name": "user", "type": "string", "default": ""}, *CLICK["fields"]]}
    changed = {"type": "record", "name": "Click", "fields": [{"name": "id", "type": "string"}]}
    rows = [
        (CLICK, {"id": 1, "page": None}),
        (added, {"user": "ann", "id": 2, "page": "/"}),
        (changed, {"id": "three"}),
        (CLICK, {"id": 4, "page": "/4"}),
    ]
    values = [encode(schema_registry.register("clicks-value", schema), schema, row) for schema, row in rows]
    texts, reasons = decode_batch(values, partial(decode_confluent, registry=Registry(schema_registry.url)))
    assert [json.loads(text or "") for text in texts] == [row for _, row in rows]
    assert reasons == [None] * 4


def test_a_batch_keeps_its_places(schema_registry: Any) -> None:
    id = schema_registry.register("clicks-value", CLICK)
    keys = schema_registry.register("keys", "string")
    protos = schema_registry.register("protos", "x", schema_type="PROTOBUF")
    good = encode(id, CLICK, {"id": 7, "page": None})
    values = [
        good,
        None,
        b'{"id": 7}',
        b"{",
        b"",
        b"\x00\x00\x00\x00",
        header(17),
        header(2**32 - 1),
        header(id),
        good[:-1],
        good + b"\x00",
        header(keys) + b"\x00",
        header(protos),
    ]
    texts, reasons = decode_batch(values, partial(decode_confluent, registry=Registry(schema_registry.url)))
    assert texts == ['{"id":7,"page":null}'] + [None] * 12
    assert reasons == [
        None,
        None,
        "not in Confluent wire format: the first byte is 0x7b, not 0x00",
        "not in Confluent wire format: the first byte is 0x7b, not 0x00",
        "not in Confluent wire format: shorter than 5 bytes",
        "not in Confluent wire format: shorter than 5 bytes",
        "schema 17 is not in the registry",
        "schema 4294967295 is not in the registry",
        f"does not fit schema {id}: id: the bytes end too early",
        f"does not fit schema {id}: page: the bytes end too early",
        f"does not fit schema {id}: 1 byte is left after the record",
        f"schema {keys} is string, not a record",
        f"schema {protos} is PROTOBUF, not Avro",
    ]


def test_a_registry_out_of_reach_is_the_fault_of_no_record(schema_registry: Any) -> None:
    schema_registry.failures += [(503, b"")] * 4
    registry = Registry(schema_registry.url, sleep=lambda seconds: None)
    with pytest.raises(RegistryUnreachable):
        decode_batch([header(1)], partial(decode_confluent, registry=registry))


def test_references_are_read(schema_registry: Any) -> None:
    order = one(["null", "Click"])
    schema_registry.register("click", CLICK)
    id = schema_registry.register("orders", order, [{"name": "Click", "subject": "click", "version": 1}])
    body = written(one(["null", CLICK]), {"a": {"id": 1, "page": None}})
    assert decode_confluent(header(id) + body, Registry(schema_registry.url)) == '{"a":{"id":1,"page":null}}'


# The other direction.

COLUMNS = [
    ("b", "BIGINT"),
    ("i", "INT"),
    ("s", "SMALLINT"),
    ("t", "TINYINT"),
    ("d", "DOUBLE"),
    ("f", "FLOAT"),
    ("text", "STRING"),
    ("flag", "BOOLEAN"),
    ("raw", "BINARY"),
    ("day", "DATE"),
    ("at", "TIMESTAMP"),
    ("wall", "TIMESTAMP_NTZ"),
    ("price", "DECIMAL(20, 4)"),
    ("list", "ARRAY<INT>"),
    ("tags", "MAP<STRING, BIGINT>"),
    ("who", "STRUCT<name: STRING, born: DATE>"),
    ("deep", "ARRAY<STRUCT<k: STRING, m: MAP<STRING, ARRAY<STRUCT<x: DOUBLE>>>>>"),
]
EVERYTHING = schema_of("shop.Everything", COLUMNS)


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def integers(bits: int) -> st.SearchStrategy[Any]:
    return optional(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))


DAYS = optional(st.dates())
ROWS = st.fixed_dictionaries(
    {
        "b": integers(64),
        "i": integers(32),
        "s": integers(16),
        "t": integers(8),
        "d": optional(st.floats()),
        "f": optional(st.floats(width=32)),
        "text": optional(st.text(st.characters(codec="utf-8"))),
        "flag": optional(st.booleans()),
        "raw": optional(st.binary()),
        "day": DAYS,
        "at": optional(st.datetimes(timezones=st.just(UTC))),
        "wall": optional(st.datetimes()),
        "price": optional(st.decimals(-(10**15), 10**15, places=4)),
        "list": optional(st.lists(integers(32))),
        "tags": optional(st.dictionaries(st.text(st.characters(codec="utf-8")), integers(64))),
        "who": optional(st.fixed_dictionaries({"name": optional(st.just("ann")), "born": DAYS})),
        "deep": optional(
            st.lists(
                optional(
                    st.fixed_dictionaries(
                        {
                            "k": st.just("k"),
                            "m": optional(
                                st.dictionaries(
                                    st.sampled_from("abc"),
                                    st.lists(st.fixed_dictionaries({"x": optional(st.just(0.5))}), max_size=3),
                                )
                            ),
                        }
                    )
                ),
                max_size=3,
            )
        ),
    }
)


def expected(value: Any) -> Any:
    """Return what JSON says of a value, with numbers that have a point as Decimal."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            if math.isfinite(value):
                return Decimal(repr(value))
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case bytes():
            return base64.b64encode(value).decode()
        case datetime():
            return value.replace(tzinfo=None).isoformat() + ("Z" if value.tzinfo else "")
        case date() | time():
            return value.isoformat()
        case list():
            return [expected(item) for item in value]
        case dict():
            return {key: expected(item) for key, item in value.items()}
    return value


@given(row=ROWS)
def test_rows_come_back(row: dict[str, Any]) -> None:
    value = encode(None, EVERYTHING, row)
    assert json.loads(decode_plain(value, EVERYTHING), parse_float=Decimal) == expected(row)


@given(row=ROWS, cut=st.integers(0, 10_000))
def test_a_cut_record_is_none(row: dict[str, Any], cut: int) -> None:
    value = encode(None, EVERYTHING, row)
    assert reason(value[: cut % len(value)], EVERYTHING).startswith("does not fit the schema: ")


def test_fastavro_takes_the_schema_as_it_stands() -> None:
    assert json.loads(json.dumps(EVERYTHING)) == EVERYTHING
    row = {name: None for name, _ in COLUMNS}
    read: Any = fastavro.schemaless_reader(
        BytesIO(encode(None, EVERYTHING, row)), fastavro.parse_schema(EVERYTHING), None
    )
    assert read == row


def test_the_schema_of_columns() -> None:
    schema = schema_of(
        "shop.orders",
        [("id", "BIGINT"), ("price", "DECIMAL"), ("to", "STRUCT<zip: STRING, geo: STRUCT<lat: DOUBLE>>")],
    )
    nested = {
        "type": "record",
        "name": "to",
        "namespace": "shop.orders",
        "fields": [
            {"name": "zip", "type": ["null", "string"], "default": None},
            {
                "name": "geo",
                "type": [
                    "null",
                    {
                        "type": "record",
                        "name": "geo",
                        "namespace": "shop.orders.to",
                        "fields": [{"name": "lat", "type": ["null", "double"], "default": None}],
                    },
                ],
                "default": None,
            },
        ],
    }
    assert schema == {
        "type": "record",
        "name": "shop.orders",
        "fields": [
            {"name": "id", "type": ["null", "long"], "default": None},
            {
                "name": "price",
                "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 0}],
                "default": None,
            },
            {"name": "to", "type": ["null", nested], "default": None},
        ],
    }


@pytest.mark.parametrize(
    ("name", "column", "kind", "message"),
    [
        ("r", "größe", "INT", 'column "größe" is not a name that Avro allows'),
        ("r", "1st", "INT", 'column "1st" is not a name that Avro allows'),
        ("r", "s", "STRUCT<`a b`: INT>", 'field "a b" of column "s" is not a name that Avro allows'),
        ("my-record", "a", "INT", 'record name "my-record" is not a name that Avro allows'),
        ("r", "v", "VARIANT", 'column "v" of type VARIANT does not fit format avro'),
        ("r", "v", "INTERVAL DAY", 'column "v" of type INTERVAL DAY does not fit format avro'),
        ("r", "m", "MAP<INT, INT>", 'column "m" of type MAP<INT, INT> does not fit format avro'),
        ("r", "m", "ARRAY<VARIANT>", 'column "m" of type ARRAY<VARIANT> does not fit format avro'),
        ("r", "m", "nonsense<", 'column "m" of type nonsense< does not fit format avro'),
    ],
)
def test_columns_that_avro_does_not_take(name: str, column: str, kind: str, message: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        schema_of(name, [(column, kind)])
    assert caught.value.message == message
    assert caught.value.detail
    assert caught.value.hint


class Row(tuple[Any, ...]):
    """What matters of pyspark's Row."""

    __slots__ = ()

    def asDict(self) -> dict[str, Any]:
        return dict(zip(("name", "born"), self, strict=True))


def test_values_as_spark_and_arrow_give_them() -> None:
    row = {"who": Row(("ann", date(2000, 1, 1))), "tags": [("a", 1), ("b", None)], "list": (1, 2)}
    read = json.loads(decode_plain(encode(None, EVERYTHING, row), EVERYTHING))
    assert read["who"] == {"name": "ann", "born": "2000-01-01"}
    assert read["tags"] == {"a": 1, "b": None}
    assert read["list"] == [1, 2]
    assert read["b"] is None


def test_instants_of_every_zone() -> None:
    schema = schema_of("r", [("at", "TIMESTAMP")])
    east = datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert decode_plain(encode(None, schema, {"at": east}), schema) == '{"at":"2024-01-01T10:00:00Z"}'
    here = east.astimezone().replace(tzinfo=None)
    assert encode(None, schema, {"at": here}) == encode(None, schema, {"at": east})


@pytest.mark.parametrize(
    "row",
    [
        {"i": 2**31},
        {"i": "1"},
        {"text": 5},
        {"price": Decimal("0.00001")},
        {"price": Decimal(10) ** 30},
        {"list": 5},
        {"tags": 5},
        {"who": "ann"},
        {"nobody": 1},
    ],
)
def test_rows_that_do_not_fit(row: dict[str, Any]) -> None:
    with pytest.raises(AvroError, match="the row does not fit the schema: "):
        encode(None, EVERYTHING, row)


def test_a_schema_that_cannot_be_written() -> None:
    with pytest.raises(AvroError, match="the schema is not valid Avro: "):
        encode(None, one("Nowhere"), {"a": 1})


def test_float_columns_round_as_they_must() -> None:
    (near,) = struct.unpack("<f", struct.pack("<f", 0.1))
    assert text_of("float", 0.1) == repr(near)
