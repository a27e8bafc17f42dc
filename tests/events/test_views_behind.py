"""The view that commands are decided against may be behind, be taken away, or be wrong."""

import json
from decimal import Decimal

import pytest

from headrace.errors import HeadraceError
from headrace.events.current import kept_by
from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore
from support import topics

COLUMNS = (("account", "string"), ("owner", "string"), ("currency", "string"))
COLUMNS += (("balance", "decimal(28,2)"), ("number", "int"))
BALANCES = ViewDefinition("balances", tuple(ViewColumn(*each) for each in COLUMNS), ("account",))


class Views:
    """The store of the ledger's views, written by the test as the application would."""

    def __init__(self, ledger):
        self.ledger = ledger
        options = next(each.view for each in ledger.application.plan.outputs if each.name == "balances")
        self.store = SqliteViewStore(kept_by(ledger.application).path_of(options))
        self.store.define("q", [BALANCES])
        self.batch = -1

    def show(self, rows, upto):
        """Show these rows, as of an offset of the events topic."""
        self.batch += 1
        positions = {"events": json.dumps({self.ledger.topic("events"): {"0": upto}})}
        delta = Delta(list(self.store.rows("balances")), [tuple(row.values()) for row in rows])
        self.store.take("q", self.batch, {"balances": delta}, Reflects(positions=positions))


def row(account, balance, number):
    return {"account": account, "owner": "ada", "currency": "EUR", "balance": Decimal(balance), "number": number}


@pytest.fixture
def views(ledger):
    return Views(ledger)


def end(ledger):
    return topics.size(ledger.servers, ledger.topic("events"))


def test_events_after_the_row_count(ledger, views):
    ledger.send(*ledger.opened("a", 10))
    ledger.handle()
    views.show([row("a", 10, 2)], end(ledger))
    ledger.send(ledger.command("withdraw", "a", 8))
    ledger.handle()  # the view does not know of it
    ledger.send(ledger.command("withdraw", "a", 8))
    assert ledger.handle().handled.rejected == 1
    assert ledger.balances() == {"a": 2}


def test_what_the_view_shows_is_believed(ledger, views):
    """So it is read: the events before its position are not."""
    ledger.send(*ledger.opened("a", 10))
    ledger.handle()
    views.show([row("a", 1000, 2)], end(ledger))
    ledger.send(ledger.command("withdraw", "a", 500))
    assert ledger.handle().handled.accepted == 1
    assert max(event["number"] for event in ledger.events()) == 3


def test_a_row_that_shows_more_than_its_position_says_is_not_counted_twice(ledger, views):
    ledger.send(*ledger.opened("a", 10))
    ledger.handle()
    views.show([row("a", 10, 2)], 0)
    ledger.send(ledger.command("withdraw", "a", 11))
    assert ledger.handle().handled.rejected == 1


def test_a_view_that_lacks_an_event_is_found_out(ledger, views):
    ledger.send(*ledger.opened("a", 10))
    ledger.handle()
    views.show([], end(ledger))
    ledger.send(ledger.command("deposit", "a", 1))
    with pytest.raises(HeadraceError) as error:
        ledger.handle()
    assert error.value.message.startswith("the view does not show event 1 of account a, though it has read it")
    assert ledger.balances() == {"a": 10}


def test_a_view_that_is_built_anew_meanwhile_is_not_mistaken_for_an_empty_one(ledger, views, monkeypatch):
    monkeypatch.setattr("headrace.events.states.PRUNE_EVERY", 1)
    ledger.send(*ledger.opened("a", 10))
    ledger.handle()
    views.show([row("a", 10, 2)], end(ledger))
    handler = ledger.handler()
    with ledger.handling(handler):
        ledger.send(ledger.command("withdraw", "a", 1))
        ledger.await_balance("a", 9)
        views.show([row("a", 9, 3)], end(ledger))
        ledger.send(ledger.command("withdraw", "a", 1))
        ledger.await_balance("a", 8)
        views.store.remove("q")  # as --fresh does
        ledger.send(ledger.command("withdraw", "a", 9), ledger.command("withdraw", "a", 1))
        ledger.await_balance("a", 7)
        views.store.define("q", [BALANCES])
        ledger.send(ledger.command("withdraw", "a", 8), ledger.command("withdraw", "a", 1))
        ledger.await_balance("a", 6)
    assert (ledger.failures, handler.handled.rejected) == ([], 2)
    assert sorted(event["number"] for event in ledger.events()) == list(range(1, 7))
