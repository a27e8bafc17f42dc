"""A cookie goes in; what its session may ask of the services, each time checked anew, comes out."""

import secrets
from collections.abc import Callable
from typing import TypeVar

from anyio import to_thread

from headrace.server.access.decisions import Decision, Who
from headrace.server.access.decisions import Target as AccessTarget
from headrace.server.access.roles import Action, ObjectKind
from headrace.server.access.sessions import BrowserSession
from headrace.server.console.backend import NotSignedIn
from headrace.server.console.values.people import Me, Target
from headrace.server.services.applications import application_target
from headrace.server.services.catalog import stream_target
from headrace.server.services.job_reading import job_target
from headrace.server.services.mistakes import NotThere, PasswordDue, Unwanted
from headrace.server.services.services import Services
from headrace.server.services.views import view_target

__all__ = ["SessionPart"]

Result = TypeVar("Result")


class SessionPart:
    """Who is logged in, and what they may."""

    def __init__(self, services: Services, secret: str | None) -> None:
        self._services, self._secret = services, secret

    async def _ask(self, act: Callable[[Who], Result]) -> Result:
        """Do something for the one who is logged in, in a thread; raise NotSignedIn if the session is over."""

        def done() -> Result:
            session = self._session()
            if session.must_change_password:
                raise PasswordDue
            return act(session.who)

        return await to_thread.run_sync(done)

    def _session(self) -> BrowserSession:
        session = self._services.control.sessions.find(self._secret)
        if session is None:
            raise NotSignedIn("nobody is logged in", hint="Log in again.")
        return session

    def _command(self, who: Who) -> str:
        return f"{who.id}:{secrets.token_hex(16)}"

    async def me(self) -> Me:
        """Return who is logged in."""
        session = await to_thread.run_sync(self._session)
        return Me(session.who.name, session.who.effective_role.value, session.must_change_password)

    async def may(self, action: str, target: Target) -> Decision:
        """Say whether the user may do something."""

        def decided(who: Who) -> Decision:
            try:
                return self._services.control.access.may(who, Action(action), self._target(who, target))
            except ValueError as error:
                return Decision(False, str(error))

        return await self._ask(decided)

    def _target(self, who: Who, target: Target) -> AccessTarget:
        """Return an object with what it is in."""
        match target.kind:
            case "application":
                return application_target(target.name)
            case "job":
                return job_target(target.name) if target.name else AccessTarget(ObjectKind.JOB)
            case "stream" | "view" if target.name:
                try:
                    found = self._services.catalog.find(who, target.name)
                except (NotThere, Unwanted):
                    return AccessTarget(ObjectKind(target.kind), target.name)
                in_view = target.kind == "view"
                return view_target(found.name, found.job) if in_view else stream_target(found.name, found.job)
        return AccessTarget(ObjectKind(target.kind), target.name)

    async def sign_in(self, name: str, password: str, address: str) -> str:
        """Return the token of a new session, which is kept in a cookie."""
        log_in = self._services.control.login.log_in
        return await to_thread.run_sync(lambda: log_in(name, password, address or None).secret)

    async def sign_out(self) -> None:
        """End the session."""
        await to_thread.run_sync(self._session)
        await to_thread.run_sync(self._services.control.sessions.end, self._secret or "")

    async def change_password(self, old: str, new: str) -> None:
        """Change the user's own password; every session ends."""
        change = self._services.control.users.change_password
        await to_thread.run_sync(lambda: change(self._session().who, old, new))
