"""A broker that wants encryption and a password: the options reach it, a wrong password is told, none is shown."""

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from headrace.broker import storage
from headrace.broker.ports import choose
from headrace.broker.settings import LOGGING, command, properties
from headrace.errors import HeadraceError
from headrace.jars.fetch import jars
from headrace.jars.java import find_java
from support.topics import new_topic, rows, send

pytestmark = pytest.mark.spark

SECURE = """
listeners=PLAINTEXT://127.0.0.1:{open},SECURE://127.0.0.1:{secure},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{open},SECURE://127.0.0.1:{secure}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
ssl.keystore.type=PKCS12
ssl.keystore.location=server.p12
ssl.keystore.password=changeit
listener.name.secure.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_ann="s3cret";
"""


@dataclass
class Guarded:
    folder: Path
    open: str
    secure: str


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A Kafka with a second door, behind TLS and a password."""
    folder = tmp_path_factory.mktemp("guarded")
    keytool = str(find_java().with_name("keytool"))
    store = ["-alias", "server", "-keystore", "server.p12", "-storetype", "PKCS12", "-storepass", "changeit"]
    made = ["-genkeypair", "-keyalg", "RSA", "-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1", "-validity", "3650"]
    subprocess.run([keytool, *made, *store], cwd=folder, check=True, capture_output=True)
    exported = subprocess.run([keytool, "-exportcert", "-rfc", *store], cwd=folder, check=True, capture_output=True)
    (folder / "ca.pem").write_bytes(exported.stdout)
    (open_port, controller), (secure, _) = choose(None, None), choose(None, None)
    run = command(find_java(), jars("broker"), folder, "512m")
    (folder / "log4j2.xml").write_text(LOGGING)
    storage.make(folder, run[:-2], open_port, controller)
    settings = properties(open_port, controller)
    kept = [line for line in settings.splitlines() if "listeners" not in line and "protocol.map" not in line]
    more = SECURE.format(open=open_port, secure=secure, controller=controller)
    (folder / "server.properties").write_text("\n".join(kept) + more)
    process = subprocess.Popen(run, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"127.0.0.1:{open_port}"
    try:
        wait_until_ready(address, process)
        yield Guarded(folder, address, f"127.0.0.1:{secure}")
    finally:
        process.kill()  # nobody needs what it holds
        process.wait()


def wait_until_ready(address: str, process: subprocess.Popen) -> None:
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    deadline = time.monotonic() + 240
    while True:
        try:
            admin.list_topics(timeout=5)
        except Exception:
            assert process.poll() is None, "the broker died"
            assert time.monotonic() < deadline, "the broker did not answer in time"
        else:
            return


def application_text(guarded: Guarded, source: str, out: str, password: str) -> str:
    door = (
        f"connector = 'kafka', bootstrap_servers = '{guarded.secure}', security_protocol = 'sasl_ssl', "
        f"sasl_username = 'ann', {password}, ssl_ca = '{guarded.folder / 'ca.pem'}'"
    )
    return f"""
        CREATE STREAM s (x INT) WITH ({door}, topic = '{source}');
        CREATE SINK o WITH ({door}, topic = '{out}') AS SELECT x FROM s;
    """


def test_a_password_from_a_file_opens_an_encrypted_door(application, guarded, tmp_path):
    source, out = new_topic(guarded.open, "in"), new_topic(guarded.open, "out")
    send(guarded.open, source, [{"x": 1}, {"x": 2}])
    (tmp_path / "password").write_text("s3cret\n")
    app = application(application_text(guarded, source, out, "sasl_password_file = 'password'"))
    assert "s3cret" not in app.explain()
    app.run_once()
    assert sorted(row["x"] for row in rows(guarded.open, out)) == [1, 2]


def test_a_wrong_password_is_told_and_not_shown(application, guarded):
    source = new_topic(guarded.open, "in")
    app = application(application_text(guarded, source, source, "sasl_password = 'wr0ng'"))
    with pytest.raises(HeadraceError) as raised:
        app.run_once()
    assert raised.value.message == f"the Kafka brokers at {guarded.secure} do not let us in"
    assert "wr0ng" not in raised.value.report()


def test_a_door_that_is_spoken_to_in_the_wrong_way(application, guarded, monkeypatch):
    monkeypatch.setattr("headrace.spark.kafka.PATIENCE", 5)  # nobody will ever answer
    app = application(
        f"CREATE STREAM s (x INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = '{guarded.secure}');"
        "SELECT x FROM s;"
    )
    with pytest.raises(HeadraceError) as raised:
        app.run_once()
    assert raised.value.message == f"the Kafka brokers at {guarded.secure} do not answer"
