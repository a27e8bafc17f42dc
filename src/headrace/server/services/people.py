"""Changes of users that take several steps: each goes in as a whole and is made if the one who wants it may."""

from collections.abc import Sequence

from headrace.server.access.control import AccessControl
from headrace.server.access.decisions import Who
from headrace.server.access.passwords import random_password
from headrace.server.access.people import User
from headrace.server.access.roles import Role

__all__ = ["add_user", "change_user", "reset_password"]


def add_user(
    control: AccessControl, by: Who, name: str, role: Role, password: str | None, *, must_change: bool = True
) -> tuple[User, str | None]:
    """Make a user; return the random password that was made if none was given."""
    made = random_password() if password is None else None
    user = control.users.create(by, name, role, made or password or "", must_change=must_change)
    return user, made


def change_user(
    control: AccessControl,
    by: Who,
    name: str,
    *,
    role: Role | None = None,
    active: bool | None = None,
    groups: Sequence[str] | None = None,
) -> User:
    """Change what is given of a user and leave the rest."""
    user = control.users.get(by, name)
    if role is not None and role is not user.role:
        control.users.set_role(by, name, role)
    if active is not None and active is (user.disabled_at is not None):
        _ = control.users.enable(by, name) if active else control.users.disable(by, name)
    if groups is not None:
        wanted, has = {each.lower() for each in groups}, set(user.groups)
        for group in sorted(wanted - has):
            control.groups.add_member(by, group, name)
        for group in sorted(has - wanted):
            control.groups.remove_member(by, group, name)
    return control.users.get(by, name)


def reset_password(
    control: AccessControl, by: Who, name: str, password: str | None = None, *, must_change: bool = True
) -> str | None:
    """Give a user a new password; return the random one that was made if none was given."""
    made = random_password() if password is None else None
    control.users.set_password(by, name, made or password or "", must_change=must_change)
    return made
