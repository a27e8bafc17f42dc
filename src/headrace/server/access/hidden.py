"""A random secret goes out to its holder; its hash stays, and says whether a secret is the one."""

import hashlib
import hmac
import secrets

__all__ = ["derived", "digest", "is_same", "new_secret"]


def new_secret() -> str:
    """Return 256 random bits in letters and digits."""
    return secrets.token_hex(32)


def digest(secret: str) -> str:
    """Return what is kept of a secret; it is random, so that a fast hash without salt is safe."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def derived(secret: str, purpose: str) -> str:
    """Return another secret that only the holder of a secret, and the server to which it is shown, can know."""
    return hmac.new(secret.encode("utf-8", "surrogatepass"), purpose.encode(), hashlib.sha256).hexdigest()


def is_same(one: str, other: str) -> bool:
    """Compare two secrets in a time that does not tell how far they are the same."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))
