"""The Java library compiles without a warning, once, and says what is missing."""

import importlib.util
import subprocess
import zipfile
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.jars.fetch import jars
from headrace.operators import library as module
from headrace.operators.library import agent, library


def test_the_sources_compile_without_a_warning(tmp_path):
    spark = Path(importlib.util.find_spec("pyspark").origin).parent / "jars" / "*"
    path = ":".join([str(spark), *map(str, jars("kafka"))])
    sources = [str(each) for each in module._sources(jars("kafka"))]
    command = [
        "javac",
        "-Xlint:all,-path",
        "-Werror",
        "-proc:none",
        "--release",
        "17",
        "-d",
        str(tmp_path),
        "-cp",
        path,
    ]
    done = subprocess.run([*command, *sources], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_is_built_once_and_reused(tmp_path, monkeypatch):
    needed = jars("kafka")
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path))
    operators = library(needed)
    with zipfile.ZipFile(operators) as archive:
        assert "org/headrace/kafka/KafkaSink.class" in archive.namelist()
        assert not any("LoopbackAgent" in name for name in archive.namelist())
    with zipfile.ZipFile(agent(needed)) as archive:
        assert "Premain-Class: org.headrace.LoopbackAgent" in archive.read("META-INF/MANIFEST.MF").decode()
    monkeypatch.setattr(module, "_javac", lambda: pytest.fail("compiled a second time"))
    assert library(needed) == operators


def test_a_runtime_without_a_compiler(tmp_path, monkeypatch):
    needed = jars("kafka")
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(HeadraceError, match="no Java compiler") as raised:
        library(needed)
    assert "JDK" in raised.value.hint


def test_sources_that_do_not_compile(tmp_path, monkeypatch):
    needed = jars("kafka")
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    (tmp_path / "Broken.java").write_text("class Broken { int x = ; }")
    monkeypatch.setattr(module, "SOURCES", tmp_path)
    with pytest.raises(HeadraceError, match="does not compile"):
        library(needed)
    assert not list((tmp_path / "home" / "operators").iterdir())
