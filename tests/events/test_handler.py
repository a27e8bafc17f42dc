"""Commands decided over a real broker: each once, against what was written just now, by one handler at a time."""

import json
import random
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from headrace.errors import HeadraceError, JobFailed
from support import topics
from support.waiting import until

HEADRACE = str(Path(sys.executable).parent / "headrace")
APPLICATION = Path(__file__).parents[2] / "apps" / "ledger" / "application.sql"


def test_commands_become_events_and_rejections(ledger):
    ledger.send(
        *ledger.opened("a", 100, owner="ada"),
        *ledger.opened("b"),
        ledger.command("transfer", "a", 30.25, target="b"),
        ledger.command("withdraw", "b", 31),
    )
    handler = ledger.handle()
    assert str(handler.handled) == "4 accepted with 5 events, 1 rejected"
    assert ledger.balances() == {"a": Decimal("69.75"), "b": Decimal("30.25")}
    [rejection] = ledger.rejections()
    assert rejection == {
        "account": "b",
        "command_id": "c5",
        "kind": "withdraw",
        "amount": 31,
        "reason": "insufficient funds",
        "at": "2024-01-01T10:00:00Z",
    }
    [message] = topics.read(ledger.servers, ledger.topic("rejections"))
    assert message.key() == b'{"account":"b","command_id":"c5"}'
    keys = [message.key() for message in topics.read(ledger.servers, ledger.topic("events"))]
    assert keys[0] == b'{"account":"a","number":1}'
    assert len(set(keys)) == 5


def test_the_next_run_goes_on_where_the_last_one_ended(ledger):
    ledger.send(*ledger.opened("a", 10))
    ledger.handle()
    ledger.send(ledger.command("withdraw", "a", 4), ledger.command("withdraw", "a", 7))
    handler = ledger.handle()
    assert (handler.handled.accepted, handler.handled.rejected) == (1, 1)
    assert ledger.balances() == {"a": 6}
    assert sorted(event["number"] for event in ledger.events()) == [1, 2, 3]


def test_a_command_that_comes_again_has_the_same_answer(ledger):
    commands = [*ledger.opened("a", 10), ledger.command("withdraw", "a", 11)]
    ledger.send(*commands, *commands)
    handler = ledger.handle()
    assert str(handler.handled) == "2 accepted with 2 events, 1 rejected, 3 repeated"
    ledger.send(ledger.command("deposit", "a", 5), *commands)  # now the withdrawal could be granted
    handler = ledger.handle()
    assert str(handler.handled) == "1 accepted with 1 events, 0 rejected, 3 repeated"
    assert ledger.balances() == {"a": 15}
    assert {row["command_id"] for row in ledger.rejections()} == {commands[2]["command_id"]}
    assert {row["reason"] for row in ledger.rejections()} == {"insufficient funds"}


def test_what_was_answered_long_ago_is_not_remembered(ledger):
    deposit = ledger.command("deposit", "a", 5)
    ledger.send(*ledger.opened("a"), deposit)
    ledger.handle()
    ledger.send(deposit)
    ledger.handle(remember=timedelta(0))
    assert ledger.balances() == {"a": 10}


def test_messages_that_are_no_commands_are_told_and_passed_over(ledger):
    told = []
    ledger.send(b"nonsense", *ledger.opened("a"), b'{"account": "a", "kind": "deposit"}')
    handler = ledger.handle(notice=told.append)
    assert str(handler.handled) == "1 accepted with 1 events, 0 rejected, 2 broken"
    topic = ledger.topic("commands")
    assert told == [
        f"{topic}/0/0 is not a command: it is not JSON",
        f'{topic}/0/2 is not a command: it has no "command_id"',
    ]


def test_a_bug_leaves_the_command_to_be_decided(ledger):
    def broken(state, command):
        return [{"kind": command["nowhere"]}]

    ledger.send(*ledger.opened("a"))
    with pytest.raises(JobFailed, match="decide failed on command c1"):
        ledger.handle(decide=broken)
    assert ledger.events() == []
    ledger.handle()
    assert ledger.balances() == {"a": 0}


def test_an_event_that_does_not_fit_its_table_is_refused(ledger):
    ledger.send(*ledger.opened("a"))
    with pytest.raises(HeadraceError, match='an event with "amout", which is no column'):
        ledger.handle(decide=lambda state, command: [{"amout": 1}])
    with pytest.raises(HeadraceError, match="does not fit its table"):
        ledger.handle(decide=lambda state, command: [{"amount": "much"}])
    assert ledger.events() == []


