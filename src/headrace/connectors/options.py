"""Options of a WITH clause go in, one typed and checked dataclass comes out.

Each connector has one frozen dataclass per role, whose fields are declared with `option`. That
declaration drives reading, error messages and the reference page, so they cannot drift apart.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from headrace.connectors.durations import duration_text, parse_duration
from headrace.errors import HeadraceError, Source, Span
from headrace.language.statements import Option, OptionValue

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = [
    "Needs",
    "OptionField",
    "accepted",
    "closest",
    "duration_text",
    "option",
    "option_fields",
    "option_names",
    "parse_duration",
    "read_options",
    "sql_literal",
    "without_secrets",
]

T = TypeVar("T", bound="DataclassInstance")

LONGEST_WHOLE_NUMBER = 2**63 - 1
LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Needs:
    """An option makes sense only while another one has one of these values.

    With ``when``, that holds for these values of the option alone.
    """

    option: str
    values: tuple[str, ...]
    when: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OptionField:
    """All that is known of one option: what it takes, what it means, how it is written."""

    name: str
    type: type
    doc: str
    default: object
    choices: tuple[str, ...]
    refused: tuple[str, ...]
    example: OptionValue | None
    minimum: int | float | timedelta | None
    maximum: int | float | timedelta | None
    needs: Needs | None
    secret: bool
    rest: bool
    prefix: str

    @property
    def required(self) -> bool:
        """Whether a statement without the option is wrong."""
        return self.default is MISSING and not self.rest

    @property
    def assignment(self) -> str:
        """An example of the option as it stands in a WITH clause."""
        return f"{self.name} = {sql_literal(self.example)}"


def option(
    *,
    doc: str,
    example: OptionValue | None = None,
    default: object = MISSING,
    choices: tuple[str, ...] = (),
    refused: tuple[str, ...] = (),
    minimum: int | float | timedelta | None = None,
    maximum: int | float | timedelta | None = None,
    needs: Needs | None = None,
    secret: bool = False,
    rest: bool = False,
    prefix: str = "",
) -> Any:
    """Declare one option as a dataclass field; without a default it is required.

    A secret is shown in no repr and no error. The field with ``rest`` takes every option that no
    other field does and whose name begins with ``prefix``, as text by name. The example defaults to
    the default, then the first choice.
    """
    if example is None:
        example = default if isinstance(default, str | int | float) else next(iter(choices), None)
    if example is None and not rest:
        raise TypeError("an option needs an example for its error messages")
    facts = {
        "doc": doc,
        "choices": choices,
        "refused": refused,
        "example": example,
        "minimum": minimum,
        "maximum": maximum,
        "needs": needs,
        "secret": secret,
        "rest": rest,
        "prefix": prefix,
    }
    if rest:
        return field(default_factory=dict, repr=not secret, metadata=facts)
    return field(default=default, repr=not secret, metadata=facts)


def option_fields(kind: "type[DataclassInstance]") -> tuple[OptionField, ...]:
    """Return what a connector's dataclass declares, in order; a field that is no option is left out."""
    hints = get_type_hints(kind)
    return tuple(
        OptionField(name=each.name, type=_bare(hints[each.name]), default=each.default, **each.metadata)
        for each in fields(kind)
        if each.metadata
    )


def option_names(kind: "type[DataclassInstance]") -> frozenset[str]:
    """Return the names that a WITH clause may use, as far as they are fixed."""
    return frozenset(each.name for each in option_fields(kind) if not each.rest)


