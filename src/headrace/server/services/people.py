"""Changes of users that take several steps: each goes in as a whole and is made if the one who wants it may."""

from collections.abc import Sequence

from headrace.server.access.control import AccessControl
from headrace.server.access.decisions import Target, Who
from headrace.server.access.groups import put_into, take_out
from headrace.server.access.passwords import random_password
from headrace.server.access.people import User, group_named, normal_name, user_named, user_of
from headrace.server.access.roles import Action, ObjectKind, Role
from headrace.server.access.users import give_role, let_in, lock_out

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
    """Change what is given of a user and leave the rest; if one thing cannot be changed, nothing is."""
    access = control.access
    if groups is not None:
        access.require(by, Action.MANAGE_GROUPS, Target(ObjectKind.GROUP))
    with access.changing(by, Action.MANAGE_USERS, Target(ObjectKind.USER, normal_name(name))) as session:
        row, now = user_named(session, name), access.clock()
        user = user_of(session, row)
        if role is not None and role is not user.role:
            give_role(session, now, by, row, role)
        if active is not None and active is (user.disabled_at is not None):
            (let_in if active else lock_out)(session, now, by, row)
        if groups is not None:
            wanted, has = {normal_name(each) for each in groups}, set(user.groups)
            for group in sorted(wanted - has):
                put_into(session, now, by, group_named(session, group), row)
            for group in sorted(has - wanted):
                take_out(session, now, by, group_named(session, group), row)
    return control.users.get(by, name)


def reset_password(
    control: AccessControl, by: Who, name: str, password: str | None = None, *, must_change: bool = True
) -> str | None:
    """Give a user a new password; return the random one that was made if none was given."""
    made = random_password() if password is None else None
    control.users.set_password(by, name, made or password or "", must_change=must_change)
    return made
