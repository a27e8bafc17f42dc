"""The options of a Kafka stream, table or sink go in; the properties of Kafka's Java client come out."""

import os
from collections.abc import Mapping
from pathlib import Path

from headrace.broker.server import embedded_broker
from headrace.connectors.kafka.options import PREFIX, KafkaConnection
from headrace.errors import HeadraceError

__all__ = ["client_properties", "masked", "servers_of"]

_MODULES = {
    "plain": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "scram-sha-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "scram-sha-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_SECRET = ("password", "jaas", "secret", "token", "key")


def servers_of(options: KafkaConnection, environment: Mapping[str, str] = os.environ) -> str:
    """Return the brokers to begin with: those named, those of the environment, or the embedded one."""
    found = options.bootstrap_servers or environment.get("HEADRACE_BOOTSTRAP_SERVERS")
    found = found or embedded_broker().running_address()
    if found is None:
        raise HeadraceError(
            "no Kafka broker is named, and the embedded one does not run",
            hint="Start it with: headrace broker start. Or add bootstrap_servers = 'host:port' to the WITH clause.",
            passing=True,
        )
    return found


def client_properties(options: KafkaConnection, base: Path) -> dict[str, str]:
    """Return what every client of these brokers needs; a property that the user names himself wins."""
    properties = {"bootstrap.servers": servers_of(options)}
    if options.security_protocol != "plaintext":
        properties["security.protocol"] = options.security_protocol.upper()
    if options.security_protocol.startswith("sasl"):
        properties["sasl.mechanism"] = options.sasl_mechanism.upper()
        properties["sasl.jaas.config"] = _login(options, base)
    if options.ssl_ca is not None:
        properties["ssl.truststore.type"] = "PEM"
        properties["ssl.truststore.location"] = str(base / options.ssl_ca)
    if options.ssl_certificate is not None:
        properties["ssl.keystore.type"] = "PEM"
        properties["ssl.keystore.location"] = str(base / options.ssl_certificate)
    if options.ssl_key_password is not None:
        properties["ssl.key.password"] = options.ssl_key_password
    properties.update({name[len(PREFIX) :]: value for name, value in options.properties.items()})
    return properties


def _login(options: KafkaConnection, base: Path) -> str:
    password = options.sasl_password
    if password is None and options.sasl_password_file is not None:
        try:
            password = (base / options.sasl_password_file).read_text("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise HeadraceError(
                f'the password file "{options.sasl_password_file}" cannot be read',
                hint="The option sasl_password_file is relative to the application file.",
            ) from error
    user = _quoted(options.sasl_username or "")
    return f"{_MODULES[options.sasl_mechanism]} required username={user} password={_quoted(password or '')};"


def _quoted(text: str) -> str:
    r"""Return text as JAAS reads it.

    >>> print(_quoted('a"b'))
    "a\"b"
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def masked(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties as they may be shown.

    >>> masked({"client.id": "a", "ssl.key.password": "b"})
    {'client.id': 'a', 'ssl.key.password': '***'}
    """
    return {n: "***" if any(word in n for word in _SECRET) else value for n, value in properties.items()}