def read_options(
    kind: type[T],
    options: tuple[Option, ...],
    *,
    owner: str,
    owner_span: Span,
    known_elsewhere: frozenset[str] = frozenset(),
    rest_names: Iterable[str] | None = None,
) -> T:
    """Read the options of a WITH clause into the dataclass, or say what is wrong and where.

    Options named in ``known_elsewhere`` are read by somebody else and skipped here. ``rest_names``
    are the names that a field with ``rest`` may take; without them it takes any.
    """
    declared = {each.name: each for each in option_fields(kind)}
    options, owner_span = without_secrets(
        options, owner_span, secrets={each.prefix or name for name, each in declared.items() if each.secret}
    )
    rest, prefix = next(((each.name, each.prefix) for each in declared.values() if each.rest), (None, ""))
    rest_allowed = None if rest_names is None or prefix else {name.lower() for name in rest_names}
    known = [name for name in declared if name != rest] + sorted(known_elsewhere)
    _refuse_repeated(options)

    given: dict[str, Option] = {}
    values: dict[str, Any] = {}
    others: dict[str, str] = {}
    for each in options:
        name = each.name.lower()
        if name in declared and name != rest:
            given[name] = each
            values[name] = _value(declared[name], each)
        elif name in known_elsewhere:
            continue
        elif rest is not None and name.startswith(prefix) and (rest_allowed is None or name in rest_allowed):
            others[each.name] = each.value if isinstance(each.value, str) else sql_literal(each.value)
        else:
            raise _unknown(each, owner, known + sorted(rest_names or ()))
    if rest is not None:
        values[rest] = others

    for facts in declared.values():
        if facts.required and facts.name not in values:
            raise HeadraceError(
                f'missing option "{facts.name}" for {owner}',
                detail=facts.doc,
                hint=f"Add {facts.assignment} to the WITH clause.",
                span=owner_span,
            )
    result = kind(**values)
    for name, each in given.items():
        _check_needs(declared[name], each, result)
    return result


def without_secrets(
    options: tuple[Option, ...], owner_span: Span, secrets: Iterable[str]
) -> tuple[tuple[Option, ...], Span]:
    """Return the options and the owner's place over a text in which secret values are starred out.

    Values keep their meaning; only what an error would quote changes. A name that looks like a
    secret's counts as one: a misspelt password is still a password. One that ends in a dot stands for all
    names that begin with it.
    """
    names = frozenset(secrets)
    if not names:
        return options, owner_span
    text = owner_span.source.text
    for each in options:
        prefixed = any(name.endswith(".") and each.name.lower().startswith(name) for name in names)
        if prefixed or closest(each.name, names) is not None:
            start, end = each.value_span.start, each.value_span.end
            text = text[:start] + re.sub(r"[^\n]", "*", text[start:end]) + text[end:]
    source = Source(owner_span.source.name, text)
    shown = tuple(
        replace(each, span=replace(each.span, source=source), value_span=replace(each.value_span, source=source))
        for each in options
    )
    return shown, replace(owner_span, source=source)


def closest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that the user most likely meant.

    >>> closest("patth", ["format", "path"])
    'path'
    """
    by_lower = {each.lower(): each for each in names}
    found = get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None


def accepted(facts: OptionField) -> str:
    """Return in words what an option takes.

    >>> @dataclass(frozen=True)
    ... class Example:
    ...     port: int = option(doc="The port.", example=9999, minimum=1, maximum=65535)
    >>> accepted(option_fields(Example)[0])
    'a whole number of at least 1 and at most 65535'
    """
    if facts.choices:
        return f"one of {_one_of(facts.choices)}"
    words = _WORDS[facts.type]
    bounds = []
    if facts.minimum is not None:
        bounds.append(f"at least {_plain(facts.minimum)}")
    if facts.maximum is not None:
        bounds.append(f"at most {_plain(facts.maximum)}")
    if bounds:
        words += f" of {' and '.join(bounds)}"
    if facts.refused:
        words += f" other than {_one_of(facts.refused)}"
    return words


def sql_literal(value: object) -> str:
    r"""Return a value as the user would write it in a WITH clause.

    >>> sql_literal("it's"), sql_literal(True), sql_literal(5)
    ("'it\\'s'", 'true', '5')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'".replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return str(value)


# Readers take a value as it stands in the SQL and return None when it does not fit; they raise
# nothing, so no exception can carry a secret along.


def _text(value: OptionValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole_number(value: OptionValue) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,19}", value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LONGEST_WHOLE_NUMBER:
        return None
    return value


def _number(value: OptionValue) -> float | None:
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?", value.strip()):
            return None
        value = float(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, int) and abs(value) > LONGEST_WHOLE_NUMBER:
        return None
    return float(value) if math.isfinite(value) else None


def _truth(value: OptionValue) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _duration(value: OptionValue) -> timedelta | None:
    return parse_duration(value) if isinstance(value, str) else None


