"""Texts that are JSON, nearly JSON and none: what reads them fast against Spark's own from_json."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace import Application

pytestmark = pytest.mark.spark

COLUMNS = """
  id STRING, n BIGINT, i INT, h SMALLINT, b TINYINT, d DOUBLE, m DECIMAL(10, 2), w DECIMAL(30, 12), s DECIMAL(18, 18),
  f BOOLEAN, t TIMESTAMP, y DATE, o STRUCT<p: STRING, q: INT, r: STRUCT<z: DOUBLE, `a b`: STRING>>, l ARRAY<INT>,
  k ARRAY<STRUCT<v: STRING, t: TIMESTAMP>>
"""
PLAIN = [
    "{}",
    ' { "id" : null , "n" : 1 } ',
    '{"id": "x", "n": -5, "i": 7, "h": 300, "b": -128, "d": 1.5, "m": 12.3, "f": true, "t": "2024-01-01T10:00:00Z"}',
    '{"t": "2024-02-29 23:59:59.123456+05:30", "y": "2024-02-29", "f": false}',
    '{"o": {"p": "a", "q": 1, "r": {"z": 1e-5, "a b": "c"}}, "l": [1, null, 3], "k": [{"v": "a"}, {}]}',
    '{"id": "\\u00e9\\n\\"x\\ud83d\\ude00", "unknown": {"a": [1, {"b": "c"}, true, null, -1.5e3]}}',
    '{"id": "größer", "d": 40.730610123456789, "w": 123456.000000000001, "s": 0.00000000000000001}',
]
"""Read without Spark's help."""
ODD = [
    "", " ", "x", "[]", "null", "1", '"a"', "{", '{"id"}', '{"id":}', '{"id":"a"', '{"id":"a",}', '{"id":"a"} x',
    '{"id":"a"}{"id":"b"}', '[{"id":"a"}]', "{'id':'a'}", '{id:"a"}', '{"id":"a","id":"b"}', '{"n":1,"n":"x"}',
    '{"id":1}', '{"id":1.50}', '{"id":true}', '{"id":{"a":1}}', '{"id":[1,2]}', '{"ID":"a"}', '{"\\u0069d":"a"}',
    '{"id":"a\tb"}', '{"id":"\\x"}', '{"id":"\\ud83d"}', '{"id":"\\ud83dx"}', '{"id":"\\u00"}', '{"id":"a\x00b"}',
    '{"n":01}', '{"n":-}', '{"n":+1}', '{"n":1.}', '{"n":.5}', '{"n":1.0}', '{"n":1e2}', '{"n":"1"}', '{"n":-0}',
    '{"n":9223372036854775807}', '{"n":9223372036854775808}', '{"n":-9223372036854775808}', '{"n":1 2}', '{"n":tru}',
    '{"i":2147483648}', '{"i":-2147483648}', '{"h":32768}', '{"b":128}', '{"b":255}', '{"b":256}', '{"b":-129}',
    '{"d":-0}', '{"d":-0.0}', '{"d":1e400}', '{"d":"NaN"}', '{"d":NaN}', '{"d":"Infinity"}', '{"d":""}', '{"d":1E5}',
    '{"d":9007199254740993}', '{"d":0.1}', '{"d":123456789012345678901234567890}', '{"d":0.30000000000000004}',
    '{"d":2.2250738585072011e-308}', '{"d":4.35}', '{"d":"1.5"}', '{"d":9007199254740993.0}', '{"d":0e0}',
    '{"m":99999999.99}', '{"m":100000000}', '{"m":1.005}', '{"m":-1.005}', '{"m":"1.5"}', '{"m":1e2}', '{"m":-0.00}',
    '{"w":123456789012345678}', '{"w":1234567890123456789}', '{"w":999999999999999999.5}', '{"s":1}', '{"s":0.5}',
    '{"f":"true"}', '{"f":1}', '{"f":TRUE}', '{"t":1700000000}', '{"t":"2024-01-01"}', '{"t":"2024-01-01T10:00"}',
    '{"t":"2024-01-01T10:00:00"}', '{"t":"2024-01-01T10:00:00.Z"}', '{"t":"2024-01-01T10:00:00.1234567Z"}',
    '{"t":"2024-01-01T10:00:00+0530"}', '{"t":"2024-01-01T10:00:00+18:00"}', '{"t":"2024-01-01T10:00:00-17:59"}',
    '{"t":"2024-01-01T24:00:00Z"}', '{"t":"2023-02-29T10:00:00Z"}', '{"t":"2024-04-31T10:00:00Z"}', '{"t":""}',
    '{"t":"2024-01-01t10:00:00Z"}', '{"t":"2024-01-01T10:00:00z"}', '{"t":"2024-01-01T10:00:60Z"}',
    '{"t":"0000-01-01T00:00:00Z"}', '{"t":"0001-01-01T00:00:00Z"}', '{"t":"1582-10-10T00:00:00Z"}',
    '{"t":"9999-12-31T23:59:59.999999Z"}', '{"t":"2024-01-01T10:00:00 UTC"}', '{"t":"2024-13-01T10:00:00Z"}',
    '{"t":" 2024-01-01T10:00:00Z"}', '{"t":"2024-01-01T10:00:00Europe/Paris"}', '{"t":"1969-12-31T23:59:59.5Z"}',
    '{"t":"2024-01-01T10:00:00+05:30:15"}', '{"t":"2024-01-01  10:00:00Z"}', '{"t":"+2024-01-01T10:00:00"}',
    '{"y":"2024-02-30"}', '{"y":"2024-2-3"}', '{"y":"2024-02-03T10:00:00Z"}', '{"y":"0000-01-01"}', '{"y":19000}',
    '{"o":1}', '{"o":[]}', '{"o":{"q":"x"}}', '{"o":{"q":1,"q":2}}', '{"o":{"r":{"z":"x"}}}', '{"o":null}', '{"o":""}',
    '{"l":1}', '{"l":[1,"x"]}', '{"l":[1,]}', '{"l":[]}', '{"l":[1', '{"l":{}}', '{"k":[{"t":"x"}]}', '{"k":[null]}',
    '{"k":{"v":"a"}}', '{"unknown":"\\q"}', '{"unknown":[1,2}', '{"unknown":01}', '{"":1}', "{" * 80, "[" * 80,
    '{"unknown":' + "[" * 70 + "]" * 70 + "}", '{"unknown":' + "1" * 500 + "}", '{"d":' + "1" * 500 + "}",
    '{"' + "k" * 2000 + '":1,"id":"a"}', '\ufeff{"id":"a"}', '{"__corrupt":"x"}', '{"id":"a"}\n', '\r{"id":\n"a"}',
]  # fmt: skip
"""Values on the border, and what is written in an unusual way."""


