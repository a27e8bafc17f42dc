"""A cookie or a token goes in; who asks, and by which session, comes out."""

from dataclasses import dataclass

from headrace.server.access.control import AccessControl
from headrace.server.access.decisions import Who
from headrace.server.access.sessions import BrowserSession
from headrace.server.services.mistakes import CsrfMissing, NotSignedIn, PasswordDue

__all__ = ["Caller", "caller_of"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was recognised; ``session`` is that of the browser, if it is one."""

    who: Who
    session: BrowserSession | None = None


def caller_of(
    control: AccessControl,
    *,
    cookie: str | None,
    authorization: str | None,
    csrf_token: str | None,
    changes: bool,
    with_any_password: bool = False,
) -> Caller:
    """Return who asks; a token counts before a cookie, and a cookie alone changes nothing.

    A password that must be changed lets in only where it is changed: ``with_any_password``. Tokens know of none.
    """
    if authorization is not None:
        kind, _, text = authorization.partition(" ")
        who = control.tokens.find(text.strip()) if kind.lower() == "bearer" else None
        if who is None:
            raise NotSignedIn
        return Caller(who)
    session = control.sessions.find(cookie)
    if session is None:
        raise NotSignedIn
    if changes and not session.accepts(csrf_token):
        raise CsrfMissing
    if session.must_change_password and not with_any_password:
        raise PasswordDue
    return Caller(session.who, session)
