"""The options of a files source or table go in, a DataFrame of its records comes out."""

from datetime import UTC, datetime, timedelta
from glob import glob
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.connectors.files.options import FilesSource, FilesTable
from headrace.errors import HeadraceError, Span

POSITION = "_metadata.file_path AS __position"
INGESTED = "_metadata.file_modification_time AS __ingested_at"
BLOCK = "_metadata.file_block_start AS __block"
PLACE = (POSITION, INGESTED, BLOCK)
"""Where a record stands and when it came; reading it costs a tenth of the rest."""


def resolve_path(path: str, base: Path) -> str:
    """Return a path relative to the application file as one that Spark takes; URLs stay as they are.

    >>> resolve_path("in/*.json", Path("/app"))
    '/app/in/*.json'
    >>> resolve_path("s3a://bucket/in", Path("/app"))
    's3a://bucket/in'
    """
    if urlsplit(path).scheme:
        return path
    return str(base / path)


def as_stream_path(path: str) -> str:
    """Return a path that a stream can watch: a single file is written as a pattern that only it matches.

    >>> as_stream_path("/app/in/*.json")
    '/app/in/*.json'
    """
    local = Path(path)
    if urlsplit(path).scheme or any(c in path for c in "*?[{") or not local.is_file():
        return path
    return str(local.with_name(f"[{local.name[0]}]{local.name[1:]}"))


def check_readable(path: str, span: Span, *, now: bool) -> None:
    """Raise if a local path leads nowhere or may not be read; only ``now`` must a glob match something."""
    if urlsplit(path).scheme:
        return
    local = Path(path)
    if any(character in path for character in "*?[{"):
        if now and "{" not in path and not glob(path):
            raise HeadraceError(
                f'no file matches "{path}"', hint="The option path is relative to the application file.", span=span
            )
        return
    try:
        if local.is_dir():
            next(local.iterdir(), None)
        elif local.exists():
            with local.open("rb"):
                pass
        else:
            raise HeadraceError(
                f'path "{path}" does not exist',
                hint="Create the file or folder, or mend the option path; it is relative to the application file.",
                span=span,
            )
    except PermissionError as error:
        raise HeadraceError(f'path "{path}" cannot be read', detail=f"{error.strerror}.", span=span) from error


def read_lines(
    spark: SparkSession, options: FilesSource, path: str, *, placed: bool, since: datetime | None = None
) -> DataFrame:
    """Return the lines of the files as a stream, and if wanted where they stand and when they came.

    What folders such as ``day=2024-01-01`` say of their files comes as further columns.
    """
    reader = spark.readStream.schema("value STRING")
    for name, value in batch_limits(options).items():
        reader = reader.option(name, value)
    lines = _modified(reader.text(as_stream_path(path)), since)
    folders = [lines[f"`{name}`"] for name in lines.columns if name != "value"]
    return lines.select(F.col("value").alias("__raw"), *folders, *[F.expr(each) for each in PLACE if placed])


def read_columns(
    spark: SparkSession,
    options: FilesSource,
    path: str,
    schema: str,
    *,
    placed: bool,
    since: datetime | None = None,
) -> DataFrame:
    """Return the typed columns of json, csv or parquet files as a stream, and if wanted where they stand and came."""
    reader = spark.readStream.schema(schema).format(options.format)
    for name, value in {**format_options(options), **batch_limits(options)}.items():
        reader = reader.option(name, value)
    frame = _modified(reader.load(as_stream_path(path)), since)
    return frame.selectExpr("*", *PLACE) if placed else frame


def _modified(frame: DataFrame, since: datetime | None) -> DataFrame:
    """Return the rows of files that were not modified earlier; Spark leaves the others out before it opens them."""
    if since is None:
        return frame
    micros = (since - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return frame.filter(f"_metadata.file_modification_time >= timestamp_micros({micros})")


def read_table(spark: SparkSession, options: FilesTable, path: str, schema: str) -> DataFrame:
    """Return the rows of the files that are there."""
    reader = spark.read.schema(schema).format(options.format)
    for name, value in format_options(options).items():
        reader = reader.option(name, value)
    return reader.load(path)


def batch_limits(options: FilesSource) -> dict[str, str]:
    """Return what bounds a micro-batch, as Spark calls it."""
    limits = {}
    if options.max_files_per_batch is not None:
        limits["maxFilesPerTrigger"] = str(options.max_files_per_batch)
    if options.max_bytes_per_batch is not None:
        limits["maxBytesPerTrigger"] = str(options.max_bytes_per_batch)
    return limits


def format_options(options: FilesSource | FilesTable) -> dict[str, str]:
    """Return how records are written, as Spark calls it."""
    chosen = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "__corrupt"}
    if options.format == "csv":
        chosen |= {"header": str(options.header).lower(), "sep": options.delimiter}
    if options.timestamp_format is not None:
        chosen["timestampFormat"] = options.timestamp_format
    return chosen
