"""Texts that are JSON, nearly JSON and none: what reads them fast against Spark's own from_json."""

import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
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


OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "__corrupt"}


def records(frame: DataFrame, columns: str = COLUMNS, zone: str = "UTC") -> Column:
    record = frame.sparkSession._jvm.org.headrace.json.JsonRecord  # type: ignore[union-attr]
    return Column(record.column(F.col("line")._jc, columns, "__corrupt", {}, zone))


def differences(lines: list[bytes], columns: str = COLUMNS, zone: str = "UTC") -> list[Any]:
    """Return the lines of which Headrace's reader says something else than Spark's reader of files.

    Spark's makes no row of a text without any value, and several of an array; all these must be dead.
    """
    spark = Application().session()
    frame = spark.createDataFrame([(bytearray(line),) for line in lines], "raw BINARY")
    line = F.col("raw").cast("string")
    value = F.from_json(line, f"{columns}, __corrupt STRING", {**OPTIONS, "timeZone": zone})
    several = F.ltrim(line).startswith("[")
    seen = frame.select("raw", line.alias("line"), (value.isNull() | several).alias("none")).collect()
    none = [bytes(row.raw) for row in seen if row.none]
    inside = [bytes(row.raw) for row in seen if not row.none and (b"\n" in row.raw or b"\r" in row.raw)]
    whole = [bytes(row.raw) for row in seen if not row.none and bytes(row.raw) not in inside]
    return [*not_dead(none, columns, zone), *unlike_text(inside, columns, zone), *unlike_file(whole, columns, zone)]


def as_lines(lines: list[bytes]) -> DataFrame:
    frame = Application().session().createDataFrame([(bytearray(line),) for line in lines], "raw BINARY")
    return frame.select(F.col("raw").cast("string").alias("line"))


def not_dead(lines: list[bytes], columns: str, zone: str) -> list[Any]:
    frame = as_lines(lines)
    return frame.select("line", records(frame, columns, zone).alias("fast")).filter("fast.__corrupt IS NULL").collect()


UNLIKE = "NOT fast <=> slow OR to_json(fast) <> to_json(slow)"


def unlike_text(lines: list[bytes], columns: str, zone: str) -> list[Any]:
    """Compare with from_json: in a file such a text would be several lines."""
    frame = as_lines(lines)
    slow = F.from_json("line", f"{columns}, __corrupt STRING", {**OPTIONS, "timeZone": zone})
    return (
        frame.select("line", records(frame, columns, zone).alias("fast"), slow.alias("slow")).filter(UNLIKE).collect()
    )


def unlike_file(lines: list[bytes], columns: str, zone: str) -> list[Any]:
    spark = Application().session()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lines.json")
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        text = spark.read.text(str(path)).withColumnRenamed("value", "line")
        fast = text.select("line", records(text, columns, zone).alias("fast"), number().alias("i"))
        read = spark.read.schema(f"{columns}, __corrupt STRING").options(**OPTIONS, timeZone=zone).json(str(path))
        slow = read.select(F.struct("*").alias("slow"), number().alias("i"))
        both = fast.join(slow, "i").cache()
        assert both.count() == len(lines)
        found = both.filter(UNLIKE).collect()
        both.unpersist()
        return found


def number() -> Column:
    """Return the number of a line: the file is so small that one task reads it."""
    return F.monotonically_increasing_id()


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
        assert list(record.plain(["{}"], f"a {kind}", "UTC")) == [], kind
    assert list(record.plain(["{}"], "a TIMESTAMP", "UTC")) == ["{}"]
    line = b'{"a":1.5,"b":"YWI=","t":"31.12.2024"}'
    assert differences([line, b'{"a":"x"}'], "a FLOAT, b BINARY, t STRING") == []


def test_names_of_any_script():
    columns = "`größe` INT, `名` STRING"
    line = '{"größe": 3, "名": "x", "ключ": 1}'
    record = Application().session()._jvm.org.headrace.json.JsonRecord  # type: ignore[union-attr]
    assert list(record.plain([line], columns, "UTC")) == [line]
    assert differences([line.encode(), '{"größe": "x"}'.encode(), b'{"gr\xff": 1, "\xe5\x90": "x"}'], columns) == []


