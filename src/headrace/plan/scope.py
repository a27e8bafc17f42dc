"""The names that one SELECT can use: a column as written goes in, the input's own column comes out."""

from dataclasses import dataclass, field
from difflib import get_close_matches

from sqlglot import exp

from headrace.errors import PlanError, Source, Span
from headrace.language.spans import span_of
from headrace.plan.steps import Field
from headrace.plan.types import UNKNOWN, Type, field_names, field_type, type_name


def did_you_mean(name: str, known: list[str]) -> str | None:
    """Return a hint that names what the user probably meant, or lists what there is.

    >>> did_you_mean("pricee", ["price", "bidder"])
    'Did you mean "price"?'
    """
    lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), lower, n=1, cutoff=0.6)
    if close:
        return f'Did you mean "{lower[close[0]]}"?'
    if known:
        shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
        return f"There are: {shown}."
    return None


@dataclass(frozen=True, slots=True)
class Item:
    """One input of a FROM clause: its alias, and its columns as written and as they are called inside."""

    alias: str
    fields: tuple[Field, ...]
    inner: tuple[str, ...]


@dataclass(slots=True)
class Scope:
    """The inputs of a FROM clause, and aliases of the SELECT list that later expressions may use."""

    source: Source
    items: list[Item]
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)

    def span(self, node: exp.Expr) -> Span | None:
        """Return where a node stands in the user's text."""
        return span_of(node, self.source)

    def resolve(self, column: exp.Column) -> exp.Expr:
        """Return the column of the input, with its type, that a written column means."""
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        found = self._qualified(parts) or self._plain(parts)
        if found is None:
            raise self._unknown(column, parts)
        name, kind, rest = found
        result: exp.Expr = exp.column(exp.to_identifier(name, quoted=True))
        result.type = kind
        result.this.meta.update(parts[0].meta)
        for part in rest:
            result = self._descend(result, part)
        return result

    def _qualified(self, parts: list[exp.Identifier]) -> tuple[str, exp.DataType, list[exp.Identifier]] | None:
        if len(parts) < 2:
            return None
        for item in self.items:
            if item.alias.lower() == parts[0].name.lower():
                for each, inner in zip(item.fields, item.inner, strict=True):
                    if each.name.lower() == parts[1].name.lower():
                        return inner, each.type, parts[2:]
                raise PlanError(
                    f'unknown column "{parts[1].name}" in {item.alias}',
                    hint=did_you_mean(parts[1].name, [each.name for each in item.fields]),
                    span=self.span(parts[1]),
                )
        return None

    def _plain(self, parts: list[exp.Identifier]) -> tuple[str, exp.DataType, list[exp.Identifier]] | None:
        name = parts[0].name.lower()
        hits = [
            (item, inner, each)
            for item in self.items
            for each, inner in zip(item.fields, item.inner, strict=True)
            if each.name.lower() == name
        ]
        if name in self.shared:
            hits = [hit for hit in hits if hit[1] == self.shared[name]]
        if len(hits) > 1:
            raise PlanError(
                f'column "{parts[0].name}" is ambiguous',
                detail=f"It stands in {' and in '.join(item.alias for item, _, _ in hits)}.",
                hint=f'Write "{hits[0][0].alias}.{parts[0].name}".',
                span=self.span(parts[0]),
            )
        return (hits[0][1], hits[0][2].type, parts[1:]) if hits else None

    def _descend(self, tree: exp.Expr, part: exp.Identifier) -> exp.Expr:
        kind = tree.type if isinstance(tree.type, exp.DataType) else UNKNOWN
        inner: exp.DataType | None = UNKNOWN
        if kind.this == Type.STRUCT and kind.expressions:
            inner = field_type(kind, part.name)
            if inner is None:
                raise PlanError(
                    f'unknown field "{part.name}"',
                    hint=did_you_mean(part.name, field_names(kind)),
                    span=self.span(part),
                )
        elif kind.this not in {Type.UNKNOWN, Type.MAP, Type.ARRAY, Type.STRUCT, Type.VARIANT}:
            raise PlanError(f'"{part.name}" is asked of a {type_name(kind)}, which has no fields', span=self.span(part))
        dot = exp.Dot(this=tree, expression=part.copy())
        dot.type = inner
        return dot

    def _unknown(self, column: exp.Column, parts: list[exp.Identifier]) -> PlanError:
        known = [each.name for item in self.items for each in item.fields if not each.name.startswith("__")]
        if len(parts) > 1:
            aliases = [item.alias for item in self.items]
            return PlanError(
                f'unknown table or column "{parts[0].name}"',
                hint=did_you_mean(parts[0].name, aliases + known),
                span=self.span(column),
            )
        return PlanError(
            f'unknown column "{parts[0].name}"',
            hint=did_you_mean(parts[0].name, known),
            span=self.span(column),
        )

    def star(self, qualifier: str | None, span: Span | None) -> list[tuple[str, str, exp.DataType]]:
        """Return (name, inner name, type) of the columns that ``*`` or ``alias.*`` stands for."""
        chosen = [item for item in self.items if qualifier in (None, item.alias)]
        if not chosen and qualifier is not None:
            chosen = [item for item in self.items if item.alias.lower() == qualifier.lower()]
        if not chosen:
            raise PlanError(
                f'unknown table "{qualifier}"',
                hint=did_you_mean(qualifier or "", [item.alias for item in self.items]),
                span=span,
            )
        result = []
        for item in chosen:
            for each, inner in zip(item.fields, item.inner, strict=True):
                if qualifier is None and self.shared.get(each.name.lower(), inner) != inner:
                    continue
                result.append((each.name, inner, each.type))
        return result
