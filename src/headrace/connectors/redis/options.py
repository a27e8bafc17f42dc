"""The options of the connector redis."""

from dataclasses import dataclass

from headrace.connectors.options import option

DEFAULT_URL = "redis://localhost:6379/0"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisConnection:
    """Where the server is, and who is asking."""

    url: str | None = option(
        doc=f"The server as `redis://user@host:port/number`, with TLS `rediss://…`; `{DEFAULT_URL}` without it.",
        default=None,
        example=DEFAULT_URL,
        secret=True,
    )
    password: str | None = option(
        doc="The password; write `${NAME}` to take it from the environment.",
        default=None,
        example="${REDIS_PASSWORD}",
        secret=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisSink(RedisConnection):
    """Hashes that take the rows, one for each key, each batch in one transaction."""

    key: tuple[str, ...] = option(
        doc="The columns that identify a row; what the query says identifies a row without it.",
        default=(),
        example="customer, day",
    )
    prefix: str | None = option(
        doc="How the names of the hashes begin; the sink's name and a colon without it.",
        default=None,
        example="orders:",
    )
