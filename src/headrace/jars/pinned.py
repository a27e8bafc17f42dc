"""The name of a set goes in; its jars, each with the one version and hash that Headrace was tried with, come out."""

from dataclasses import dataclass
from importlib.resources import files

__all__ = ["Pin", "pinned"]


@dataclass(frozen=True, slots=True)
class Pin:
    """One jar: where it is in a Maven registry, and what its bytes must be.

    >>> Pin("org.apache.kafka", "kafka-clients", "3.9.2", "014b").file
    'kafka-clients-3.9.2.jar'
    """

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """The name of the jar's file."""
        return f"{self.artifact}-{self.version}.jar"


def pinned(name: str) -> tuple[Pin, ...]:
    """Return the jars of a set, ``kafka`` or ``broker``.

    >>> [pin.artifact for pin in pinned("kafka")][2:]
    ['kafka-clients', 'commons-pool2']
    """
    lines = files("headrace.jars").joinpath("pinned.txt").read_text("ascii").splitlines()
    found = tuple(_pin(*rest) for each, *rest in map(str.split, lines) if each == name)
    if not found:
        raise KeyError(name)
    return found


def _pin(coordinates: str, sha256: str) -> Pin:
    group, artifact, version = coordinates.split(":")
    return Pin(group, artifact, version, sha256)
