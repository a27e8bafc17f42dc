"""A look at the files of a stream beside the job that reads them."""

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from headrace.connectors.files.options import FilesSink, FilesSource
from headrace.errors import HeadraceError
from headrace.server.services import file_tap
from headrace.server.services.file_tap import FileTap


def write(path: Path, text: str, age: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return path


def rows(tap: FileTap, limit: int = 50) -> list[object]:
    return [each.row if each.row is not None else each.text for each in tap.recent(limit)]


def test_the_newest_rows_come_last_and_new_files_once(tmp_path: Path) -> None:
    first = write(tmp_path / "in" / "b.json", '{"id": 1}\n{"id": 2}\n', age=20)
    write(tmp_path / "in" / "a.json", '{"id": 3}\nbroken\n{"id": 4}', age=10)
    write(tmp_path / "in" / "_half" / "c.json", '{"id": 99}\n')
    write(tmp_path / "in" / ".new", '{"id": 98}\n')
    tap = FileTap(FilesSource(path="in"), tmp_path, ["id"])
    assert rows(tap) == [{"id": 1}, {"id": 2}, {"id": 3}, "broken", {"id": 4}]
    assert rows(tap, 4) == [{"id": 2}, {"id": 3}, "broken", {"id": 4}]
    assert [each.position for each in tap.recent()[:2]] == [f"{first}:0", f"{first}:10"]
    assert list(tap.new()) == []
    write(tmp_path / "in" / "day=1" / "d.json", '{"id": 5}\n')
    assert [each.row for each in tap.new()] == [{"id": 5}]
    assert list(tap.new()) == []
    tap.close()


def test_of_a_large_file_the_end_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_tap, "WINDOW", 50)
    path = write(tmp_path / "in.json", "".join(f'{{"id": {number}}}\n' for number in range(1000)))
    tap = FileTap(FilesSource(path="in.json"), tmp_path, ["id"])
    found = tap.recent(500)
    assert [each.row for each in found] == [{"id": number} for number in range(996, 1000)]
    place = int(found[0].position.rpartition(":")[2])
    assert path.read_text()[place:].startswith('{"id": 996}')


def test_formats(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", 'id;name\n1;"x;y"\n2;z\n')
    tap = FileTap(FilesSource(path="a.csv", format="csv", delimiter=";"), tmp_path, ["id", "name"])
    assert rows(tap) == [{"id": "1", "name": "x;y"}, {"id": "2", "name": "z"}]
    write(tmp_path / "b.csv", "1,x\n2,y\n")
    plain = FileTap(FilesSource(path="b.csv", format="csv", header=False), tmp_path, ["id", "name"])
    assert rows(plain, 1) == [{"id": "2", "name": "y"}]
    write(tmp_path / "c.txt", '{"not": "parsed"}\nline\n')
    assert rows(FileTap(FilesSource(path="c.txt", format="text"), tmp_path, ["line"])) == ['{"not": "parsed"}', "line"]
    with gzip.open(tmp_path / "d.json.gz", "wt") as file:
        file.writelines(f'{{"id": {number}}}\n' for number in range(2000))
    packed = FileTap(FilesSource(path="{d,e}.json*"), tmp_path, ["id"])
    assert rows(packed, 2) == [{"id": 1998}, {"id": 1999}]
    parquet.write_table(pa.table({"id": list(range(10))}), tmp_path / "out.parquet", row_group_size=4)
    kept = FileTap(FilesSink(path="out.parquet", format="parquet"), tmp_path, ["id"])
    found = kept.recent(3)
    assert [each.row for each in found] == [{"id": 7}, {"id": 8}, {"id": 9}]
    assert found[0].position == f"{tmp_path / 'out.parquet'}:7"


def test_what_cannot_be_looked_at(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="cannot be looked at from here"):
        FileTap(FilesSource(path="s3a://bucket/in"), tmp_path, ["id"])
    write(tmp_path / "bad.parquet", "no such thing")
    with pytest.raises(HeadraceError, match="cannot be read"):
        FileTap(FilesSource(path="bad.parquet", format="parquet"), tmp_path, ["id"]).recent()
    write(tmp_path / "bad.json.gz", "no such thing")
    with pytest.raises(HeadraceError, match="cannot be read"):
        FileTap(FilesSource(path="bad.json.gz"), tmp_path, ["id"]).recent()
    assert FileTap(FilesSource(path="none*.json"), tmp_path, ["id"]).recent() == []
