"""The table of roles, written out: a change of it must be a change here."""

from pathlib import Path

import pytest

from headrace.server.access.roles import LISTED, RULES, Action, ObjectKind, Role, allowed_by, rule_of

ORDER = list(ObjectKind).index
VIEWER = {Action.SEE, Action.READ_ROWS, Action.TAP, Action.READ_LOGS, Action.MANAGE_ACCOUNT}
OPERATOR = VIEWER | {Action.START, Action.STOP, Action.RESTART, Action.SAVEPOINT, Action.ACKNOWLEDGE, Action.SHARE}
CODE = {Action.CHECK, Action.TRY, Action.SUBMIT, Action.UPGRADE, Action.EDIT}
DEVELOPER = OPERATOR | CODE | {Action.EDIT_DASHBOARD, Action.EDIT_ALERTS, Action.REPLAY, Action.DELETE}


@pytest.mark.parametrize(
    ("role", "actions"),
    [
        (Role.VIEWER, VIEWER),
        (Role.OPERATOR, OPERATOR),
        (Role.DEVELOPER, DEVELOPER),
        (Role.ADMIN, set(Action)),
    ],
)
def test_what_a_role_allows(role: Role, actions: set[Action]) -> None:
    assert allowed_by(role) == actions


def test_every_action_has_one_rule() -> None:
    assert [rule.action for rule in RULES] == list(Action)


def test_what_lists_cannot_give() -> None:
    admins = {
        Action.MANAGE_USERS,
        Action.MANAGE_GROUPS,
        Action.MANAGE_ACCESS,
        Action.READ_AUDIT,
        Action.CHANGE_SETTINGS,
    }
    owners = {Action.MANAGE_ACCOUNT, Action.SHARE}
    assert {rule.action for rule in RULES if not rule.can_be_granted} == CODE | admins | owners
    assert all(rule_of(action).kinds & LISTED for action in set(Action) - admins - {Action.MANAGE_ACCOUNT})


def test_roles_are_ordered_by_what_they_may_not_by_their_letters() -> None:
    assert sorted([Role.ADMIN, Role.VIEWER, Role.DEVELOPER, Role.OPERATOR]) == list(Role)
    assert Role.ADMIN > Role.VIEWER >= Role.VIEWER
    assert not Role.ADMIN < Role.ADMIN
    with pytest.raises(TypeError):
        assert Role.ADMIN < "viewer"


def test_the_documentation_shows_this_table() -> None:
    text = (Path(__file__).parents[3] / "docs" / "access.md").read_text("utf-8")
    rows = [
        f"| `{rule.action}` | {rule.role.value}{' (code)' * rule.code} | {', '.join(sorted(rule.kinds, key=ORDER))} "
        f"| {rule.words} |"
        for rule in RULES
    ]
    shown = text.partition("|---|---|---|---|\n")[2].partition("\n\n")[0].splitlines()
    assert shown == rows
