"""Deciding without a broker: the ledger's functions, what is remembered, and what a program may get wrong."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import Application
from headrace.errors import HeadraceError, JobFailed
from headrace.events import Rejected, decide_all
from headrace.events.decisions import check_functions
from headrace.events.history import History
from headrace.events.module import load_functions
from headrace.events.rows import Unreadable, parsed, reader
from headrace.events.shape import event_tables

APP = Path(__file__).parents[2] / "apps" / "ledger"
decide, evolve = load_functions("commands", APP)


def command(kind, account, amount=None, command_id=None, **more):
    amount = None if amount is None else Decimal(str(amount))
    given = {"command_id": command_id, "account": account, "kind": kind, "amount": amount, "at": None, **more}
    return {"owner": None, "currency": None, "target": None, **given}


def opened(account, currency="EUR"):
    return command("open", account, owner="ada", currency=currency)


def decided(*commands):
    return decide_all(commands, decide, evolve, key="account")


def reasons(*commands):
    return [reason for _, reason in decided(*commands).rejections]


def test_each_account_has_its_own_numbers():
    found = decided(opened("a"), opened("b"), command("deposit", "a", 5), command("transfer", "a", 2, target="b"))
    assert [(e["account"], e["number"], e["kind"], e["amount"]) for e in found.events] == [
        ("a", 1, "opened", 0),
        ("b", 1, "opened", 0),
        ("a", 2, "deposited", 5),
        ("a", 3, "sent", -2),
        ("b", 2, "received", 2),
    ]
    assert {account: state["balance"] for account, state in found.states.items()} == {"a": 3, "b": 2}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (command("withdraw", "a", "10.01"), "insufficient funds"),
        (command("transfer", "a", 11, target="b"), "insufficient funds"),
        (command("transfer", "a", 1, target="c"), "there is no account c"),
        (command("transfer", "a", 1), "there is no account None"),
        (command("transfer", "a", 1, target="a"), "the two accounts are the same"),
        (command("transfer", "a", 1, target="usd"), "the two accounts have different currencies"),
        (command("deposit", "a", 0), "the amount must be positive, with at most two decimals"),
        (command("deposit", "a", -1), "the amount must be positive, with at most two decimals"),
        (command("deposit", "a", "0.001"), "the amount must be positive, with at most two decimals"),
        (command("deposit", "a"), "the amount must be positive, with at most two decimals"),
        (command("deposit", "c", 1), "there is no account c"),
        (opened("a"), "the account is open already"),
        (command("open", "c", owner="ada"), "an account needs an owner and a currency"),
        (command("burn", "a", 1), "nobody knows how to burn"),
    ],
)
def test_what_the_ledger_refuses(bad, reason):
    before = [opened("a"), opened("b"), opened("usd", "USD"), command("deposit", "a", 10)]
    assert reasons(*before, bad) == [reason]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["deposit", "withdraw", "transfer"]),
            st.sampled_from("abc"),
            st.decimals("0.01", 50, places=2),
            st.sampled_from("abc"),
        ),
        max_size=40,
    )
)
def test_no_balance_is_ever_negative_and_transfers_keep_the_total(wanted):
    moves = [command(kind, account, amount, target=target) for kind, account, amount, target in wanted]
    found = decided(*map(opened, "abc"), *moves)
    lowest, total = {}, Decimal(0)
    for event in found.events:
        lowest[event["account"]] = lowest.get(event["account"], Decimal(0)) + event["amount"]
        assert lowest[event["account"]] >= 0
        total += event["amount"] if event["kind"] in ("deposited", "withdrawn") else 0
    assert sum(lowest.values()) == total


def test_a_command_that_comes_again_is_not_decided_again():
    again = command("deposit", "a", 5, command_id="c1")
    assert decided(opened("a"), again, again).states["a"]["balance"] == 5


def test_a_refused_command_changes_nothing_even_after_its_first_event():
    def half(state, command):
        yield {"n": 1}
        raise Rejected("no")

    found = decide_all([{"k": 1, "command_id": "x"}], half, lambda state, event: {}, key="k")
    assert (found.events, found.states, [reason for _, reason in found.rejections]) == ([], {}, ["no"])


def test_a_bug_in_decide_is_told_with_its_place():
    def broken(state, command):
        return [{"n": command["missing"]}]

    with pytest.raises(JobFailed) as error:
        decide_all([{"k": 1, "command_id": "x7"}], broken, lambda state, event: {}, key="k")
    assert error.value.message == "decide failed on command x7"
    assert "KeyError: 'missing' in line" in error.value.detail


def test_functions_that_cannot_be_called_are_refused():
    with pytest.raises(HeadraceError, match="decide is not a function of 2 or 3 arguments"):
        check_functions(lambda command: [], lambda state, event: {})
    with pytest.raises(HeadraceError, match="evolve is not a function of 2 arguments"):
        check_functions(lambda state, command: [], None)


def test_a_module_without_the_functions_is_refused(tmp_path):
    (tmp_path / "empty_commands.py").write_text("decide = 1\n")
    with pytest.raises(HeadraceError, match="module empty_commands has no function evolve"):
        load_functions("empty_commands", tmp_path)
    with pytest.raises(HeadraceError, match="module no_commands is not found"):
        load_functions("no_commands", tmp_path)


# --- what is remembered ------------------------------------------------------------------------------


def test_events_that_the_view_shows_are_dropped_and_the_others_stay():
    history = History({0: 0})
    for number in (1, 2, 3):
        history.happened("a", number, {"n": number}, f"c{number}", 100, (0, 10 + number))
    history.prune({0: 13}, before=50)
    assert history.after("a", 0) == [{"n": 3}]
    assert history.base == {0: 13}
    assert history.answer("a", "c1").number == 1
    history.prune({0: 13}, before=101)
    assert history.answer("a", "c1") is None


def test_own_events_without_a_place_stay_until_they_are_read_back():
    history = History({0: 0})
    history.happened("a", 1, {"n": 1}, "c1", 100, None)
    history.prune({0: 99}, before=0)
    assert history.after("a", 0) == [{"n": 1}]
    assert history.unseen("a", 0, {0: 99}) is None


def test_a_view_that_lacks_an_event_which_it_has_read_is_found_out():
    history = History({0: 0})
    history.happened("a", 1, {}, "c1", 100, (0, 5))
    assert history.unseen("a", 0, {0: 5}) is None
    assert history.unseen("a", 0, {0: 6}) == 1
    assert history.unseen("a", 1, {0: 6}) is None


def test_what_is_removed_is_no_answer_any_more():
    history = History({0: 0})
    history.happened("a", 1, {}, "c1", 100, (0, 5))
    history.refused("a", "c2", "no", 100)
    history.removed("a", 1)
    assert (history.after("a", 0), history.answer("a", "c1"), history.unseen("a", 0, {0: 9})) == ([], None, None)
    assert history.answer("a", "c2").reason == "no"
    history.refused("a", "c2", None, 100)
    assert history.answer("a", "c2") is None


# --- records and names -------------------------------------------------------------------------------


@pytest.fixture
def plan():
    return Application.load(APP / "application.sql").plan


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (b"", "it is not JSON"),
        (b"[]", "it is not a JSON object"),
        (b'{"account": "a", "kind": "open"}', 'it has no "command_id"'),
        (b'{"command_id": "c", "account": 5, "kind": "open"}', 'its "account" cannot be "5"'),
        (b'{"command_id": "c", "account": "a", "kind": "d", "amount": "5"}', 'its "amount" cannot be "5"'),
        (b'{"command_id": "c", "account": "a", "kind": "d", "amount": true}', 'its "amount" cannot be "True"'),
        (b'{"command_id": "c", "account": "a", "kind": "d", "at": "noon"}', 'its "at" cannot be "noon"'),
    ],
)
def test_what_is_no_command(plan, record, why):
    read = reader(plan.streams["commands"].stored, ("account", "command_id"))
    with pytest.raises(Unreadable) as error:
        read(parsed(record))
    assert str(error.value) == why


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("command", "events", "rejections"), 'the application has no stream "command"'),
        (("commands", "event", "rejections"), 'the application has no table "event"'),
        (("commands", "events", "events"), 'has no column "reason"'),
    ],
)
def test_names_that_do_not_fit(plan, names, message):
    with pytest.raises(HeadraceError) as error:
        event_tables(plan, *names)
    assert message in error.value.message
