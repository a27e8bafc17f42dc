"""Jars: fetched once, checked by hash, used without a network, or brought by the user."""

import hashlib
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.jars import fetch
from headrace.jars.fetch import is_present, jars
from headrace.jars.home import headrace_home
from headrace.jars.pinned import Pin, pinned

CONTENT = b"not really a jar"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Registry:
    """A Maven registry in a folder, with one jar, and the environment of a user who fetches from it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.jar = folder / "registry" / "org" / "example" / "thing" / "1.0" / "thing-1.0.jar"
        self.jar.parent.mkdir(parents=True)
        self.jar.write_bytes(CONTENT)
        self.jar.with_suffix(".pom").write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
            "<artifactId>thing</artifactId><version>1.0</version></project>"
        )
        settings = folder / "ivysettings.xml"
        settings.write_text(settings_with((folder / "registry").as_uri()))
        self.environment = {**os.environ, "HEADRACE_HOME": str(self.home), "HEADRACE_IVY_SETTINGS": str(settings)}

    @property
    def kept(self) -> Path:
        return self.home / "jars" / "thing-1.0.jar"


def settings_with(root: str) -> str:
    return (
        '<ivysettings><settings defaultResolver="mirror"/><resolvers>'
        f'<ibiblio name="mirror" m2compatible="true" root="{root}/"/></resolvers></ivysettings>'
    )


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setattr(fetch, "pinned", lambda name: (Pin("org.example", "thing", "1.0", SHA256),))
    return Registry(tmp_path)


def test_the_list_is_well_formed() -> None:
    for name in ("kafka", "broker"):
        pins = pinned(name)
        assert len({pin.file for pin in pins}) == len(pins)
        assert all(re.fullmatch("[0-9a-f]{64}", pin.sha256) for pin in pins)
    with pytest.raises(KeyError):
        pinned("nothing")


def test_the_real_jars_have_the_pinned_hashes() -> None:
    for name in ("kafka", "broker"):
        for pin, file in zip(pinned(name), jars(name, {**os.environ, "HEADRACE_JARS": ""}), strict=True):
            assert hashlib.sha256(file.read_bytes()).hexdigest() == pin.sha256, file


def test_a_jar_is_fetched_once_and_used_without_the_registry(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_present("kafka", registry.environment)
    assert jars("kafka", registry.environment) == (registry.kept,)
    assert is_present("kafka", registry.environment)
    assert registry.kept.read_bytes() == CONTENT

    def fail(*_: object) -> None:
        raise AssertionError("fetched again")

    monkeypatch.setattr(fetch, "retrieve", fail)
    assert jars("kafka", registry.environment) == (registry.kept,)
    (registry.home / "jars" / "checked.json").write_text("not ours")
    assert jars("kafka", registry.environment) == (registry.kept,)
    monkeypatch.setattr(fetch, "_sha256", fail)
    assert jars("kafka", registry.environment) == (registry.kept,), "a known jar is not hashed again"


def test_nothing_but_jars_is_left_behind(registry: Registry) -> None:
    jars("kafka", registry.environment)
    assert [each.name for each in registry.home.iterdir()] == ["jars"]


def test_a_jar_with_another_hash_is_not_kept(registry: Registry) -> None:
    registry.jar.write_bytes(b"something else")
    with pytest.raises(HeadraceError) as raised:
        jars("kafka", registry.environment)
    assert raised.value.message == "thing-1.0.jar is not the jar that Headrace was tried with"
    assert "org.example:thing:1.0" in (raised.value.detail or "")
    assert not registry.kept.exists()
    registry.jar.write_bytes(CONTENT)
    assert jars("kafka", registry.environment) == (registry.kept,), "the wrong one is not remembered"


def test_a_jar_that_changed_on_the_disk_is_fetched_again(registry: Registry) -> None:
    jars("kafka", registry.environment)
    registry.kept.write_bytes(b"changed by somebody")
    jars("kafka", registry.environment)
    assert registry.kept.read_bytes() == CONTENT


def test_a_registry_that_does_not_answer_is_said_so(registry: Registry, tmp_path: Path) -> None:
    with socket.socket() as closed:  # bound, so that nobody else answers there, but not listening
        closed.bind(("127.0.0.1", 0))
        settings = tmp_path / "nowhere.xml"
        settings.write_text(settings_with(f"http://127.0.0.1:{closed.getsockname()[1]}"))
        with pytest.raises(HeadraceError) as raised:
            jars("kafka", {**registry.environment, "HEADRACE_IVY_SETTINGS": str(settings)})
    assert raised.value.message == "jars could not be fetched from the Maven registry"
    assert "Connection refused" in (raised.value.detail or "")
    assert "HEADRACE_JARS" in (raised.value.hint or "")
    assert "HEADRACE_IVY_SETTINGS" in (raised.value.hint or "")
    assert jars("kafka", registry.environment) == (registry.kept,), "the next try succeeds"


def test_settings_that_are_missing_are_named(registry: Registry) -> None:
    with pytest.raises(HeadraceError, match=r"/nowhere\.xml, which is no file"):
        jars("kafka", {**registry.environment, "HEADRACE_IVY_SETTINGS": "/nowhere.xml"})


def test_jars_of_the_user_are_used_as_they_are(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    environment = {"HEADRACE_JARS": str(own)}
    with pytest.raises(HeadraceError, match="holds no file"):
        jars("kafka", environment)
    (own / "b.jar").touch()
    (own / "a.jar").touch()
    (own / "readme.txt").touch()
    assert jars("kafka", environment) == (own / "a.jar", own / "b.jar")
    assert jars("broker", {**os.environ, **environment}) == jars("broker"), "the broker's own are not replaced"


PROGRAM = """
import sys
from headrace.jars import fetch
from headrace.jars.pinned import Pin
fetch.pinned = lambda name: (Pin("org.example", "thing", "1.0", sys.argv[1]),)
print(fetch.jars("kafka")[0])
"""


def test_two_processes_may_fetch_at_once(registry: Registry) -> None:
    command = [sys.executable, "-c", PROGRAM, SHA256]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=registry.environment) for _ in range(2)]
    answers = [each.communicate(timeout=300)[0] for each in running]
    assert [each.returncode for each in running] == [0, 0]
    assert answers == [f"{registry.kept}\n".encode()] * 2
    assert registry.kept.read_bytes() == CONTENT


def test_the_home_is_the_users_alone(tmp_path: Path) -> None:
    home = headrace_home({"HEADRACE_HOME": str(tmp_path / "new" / "home")})
    assert home == tmp_path / "new" / "home"
    assert home.stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(HeadraceError, match="cannot be made"):
        headrace_home({"HEADRACE_HOME": str(tmp_path / "file" / "home")})
