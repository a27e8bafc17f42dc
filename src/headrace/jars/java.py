"""The environment goes in; the Java that is used comes out, or an error that says which Java is needed."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from headrace.errors import HeadraceError

__all__ = ["LEAST", "find_java", "major_version"]

LEAST = 17
_HINT = (
    "Install one (apt install openjdk-17-jdk-headless, brew install openjdk@17, or https://adoptium.net), "
    "or set JAVA_HOME to where it is."
)


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the program ``java`` that Spark would start too; raise if it is missing or too old."""
    java = _program(environment)
    text = _version_text(java)
    version = major_version(text)
    if version is None:
        raise _needed(f"{java} does not say which version it is: {text.strip().splitlines()[:1]}.")
    if version < LEAST:
        raise _needed(f"{java} is Java {version}.")
    return java


def major_version(text: str) -> int | None:
    """Return the major version in a release file or in what ``java -version`` says.

    >>> major_version('openjdk version "1.8.0_402"'), major_version('JAVA_VERSION="21.0.2"')
    (8, 21)
    """
    found = re.search(r'"(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None


def _program(environment: Mapping[str, str]) -> Path:
    if home := environment.get("JAVA_HOME"):
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise _needed(f"JAVA_HOME is {home}, but there is no {java}.")
        return java
    found = shutil.which("java", path=environment.get("PATH"))
    if found is None:
        raise _needed("There is no java on the PATH, and JAVA_HOME is not set.")
    return Path(found)


def _needed(detail: str) -> HeadraceError:
    return HeadraceError(f"Java {LEAST} or newer is needed", detail=detail, hint=_HINT)


def _version_text(java: Path) -> str:
    """Return the JDK's note of its version if it has one, which is quicker than starting it."""
    release = java.resolve().parent.parent / "release"
    try:
        for line in release.read_text("utf-8").splitlines():
            if line.startswith("JAVA_VERSION="):
                return line
    except (OSError, UnicodeDecodeError):
        pass  # not every distribution has one; Java itself is asked instead
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return answer.stderr + answer.stdout
