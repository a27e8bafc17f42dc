"""Pinned jars go in; Ivy, which comes with PySpark, fetches them from a Maven registry into a folder."""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from headrace.errors import HeadraceError
from headrace.jars.java import find_java
from headrace.jars.pinned import Pin

__all__ = ["retrieve"]

_LONGEST_SECONDS = 1800
# Without these, a registry that swallows packets is waited for without end.
_TIMEOUTS = ("-Dsun.net.client.defaultConnectTimeout=20000", "-Dsun.net.client.defaultReadTimeout=60000")
_HINT = (
    "Connect to the network once; the jars are kept. For a private mirror, set HEADRACE_IVY_SETTINGS to an "
    "ivysettings.xml; if you have Spark's Kafka jars, set HEADRACE_JARS to their folder."
)


def retrieve(pins: Iterable[Pin], folder: Path, cache: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Fetch jars into a folder by one run of Ivy; what it remembers for another try goes into the cache."""
    folder.mkdir(parents=True, exist_ok=True)
    module = folder / "ivy.xml"
    module.write_text(_module(pins), "utf-8")
    command = [str(find_java(environment)), *_TIMEOUTS, "-cp", str(_ivy_jar()), "org.apache.ivy.Main"]
    if settings := environment.get("HEADRACE_IVY_SETTINGS"):
        command += ["-settings", str(_existing(Path(settings).expanduser()))]
    command += ["-ivy", str(module), "-cache", str(cache)]
    command += ["-retrieve", str(folder / "[artifact]-[revision].[ext]")]
    try:
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_LONGEST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _not_fetched(f"Nothing came for {_LONGEST_SECONDS} seconds.") from error
    if answer.returncode != 0:
        raise _not_fetched(_reason(answer.stdout.decode("utf-8", errors="replace")))


def _module(pins: Iterable[Pin]) -> str:
    dependencies = "\n".join(
        f"    <dependency org={quoteattr(pin.group)} name={quoteattr(pin.artifact)} rev={quoteattr(pin.version)} "
        'transitive="false" conf="default->master"/>'
        for pin in pins
    )
    return (
        '<ivy-module version="2.0">\n  <info organisation="headrace" module="jars"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{dependencies}\n  </dependencies>\n</ivy-module>\n"
    )


def _ivy_jar() -> Path:
    """Return Ivy's jar among those of PySpark, without importing PySpark."""
    spec = find_spec("pyspark")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(place, "jars").glob("ivy-*.jar")):
            return jar
    raise HeadraceError(
        "Ivy, which fetches jars, was not found",
        detail="It comes with PySpark, in its folder jars.",
        hint="Install the full package: pip install pyspark.",
    )


def _existing(settings: Path) -> Path:
    if not settings.is_file():
        raise HeadraceError(
            "the settings of Ivy are missing",
            detail=f"HEADRACE_IVY_SETTINGS names {settings}, which is no file.",
        )
    return settings.absolute()


def _not_fetched(detail: str) -> HeadraceError:
    return HeadraceError("jars could not be fetched from the Maven registry", detail=detail, hint=_HINT)


def _reason(output: str) -> str:
    r"""Return the line of Ivy's output that tells most: why a server did not answer, else what is missing.

    >>> _reason(":: loading settings\n\tServer access error at url http://me:secret@x (Connection refused)\nnot found")
    'Server access error at url http://***@x (Connection refused)'
    """
    output = re.sub(r"//[^/@\s]+@", "//***@", output)  # a mirror's address may hold a password
    lines = [line.strip() for line in output.splitlines() if line.strip(" \t:")]
    for sign in ("Server access error", "SERVER ERROR", "Host ", "not found", "UNRESOLVED", "rror"):
        for line in reversed(lines):
            if sign in line:
                return line
    return lines[-1] if lines else "Ivy ended without a word."
