"""What can be wrong with a wish: each kind is told apart, so that REST can answer it by its own number."""

from datetime import timedelta

from headrace.errors import HeadraceError
from headrace.server.access.decisions import Decision, Target, Who
from headrace.server.access.roles import Action

__all__ = ["Conflict", "Forbidden", "LogInFailed", "NotFound", "TooManyAttempts", "WeakPassword"]


class Forbidden(HeadraceError):
    """Somebody wants what they may not."""

    def __init__(self, who: Who, action: Action, target: Target, decision: Decision) -> None:
        words = action.value.replace("_", " ")
        super().__init__(
            f"{who.name} may not {words} {target}",
            detail=f"{decision.reason[0].upper()}{decision.reason[1:]}.",
            hint="An admin can change roles and access lists.",
        )
        self.who, self.action, self.target, self.decision = who, action, target, decision


class NotFound(HeadraceError):
    """What is named is not there."""


class Conflict(HeadraceError):
    """What is wanted does not go together with what is there."""


class WeakPassword(HeadraceError):
    """A password that is too easy to guess."""


class LogInFailed(HeadraceError):
    """The name or the password is wrong, or the user is disabled: which of them is not told."""

    def __init__(self) -> None:
        super().__init__("the name or the password is wrong")


class TooManyAttempts(HeadraceError):
    """Log-ins have failed too often of late; the next is looked at after a while."""

    def __init__(self, retry_after: timedelta) -> None:
        seconds = max(1, -(-retry_after // timedelta(seconds=1)))
        super().__init__("log-ins have failed too often", hint=f"Try again in {seconds} seconds.")
        self.retry_after = retry_after
