"""How commands of the ledger are decided: the state of an account and a command go in, events come out."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.events import Rejected

MOST = Decimal(10) ** 12

State = dict[str, Any]
Row = dict[str, Any]


def decide(state: State | None, command: Row, state_of: Callable[[str], State | None]) -> list[Row]:
    """Return what happens by a command, or raise Rejected; ``state`` is a row of the view balances, or None."""
    match command["kind"]:
        case "open":
            return [_open(state, command)]
        case "deposit":
            return [_moved(_there(state, command["account"]), command, "deposited", _amount(command))]
        case "withdraw":
            return [_moved(_with_funds(state, command), command, "withdrawn", -_amount(command))]
        case "transfer":
            return _transfer(state, command, state_of)
        case other:
            raise Rejected(f"nobody knows how to {other}")


def evolve(state: State | None, event: Row) -> State:
    """Return the state of an account after an event, as the view balances will show it."""
    if state is None:
        state = {"account": event["account"], "owner": None, "currency": event["currency"], "balance": Decimal(0)}
    return {**state, "owner": event.get("owner") or state["owner"], "balance": state["balance"] + event["amount"]}


def _open(state: State | None, command: Row) -> Row:
    if state is not None:
        raise Rejected("the account is open already")
    if not command["owner"] or not command["currency"]:
        raise Rejected("an account needs an owner and a currency")
    return {
        "kind": "opened",
        "owner": command["owner"],
        "currency": command["currency"],
        "amount": Decimal(0),
        "at": command["at"],
    }


def _transfer(state: State | None, command: Row, state_of: Callable[[str], State | None]) -> list[Row]:
    amount = _amount(command)
    sender = _with_funds(state, command)
    target = command["target"]
    if target == command["account"]:
        raise Rejected("the two accounts are the same")
    receiver = _there(state_of(target) if target else None, target)
    if receiver["currency"] != sender["currency"]:
        raise Rejected("the two accounts have different currencies")
    return [
        _moved(sender, command, "sent", -amount),
        {**_moved(receiver, command, "received", amount), "account": target},
    ]


def _moved(state: State, command: Row, kind: str, amount: Decimal) -> Row:
    return {"kind": kind, "currency": state["currency"], "amount": amount, "at": command["at"]}


def _there(state: State | None, account: str | None) -> State:
    if state is None:
        raise Rejected(f"there is no account {account}")
    return state


def _with_funds(state: State | None, command: Row) -> State:
    found = _there(state, command["account"])
    if found["balance"] < _amount(command):
        raise Rejected("insufficient funds")
    return found


def _amount(command: Row) -> Decimal:
    amount: Decimal | None = command["amount"]
    if amount is None or not 0 < amount < MOST or amount != round(amount, 2):
        raise Rejected("the amount must be positive, with at most two decimals")
    return amount
