"""What stores have in common: definitions as text, what stands for a row, and what a batch must not do."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any

from headrace.connectors.typed_values import json_of
from headrace.errors import HeadraceError, PlanError
from headrace.plan.scope import did_you_mean
from headrace.views.definition import Row, ViewColumn, ViewDefinition

__all__ = [
    "HIDDEN",
    "KEEP",
    "KeptView",
    "check_key",
    "check_names",
    "check_position",
    "check_same",
    "definition_from_text",
    "definition_text",
    "identified",
    "key_places",
    "not_there",
    "row_hash",
    "same_key_twice",
    "view_named",
    "view_of_query",
]

KEEP = timedelta(days=7)
"""How long a feed is kept if the view does not say."""

HIDDEN = "_headrace_"
"""Begins the names that belong to the store."""

_OUT_OF_STEP = "Run the application with --fresh to build the view anew."


@dataclass(frozen=True, slots=True)
class KeptView:
    """A view that a store keeps, and the query that it is of; ``pruned_to`` is the last batch its feed forgot."""

    definition: ViewDefinition
    query: str
    pruned_to: int | None = None


def definition_text(view: ViewDefinition) -> str:
    """Return a definition as JSON text."""
    facts: dict[str, Any] = asdict(view)
    facts["retain"] = None if view.retain is None else view.retain.total_seconds()
    return json.dumps(facts)


def definition_from_text(text: str) -> ViewDefinition:
    """Return a definition from its JSON text.

    >>> view = ViewDefinition("v", (ViewColumn("a", "int"),), ("a",), (("a",),), retain=timedelta(hours=1))
    >>> definition_from_text(definition_text(view)) == view
    True
    """
    facts = json.loads(text)
    return ViewDefinition(
        facts["name"],
        tuple(ViewColumn(**each) for each in facts["columns"]),
        tuple(facts["key"]),
        tuple(map(tuple, facts["indexes"])),
        None if facts["retain"] is None else timedelta(seconds=facts["retain"]),
        facts.get("identity", ""),
    )


def identified(view: ViewDefinition, old: ViewDefinition | None) -> ViewDefinition:
    """Return a view with the identity that it has in a store, a new one if it is new there."""
    return replace(view, identity=secrets.token_hex(8) if old is None else old.identity)


def view_named(name: str, views: Mapping[str, KeptView]) -> KeptView:
    """Return a view by its name in any case, or raise what the user may have meant."""
    found = views.get(name.lower())
    if found is None:
        known = [each.definition.name for each in views.values()]
        raise PlanError(f'unknown view "{name}"', hint=did_you_mean(name, known))
    return found


def view_of_query(name: str, query: str, views: Mapping[str, KeptView]) -> ViewDefinition:
    """Return a view that a query may change."""
    found = views.get(name.lower())
    if found is None or found.query != query:
        raise HeadraceError(f'query "{query}" has no view "{name}"', hint="Define its views first.")
    return found.definition


def check_names(view: ViewDefinition) -> None:
    """Raise if a view has columns that cannot be told apart, or names that belong to the store."""
    known = [each.name.lower() for each in view.columns]
    if any(each.startswith(HIDDEN) for each in (view.name.lower(), *known)):
        raise HeadraceError(f'names in view "{view.name}" that begin with "{HIDDEN}" belong to the store')
    if len(set(known)) < len(known):
        raise HeadraceError(f'the columns of view "{view.name}" need different names', hint="Rename one with AS.")
    for columns in (view.key, *view.indexes):
        for column in columns:
            if column.lower() not in known:
                raise HeadraceError(f'view "{view.name}" has no column "{column}" for its key or an index')


def check_same(query: str, view: ViewDefinition, kept: KeptView) -> None:
    """Raise if a view that is kept is of another query, or looks different."""
    if kept.query != query:
        raise HeadraceError(
            f'view "{view.name}" is kept in this store for another query',
            detail=f'That query is "{kept.query}".',
            hint="Give the view another name, or another store with WITH (…).",
        )
    if (view.columns, _folded(view.key)) != (kept.definition.columns, _folded(kept.definition.key)):
        raise HeadraceError(
            f'view "{view.name}" is kept in this store with other columns',
            detail=f"There it has {_shown_columns(kept.definition)}; now it has {_shown_columns(view)}.",
            hint=_OUT_OF_STEP,
        )


def _folded(names: Sequence[str]) -> list[str]:
    return [each.lower() for each in names]


def _shown_columns(view: ViewDefinition) -> str:
    columns = ", ".join(f"{each.name} {each.type}" for each in view.columns)
    return f"{columns} and " + (f"the key {', '.join(view.key)}" if view.key else "no key")


def key_places(view: ViewDefinition) -> tuple[int, ...]:
    """Return the places of the key's columns in a row."""
    names = [each.name.lower() for each in view.columns]
    return tuple(names.index(each.lower()) for each in view.key)


def check_key(view: ViewDefinition, key: Sequence[Any]) -> None:
    """Raise if a view has no key of so many columns."""
    if not view.key:
        raise HeadraceError(f'view "{view.name}" has no key', hint="Ask for its rows by a query, or give it a key.")
    if len(key) > len(view.key):
        raise HeadraceError(
            f"{len(key)} values were given for a key of {len(view.key)}",
            detail=f'The key of view "{view.name}" is ({", ".join(view.key)}).',
        )


def check_position(name: str, pruned: int | None, after: int | None, last: int | None) -> None:
    """Raise if a feed cannot go on from a position.

    ``pruned`` is the last batch that it has forgotten, ``last`` the last that its query took in.
    """
    if pruned is not None and (after is None or after < pruned):
        raise HeadraceError(
            f'the changes of view "{name}" no longer go back that far',
            detail=f"What batch {pruned} and those before it changed is forgotten.",
            hint="Read the rows of the view and follow it from now on, or retain its changes for longer.",
        )
    if after is not None and (last is None or after > last):
        raise HeadraceError(
            f'view "{name}" was built anew',
            detail=f"Its last batch is {'not there yet' if last is None else last}; {after} was asked for.",
            hint="Read the rows of the view and follow it from now on.",
        )


def not_there(view: ViewDefinition) -> HeadraceError:
    """Return the error for a delete that finds no row."""
    return HeadraceError(
        f'a row that should leave view "{view.name}" is not there',
        detail="The store is out of step with its query.",
        hint=_OUT_OF_STEP,
    )


def same_key_twice(view: ViewDefinition) -> HeadraceError:
    """Return the error for an insert that meets its key."""
    return HeadraceError(
        f'two rows of view "{view.name}" have the same key',
        detail=f"The key is {', '.join(view.key)}.",
        hint="Declare a key that identifies each row, or none.",
    )


def row_hash(row: Row) -> bytes:
    """Return what stands for a row, the same in every run and on every machine.

    >>> row_hash((1, -0.0, {"a": 1, "b": 2})) == row_hash((1, 0.0, {"b": 2, "a": 1}))
    True
    """
    return blake2b(ascii([_canonical(value) for value in row]).encode("ascii"), digest_size=16).digest()


def _canonical(value: Any) -> Any:
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, Decimal):
        return f"{value.normalize():f}" if value else "0"
    if isinstance(value, datetime):
        return json_of(value if value.tzinfo is None else value.astimezone(UTC))
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, dict):
        return sorted((ascii(_canonical(key)), _canonical(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    return value
