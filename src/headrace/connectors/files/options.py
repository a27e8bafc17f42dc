"""The options of the connector files."""

from dataclasses import dataclass

from headrace.connectors.formats import BAD_DELIMITERS, DELIMITER, FILE_FORMATS, TIMESTAMP_FORMAT
from headrace.connectors.options import Needs, option

_CSV = Needs("format", ("csv",))
_READ_PATH = "A file, a folder or a glob; relative to the application file."
_READ_FORMAT = "How the files are written."
_MOST_FILES = "The most files that one micro-batch takes; all that are there without it."
_MOST_BYTES = "About how many bytes one micro-batch takes; it always takes at least one file."
_READ_HEADER = "Whether the first line of each csv file holds column names."


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSource:
    """New files under a path, each read once."""

    path: str = option(doc=_READ_PATH, example="events/*.json")
    format: str = option(doc=_READ_FORMAT, default="json", choices=FILE_FORMATS)
    max_files_per_batch: int | None = option(doc=_MOST_FILES, default=None, example=100, minimum=1)
    max_bytes_per_batch: int | None = option(doc=_MOST_BYTES, default=None, example=134_217_728, minimum=1)
    header: bool = option(doc=_READ_HEADER, default=True, needs=_CSV)
    delimiter: str = option(doc=DELIMITER, default=",", refused=BAD_DELIMITERS, needs=_CSV)
    timestamp_format: str | None = option(
        doc=TIMESTAMP_FORMAT,
        default=None,
        example="yyyy-MM-dd HH:mm:ss",
        needs=Needs("format", ("json", "csv")),
    )
    verify: str = option(
        doc="Which columns decide that a record is dead: `all` that are declared, or only those that a query `used`; "
        "then a record can be dead for one query and a row of another.",
        default="all",
        choices=("all", "used"),
        needs=Needs("format", ("json",)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesTable:
    """The rows of files: by key as they were last written, or as they are when the application starts.

    In JSON, a line of a table with a primary key removes the row of its key if it has "_change": "delete".
    """

    path: str = option(doc=_READ_PATH, example="countries.csv")
    format: str = option(doc=_READ_FORMAT, default="json", choices=FILE_FORMATS)
    max_files_per_batch: int | None = option(doc=_MOST_FILES, default=None, example=100, minimum=1)
    max_bytes_per_batch: int | None = option(doc=_MOST_BYTES, default=None, example=134_217_728, minimum=1)
    header: bool = option(doc=_READ_HEADER, default=True, needs=_CSV)
    delimiter: str = option(doc=DELIMITER, default=",", refused=BAD_DELIMITERS, needs=_CSV)
    timestamp_format: str | None = option(
        doc=TIMESTAMP_FORMAT,
        default=None,
        example="yyyy-MM-dd HH:mm:ss",
        needs=Needs("format", ("json", "csv")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSink:
    """Files in a folder, each batch written once."""

    path: str = option(doc="The folder that takes the files; relative to the application file.", example="out")
    format: str = option(doc="How the files are written.", default="json", choices=FILE_FORMATS)
    header: bool = option(doc="Whether each csv file starts with a line of column names.", default=True, needs=_CSV)
    delimiter: str = option(doc=DELIMITER, default=",", refused=BAD_DELIMITERS, needs=_CSV)
    partition_by: tuple[str, ...] = option(
        doc="Columns that become folders, as in `day=2024-01-01/`, and are left out of the files.",
        default=(),
        example="day, country",
    )
    compression: str | None = option(
        doc="How the files are compressed; by the format's own habit without it (snappy for parquet).",
        default=None,
        choices=("none", "gzip", "snappy", "zstd"),
        example="gzip",
        needs=Needs("format", ("parquet",), when=("zstd",)),
    )
