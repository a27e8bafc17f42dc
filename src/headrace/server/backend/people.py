"""Users, groups, tokens, access lists and the audit log, as the console shows and changes them."""

from collections.abc import Sequence
from datetime import timedelta

from headrace.errors import HeadraceError
from headrace.server.access.audit import AuditEntry as KeptAuditEntry
from headrace.server.access.decisions import Effect, Who
from headrace.server.access.decisions import Target as AccessTarget
from headrace.server.access.lists import ListedEntry
from headrace.server.access.roles import Action, ObjectKind, Role
from headrace.server.access.tokens import Token as KeptToken
from headrace.server.backend.session import SessionPart
from headrace.server.console.values.people import AuditEntry, AuditPage, Entry, Group, NewToken, Shares, Token, User
from headrace.server.services.people import add_user, change_user, reset_password

__all__ = ["PeoplePart"]

_LISTED = (ObjectKind.APPLICATION, ObjectKind.JOB, ObjectKind.STREAM, ObjectKind.VIEW)
_PAGES = 20


class PeoplePart(SessionPart):
    """People, and what they may and did."""

    async def users(self) -> Sequence[User]:
        """Return all users."""

        def found(who: Who) -> list[User]:
            everybody = self._services.control.users.all(who)
            return [
                User(each.name, each.role.value, each.groups, each.disabled_at is None, each.last_seen_at)
                for each in everybody
            ]

        return await self._ask(found)

    async def add_user(self, name: str, role: str) -> str:
        """Add a user; return the first password, which is shown this once."""
        _, password = await self._ask(lambda who: add_user(self._services.control, who, name, Role(role), None))
        return password or ""

    async def change_user(
        self, name: str, *, role: str | None = None, active: bool | None = None, groups: Sequence[str] | None = None
    ) -> None:
        """Change what is given and leave the rest."""
        wanted = None if role is None else Role(role)
        control = self._services.control
        await self._ask(lambda who: change_user(control, who, name, role=wanted, active=active, groups=groups))

    async def delete_user(self, name: str) -> None:
        """Delete a user with tokens, sessions and lines in access lists."""
        await self._ask(lambda who: self._services.control.users.delete(who, name))

    async def reset_password(self, name: str) -> str:
        """Give a user a new password, which is shown this once."""
        return await self._ask(lambda who: reset_password(self._services.control, who, name)) or ""

    async def groups(self) -> Sequence[Group]:
        """Return all groups."""
        found = await self._ask(self._services.control.groups.all)
        return [Group(each.name, each.members) for each in found]

    async def add_group(self, name: str) -> None:
        """Add a group without members."""
        await self._ask(lambda who: self._services.control.groups.create(who, name))

    async def delete_group(self, name: str) -> None:
        """Delete a group."""
        await self._ask(lambda who: self._services.control.groups.delete(who, name))

    async def tokens(self) -> Sequence[Token]:
        """Return the user's own tokens that work; an admin's are everybody's."""

        def found(who: Who) -> list[Token]:
            control, now = self._services.control, self._services.clock.now()
            admin = control.access.may(who, Action.MANAGE_USERS, AccessTarget(ObjectKind.USER))
            names = [each.name for each in control.users.all(who)] if admin else [who.name]
            kept = [each for name in names for each in control.tokens.of_user(who, name)]
            return [_token(each) for each in kept if each.is_live(now)]

        return await self._ask(found)

    async def add_token(self, name: str, role: str, lifetime: timedelta) -> NewToken:
        """Make a token for the user."""

        def made(who: Who) -> NewToken:
            new = self._services.control.tokens.create(who, who.name, name, role=Role(role), lifetime=lifetime)
            return NewToken(_token(new.token), new.text)

        return await self._ask(made)

    async def revoke_token(self, token: str) -> None:
        """End a token."""
        await self._ask(lambda who: self._services.control.tokens.revoke(who, token))

    async def entries(self) -> Sequence[Entry]:
        """Return every line of every access list."""

        def found(who: Who) -> list[Entry]:
            lists = self._services.control.lists
            return [_entry(each) for kind in _LISTED for each in lists.all(who, kind)]

        return await self._ask(found)

    async def shares(self, job: str) -> Shares:
        """Return who may reach a job, to its owner and to admins."""
        lists = self._services.control.lists
        found = await self._ask(lambda who: lists.of(who, AccessTarget(ObjectKind.JOB, job)))
        return Shares(found.owner, found.restricted, tuple(_entry(each) for each in found.entries))

    async def restrict(self, job: str, *, restricted: bool) -> None:
        """Let only its owner, admins and those whom its list names reach a job, or let roles decide again."""
        lists = self._services.control.lists
        await self._ask(lambda who: lists.restrict(who, AccessTarget(ObjectKind.JOB, job), restricted))

    async def add_entry(self, entry: Entry) -> None:
        """Add a line to an access list; its id is given by the server."""
        user = entry.grantee if entry.grantee_kind == "user" else None
        group = entry.grantee if entry.grantee_kind == "group" else None
        rights, lists = _read_rights(entry.rights), self._services.control.lists
        effect, kind = Effect(entry.effect), ObjectKind(entry.kind)
        await self._ask(lambda who: lists.add(who, effect, kind, entry.pattern, rights, user=user, group=group))

    async def delete_entry(self, entry: str) -> None:
        """Take a line out of an access list."""
        number = int(entry) if entry.isdecimal() else 0
        await self._ask(lambda who: self._services.control.lists.remove(who, number))

    async def audit(self, *, search: str = "", before: int | None = None, limit: int = 200) -> AuditPage:
        """Return what was done, newest first: the newest, or the page that begins where another said."""

        def found(who: Who) -> AuditPage:
            entries: list[AuditEntry] = []
            place = before
            for _ in range(_PAGES):  # a text that occurs nowhere must not read a log of years
                page = self._services.control.access.audit(who, limit=500, before=place)
                for each in page.entries:
                    if len(entries) == limit:
                        return AuditPage(tuple(entries), place)
                    entry = _audit_entry(each)
                    if search.lower() in _words(entry).lower():
                        entries.append(entry)
                    place = each.id
                if page.next is None:
                    return AuditPage(tuple(entries))
            return AuditPage(tuple(entries), place)

        return await self._ask(found)