def test_a_view_that_does_not_fit_is_refused(ledger):
    with pytest.raises(HeadraceError, match='view "totals" has not one row for each account'):
        ledger.handler(view="totals")
    with pytest.raises(HeadraceError, match='no materialised view "balanses"') as error:
        ledger.handler(view="balanses")
    assert error.value.hint == "Did you mean balances?"


def test_of_two_handlers_the_later_decides(ledger):
    ledger.send(*ledger.opened("a"))
    first, second = ledger.handler(), ledger.handler()
    with ledger.handling(first):
        until(lambda: first.handled.accepted == 1)
        with ledger.handling(second):

            def noticed():
                ledger.send(ledger.command("deposit", "a", 1))
                return ledger.failures

            until(noticed)
            deposits = ledger.sent - 1
            until(lambda: ledger.balances()["a"] == deposits)
    [failure] = ledger.failures
    assert failure.message == "another handler has taken over"
    assert sorted(event["number"] for event in ledger.events()) == list(range(1, deposits + 2))


@pytest.mark.parametrize("partitions", [1, 3])
def test_withdrawals_at_once_never_overdraw(make_ledger, partitions):
    ledger = make_ledger(partitions)
    accounts = [f"a{i}" for i in range(7)]
    ledger.send(*(each for account in accounts for each in ledger.opened(account, 50)))
    chance = random.Random(3)
    ledger.send(
        *(
            ledger.command(
                "transfer", *chance.sample(accounts, 2)[:1], chance.randrange(1, 40), target=chance.choice(accounts)
            )
            for _ in range(400)
        )
    )
    handler = ledger.handle()
    assert handler.handled.rejected > 20
    assert sum(ledger.balances().values()) == 350
    running = {}
    for event in sorted(ledger.events(), key=lambda each: (each["account"], each["number"])):
        running[event["account"]] = running.get(event["account"], 0) + event["amount"]
        assert running[event["account"]] >= 0


def start(ledger, *more):
    return subprocess.Popen(
        [HEADRACE, "handle", str(APPLICATION), "--view", "balances", *ledger.variables, *more],
        stderr=subprocess.PIPE,
        text=True,
    )


def test_six_kills_lose_and_double_nothing(ledger):
    chance = random.Random(7)
    accounts = [f"a{i}" for i in range(5)]
    commands = [each for account in accounts for each in ledger.opened(account, 100)]
    commands += [
        ledger.command(chance.choice(["deposit", "withdraw"]), chance.choice(accounts), chance.randrange(1, 60))
        for _ in range(6000)
    ]
    ledger.send(*commands[:10])
    kills = 0
    for part in range(6):
        process = start(ledger)
        before = topics.size(ledger.servers, ledger.topic("events"))
        ledger.send(*commands[10 + part * 1000 : 10 + part * 1000 + 1000])
        with suppress(AssertionError):
            until(lambda before=before: topics.size(ledger.servers, ledger.topic("events")) > before, 30)
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, 0.1))  # any moment is as good: that is the point
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()
        kills += 1
    assert kills == 6
    with start(ledger, "--once") as process:
        _, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    check_against_memory(ledger, commands)


def check_against_memory(ledger, commands):
    """Each command has one answer, the same as if nothing had ever been killed."""
    from headrace.events import decide_all
    from headrace.events.module import load_functions

    decide, evolve = load_functions("commands", APPLICATION.parent)
    empty = dict.fromkeys(("owner", "currency", "target", "amount"))
    given = [json.loads(json.dumps(each), parse_float=Decimal) for each in commands]
    expected = decide_all([{**empty, **each} for each in given], decide, evolve, key="account")
    written = [
        json.loads(message.value(), parse_float=Decimal)
        for message in topics.read(ledger.servers, ledger.topic("events"))
    ]
    wanted = sorted((e["account"], e["number"], e["command_id"], e["amount"]) for e in expected.events)
    assert sorted((e["account"], e["number"], e["command_id"], e["amount"]) for e in written) == wanted
    refused = [row["command_id"] for row in ledger.rejections()]
    assert sorted(refused) == sorted(command["command_id"] for command, _ in expected.rejections)
    assert all(balance >= 0 for balance in ledger.balances().values())


def test_the_command_line_says_what_is_wrong(ledger, tmp_path):
    with start(ledger, "--module", "nothing", "--once") as process:
        _, said = process.communicate(timeout=240)
    assert process.returncode == 1
    assert "error: module nothing is not found" in said
