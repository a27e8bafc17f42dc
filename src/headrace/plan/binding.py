"""Expressions as written go in; typed expressions over the input's columns come out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from headrace.catalog.functions import AGGREGATES, GENERATORS, OWN, WITH_UNIT, builtins
from headrace.catalog.objects import Function
from headrace.errors import PlanError, Span
from headrace.plan import types
from headrace.plan.context import check_composable
from headrace.plan.scope import Scope, did_you_mean
from headrace.plan.single import single
from headrace.plan.steps import Lookup, Relation, Scalar

PlanSubquery = Callable[[exp.Expr], Relation]
INNER = "headrace_inner"
"""What stands before the columns of a subquery in what it says of the outer row."""

OF_EACH = "of each outer row"
"""How a subquery is marked in a tree in which there are columns of the outer row."""


@dataclass(frozen=True, slots=True)
class Correlated:
    """A subquery that speaks of the outer row: its rows, what it gives of them, and which belong to one outer row."""

    relation: Relation
    values: tuple[exp.Expr, ...]
    tests: tuple[exp.Expr, ...]


Correlate = Callable[[exp.Expr, Scope], Correlated | None]


@dataclass(slots=True)
class Binder:
    """Binds the expressions of one SELECT to its inputs."""

    scope: Scope
    functions: Mapping[str, Function]
    plan_subquery: PlanSubquery
    lookup_name: Callable[[], str]
    correlate: Correlate = lambda _tree, _scope: None
    replacements: dict[exp.Expr, exp.Expr] = field(default_factory=dict)

    def bind(self, tree: exp.Expr) -> Scalar:
        """Return an expression with columns resolved, functions known and types checked."""
        span = self.scope.span(tree)
        lookups: list[Lookup] = []
        bound = self.resolve(tree, lookups)
        self.check_functions(bound)
        annotated = types.annotate(bound)
        types.check(annotated, self.scope.span)
        return Scalar(bound, types.type_of(annotated), span, tuple(lookups))

    def condition(self, tree: exp.Expr, what: str) -> Scalar:
        """Bind an expression that must be true or false."""
        scalar = self.bind(tree)
        stand_in = exp.Cast(this=exp.Null(), to=scalar.type.copy())
        stand_in.type = scalar.type
        types.check_boolean(stand_in, scalar.span, what)
        return scalar

    def resolve(self, tree: exp.Expr, lookups: list[Lookup]) -> exp.Expr:
        """Return a copy of an expression in which columns and subqueries are resolved."""
        if self.replacements and tree in self.replacements:
            replaced = self.replacements[tree].copy()
            _keep_position(tree, replaced)
            return replaced
        if isinstance(tree, exp.Column) and not isinstance(tree.this, exp.Star):
            return self._column(tree, lookups)
        if isinstance(tree, (exp.Subquery, exp.Exists)) or (
            isinstance(tree, exp.In) and tree.args.get("query") is not None
        ):
            return self._lookup(tree, lookups)
        tree = _with_unit(tree)
        copy = _without_parts(tree)
        for key, value in tree.args.items():
            if isinstance(value, exp.Expr):
                copy.set(key, self.resolve(value, lookups))
            elif isinstance(value, list):
                copy.set(
                    key,
                    [self.resolve(v, lookups) if isinstance(v, exp.Expr) else v for v in value],
                )
            else:
                copy.args[key] = value
        return copy

    def _column(self, tree: exp.Column, lookups: list[Lookup]) -> exp.Expr:
        try:
            return self.scope.resolve(tree)
        except PlanError:
            alias = self.scope.aliases.get(tree.name.lower()) if not tree.table else None
            if alias is None:
                raise
            return exp.paren(self.resolve(alias, lookups), copy=False)

    def _lookup(self, tree: exp.Expr, lookups: list[Lookup]) -> exp.Expr:
        query = tree.args.get("query") or tree.this
        inner = query.this if isinstance(query, exp.Subquery) else query
        try:
            of_each = self.correlate(tree, self.scope)
            if of_each is not None:
                return self._of_each(tree, of_each, lookups)
            relation = self.plan_subquery(inner)
        except PlanError as error:
            raise self._correlated(inner, error) from error
        check_composable(relation, self.scope.span(tree))
        if not isinstance(tree, (exp.In, exp.Exists)):
            relation = single(relation, self.scope.span(tree))
        name = self.lookup_name()
        lookups.append(Lookup(name, relation))
        columns = [exp.column(exp.to_identifier(each.name, quoted=True)) for each in relation.fields]
        select = exp.select(*columns).from_(exp.to_identifier(name, quoted=True))
        if isinstance(tree, exp.In):
            self._check_in(tree, len(columns))
            return exp.In(this=self.resolve(tree.this, lookups), query=select.subquery())
        if isinstance(tree, exp.Exists):
            return exp.Exists(this=select)
        scalar = select.subquery()
        scalar.type = relation.fields[0].type
        return scalar

    def _of_each(self, tree: exp.Expr, found: Correlated, lookups: list[Lookup]) -> exp.Expr:
        """Return a subquery that Spark asks for each outer row."""
        check_composable(found.relation, self.scope.span(tree))
        view = self.lookup_name()
        lookups.append(Lookup(view, found.relation))
        kinds = {each.name: each.type for each in found.relation.fields}

        def placed(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column):
                return node
            if node.table != INNER:
                return self._column(node, lookups)
            column = exp.column(exp.to_identifier(node.name, quoted=True), table=exp.to_identifier(view, quoted=True))
            column.type = kinds[node.name]
            return column

        values = [value.copy().transform(placed) for value in found.values] or [exp.Literal.number(1)]
        tests = [test.copy().transform(placed) for test in found.tests]
        select = exp.select(*values).from_(exp.to_identifier(view, quoted=True)).where(*tests, copy=False)
        select.meta[OF_EACH] = True
        if isinstance(tree, exp.In):
            self._check_in(tree, len(values))
            return exp.In(this=self.resolve(tree.this, lookups), query=select.subquery(copy=False))
        if isinstance(tree, exp.Exists):
            return exp.Exists(this=select)
        scalar = select.subquery(copy=False)
        scalar.type = types.type_of(types.annotate(values[0]))
        return scalar

    def _check_in(self, tree: exp.In, columns: int) -> None:
        wanted = len(tree.this.expressions) if isinstance(tree.this, exp.Tuple) else 1
        if columns != wanted:
            count = "one column" if wanted == 1 else f"{wanted} columns"
            raise PlanError(f"IN takes a query of {count} here", span=self.scope.span(tree.args["query"]))

    def _correlated(self, query: exp.Expr, error: PlanError) -> PlanError:
        """Return a better error for a subquery that fails because it speaks of the rows outside it."""
        if not error.message.startswith("unknown"):
            return error
        for column in query.find_all(exp.Column):
            if column.table and any(item.alias.lower() == column.table.lower() for item in self.scope.items):
                return PlanError(
                    "a subquery that speaks of the rows outside it cannot stand here",
                    detail="It can stand in SELECT and WHERE, and speak of the outer row in its own WHERE.",
                    hint="Write it so, or join with a grouped subquery by what both have in common.",
                    span=self.scope.span(column),
                )
        return error

    def check_functions(self, bound: exp.Expr) -> None:
        """Raise where a function is called that neither Spark nor the application has."""
        for node in bound.find_all(exp.Func):
            name = self._called(node)
            if name is None or name in builtins():
                continue
            if name in OWN:
                raise PlanError(
                    f"{name.upper()}() stands only in a computed column of a stream",
                    hint=f"Declare a column, for example: seen_at TIMESTAMP AS {name.upper()}().",
                    span=self.scope.span(node),
                )
            function = self.functions.get(name)
            if function is None:
                raise PlanError(
                    f'unknown function "{name}"',
                    hint=did_you_mean(name, _likely(name, [*builtins(), *self.functions])),
                    span=self._name_span(node),
                )
            given = len(node.expressions)
            if given != len(function.parameters):
                raise PlanError(
                    f"function {name} takes {len(function.parameters)} arguments, not {given}",
                    span=self.scope.span(node),
                )
            node.type = function.returns
            node.set(
                "expressions", [_cast(a, p.type) for a, p in zip(node.expressions, function.parameters, strict=True)]
            )

    def _name_span(self, node: exp.Expr) -> Span | None:
        if "start" in node.meta:
            return Span(self.scope.source, node.meta["start"], node.meta["end"] + 1)
        return self.scope.span(node)

    def _called(self, node: exp.Expr) -> str | None:
        """Return the name by which the user called a function, None for operators."""
        if isinstance(node, exp.Anonymous):
            return str(node.name).lower()
        if "start" not in node.meta:
            return None
        text = self.scope.source.text
        name = text[node.meta["start"] : node.meta["end"] + 1]
        follows = text[node.meta["end"] + 1 :].lstrip()[:1]
        plain = name.strip("`")
        return plain.lower() if follows == "(" and plain.isidentifier() else None


_UNITS = frozenset(
    ["MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "DAYOFYEAR", "WEEK", "MONTH", "QUARTER", "YEAR"]
)


def _with_unit(tree: exp.Expr) -> exp.Expr:
    """Return a call such as ``timestampdiff(SECOND, a, b)`` in which the unit is a word and no column."""
    if not isinstance(tree, exp.Anonymous) or tree.name.lower() not in WITH_UNIT or len(tree.expressions) != 3:
        return tree
    unit = tree.expressions[0]
    if not isinstance(unit, exp.Column) or unit.table or unit.name.upper() not in _UNITS:
        return tree
    copy = tree.copy()
    copy.set("expressions", [exp.Var(this=unit.name.upper()), *copy.expressions[1:]])
    return copy


def with_units(tree: exp.Expr) -> exp.Expr:
    """Return a copy of an expression in which units of time are words wherever a function takes one."""
    made: exp.Expr = tree.transform(_with_unit)
    return made


def _without_parts(tree: exp.Expr) -> exp.Expr:
    """Return a copy of a node alone: one of all below it, at every level, would take the square of the time."""
    copy = tree.__class__()
    copy.comments = None if tree.comments is None else list(tree.comments)
    copy.type = None if tree.type is None else tree.type.copy()
    copy.meta.update(tree.meta)
    return copy


def _cast(argument: exp.Expr, kind: exp.DataType | None) -> exp.Expr:
    """Return an argument as the type that a function declares: 1.5 is a DECIMAL until somebody wants a DOUBLE."""
    if kind is None or (isinstance(argument, (exp.Column, exp.Dot)) and argument.type == kind):
        return argument
    return exp.Cast(this=argument, to=kind.copy())


def _likely(name: str, names: list[str]) -> list[str]:
    """Return the close names only; nobody wants to read a list of six hundred functions."""
    from difflib import get_close_matches

    return get_close_matches(name, names, n=1, cutoff=0.6)


def _keep_position(old: exp.Expr, new: exp.Expr) -> None:
    for key in ("start", "end", "line", "col"):
        if key in old.meta:
            new.meta.setdefault(key, old.meta[key])


def is_aggregate(node: exp.Expr) -> bool:
    """Say whether a node is a call of an aggregate function."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower() in AGGREGATES
    return isinstance(node, exp.AggFunc)


def is_generator(node: exp.Expr) -> bool:
    """Say whether a node is a call of a function that turns one row into many."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower() in GENERATORS
    return isinstance(node, (exp.UDTF, exp.Explode, exp.Posexplode)) and not isinstance(node, exp.Lateral)


def aggregates_in(tree: exp.Expr) -> list[exp.Expr]:
    """Return the aggregate calls of an expression, outermost first, with their FILTER clauses.

    A call under OVER is not one: it looks at a window of rows and keeps them all.
    """
    if isinstance(tree, (exp.Window, exp.Subquery, exp.Exists)):
        return []
    if isinstance(tree, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)):
        inner = tree.find(exp.AggFunc, exp.Anonymous)
        if inner is not None and is_aggregate(inner):
            return [tree]
    if is_aggregate(tree):
        return [tree]
    return [found for child in tree.iter_expressions() for found in aggregates_in(child)]