def test_what_a_type_forbids_may_be_missing_all_the_same():
    columns = "o STRUCT<q: INT NOT NULL, p: STRING NOT NULL>, l ARRAY<INT>"
    assert differences([b'{"o":{}}', b'{"o":{"q":1}}', b'{"o":{"q":"x"}}', b'{"l":[null]}'], columns) == []


def test_a_number_keeps_its_digits_in_a_text_column():
    frame = as_lines([b'{"id": 0.1234567890123456789, "n": "x"}', b'{"id": 1.50}', b'{"id": {"a":  1.50}}'])
    read = [row.id for row in frame.select(records(frame).alias("r")).select("r.id").collect()]
    assert read == ["0.1234567890123456789", "1.50", '{"a":  1.50}']


def test_without_generated_code():
    spark = Application().session()
    with set_conf(spark, "spark.sql.codegen.factoryMode", "NO_CODEGEN", "spark.sql.codegen.wholeStage", "false"):
        assert differences([line.encode() for line in PLAIN]) == []


def test_times_as_spark_once_read_them():
    spark = Application().session()
    with set_conf(spark, "spark.sql.legacy.timeParserPolicy", "LEGACY"):
        assert differences([b'{"t":"2024-01-01T10:00:00.123456Z"}', b'{"t":"2024-01-01T10:00:00.123Z"}']) == []


@contextmanager
def set_conf(spark: SparkSession, *pairs: str) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in pairs[::2]}
    for name, value in zip(pairs[::2], pairs[1::2], strict=True):
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def test_a_text_that_is_missing_is_none():
    spark = Application().session()
    frame = spark.createDataFrame([(None,)], "line STRING")
    assert frame.select(records(frame).alias("r")).select("r.__corrupt").collect() == [("",)]


HUGE = [
    '{"m":1e999999999}', '{"m":-1e-999999999}', '{"m":"1e999999999"}', "{'id':1,'m':1E+999999999}",
    '{"m":"1e9,99999999"}', '{"m":"1\\u0065999999999"}', '{"m":"1e\\u0039\\u0039\\u0039\\u0039\\u0039\\u0039"}',
    '{"m":"1e٩٩٩٩٩٩٩٩٩"}', '{"m":"١e999999999"}', '{"m":1.5e999999,"m":2}',
    '{"d":NaN,"m":1e999999999}', '{"id":5,"z":[{"m":[1]}],"x":{"y":[0,1e99999999]}}', '{"c":{"any":" 1e99999999 "}}',
]  # fmt: skip
NOT_HUGE = [
    '{"id":"1e999999999"}',
    '{"id":"3e99999","m":1.5}',
    '{"id":1,"d":1e99999}',
    '{"m":1e5}',
    '{"m":"1e00003"}',
    '{"m":1e-9999}',
    '{"m":0e99999}',
    '{"id":"4e10234","d":1e10234,"z":[{"m":1e99999}],"m":"x"}',
]


def test_a_number_that_spark_would_write_out_for_hours_is_no_record():
    spark = Application().session()
    columns = "id STRING, d DOUBLE, m DECIMAL(10, 2), x STRUCT<y: ARRAY<DECIMAL(4, 1)>>, c MAP<STRING, DECIMAL(4, 1)>"
    frame = spark.createDataFrame([(line,) for line in HUGE], "line STRING")
    assert frame.select(records(frame, columns).alias("r")).filter("r.__corrupt IS NULL").collect() == []
    assert differences([line.encode() for line in NOT_HUGE], "id STRING, d DOUBLE, m DECIMAL(10, 2)") == []
    frame = as_lines([b'{"id":"4e10234","d":1e10234,"c":{"a":1.5}}'])
    [row] = frame.select(records(frame, columns).alias("r")).select("r.id", "r.c", "r.__corrupt").collect()
    assert (row.id, row.c, row["__corrupt"]) == ("4e10234", {"a": Decimal("1.5")}, None)


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
    separators = r.choice([(",", ":"), (", ", ": "), (" ,\t", "\t: ")])
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
