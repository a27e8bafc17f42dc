"""Expressions of DEFINE and MEASURES go in; out come expressions over slots, and what each slot asks of a match."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from headrace.errors import PlanError
from headrace.language.expressions import MatchSemantics
from headrace.language.functions import function_name
from headrace.plan import types
from headrace.plan.binding import Binder, aggregates_in, with_units
from headrace.plan.repeatable import check_value
from headrace.plan.scope import did_you_mean
from headrace.plan.slots import CLASSIFIER, EVIDENCE, SLOT, Asked, Slot
from headrace.plan.steps import Column, Scalar

NAVIGATING = frozenset({"first", "last", "prev", "next"})
FACTS = {
    "match_number": (Asked.MATCH_NUMBER, types.BIGINT),
    "timed_out": (Asked.TIMED_OUT, types.BOOLEAN),
    "awaited": (Asked.AWAITED, exp.DataType.build("array<string>", dialect="spark")),
}
HIDDEN = {CLASSIFIER: "CLASSIFIER", EVIDENCE: "EVIDENCE"}
"""Columns that no user may name, and what is called instead."""
_MOST = 10_000
_PLACE = ("source", "partition", "position")


@dataclass(slots=True)
class Navigation:
    """Gathers what the expressions of one MATCH_RECOGNIZE ask."""

    binder: Binder
    variables: tuple[str, ...]
    subsets: dict[str, tuple[int, ...]]
    timeouts: bool = False
    values: list[Column] = field(default_factory=list)
    aggregates: list[Scalar] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)

    def condition(self, tree: exp.Expr, variable: str) -> Scalar:
        """Return what must hold for a variable, over slots."""
        for node in tree.find_all(MatchSemantics, exp.Anonymous):
            name = "FINAL" if isinstance(node, MatchSemantics) else node.name.upper()
            unknown = node.is_final if isinstance(node, MatchSemantics) else name in {"TIMED_OUT", "AWAITED"}
            if unknown:
                raise self._error(
                    f"{name} cannot stand in DEFINE",
                    node,
                    "A condition sees the match only up to the row that is tried. Put it into MEASURES.",
                )
        scalar = self._scalar(tree)
        stand_in = exp.Cast(this=exp.Null(), to=scalar.type.copy())
        stand_in.type = scalar.type
        types.check_boolean(stand_in, scalar.span, f"the condition of {variable}")
        return scalar

    def measure(self, tree: exp.Expr) -> Scalar:
        """Return a measure, over slots."""
        return self._scalar(tree)

    def _scalar(self, tree: exp.Expr) -> Scalar:
        span = self.binder.scope.span(tree)
        self._check_own(tree)
        bound = self._translated(with_units(tree), whole=False)
        self.binder.check_functions(bound)
        for call in bound.find_all(exp.Anonymous):
            if call.name.lower() in self.binder.functions:
                raise self._error(
                    f"function {call.name} is in Python and cannot stand in a pattern",
                    tree,
                    "Compute it from the columns of one row in a subquery: "
                    f"FROM (SELECT *, {call.name}(…) AS name FROM …) MATCH_RECOGNIZE (…).",
                )
        annotated = types.annotate(bound)
        types.check(annotated, self.binder.scope.span)
        scalar = Scalar(bound, types.type_of(annotated), span)
        check_value(scalar, "a pattern", span)
        return scalar

    # --- one node at a time --------------------------------------------------------------------------

    def _translated(self, tree: exp.Expr, *, whole: bool) -> exp.Expr:
        if isinstance(tree, MatchSemantics):
            return self._translated(tree.this, whole=tree.is_final)
        if isinstance(tree, (exp.Subquery, exp.Exists, exp.Select, exp.Window)):
            what = "OVER" if isinstance(tree, exp.Window) else "a subquery"
            raise self._error(f"{what} cannot stand in MATCH_RECOGNIZE", tree, "Put it around, or into a view below.")
        if _is_star(tree):
            raise self._star(tree)
        if isinstance(tree, exp.Column):
            return self._navigated(tree, tree, whole=whole)
        name = _called(tree)
        if name in FACTS:
            return self._fact(tree, name)
        if name in NAVIGATING or name == "classifier":
            return self._navigated(tree, tree, whole=whole)
        if name == "evidence":
            return self._aggregated(self._evidence(tree), whole=whole)
        if aggregates_in(tree) == [tree]:
            return self._aggregated(tree, whole=whole)
        copy = tree.copy()
        for key, value in tree.args.items():
            if isinstance(value, exp.Expr):
                copy.set(key, self._translated(value, whole=whole))
            elif isinstance(value, list):
                copy.set(key, [self._translated(v, whole=whole) if isinstance(v, exp.Expr) else v for v in value])
        return copy

    def _fact(self, call: exp.Expr, name: str) -> exp.Expr:
        if _arguments(call):
            raise self._error(f"{name.upper()} takes nothing", call, f"Write {name.upper()}().")
        if name in {"timed_out", "awaited"} and not self.timeouts:
            raise self._error(
                f"{name.upper()}() without ON TIMEOUT EMIT",
                call,
                "Without it no match that ran out of time is given: write WITHIN INTERVAL … ON TIMEOUT EMIT.",
            )
        asked, kind = FACTS[name]
        return self._slot(Slot(asked, kind), call)

    def _navigated(self, tree: exp.Expr, place: exp.Expr, *, whole: bool) -> exp.Expr:
        """Return the slot of a value of one row: physical steps around logical ones around a value."""
        shift = 0
        name = _called(tree)
        while name in {"prev", "next"}:
            steps = self._count(tree, default=1)
            shift += steps if name == "next" else -steps
            tree = _arguments(tree)[0]
            if isinstance(tree, MatchSemantics):
                whole, tree = tree.is_final, tree.this
            outer, name = name, _called(tree)
            if name in {"prev", "next"}:
                raise self._error(
                    f"{name.upper()} cannot stand in {outer.upper()}",
                    tree,
                    "Write one of them, with the number of rows between: PREV(a.x, 2).",
                )
        last, offset = True, 0
        if name in {"first", "last"}:
            last, offset = name == "last", self._count(tree, default=0)
            tree = _arguments(tree)[0]
            name = _called(tree)
        inner = tree.find(MatchSemantics)
        if name in NAVIGATING or inner is not None or aggregates_in(tree):
            what = name if inner is None else str(inner.args["kind"])
            raise self._error(
                f"{what.upper() or 'an aggregate'} cannot stand here",
                tree,
                "PREV and NEXT stand around FIRST and LAST, and these around values of one row.",
            )
        if name == "classifier":
            variables = self._classified(tree)
            slot = Slot(Asked.CLASSIFIER, types.STRING, "", variables, last, offset, shift, whole)
            return self._slot(slot, place)
        self._check_value(tree, place)
        variables = self._variables_of(tree)
        value = self.binder.bind(self._unqualified(tree))
        slot = Slot(Asked.VALUE, value.type, self._value(value), variables, last, offset, shift, whole)
        return self._slot(slot, place)

    def _check_value(self, tree: exp.Expr, place: exp.Expr) -> None:
        """Raise if an expression that is navigated to asks for more than columns of a row."""
        for node in tree.find_all(exp.Star, exp.Anonymous):
            name = _called(node)
            if isinstance(node, exp.Star):
                raise self._star(tree)
            if name in FACTS:
                raise self._error(
                    f"{name.upper()}() is no value of a row", place, f"It is the same everywhere: {name.upper()}()."
                )
            if name == "classifier":
                raise self._error(
                    "CLASSIFIER() in an expression that is navigated to",
                    place,
                    "Ask for it alone, and compute with what that gives: upper(FIRST(CLASSIFIER())).",
                )

    def _count(self, call: exp.Expr, default: int) -> int:
        arguments = _arguments(call)
        if not arguments or len(arguments) > 2:
            raise self._error(f"{_called(call).upper()} takes a value and a number of rows", call, None)
        if len(arguments) == 1:
            return default
        number = arguments[1]
        if not isinstance(number, exp.Literal) or number.is_string or not number.name.isdigit():
            raise self._error("a number of rows is a whole number, 0 or more", number, None)
        if int(number.name) > _MOST:
            raise self._error(f"a match does not reach back more than {_MOST:,} rows", number, None)
        return int(number.name)

    def _aggregated(self, tree: exp.Expr, *, whole: bool) -> exp.Expr:
        variables = self._variables_of(tree)
        call = self._unqualified(tree)
        for node in list(call.find_all(exp.Func)):
            name = _called(node)
            if name in NAVIGATING | FACTS.keys() and node is not call:
                raise self._error(f"{name.upper()} cannot stand in an aggregate", tree, None)
        for star in call.find_all(exp.Star):
            if star.parent is None or _called(star.parent) != "count":
                raise self._star(tree)
        bound = self.binder.bind(call)
        for column in bound.tree.find_all(exp.Column):
            if column.name != CLASSIFIER and not isinstance(column.this, exp.Star):
                self._value(Scalar(column.copy(), column.type or types.UNKNOWN))
        known = next((i for i, each in enumerate(self.aggregates) if each.tree == bound.tree), len(self.aggregates))
        if known == len(self.aggregates):
            self.aggregates.append(bound)
        return self._slot(Slot(Asked.AGGREGATE, bound.type, str(known), variables, whole=whole), tree)

    def _evidence(self, call: exp.Expr) -> exp.Expr:
        """Return the aggregate that EVIDENCE() stands for: of each row its variable, where it stands, and its id."""
        arguments = _arguments(call)
        if len(arguments) > 1:
            raise self._error("EVIDENCE takes one value that identifies a row, or nothing", call, None)
        if arguments and _is_star(arguments[0]):
            raise self._star(call)
        place = [exp.Dot(this=_own(EVIDENCE), expression=exp.to_identifier(each)) for each in _PLACE]
        named: dict[str, exp.Expr] = {"variable": _own(CLASSIFIER), **dict(zip(_PLACE, place, strict=True))}
        if arguments:
            named["id"] = arguments[0].copy()
        fields = [part for name, value in named.items() for part in (exp.Literal.string(name), value)]
        struct = exp.Anonymous(this="named_struct", expressions=fields)
        made = exp.Anonymous(this="collect_list", expressions=[struct])
        span = self.binder.scope.span(call)
        if span is not None:
            made.meta.update(start=span.start, end=span.end - 1)
        return made

    # --- names ---------------------------------------------------------------------------------------

    def _classified(self, call: exp.Expr) -> tuple[int, ...]:
        arguments = _arguments(call)
        if not arguments:
            return tuple(range(len(self.variables)))
        known = self._set(arguments[0].name) if isinstance(arguments[0], exp.Column) else None
        if known is None or len(arguments) > 1:
            raise self._error("CLASSIFIER takes a pattern variable or nothing", call, None)
        return known

    def _set(self, name: str) -> tuple[int, ...] | None:
        """Return the variables that a name stands for, None if it is none of the pattern's."""
        for i, each in enumerate(self.variables):
            if each.lower() == name.lower():
                return (i,)
        return self.subsets.get(name.lower())

    def _variables_of(self, tree: exp.Expr) -> tuple[int, ...]:
        """Return the variables whose rows an expression speaks of; it must speak of one set of them."""
        found: dict[tuple[int, ...], exp.Expr] = {}
        everything = tuple(range(len(self.variables)))
        for column in _columns(tree):
            if column.name in (CLASSIFIER, EVIDENCE) or column.table == EVIDENCE:
                continue
            qualified = self._qualifier(column)
            found.setdefault(qualified if qualified is not None else everything, column)
        for call in tree.find_all(exp.Anonymous):
            if call.name.lower() == "classifier":
                found.setdefault(self._classified(call), call)
        if len(found) > 1:
            names = " and of ".join(str(each) for each in found.values())
            raise self._error(
                "one value of rows of several variables",
                tree,
                f"It speaks of {names}. Ask for each by itself, and compute with what they give.",
            )
        return next(iter(found), everything)

    def _qualifier(self, column: exp.Column) -> tuple[int, ...] | None:
        parts = _parts(column)
        return self._set(parts[0].name) if len(parts) > 1 or isinstance(column.this, exp.Star) else None

    def _unqualified(self, tree: exp.Expr) -> exp.Expr:
        """Return a copy of an expression in which columns are not qualified by variables."""
        copy = tree.copy()
        holder = exp.Paren(this=copy)
        for column in list(_columns(copy)):
            if self._qualifier(column) is None:
                self._check_known(column)
                continue
            parts = _parts(column)[1:]
            column.replace(_dotted(parts) if parts else exp.Star())
        for call in list(copy.find_all(exp.Anonymous)):
            if call.name.lower() == "classifier":  # inside an aggregate, where it is a column
                call.replace(_own(CLASSIFIER))
        found: exp.Expr = holder.this
        return found

    def _check_own(self, tree: exp.Expr) -> None:
        """Raise where a column is named that only our own expressions may ask for."""
        for column in tree.find_all(exp.Column):
            for part in _parts(column):
                if part.name.lower() in HIDDEN:
                    raise self._error(f'unknown column "{part.name}"', part, f"There is {HIDDEN[part.name.lower()]}().")

    def _check_known(self, column: exp.Column) -> None:
        parts = _parts(column)
        inputs = {each.name.lower() for item in self.binder.scope.items for each in item.fields}
        aliases = {item.alias.lower() for item in self.binder.scope.items}
        if len(parts) == 1 and parts[0].name.lower() not in inputs and self._set(parts[0].name) is not None:
            name = parts[0].name
            raise self._error(
                f"{name} is a variable of the pattern, not a value",
                parts[0],
                f"Write {name}.column for a value of its rows, count({name}.*) for how many there are.",
            )
        if len(parts) > 1 and parts[0].name.lower() not in inputs | aliases:
            known = [*self.variables, *self.subsets]
            raise self._error(
                f"the pattern has no variable {parts[0].name}", parts[0], did_you_mean(parts[0].name, known)
            )

    # --- what is gathered ----------------------------------------------------------------------------

    def _value(self, value: Scalar) -> str:
        """Return the column of a row in which a value stands; a column of the input is one already."""
        if isinstance(value.tree, exp.Column):
            name = value.tree.name
        else:
            same = (each.name for each in self.values if each.value.tree == value.tree)
            name = next(same, f"__value_{len(self.values)}")
        if all(each.name != name for each in self.values):
            self.values.append(Column(name, value))
        return name

    def _slot(self, slot: Slot, place: exp.Expr) -> exp.Expr:
        if slot not in self.slots:
            self.slots.append(slot)
        column = exp.column(exp.to_identifier(f"{SLOT}{self.slots.index(slot)}", quoted=True))
        column.type = slot.type
        span = self.binder.scope.span(place)
        if span is not None:
            column.this.meta.update(start=span.start, end=span.end - 1)
        return column

    def _star(self, place: exp.Expr) -> PlanError:
        return self._error("* stands only in COUNT", place, "Name the columns, or write ALL ROWS PER MATCH.")

    def _error(self, message: str, place: exp.Expr, hint: str | None) -> PlanError:
        return PlanError(message, hint=hint, span=self.binder.scope.span(place))


def _called(tree: exp.Expr) -> str:
    return function_name(tree) if isinstance(tree, exp.Func) else ""


def _arguments(call: exp.Expr) -> list[exp.Expr]:
    if isinstance(call, exp.Anonymous):
        return list(call.expressions)
    return [each for each in (call.this, *call.expressions) if isinstance(each, exp.Expr)]


def _is_star(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star))


def _columns(tree: exp.Expr) -> Iterator[exp.Column]:
    """Yield the columns of an expression; what CLASSIFIER is asked of is a variable."""
    for column in tree.find_all(exp.Column):
        if not (isinstance(column.parent, exp.Anonymous) and column.parent.name.lower() == "classifier"):
            yield column


def _own(name: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name, quoted=True))


def _parts(column: exp.Column) -> list[exp.Identifier]:
    return [part for part in column.parts if isinstance(part, exp.Identifier)]


def _dotted(parts: Sequence[exp.Identifier]) -> exp.Expr:
    """Return a column written with dots: its table, if any, stands first, as the parser has it."""
    return exp.Column(
        this=parts[-1].copy(),
        **{key: part.copy() for key, part in zip(("table", "db", "catalog"), reversed(parts[:-1]), strict=False)},
    )
