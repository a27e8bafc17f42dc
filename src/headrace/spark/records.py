"""Raw records go in; typed rows, or what is wrong with them, come out."""

from typing import Any

from py4j.java_gateway import JavaClass
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.connectors.expressions import once
from headrace.language.statements import ColumnDefinition

CORRUPT = "__corrupt"
_PERMISSIVE = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
SHOWN = 120
"""How much of a value is shown in a reason."""


def type_text(column: ColumnDefinition) -> str:
    """Return a column's type as Spark reads it."""
    return str(column.type.sql(dialect="spark")) if column.type is not None else "STRING"


def quoted(name: str) -> str:
    """Return a name as an identifier that Spark takes whole.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def schema_text(columns: tuple[ColumnDefinition, ...], *extra: str) -> str:
    """Return columns as a schema in Spark's own notation."""
    parts = [f"{quoted(column.name)} {type_text(column)}" for column in columns]
    return ", ".join([*parts, *extra])


def parse_json(lines: DataFrame, columns: tuple[ColumnDefinition, ...], options: dict[str, str]) -> DataFrame:
    """Return the columns of JSON lines; ``__corrupt`` is true where a line does not fit them.

    A column that the lines have by themselves, because their folder is called after its value, is that.
    """
    written = lines.filter(r"trim(BOTH ' \t\r\n' FROM __raw) != ''")
    frame = written.withColumn("__record", _json(lines.sparkSession, "__raw", columns, options))
    return _spread(frame, columns, F.expr(f"__record IS NULL OR __record.{CORRUPT} IS NOT NULL"))


def _json(spark: SparkSession, text: str, columns: tuple[ColumnDefinition, ...], options: dict[str, str]) -> Column:
    """Return the record that a text is, with a last column that is not NULL if it is none."""
    if not _has_reader(spark):
        schema = schema_text(columns, f"{CORRUPT} STRING")
        return once(F.from_json(F.col(text), schema, {**_PERMISSIVE, **options}))
    zone = spark.conf.get("spark.sql.session.timeZone")
    return Column(_reader(spark).column(F.col(text)._jc, schema_text(columns), CORRUPT, options, zone))


def _has_reader(spark: SparkSession) -> bool:
    """Say whether a session has Headrace's reader of JSON; one that Headrace did not start may have none."""
    return isinstance(_reader(spark), JavaClass)


def _reader(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.headrace.json.JsonRecord


def parse_messages(
    messages: DataFrame, columns: tuple[ColumnDefinition, ...], format: str, options: dict[str, str]
) -> DataFrame:
    """Return the columns of messages; ``__corrupt`` is true where one does not fit them.

    ``__text`` is parsed; where ``__broken`` says why it cannot be, the message is corrupt.
    """
    if format == "raw":
        return _single(messages, columns, F.unbase64("__raw"))
    if format == "text":
        return _single(messages, columns, F.col("__text"))
    if format == "csv":
        schema = schema_text(columns, f"{CORRUPT} STRING")
        record = once(F.from_csv(F.col("__text"), schema, {**_PERMISSIVE, **options}))
    else:
        record = _json(messages.sparkSession, "__text", columns, options)
    frame = messages.withColumn("__record", record)
    corrupt = F.expr(f"__broken IS NOT NULL OR __record IS NULL OR __record.{CORRUPT} IS NOT NULL")
    return _spread(frame, columns, corrupt)


def _single(messages: DataFrame, columns: tuple[ColumnDefinition, ...], value: Column) -> DataFrame:
    corrupt = F.col("__broken").isNotNull()
    return messages.select(value.alias(columns[0].name), corrupt.alias(CORRUPT), "*")


def _spread(frame: DataFrame, columns: tuple[ColumnDefinition, ...], corrupt: Column) -> DataFrame:
    placed = {name.lower() for name in frame.columns}

    def value(column: ColumnDefinition) -> Column:
        if column.name.lower() in placed:
            return F.col(quoted(column.name)).try_cast(type_text(column))
        return F.col(f"__record.{quoted(column.name)}")

    return frame.select(
        *[value(column).alias(column.name) for column in columns],
        corrupt.alias(CORRUPT),
        *[F.col(name) for name in frame.columns if name.startswith("__") and name != "__record"],
    )


def parse_text(lines: DataFrame, columns: tuple[ColumnDefinition, ...]) -> DataFrame:
    """Return lines as the one column that they are."""
    return lines.select(
        F.col("__raw").alias(columns[0].name),
        F.lit(False).alias(CORRUPT),
        *[F.col(name) for name in lines.columns],
    )


def json_reason(
    spark: SparkSession,
    columns: tuple[ColumnDefinition, ...],
    required: tuple[str, ...],
    options: dict[str, str],
    text: str = "__raw",
) -> Column:
    """Return an expression over a text that says why it, as JSON, does not fit the columns."""
    raw = F.col(text)
    variant = F.try_parse_json(raw)
    reasons = [
        F.when(variant.isNull(), F.lit("not valid JSON")),
        F.when(~F.trim(raw).startswith("{"), F.lit("not a JSON object")),
    ]
    for column in columns:
        value = F.get_json_object(raw, _json_path(column.name))
        kind = type_text(column)
        one = _json(spark, text, (column,), options)
        reasons.append(
            F.when(
                value.isNotNull() & one[column.name].isNull(),
                F.concat(F.lit(f'column "{column.name}" is not {kind}: '), F.substring(value, 1, SHOWN)),
            )
        )
        if column.name in required:
            reasons.append(F.when(value.isNull(), F.lit(f'misses column "{column.name}", which is NOT NULL')))
    reasons += [_missing(name) for name in required]
    return F.coalesce(*reasons, F.lit("does not fit the columns"))


def _json_path(name: str) -> str:
    return f"$.{name}" if name.isidentifier() else f"$['{name}']"


def columns_reason(corrupt: str, required: tuple[str, ...]) -> Column:
    """Return an expression that says why a row of csv, parquet or text does not fit its columns."""
    broken = F.when(F.expr(corrupt), F.lit("does not fit the columns"))
    return F.coalesce(broken, *[_missing(name) for name in required], F.lit("does not fit the columns"))


def _missing(name: str) -> Column:
    return F.when(F.col(quoted(name)).isNull(), F.lit(f'column "{name}" is NULL, but it is NOT NULL'))
