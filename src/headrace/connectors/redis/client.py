"""The options of a Redis server go in, a client comes out, and plain words for what goes wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import redis

from headrace.connectors.redis.options import DEFAULT_URL, RedisConnection
from headrace.errors import HeadraceError, JobFailed

__all__ = ["RedisAddress", "open_client", "plain_words"]

PATIENCE = 30
"""How many seconds a server has to answer."""


class RedisAddress:
    """Where a server is, as it may be shown; errors of the client inside the block come out in plain words."""

    def __init__(self, options: RedisConnection) -> None:
        self.text = _address(options)

    def __str__(self) -> str:
        return self.text

    @contextmanager
    def plain_words(self) -> Iterator[None]:
        """Raise what goes wrong with the server as something the user can mend."""
        try:
            yield
        except redis.RedisError as error:
            raise plain_words(error, self.text) from None
        except UnicodeEncodeError:
            raise HeadraceError(
                "a row holds half a character (a lone surrogate), which Redis is not given",
                detail="Nothing of the batch was written.",
            ) from None


def open_client(options: RedisConnection) -> redis.Redis:
    """Return a client; it connects when it is first used."""
    try:
        return redis.Redis.from_url(
            options.url or DEFAULT_URL,
            decode_responses=True,
            socket_connect_timeout=10,
            socket_timeout=PATIENCE,
            protocol=2,
            **({} if options.password is None else {"password": options.password}),
        )
    except ValueError:
        raise _no_url() from None


def plain_words(error: redis.RedisError, where: str) -> HeadraceError:
    """Return what the user can do about an error of the server."""
    said = str(error).strip().rstrip(".").split("\n")[0]
    lower = said.lower()
    if isinstance(error, redis.AuthenticationError) or lower.startswith(("noauth", "wrongpass")):
        return HeadraceError(f"Redis at {where} refuses the login", hint="Check user and password.")
    if isinstance(error, redis.exceptions.NoPermissionError) or lower.startswith("noperm"):
        return HeadraceError(
            f"Redis at {where} does not allow it",
            detail=f"It says: {said}.",
            hint="Ask for the rights with ACL SETUSER.",
        )
    if isinstance(error, redis.ConnectionError | redis.TimeoutError):
        return JobFailed(
            f"Redis at {where} cannot be reached", hint="Check the address, and that the server runs.", passing=True
        )
    return JobFailed(f"Redis at {where} reports: {said}", detail="Nothing of the batch was written.")


def _address(options: RedisConnection) -> str:
    """Return the server of a url without its password.

    >>> _address(RedisConnection(url="redis://ann:hush@db:6380/2"))
    'db:6380/2'
    """
    try:
        parts = urlsplit(options.url or DEFAULT_URL)
        if parts.scheme == "unix":
            return parts.path
        number, port = parts.path.strip("/") or "0", parts.port or 6379
    except ValueError:
        raise _no_url() from None
    if not number.isdigit():  # a password with a bare "/" ends up here
        raise _no_url()
    return f"{parts.hostname or 'localhost'}:{port}/{number}"


def _no_url() -> HeadraceError:
    return HeadraceError(
        'the option "url" is no address of a Redis server',
        detail="In it, special characters of a password must be written as in any URL, as %40 for @.",
        hint="For example: url = 'redis://localhost:6379/0', password = '${REDIS_PASSWORD}'.",
    )