def _instant(value: OptionValue) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        instant = datetime.fromisoformat(value.strip())
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _names(value: OptionValue) -> tuple[str, ...] | None:
    if not isinstance(value, str):
        return None
    names = tuple(each.strip() for each in value.split(","))
    return names if all(names) else None


_READERS = {
    str: _text,
    int: _whole_number,
    float: _number,
    bool: _truth,
    timedelta: _duration,
    datetime: _instant,
    tuple: _names,
}
_WORDS = {
    str: "text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    timedelta: "a duration",
    datetime: "an instant in ISO 8601",
    tuple: "names with commas between",
    dict: "SQL expressions by name",
}


def _value(facts: OptionField, given: Option) -> object:
    """Return the option's value in its type, or raise what is wrong with it at the value's place."""
    value = _READERS[facts.type](given.value)
    literal = _shortened(sql_literal(given.value))
    shown = "" if facts.secret else f": {literal}"
    cannot_be = f'option "{facts.name}" cannot be {"that" if facts.secret else literal}'
    hint = f"For example: {facts.assignment}."
    if value is None:
        if given.value == "":
            message = f'option "{facts.name}" is empty'
        else:
            message = f'option "{facts.name}" is not {_WORDS[facts.type]}{shown}'
    elif facts.choices:
        value = str(value).lower()
        if value in facts.choices:
            return value
        message = cannot_be
        if (meant := closest(value, facts.choices)) is not None:
            hint = f"Did you mean {sql_literal(meant)}?"
    elif value in facts.refused:
        message = cannot_be
    elif _outside(value, facts):
        message = f'option "{facts.name}" is out of range{shown}'
    else:
        return value
    raise HeadraceError(message, detail=f"It takes {accepted(facts)}.", hint=hint, span=given.value_span)


def _outside(value: Any, facts: OptionField) -> bool:
    return (facts.minimum is not None and value < facts.minimum) or (
        facts.maximum is not None and value > facts.maximum
    )


def _check_needs(facts: OptionField, given: Option, result: object) -> None:
    needs = facts.needs
    if needs is None:
        return
    value, other = getattr(result, facts.name), getattr(result, needs.option)
    if other in needs.values or (needs.when and value not in needs.when):
        return
    subject = f'option "{facts.name}"' if not needs.when else f"{facts.name} = {sql_literal(value)}"
    raise HeadraceError(
        f"{subject} does not go with {needs.option} = {sql_literal(other)}",
        detail=f"It works only where {needs.option} is {_one_of(needs.values)}.",
        hint=f"Leave it out, or set {needs.option} = {sql_literal(needs.values[0])}.",
        span=given.value_span if needs.when else given.span,
    )


def _refuse_repeated(options: tuple[Option, ...]) -> None:
    seen: dict[str, Option] = {}
    for each in options:
        if (before := seen.setdefault(each.name.lower(), each)) is not each:
            raise HeadraceError(
                f'option "{each.name}" is given twice',
                detail=f"It is also on line {before.span.line}.",
                hint="Keep one of them.",
                span=each.span,
            )


def _unknown(given: Option, owner: str, known: list[str]) -> HeadraceError:
    meant = closest(given.name, known)
    return HeadraceError(
        f'unknown option "{given.name}" for {owner}',
        detail=f"Options: {', '.join(known)}." if known else "It takes no options.",
        hint=f'Did you mean "{meant}"?' if meant is not None else "Leave it out.",
        span=given.span,
    )


def _bare(hint: object) -> type:
    """Return the class behind a field's type: ``int | None`` is int, ``tuple[str, ...]`` is tuple."""
    if get_origin(hint) in (UnionType, Union):
        (hint,) = (each for each in get_args(hint) if each is not type(None))
    bare = get_origin(hint) or hint
    if bare not in _WORDS:
        raise TypeError(f"an option cannot be of type {hint}")
    return bare


def _one_of(values: tuple[str, ...]) -> str:
    *first, last = (sql_literal(each) for each in values)
    return f"{', '.join(first)} or {last}" if first else last


def _plain(value: int | float | timedelta) -> str:
    return duration_text(value) if isinstance(value, timedelta) else str(value)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
