"""The Java sources go in; the jar that Spark loads comes out, compiled once and kept under Headrace's home."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.jars.home import headrace_home

SOURCES = Path(__file__).with_name("java")
RELEASED = Path(__file__).with_name("headrace-operators.jar")
"""A released wheel carries the jar."""
LONG_AGO = (2020, 1, 1, 0, 0, 0)


def library(needed: Sequence[Path]) -> Path:
    """Return the jar of the library; ``needed`` are the jars that it is compiled against beside Spark's own."""
    if RELEASED.exists():
        return RELEASED
    folder = headrace_home() / "operators"
    folder.mkdir(exist_ok=True)
    jar = folder / f"headrace-operators-{_fingerprint(needed)}.jar"
    if not jar.exists():
        _build(jar, needed)
    return jar


def is_built(needed: Sequence[Path]) -> bool:
    """Say whether the jar is there already."""
    return (
        RELEASED.exists() or (headrace_home() / "operators" / f"headrace-operators-{_fingerprint(needed)}.jar").exists()
    )


def _sources() -> list[Path]:
    return sorted(SOURCES.rglob("*.java"))


def _fingerprint(needed: Sequence[Path]) -> str:
    digest = hashlib.sha256(version("pyspark").encode())
    for jar in needed:
        digest.update(jar.name.encode())
    for source in _sources():
        digest.update(str(source.relative_to(SOURCES)).encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _build(jar: Path, needed: Sequence[Path]) -> None:
    """Compile and pack; the jar appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=jar.parent) as temporary:
        classes = Path(temporary, "classes")
        spark = importlib.util.find_spec("pyspark")
        if spark is None or spark.origin is None:
            raise HeadraceError("PySpark is not installed")
        path = os.pathsep.join([str(Path(spark.origin).parent / "jars" / "*"), *map(str, needed)])
        arguments = ["-nowarn", "-proc:none", "--release", "17", "-d", str(classes), "-cp", path]
        done = subprocess.run(
            [_javac(), *arguments, *map(str, _sources())], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise HeadraceError(
                "the Java library of Headrace does not compile",
                detail=next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200]),
                hint="Is JAVA_HOME a JDK of version 17 or newer?",
            )
        packed = Path(temporary, jar.name)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(classes.rglob("*.class")):
                entry = zipfile.ZipInfo(str(file.relative_to(classes)), LONG_AGO)
                archive.writestr(entry, file.read_bytes())
        os.replace(packed, jar)


def _javac() -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("javac", path=f"{home}/bin") if home else shutil.which("javac")
    if found is None:
        raise HeadraceError(
            "there is no Java compiler",
            detail="Headrace compiles its small Java library once, with javac; a JRE has none.",
            hint="Install a JDK 17 or newer, or set JAVA_HOME to one.",
        )
    return found
