"""The Java sources go in; the jars that Spark loads come out, compiled once and kept under Headrace's home."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.jars.home import headrace_home

SOURCES = Path(__file__).with_name("java")
RELEASED = Path(__file__).with_name("jars")
"""A released wheel carries the jars in this folder."""
OPERATORS, AGENT = "headrace-operators.jar", "headrace-agent.jar"
MANIFEST = "Manifest-Version: 1.0\nPremain-Class: org.headrace.LoopbackAgent\n\n"
LONG_AGO = (2020, 1, 1, 0, 0, 0)


def library(needed: Sequence[Path]) -> Path:
    """Return the jar of the library; ``needed`` are the jars that it is compiled against beside Spark's own.

    Without Kafka's jars it is the library without what speaks to Kafka.
    """
    return _folder(needed) / OPERATORS


def agent(needed: Sequence[Path]) -> Path:
    """Return the jar of the agent that keeps Spark on this machine.

    It stands alone: what is in an agent's jar is loaded beside Spark, where the other jars are out of sight.
    """
    return _folder(needed) / AGENT


def _folder(needed: Sequence[Path]) -> Path:
    if RELEASED.is_dir():
        return RELEASED
    above = headrace_home() / "operators"
    above.mkdir(exist_ok=True)
    folder = above / _fingerprint(needed)
    if not folder.is_dir():
        _build(folder, needed)
    return folder


def _sources(needed: Sequence[Path]) -> list[Path]:
    return sorted(file for file in SOURCES.rglob("*.java") if needed or file.parent.name != "kafka")


def _fingerprint(needed: Sequence[Path]) -> str:
    digest = hashlib.sha256(f"{version('pyspark')} {MANIFEST}".encode())
    for jar in needed:
        digest.update(jar.name.encode())
    for source in _sources(needed):
        digest.update(str(source.relative_to(SOURCES)).encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _build(folder: Path, needed: Sequence[Path]) -> None:
    """Compile and pack; the folder of the jars appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        classes, packed = Path(temporary, "classes"), Path(temporary, "jars")
        packed.mkdir()
        _compile(classes, needed)
        files = sorted(classes.rglob("*.class"))
        of_agent = [file for file in files if file.name.startswith("LoopbackAgent")]
        _pack(packed / AGENT, classes, of_agent, MANIFEST)
        _pack(packed / OPERATORS, classes, [file for file in files if file not in of_agent])
        with suppress(OSError):  # another process may have been quicker
            packed.rename(folder)


def _compile(classes: Path, needed: Sequence[Path]) -> None:
    spark = importlib.util.find_spec("pyspark")
    if spark is None or spark.origin is None:
        raise HeadraceError("PySpark is not installed")
    path = os.pathsep.join([str(Path(spark.origin).parent / "jars" / "*"), *map(str, needed)])
    arguments = ["-nowarn", "-proc:none", "--release", "17", "-d", str(classes), "-cp", path]
    command = [_javac(), *arguments, *map(str, _sources(needed))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HeadraceError(
            "the Java library of Headrace does not compile",
            detail=next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200]),
            hint="Is JAVA_HOME a JDK of version 17 or newer?",
        )


def _pack(jar: Path, classes: Path, files: Sequence[Path], manifest: str | None = None) -> None:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        if manifest is not None:
            archive.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF", LONG_AGO), manifest)
        for file in files:
            archive.writestr(zipfile.ZipInfo(str(file.relative_to(classes)), LONG_AGO), file.read_bytes())


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