def records(frame: DataFrame, columns: str = COLUMNS, zone: str = "UTC") -> Column:
    record = frame.sparkSession._jvm.org.headrace.json.JsonRecord  # type: ignore[union-attr]
    return Column(record.column(F.col("line")._jc, columns, "__corrupt", {}, zone))


def differences(lines: list[bytes], columns: str = COLUMNS, zone: str = "UTC") -> list[Any]:
    """Return the lines of which the two readers say something different."""
    spark = Application().session()
    frame = spark.createDataFrame([(bytearray(line),) for line in lines], "raw BINARY")
    frame = frame.select(F.col("raw").cast("string").alias("line"))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "__corrupt", "timeZone": zone}
    slow = F.from_json("line", f"{columns}, __corrupt STRING", options)
    rows = frame.select("line", records(frame, columns, zone).alias("fast"), slow.alias("slow"))
    said = "slow IS NOT NULL AND (NOT fast <=> slow OR to_json(fast) <> to_json(slow))"
    missed = "slow IS NULL AND fast.__corrupt IS NULL"  # Spark has no row for a text without any value
    return rows.filter(f"({said}) OR ({missed})").collect()


def plain(lines: list[str], zone: str = "UTC") -> list[str]:
    """Return the lines that are read without Spark's help."""
    record = Application().session()._jvm.org.headrace.json.JsonRecord  # type: ignore[union-attr]
    return list(record.plain(lines, COLUMNS, zone))


def test_plain_texts_are_read_fast_and_as_spark_reads_them():
    assert plain(PLAIN) == PLAIN
    assert differences([line.encode() for line in PLAIN]) == []


def test_odd_texts_are_read_as_spark_reads_them():
    assert differences([line.encode() for line in ODD]) == []


def test_bytes_that_are_no_text():
    assert differences([b'{"id":"\xff"}', b'{"id":"a\xc3"}', b'{"\xff":1,"id":"a"}', b'{"id":"\xed\xa0\x80"}']) == []


def test_a_time_without_a_zone_is_of_the_session():
    line = '{"t":"2024-07-01T10:00:00"}'
    assert plain([line]) == [line]
    assert plain([line], "Europe/Paris") == []
    assert differences([line.encode(), b'{"t":"2024-07-01T10:00:00Z"}'], zone="Europe/Paris") == []


def test_types_that_only_spark_reads():
    record = Application().session()._jvm.org.headrace.json.JsonRecord  # type: ignore[union-attr]
    for kind in ("FLOAT", "BINARY", "MAP<STRING, INT>", "VARIANT", "TIMESTAMP_NTZ", "ARRAY<FLOAT>", "STRUCT<x: FLOAT>"):
        assert not record.isFast(f"a {kind}", {}), kind
    assert record.isFast("a TIMESTAMP", {})
    assert not record.isFast("a TIMESTAMP", {"timestampFormat": "yyyy"})
    line = b'{"a":1.5,"b":"YWI=","t":"31.12.2024"}'
    assert differences([line, b'{"a":"x"}'], "a FLOAT, b BINARY, t STRING") == []


