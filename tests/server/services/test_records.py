"""The places that EVIDENCE() notes lead back to the records, as Spark counts them in files."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from headrace import Application
from headrace.connectors.files.options import FilesSource
from headrace.server.services.file_tap import FileTap, may_lead_to

IDS = range(40)


def _written(folder: Path, kind: str) -> FilesSource:
    """Write rows into a file that Spark reads in several blocks, with lines that are no rows."""
    path = folder / f"in.{kind}"
    match kind:
        case "json":
            path.write_text("".join(f'{{"id": "{n}"}}\n' + "\n" * (n % 3 == 0) for n in IDS))
        case "csv":
            path.write_text("id\n" + "".join(f"{n}\n" + "\n" * (n % 3 == 0) for n in IDS))
        case "text":
            path.write_text("".join(f"{n}\n" for n in IDS))
        case "parquet":
            parquet.write_table(pa.table({"id": [str(n) for n in IDS]}), path, row_group_size=7)
    return FilesSource(path=path.name, format=kind)


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["json", "csv", "text", "parquet"])
def test_evidence_leads_to_the_record_in_a_file(tmp_path: Path, kind: str) -> None:
    options = _written(tmp_path, kind)
    blocks = "" if kind == "parquet" else "SET spark.sql.files.maxPartitionBytes = 100;"
    text = f"""{blocks}
    CREATE STREAM s (id STRING) WITH (connector = 'files', path = 'in.{kind}', format = '{kind}');
    SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ARRIVAL MEASURES EVIDENCE() AS behind PATTERN (a));
    """
    [answer] = Application(directory=tmp_path).sql(text).run_once()
    tap = FileTap(options, tmp_path, ["id"])
    seen = {}
    for row in answer.rows():
        [place] = row["behind"]
        found = tap.at(place["source"], place["partition"], place["position"])
        assert found is not None, place
        seen[row["id"]] = found.text if kind == "text" else found.row["id"]
    assert seen == {str(n): str(n) for n in IDS}
    assert kind == "parquet" or len({row["behind"][0]["partition"] for row in answer.rows()}) > 1


def test_only_files_of_the_stream_are_read(tmp_path: Path) -> None:
    options = _written(tmp_path, "json")
    (tmp_path / "secret.json").write_text('{"id": "no"}\n')
    tap = FileTap(options, tmp_path, ["id"])
    assert tap.at(str(tmp_path / "secret.json"), 0, 1) is None
    assert tap.at(str(tmp_path / "in.json" / ".." / "secret.json"), 0, 1) is None
    assert tap.at(str(tmp_path / "in.json"), 0, 0) is None
    assert tap.at(str(tmp_path / "in.json"), 0, 41) is None
    assert tap.at(str(tmp_path / "in.json"), 10**9, 1) is None
    found = tap.at(str(tmp_path / "in.json"), 0, 40)
    assert found is not None
    assert found.row == {"id": "39"}


@pytest.mark.parametrize(
    ("path", "led_to", "not_to"),
    [
        (
            "in",
            ["/app/in", "/app/in/a.json", "/app/in/day=1/a.json"],
            ["/app/inner/a.json", "/app", "in", "/in/a.json"],
        ),
        ("in/a.json", ["/app/in/a.json"], ["/app/in/b.json", "/app/in"]),
        ("in/*.json", ["/app/in/a.json"], ["/app/in/a.csv", "/app/in/b/a.json", "/app/in"]),
        ("/in/{a,b/c}/*", ["/in/a/1", "/in/b/c/1"], ["/in/b/1", "/in/c/1"]),
        ("../in", ["/in/a.json"], ["/app/in/a.json", "/other"]),
        ("file:///in/[ab]", ["/in/a", "/in/b/1.json"], ["/in/c"]),
        ("[x]", ["/app/x/1", "/app/[x]/1"], ["/app/y/1"]),
        ("s3a://bucket/in", [], ["/in/a.json", "/bucket/in/a.json"]),
    ],
)
def test_which_files_a_path_leads_to(path: str, led_to: list[str], not_to: list[str]) -> None:
    found = {file: may_lead_to(path, Path("/app"), file) for file in (*led_to, *not_to)}
    assert found == dict.fromkeys(led_to, True) | dict.fromkeys(not_to, False)
