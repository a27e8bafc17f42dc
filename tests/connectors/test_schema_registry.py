"""The client of the schema registry, against a real server on the loopback."""

import pickle
import socket
from typing import Any

import pytest

from headrace.connectors.kafka.references import merge
from headrace.connectors.kafka.registry import (
    LARGEST_ID,
    PAUSES,
    UNKNOWN_FOR,
    Registry,
    RegistryError,
    RegistryUnreachable,
    UnknownSchema,
    UnreadableSchema,
)
from headrace.errors import HeadraceError, JobFailed
from support.registry_server import open_schema_registry

CLICK = {"type": "record", "name": "Click", "namespace": "shop", "fields": [{"name": "page", "type": "string"}]}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def read(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(schema_registry: Any, clock: Clock) -> Registry:
    return Registry(schema_registry.url, clock=clock.read, sleep=clock.sleep)


def test_a_schema_is_asked_for_once_in_a_process(schema_registry: Any, client: Registry) -> None:
    id = schema_registry.register("clicks-value", CLICK)
    assert client.schema(id) == CLICK
    assert client.schema(id) == CLICK
    assert Registry(schema_registry.url + "/").schema(id) == CLICK
    assert schema_registry.requests == [f"GET /schemas/ids/{id}"]


def test_a_plain_type_is_a_schema_too(schema_registry: Any, client: Registry) -> None:
    assert client.schema(schema_registry.register("keys", "string")) == "string"
    assert client.schema(schema_registry.register("either", ["null", "int"])) == ["null", "int"]


def test_an_unknown_id_is_remembered_for_some_seconds_only(
    schema_registry: Any, client: Registry, clock: Clock
) -> None:
    for _ in range(3):
        with pytest.raises(UnknownSchema, match="schema 1 is not in the registry"):
            client.schema(1)
    assert len(schema_registry.requests) == 1
    assert schema_registry.register("clicks-value", CLICK) == 1
    with pytest.raises(UnknownSchema):
        client.schema(1)
    clock.now += UNKNOWN_FOR.total_seconds()
    assert client.schema(1) == CLICK
    assert len(schema_registry.requests) == 2


def test_an_id_that_no_registry_can_have_is_not_asked_for(schema_registry: Any, client: Registry) -> None:
    for id in (-1, LARGEST_ID + 1):
        with pytest.raises(UnknownSchema):
            client.schema(id)
    assert schema_registry.requests == []


def test_what_is_not_avro_is_said(schema_registry: Any, client: Registry) -> None:
    id = schema_registry.register("protos", "syntax", schema_type="PROTOBUF")
    with pytest.raises(UnreadableSchema, match=f"^schema {id} is PROTOBUF, not Avro$"):
        client.schema(id)
    broken = schema_registry.add("broken", {"schema": "{"})
    with pytest.raises(UnreadableSchema, match=f"^schema {broken} is not valid Avro$"):
        client.schema(broken)


def test_registering_is_the_way_back(schema_registry: Any, client: Registry) -> None:
    id = client.register("clicks/value", CLICK)
    assert client.register("clicks/value", CLICK) == id
    assert client.latest("clicks/value") == (id, CLICK)
    assert client.schema(id) == CLICK
    assert schema_registry.subjects == {"clicks/value": [id]}


def test_the_latest_version_counts(client: Registry) -> None:
    wider = {**CLICK, "fields": [*CLICK["fields"], {"name": "n", "type": ["null", "int"], "default": None}]}
    client.register("clicks-value", CLICK)
    id = client.register("clicks-value", wider)
    assert client.latest("clicks-value") == (id, wider)
    assert client.latest("orders-value") is None


def test_a_refused_schema_fails_with_the_registry_s_words(client: Registry) -> None:
    with pytest.raises(RegistryError) as caught:
        client.register("clicks-value", "refused")
    assert caught.value.message == 'the schema registry takes no such schema under the subject "clicks-value"'
    assert caught.value.detail == "Schema being registered is incompatible."


def test_references_are_put_in(schema_registry: Any, client: Registry) -> None:
    country = {"type": "enum", "name": "Country", "namespace": "geo", "symbols": ["DE", "FR"]}
    address = {
        "type": "record",
        "name": "geo.Address",
        "fields": [{"name": "street", "type": "string"}, {"name": "country", "type": "Country"}],
    }
    order = {
        "type": "record",
        "name": "shop.Order",
        "fields": [
            {"name": "to", "type": "geo.Address"},
            {"name": "via", "type": ["null", {"type": "array", "items": "geo.Address"}]},
            {"name": "made_in", "type": "geo.Country"},
        ],
    }
    schema_registry.register("country", country)
    schema_registry.register("address", address, [{"name": "geo.Country", "subject": "country", "version": 1}])
    id = schema_registry.register("orders", order, [{"name": "geo.Address", "subject": "address", "version": 1}])
    merged = client.schema(id)
    assert isinstance(merged, dict)
    to, via, made_in = merged["fields"]
    assert to["type"]["name"] == "geo.Address"
    assert to["type"]["fields"][1]["type"] == {"type": "enum", "name": "geo.Country", "symbols": ["DE", "FR"]}
    assert via["type"] == ["null", {"type": "array", "items": "geo.Address"}]
    assert made_in["type"] == "geo.Country"
    assert client.latest("orders") == (id, merged)


def test_a_type_without_a_namespace_stays_so() -> None:
    plain = {"type": "fixed", "name": "Id", "size": 8}
    order = {"type": "record", "name": "shop.Order", "fields": [{"name": "id", "type": "Id"}]}
    assert merge(order, [plain]) == {
        "type": "record",
        "name": "shop.Order",
        "fields": [{"name": "id", "type": {"type": "fixed", "name": "Id", "size": 8, "namespace": ""}}],
    }


def test_a_passing_failure_is_tried_again(schema_registry: Any, client: Registry, clock: Clock) -> None:
    id = schema_registry.register("clicks-value", CLICK)
    schema_registry.failures += [(503, b""), (500, b'{"error_code": 50001, "message": "store"}')]
    assert client.schema(id) == CLICK
    assert clock.slept == [pause.total_seconds() for pause in PAUSES[:2]]


def test_a_registry_that_keeps_failing_is_unreachable(schema_registry: Any, client: Registry, clock: Clock) -> None:
    schema_registry.failures += [(503, b"")] * (len(PAUSES) + 1)
    with pytest.raises(RegistryUnreachable, match="the last with: status 503"):
        client.schema(1)
    assert clock.slept == [pause.total_seconds() for pause in PAUSES]


def test_nobody_there_is_said_without_credentials(clock: Clock) -> None:
    with socket.socket() as held:  # bound, but nothing listens
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        client = Registry(f"http://ann:s3cret@127.0.0.1:{port}", clock=clock.read, sleep=clock.sleep)
        with pytest.raises(RegistryUnreachable) as caught:
            client.schema(1)
    assert isinstance(caught.value, JobFailed)
    assert caught.value.message == f"the schema registry at http://127.0.0.1:{port} cannot be reached"
    assert "refused" in str(caught.value.detail)
    assert "s3cret" not in str(caught.value)


def test_a_user_is_let_in_and_kept_out(clock: Clock) -> None:
    with open_schema_registry("ann", "s3cret:ä") as server:
        id = server.register("clicks-value", CLICK)
        assert Registry(server.url, "ann", "s3cret:ä").schema(id) == CLICK
        written = server.url.replace("://", "://ann:s3cret%3A%C3%A4@")
        assert Registry(written).latest("clicks-value") == (id, CLICK)
        with pytest.raises(RegistryError, match=f'at {server.url} refuses the user "bob"') as caught:
            Registry(server.url, "bob", "s3cret:ä", sleep=clock.sleep).schema(id)
        assert "s3cret" not in str(caught.value)
        with pytest.raises(RegistryError, match="refuses a user without a name"):
            Registry(server.url).schema(id)


def test_a_wrong_path_is_no_unknown_schema(schema_registry: Any) -> None:
    wrong = schema_registry.url.replace("/registry-", "/elsewhere-")
    with pytest.raises(RegistryError, match="does not answer as a schema registry does"):
        Registry(wrong).schema(1)


@pytest.mark.parametrize("content", [b"<html>", b"[]", b'{"schema":'])
def test_another_kind_of_server_is_noticed(schema_registry: Any, client: Registry, content: bytes) -> None:
    schema_registry.failures.append((200, content))
    with pytest.raises(RegistryError, match="does not answer as a schema registry does"):
        client.latest("clicks-value")


@pytest.mark.parametrize("url", ["", "localhost:8081", "file:///etc/passwd", "http://"])
def test_an_address_is_http(url: str) -> None:
    with pytest.raises(HeadraceError, match="is not an http address"):
        Registry(url)


def test_the_password_is_never_shown_and_travels_to_executors(schema_registry: Any) -> None:
    client = Registry(schema_registry.url, "ann", "s3cret")
    copy = pickle.loads(pickle.dumps(client))
    assert repr(copy) == repr(client) == f"Registry('{schema_registry.url}', username='ann')"
    assert copy.schema(schema_registry.register("clicks-value", CLICK)) == CLICK