def test_a_text_that_is_missing_is_none():
    spark = Application().session()
    frame = spark.createDataFrame([(None,)], "line STRING")
    assert frame.select(records(frame).alias("r")).select("r.__corrupt").collect() == [("",)]


HUGE = [
    '{"m":1e999999999}', '{"m":-1e-999999999}', '{"m":"1e999999999"}', "{'id':1,'m':1E+999999999}",
    '{"d":NaN,"m":1e999999999}', '{"id":5,"z":[{"m":[1]}],"x":{"y":[0,1e99999999]}}', '{"c":{"any":" 1e99999999 "}}',
]  # fmt: skip
NOT_HUGE = [
    '{"id":"1e999999999"}',
    '{"id":"3e99999","m":1.5}',
    '{"id":1,"d":1e99999}',
    '{"m":1e5}',
    '{"m":"1e00003"}',
    '{"m":1e-9999}',
]


def test_a_number_that_spark_would_write_out_for_hours_is_no_record():
    spark = Application().session()
    columns = "id STRING, d DOUBLE, m DECIMAL(10, 2), x STRUCT<y: ARRAY<DECIMAL(4, 1)>>, c MAP<STRING, DECIMAL(4, 1)>"
    frame = spark.createDataFrame([(line,) for line in HUGE], "line STRING")
    assert frame.select(records(frame, columns).alias("r")).filter("r.__corrupt IS NULL").collect() == []
    assert differences([line.encode() for line in NOT_HUGE], "id STRING, d DOUBLE, m DECIMAL(10, 2)") == []


def date_text(r: random.Random) -> str:
    return f"{r.randrange(1, 2300):04}-{r.randrange(1, 13):02}-{r.randrange(1, 32):02}"


def time_text(r: random.Random) -> str:
    fraction = r.choice(["", f".{r.randrange(10**6)}", f".{r.randrange(1000):03}"])
    zone = r.choice(["Z", "Z", "", "+01:00", "-11:30", "+1:00"])
    clock = f"{r.randrange(25):02}:{r.randrange(60):02}:{r.randrange(60):02}"
    return f"{date_text(r)}{r.choice('T ')}{clock}{fraction}{zone}"


VALUES: dict[str, Callable[[random.Random], Any]] = {
    "id": lambda r: "".join(r.choice('ab"\\/\n\té€😀 ') for _ in range(r.randrange(6))),
    "n": lambda r: r.randrange(-(10 ** r.randrange(1, 20)), 10 ** r.randrange(1, 20)),
    "i": lambda r: r.randrange(-(2**31) - 2, 2**31 + 2),
    "h": lambda r: r.randrange(-33000, 33000),
    "b": lambda r: r.randrange(-130, 260),
    "d": lambda r: r.choice([r.uniform(-1000, 1000), round(r.uniform(-1000, 1000), 2), r.uniform(-1, 1) * 1e-20]),
    "m": lambda r: round(r.uniform(-1e8, 1e8), r.randrange(4)),
    "w": lambda r: round(r.uniform(-1e6, 1e6), r.randrange(9)),
    "s": lambda r: round(r.uniform(-1.2, 1.2), r.randrange(5)),
    "f": lambda r: r.choice([True, False]),
    "t": time_text,
    "y": date_text,
    "o": lambda r: {"p": "x", "q": r.randrange(9), "r": {"z": r.random(), "a b": None}},
    "l": lambda r: [r.choice([None, r.randrange(9)]) for _ in range(r.randrange(4))],
    "k": lambda r: [{"v": "x", "t": time_text(r)} for _ in range(r.randrange(3))],
    "more": lambda r: {"a": [1, 2.5, {"b": "c"}], "d": r.random()},
}


def line_of(r: random.Random) -> str:
    """A text in which some columns stand, now and then one of another's type, or with a letter changed."""
    names = r.sample(sorted(VALUES), r.randrange(len(VALUES)))
    values = {name: VALUES[name if r.random() < 0.97 else r.choice(names)](r) for name in names}
    separators = r.choice([(",", ":"), (", ", ": "), (" ,\t", " :\r")])
    line = json.dumps(values, ensure_ascii=r.random() < 0.5, separators=separators)
    while r.random() < 0.2 or re.search("[0-9.][eE][-+]?[0-9]{4}", line):  # Spark would write it out
        at = r.randrange(len(line) + 1)
        line = line[:at] + r.choice(["", *'{}[]:,"\\.-+e019Ztn \u00e9']) + line[at + r.randrange(2) :]
    return line


@pytest.mark.parametrize("seed", range(2))
def test_random_texts_are_read_as_spark_reads_them(seed):
    r = random.Random(seed)
    lines = [line_of(r) for _ in range(3000)]
    assert 0.3 < len(plain(lines)) / len(lines) < 0.9  # both ways are gone
    assert differences([line.encode() for line in lines]) == []
