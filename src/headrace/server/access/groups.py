"""Changes of groups go in; they are made if the one who wants them may, and noted in the audit log."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from headrace.records.access_tables import GroupMemberRow, GroupRow, UserRow
from headrace.records.base import Clock
from headrace.records.database import Database
from headrace.server.access.access import Access
from headrace.server.access.audit import record
from headrace.server.access.decisions import Target, Who
from headrace.server.access.people import Group, free_name, group_named, normal_name, user_named
from headrace.server.access.roles import Action, ObjectKind

__all__ = ["Groups", "put_into", "take_out"]


class Groups:
    """Users who are named together in access lists. Each function raises Forbidden if ``by`` may not."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._access = Access(database, clock)

    def all(self, by: Who) -> list[Group]:
        """Return all groups by their names."""
        self._access.require(by, Action.MANAGE_GROUPS, Target(ObjectKind.GROUP))
        with self._database.reading() as session:
            return [_group(session, row) for row in session.scalars(select(GroupRow).order_by(GroupRow.name))]

    def get(self, by: Who, name: str) -> Group:
        """Return one group."""
        self._access.require(by, Action.MANAGE_GROUPS, _target(name))
        with self._database.reading() as session:
            return _group(session, group_named(session, name))

    def create(self, by: Who, name: str) -> Group:
        """Make a group without members."""
        with self._access.changing(by, Action.MANAGE_GROUPS, _target(name)) as session:
            row = GroupRow(name=free_name(session, name, GroupRow), created_at=self._clock())
            session.add(row)
            session.flush()
            record(session, self._clock(), by, "group.create", _target(row.name))
            return _group(session, row)

    def rename(self, by: Who, name: str, new_name: str) -> Group:
        """Give a group another name; members and entries of lists stay."""
        with self._access.changing(by, Action.MANAGE_GROUPS, _target(name)) as session:
            row = group_named(session, name)
            if normal_name(new_name) == row.name:
                return _group(session, row)
            old, row.name = row.name, free_name(session, new_name, GroupRow)
            record(session, self._clock(), by, "group.rename", _target(row.name), {"from": old})
            return _group(session, row)

    def delete(self, by: Who, name: str) -> None:
        """Delete a group with its entries in lists; its members stay users."""
        with self._access.changing(by, Action.MANAGE_GROUPS, _target(name)) as session:
            row = group_named(session, name)
            members = list(_group(session, row).members)
            session.delete(row)
            record(session, self._clock(), by, "group.delete", _target(row.name), {"members": members})

    def add_member(self, by: Who, name: str, user: str) -> Group:
        """Put a user into a group; one who is in it stays there."""
        with self._access.changing(by, Action.MANAGE_GROUPS, _target(name)) as session:
            group = group_named(session, name)
            put_into(session, self._clock(), by, group, user_named(session, user))
            return _group(session, group)

    def remove_member(self, by: Who, name: str, user: str) -> Group:
        """Take a user out of a group; one who is not in it is no mistake."""
        with self._access.changing(by, Action.MANAGE_GROUPS, _target(name)) as session:
            group = group_named(session, name)
            take_out(session, self._clock(), by, group, user_named(session, user))
            return _group(session, group)


def put_into(session: Session, now: datetime, by: Who, group: GroupRow, member: UserRow) -> None:
    """Put a user into a group, in the transaction of a change; one who is in it stays there."""
    if session.get(GroupMemberRow, (group.id, member.id)) is None:
        session.add(GroupMemberRow(group_id=group.id, user_id=member.id))
        session.flush()
        record(session, now, by, "group.add_member", _target(group.name), {"user": member.name})


def take_out(session: Session, now: datetime, by: Who, group: GroupRow, member: UserRow) -> None:
    """Take a user out of a group, in the transaction of a change; one who is not in it is no mistake."""
    row = session.get(GroupMemberRow, (group.id, member.id))
    if row is not None:
        session.delete(row)
        session.flush()
        record(session, now, by, "group.remove_member", _target(group.name), {"user": member.name})


def _group(session: Session, row: GroupRow) -> Group:
    members = session.scalars(
        select(UserRow.name)
        .join(GroupMemberRow, GroupMemberRow.user_id == UserRow.id)
        .where(GroupMemberRow.group_id == row.id)
        .order_by(UserRow.name)
    )
    return Group(row.id, row.name, tuple(members), row.created_at)


def _target(name: str) -> Target:
    return Target(ObjectKind.GROUP, normal_name(name))
