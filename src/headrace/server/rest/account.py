"""Routes of the one who asks: logging in and out, who one is, one's own password and tokens."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from headrace.server.access.tokens import Token
from headrace.server.rest.asking import COOKIE, Account, AccountChange, Changing, Reading, Serving
from headrace.server.rest.models import people as models
from headrace.server.rest.models.fields import Page
from headrace.server.rest.paging import Paged

__all__ = ["router"]

router = APIRouter(tags=["account"])


@router.post("/login")
def log_in(body: models.LogIn, request: Request, response: Response, services: Serving) -> models.LoggedIn:
    """Log in; the session is in the cookie, and changes must show its CSRF token as X-CSRF-Token."""
    address = None if request.client is None else request.client.host
    session = services.control.login.log_in(body.name, body.password, address)
    response.set_cookie(
        COOKIE, session.secret, httponly=True, samesite="strict", secure=request.url.scheme == "https", path="/"
    )
    response.headers["Cache-Control"] = "no-store"
    who = session.who
    return models.LoggedIn(
        name=who.name,
        role=who.role,
        csrf_token=session.csrf_token,
        expires_at=session.expires_at,
        must_change_password=session.must_change_password,
    )


@router.post("/logout", status_code=204)
def log_out(change: AccountChange, response: Response) -> None:
    """End the session; a token has none."""
    if change.session is not None:
        change.services.control.sessions.end(change.session.secret)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")


@router.get("/me")
def me(asking: Account) -> models.Me:
    """Say who asks."""
    token = None if asking.session is None else asking.session.csrf_token
    due = asking.session is not None and asking.session.must_change_password
    return models.Me(name=asking.who.name, role=asking.who.effective_role, csrf_token=token, must_change_password=due)


@router.post("/me/password", status_code=204)
def change_password(body: models.PasswordChange, change: AccountChange) -> None:
    """Change one's own password; every session ends, this one too."""
    change.services.control.users.change_password(change.who, body.current, body.new)


@router.get("/tokens")
def tokens(
    asking: Reading, paged: Paged, user: Annotated[str | None, Query(max_length=64)] = None
) -> Page[models.Token]:
    """List one's own tokens, or those of another user."""
    found = asking.services.control.tokens.of_user(asking.who, user or asking.who.name)
    return paged.page(found, place=lambda each: f"{each.created_at.isoformat()}/{each.id}", shown=_token)


@router.post("/tokens", status_code=201, response_model=models.NewToken)
def create_token(body: models.TokenWish, change: Changing) -> Response:
    """Make a token for oneself; its text is told this once."""

    def act(_: str) -> models.NewToken:
        made = change.services.control.tokens.create(
            change.who, change.who.name, body.name, role=body.role, lifetime=timedelta(days=body.days)
        )
        return models.NewToken(token=_token(made.token), text=made.text)

    return change.apply(body, act, status=201, secret=True)


@router.delete("/tokens/{token}", status_code=204)
def revoke_token(token: Annotated[str, Path(pattern="^[0-9a-f]{16}$")], change: Changing) -> Response:
    """Make a token useless from now on."""
    return change.apply(None, lambda _: change.services.control.tokens.revoke(change.who, token), status=204)


def _token(token: Token) -> models.Token:
    return models.Token(
        id=token.id,
        name=token.name,
        user=token.user,
        role=token.role,
        created_at=token.created_at,
        expires_at=token.expires_at,
        revoked_at=token.revoked_at,
        last_used_at=token.last_used_at,
    )
