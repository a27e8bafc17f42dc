"""Mistakes of requests that REST answers by numbers of their own."""

from headrace.errors import HeadraceError

__all__ = ["CsrfMissing", "FeedGone", "NotSignedIn", "NotThere", "PasswordDue", "Repeated", "TooManyAtOnce", "Unwanted"]


class NotSignedIn(HeadraceError):
    """Nobody is logged in, or the session or token is over."""

    def __init__(self) -> None:
        super().__init__("nobody is logged in", hint="Log in, or send a token: Authorization: Bearer hr_….")


class CsrfMissing(HeadraceError):
    """A change by a cookie alone: another site may have sent it."""

    def __init__(self) -> None:
        super().__init__(
            "the request does not show the session's CSRF token",
            hint="Send the csrf_token of the log-in, or of /api/v1/me, as the header X-CSRF-Token.",
        )


class PasswordDue(HeadraceError):
    """Somebody logged in with a password that another has given to them, and must choose their own first."""

    def __init__(self) -> None:
        super().__init__(
            "the password must be changed first",
            detail="It was given to you, so somebody else knows it.",
            hint="Choose your own in the console, with headrace login, or by POST /api/v1/me/password.",
        )


class NotThere(HeadraceError):
    """There is no such thing, or it is not for this user to know."""


class Unwanted(HeadraceError):
    """What is asked for does not go together with how things are now."""


class Repeated(HeadraceError):
    """A request with this key was made before, and its answer cannot be given again."""


class TooManyAtOnce(HeadraceError):
    """A user asks for more at a time than one may."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"more than {most} of your requests are under way", hint="Wait until some have ended, and ask again."
        )


class FeedGone(HeadraceError):
    """The changes that are asked for are no longer kept."""
