"""Routes of administration: users, groups, access lists and the audit log."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response

from headrace.errors import HeadraceError
from headrace.server.access.audit import AuditFilter, Outcome
from headrace.server.access.decisions import Target
from headrace.server.access.lists import ListedEntry
from headrace.server.access.people import Group, User
from headrace.server.access.roles import Action, ObjectKind, Role
from headrace.server.rest.asking import Changing, Reading
from headrace.server.rest.models import people as models
from headrace.server.rest.models.fields import Page
from headrace.server.rest.paging import Paged
from headrace.server.services.people import add_user, change_user, reset_password

__all__ = ["router"]

router = APIRouter(tags=["administration"])

Person = Annotated[str, Path(min_length=1, max_length=64, examples=["ann"])]
Listed = Literal[ObjectKind.APPLICATION, ObjectKind.JOB, ObjectKind.STREAM, ObjectKind.VIEW]
ObjectName = Annotated[str, Path(min_length=1, max_length=200, examples=["fraud"])]
LARGEST = 2**31 - 1


@router.get("/users")
def users(asking: Reading, paged: Paged) -> Page[models.User]:
    """List all users."""
    return paged.page(asking.services.control.users.all(asking.who), place=lambda each: each.name, shown=_user)


@router.post("/users", status_code=201, response_model=models.NewPassword)
def create_user(body: models.UserWish, change: Changing) -> Response:
    """Make a user; a random password is told this once."""

    def act(_: str) -> models.NewPassword:
        control, due = change.services.control, body.must_change_password
        user, password = add_user(control, change.who, body.name, body.role, body.password, must_change=due)
        return models.NewPassword(name=user.name, password=password)

    return change.apply(body, act, status=201, secret=body.password is None)


@router.get("/users/{name}")
def user(name: Person, asking: Reading) -> models.User:
    """Show a user; everybody may see themselves."""
    return _user(asking.services.control.users.get(asking.who, name))


@router.patch("/users/{name}", response_model=models.User)
def change(name: Person, body: models.UserChange, change: Changing) -> Response:
    """Change the role of a user, lock them out or in, and put them into groups."""

    def act(_: str) -> models.User:
        control = change.services.control
        return _user(change_user(control, change.who, name, role=body.role, active=body.active, groups=body.groups))

    return change.apply(body, act)


@router.post("/users/{name}/password", response_model=models.NewPassword)
def set_password(name: Person, body: models.PasswordWish, change: Changing) -> Response:
    """Give a user a new password, as an admin; the user is logged out everywhere."""

    def act(_: str) -> models.NewPassword:
        control, due = change.services.control, body.must_change_password
        made = reset_password(control, change.who, name, body.password, must_change=due)
        return models.NewPassword(name=name, password=made)

    return change.apply(body, act, secret=body.password is None)


@router.delete("/users/{name}/sessions", status_code=204)
def end_sessions(name: Person, change: Changing) -> Response:
    """Log a user out everywhere; everybody may do that to themselves. Tokens go on."""

    def act(_: str) -> None:
        change.services.control.sessions.end_all(change.who, name)

    return change.apply(None, act, status=204)


@router.delete("/users/{name}", status_code=204)
def delete_user(name: Person, change: Changing) -> Response:
    """Delete a user with tokens, sessions and lines in access lists."""
    return change.apply(None, lambda _: change.services.control.users.delete(change.who, name), status=204)


@router.get("/groups")
def groups(asking: Reading, paged: Paged) -> Page[models.Group]:
    """List all groups."""
    return paged.page(asking.services.control.groups.all(asking.who), place=lambda each: each.name, shown=_group)


@router.post("/groups", status_code=201, response_model=models.Group)
def create_group(body: models.GroupWish, change: Changing) -> Response:
    """Make a group without members."""
    act = lambda _: _group(change.services.control.groups.create(change.who, body.name))  # noqa: E731
    return change.apply(body, act, status=201)


@router.delete("/groups/{name}", status_code=204)
def delete_group(name: Person, change: Changing) -> Response:
    """Delete a group; its members stay users."""
    return change.apply(None, lambda _: change.services.control.groups.delete(change.who, name), status=204)


@router.put("/groups/{name}/members/{user}", response_model=models.Group)
def add_member(name: Person, user: Person, change: Changing) -> Response:
    """Put a user into a group."""
    return change.apply(None, lambda _: _group(change.services.control.groups.add_member(change.who, name, user)))


@router.delete("/groups/{name}/members/{user}", response_model=models.Group)
def remove_member(name: Person, user: Person, change: Changing) -> Response:
    """Take a user out of a group."""
    return change.apply(None, lambda _: _group(change.services.control.groups.remove_member(change.who, name, user)))


@router.get("/access")
def entries(asking: Reading, paged: Paged, kind: Listed | None = None) -> Page[models.AccessEntry]:
    """List the lines of all access lists, or of those on a kind of objects."""
    kinds = [kind] if kind is not None else [each for each in ObjectKind if each in _LISTED]
    found = [each for one in kinds for each in asking.services.control.lists.all(asking.who, one)]
    return paged.page(found, place=lambda each: f"{each.entry.kind}/{each.id:012}", shown=_entry)


@router.post("/access", status_code=201, response_model=models.AccessEntry)
def add_entry(body: models.AccessEntryWish, change: Changing) -> Response:
    """Allow or deny a role, or some actions, to a user or a group."""
    if (body.role is None) == (body.actions is None):
        raise HeadraceError("an entry has either a role or actions")
    rights: Role | frozenset[Action] = body.role if body.role is not None else frozenset(body.actions or ())

    def act(_: str) -> models.AccessEntry:
        lists = change.services.control.lists
        added = lists.add(change.who, body.effect, body.kind, body.pattern, rights, user=body.user, group=body.group)
        return _entry(added)

    return change.apply(body, act, status=201)


@router.delete("/access/{entry}", status_code=204)
def remove_entry(entry: Annotated[int, Path(ge=1, le=LARGEST)], change: Changing) -> Response:
    """Remove a line of an access list."""
    return change.apply(None, lambda _: change.services.control.lists.remove(change.who, entry), status=204)


@router.get("/access/{kind}/{name}")
def object_access(kind: Listed, name: ObjectName, asking: Reading) -> models.ObjectAccess:
    """Show who owns an object, whether it is restricted, and the lines about it."""
    found = asking.services.control.lists.of(asking.who, Target(kind, name))
    return models.ObjectAccess(
        owner=found.owner, restricted=found.restricted, entries=[_entry(each) for each in found.entries]
    )


@router.patch("/access/{kind}/{name}", response_model=models.ObjectAccess)
def change_access(kind: Listed, name: ObjectName, body: models.AccessWish, change: Changing) -> Response:
    """Restrict an object or open it, or give it another owner."""

    def act(_: str) -> models.ObjectAccess:
        lists, target = change.services.control.lists, Target(kind, name)
        if body.owner is not None:
            lists.set_owner(change.who, target, body.owner or None)
        if body.restricted is not None:
            lists.restrict(change.who, target, body.restricted)
        found = lists.of(change.who, target)
        return models.ObjectAccess(
            owner=found.owner, restricted=found.restricted, entries=[_entry(each) for each in found.entries]
        )

    return change.apply(body, act)


@router.get("/audit")
def audit(
    asking: Reading,
    actor: Annotated[str | None, Query(max_length=64)] = None,
    action: Annotated[str | None, Query(max_length=64, examples=["job.stop"])] = None,
    target_kind: ObjectKind | None = None,
    target_name: Annotated[str | None, Query(max_length=200)] = None,
    outcome: Outcome | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    after: Annotated[int | None, Query(ge=0, le=2**62, description="The next of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Page[models.AuditEntry]:
    """Show what was done, the newest first."""
    if any(each is not None and each.tzinfo is None for each in (since, until)):
        raise HeadraceError("an instant needs its time zone", hint="Write 2026-01-31T10:00:00Z.")
    wanted = AuditFilter(actor, action, target_kind, target_name, outcome, since, until)
    page = asking.services.control.access.audit(asking.who, wanted, limit=limit, before=after)
    items = [
        models.AuditEntry(
            id=each.id,
            at=each.at,
            actor=each.actor_name,
            token_id=each.token_id,
            address=each.address,
            action=each.action,
            target_kind=each.target_kind,
            target_name=each.target_name,
            outcome=each.outcome,
            details=dict(each.details),
        )
        for each in page.entries
    ]
    return Page(items=items, next=None if page.next is None else str(page.next))


_LISTED = {ObjectKind.APPLICATION, ObjectKind.JOB, ObjectKind.STREAM, ObjectKind.VIEW}


def _user(user: User) -> models.User:
    return models.User(
        name=user.name,
        role=user.role,
        groups=list(user.groups),
        active=user.disabled_at is None,
        must_change_password=user.must_change_password,
        created_at=user.created_at,
        last_seen_at=user.last_seen_at,
    )


def _group(group: Group) -> models.Group:
    return models.Group(name=group.name, members=list(group.members), created_at=group.created_at)


def _entry(listed: ListedEntry) -> models.AccessEntry:
    entry = listed.entry
    is_role = isinstance(entry.rights, Role)
    return models.AccessEntry(
        id=listed.id,
        effect=entry.effect,
        kind=entry.kind,
        pattern=entry.pattern,
        grantee_kind=entry.grantee.kind,
        grantee=entry.grantee.name,
        role=entry.rights if isinstance(entry.rights, Role) else None,
        actions=None if is_role else sorted(entry.rights),  # type: ignore[arg-type]
        created_at=listed.created_at,
    )