def _token(token: KeptToken) -> Token:
    role = "" if token.role is None else token.role.value
    return Token(token.id, token.name, token.user, role, token.created_at, token.expires_at, token.last_used_at)


def _audit_entry(kept: KeptAuditEntry) -> AuditEntry:
    told = [(name, value) for name, value in kept.details.items() if value is not None]
    return AuditEntry(
        at=kept.at,
        user=kept.actor_name,
        action=kept.action,
        target=f"{kept.target_kind} {kept.target_name}".strip(),
        outcome=kept.outcome.value,
        address=kept.address or "",
        detail=", ".join(f"{name} {', '.join(value) if isinstance(value, list) else value}" for name, value in told),
    )


def _words(entry: AuditEntry) -> str:
    return f"{entry.user} {entry.action} {entry.target} {entry.outcome} {entry.detail}"


def _entry(listed: ListedEntry) -> Entry:
    entry = listed.entry
    return Entry(
        id=str(listed.id),
        effect=entry.effect.value,
        grantee_kind=entry.grantee.kind.value,
        grantee=entry.grantee.name,
        kind=entry.kind.value,
        pattern=entry.pattern,
        rights=_rights(entry.rights),
    )


def _rights(rights: Role | frozenset[Action]) -> str:
    return rights.value if isinstance(rights, Role) else ", ".join(sorted(rights))


def _read_rights(text: str) -> Role | frozenset[Action]:
    """Return the role or the actions of a text.

    >>> _read_rights("operator"), sorted(_read_rights("stop, see"))
    (<Role.OPERATOR: 'operator'>, [<Action.SEE: 'see'>, <Action.STOP: 'stop'>])
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    if len(words) == 1 and words[0] in {each.value for each in Role}:
        return Role(words[0])
    known = set(Action)
    for word in words:
        if word not in known:
            raise HeadraceError(f'"{word}" is neither a role nor an action', hint=f"Actions are {', '.join(Action)}.")
    return frozenset(Action(word) for word in words)
