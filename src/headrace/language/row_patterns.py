"""Tokens of a MATCH_RECOGNIZE clause go in, a `MatchRecognize` comes out, its variables checked."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import Source
from headrace.language.expressions import MatchDefinition, MatchMeasure, MatchRecognize, MatchSubset
from headrace.language.mistakes import did_you_mean, found
from headrace.language.pattern_parser import parse_pattern
from headrace.language.patterns import Pattern, variables
from headrace.language.spans import place

if TYPE_CHECKING:
    from headrace.language.query_parser import HeadraceParser

__all__ = ["parse_match_recognize"]

_CLAUSES = (
    "PARTITION BY",
    "ORDER BY",
    "MEASURES",
    "ONE ROW PER MATCH",
    "ALL ROWS PER MATCH",
    "AFTER MATCH SKIP",
    "PATTERN",
    "WITHIN",
    "ON TIMEOUT EMIT",
    "SUBSET",
    "DEFINE",
)
_ENDINGS = ("SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES", "WITH UNMATCHED ROWS")


def parse_match_recognize(parser: "HeadraceParser", relation: exp.Expr) -> MatchRecognize:
    """Return the search for a row pattern in a relation; the parser stands before MATCH_RECOGNIZE."""
    first = parser.take()
    parser.expect_type(TokenType.L_PAREN, "(")
    partition_by = parser._parse_partition_by()
    order = parser._parse_order()
    measures = _measures(parser)
    rows = _rows(parser)
    skip, skip_token = _skip(parser)
    pattern = _pattern(parser)
    within = _within(parser)
    timeout = _timeout(parser, within)
    subsets = _subsets(parser)
    definitions = _definitions(parser)
    if parser.peek().token_type != TokenType.R_PAREN:
        raise _unexpected(parser)
    parser.take()
    node = MatchRecognize(
        this=relation,
        partition_by=partition_by or None,
        order=order,
        measures=measures or None,
        rows=rows,
        skip=skip,
        skip_variable=_identifier(skip_token) if skip_token else None,
        pattern=pattern,
        within=within,
        timeout=timeout,
        subsets=subsets or None,
        definitions=definitions or None,
    )
    _check(parser, node, skip_token)
    return place(node, first, parser.previous())


def _unexpected(parser: "HeadraceParser") -> Exception:
    token = parser.peek() or None
    hint = did_you_mean(token.text, (clause.split()[0] for clause in _CLAUSES)) if token else None
    return parser.error(
        f"unexpected {found(token)} in MATCH_RECOGNIZE",
        hint=hint or f"Its clauses stand in this order: {', '.join(_CLAUSES)}.",
    )


def _name(parser: "HeadraceParser", what: str) -> Token:
    if not parser.at_name():
        raise parser.error(f"expected {what} but found {found(parser.peek() or None)}")
    return parser.take()


def _identifier(token: Token) -> exp.Identifier:
    quoted = token.token_type == TokenType.IDENTIFIER
    return place(exp.Identifier(this=token.text, quoted=quoted), token, token)


def _measures(parser: "HeadraceParser") -> list[MatchMeasure]:
    if not parser.accept_words("MEASURES"):
        return []
    measures = [_measure(parser)]
    while parser.accept_type(TokenType.COMMA):
        measures.append(_measure(parser))
    return measures


def _measure(parser: "HeadraceParser") -> MatchMeasure:
    first = parser.peek()
    value = parser.required_expression()
    parser.expect_type(TokenType.ALIAS, "AS", hint="Every measure has a name: MEASURES expression AS name.")
    alias = _identifier(_name(parser, "the measure's name"))
    return place(MatchMeasure(this=value, alias=alias), first, parser.previous())


def _rows(parser: "HeadraceParser") -> str | None:
    if parser.accept_words("ONE", "ROW", "PER", "MATCH"):
        token = parser.peek()
        for ending in _ENDINGS:
            if parser.accept_words(*ending.split()):
                hint = f"Write ALL ROWS PER MATCH {ending}, or ONE ROW PER MATCH alone."
                raise parser.error(f"{ending} stands behind ALL ROWS PER MATCH", token=token, hint=hint)
        return "ONE ROW PER MATCH"
    if not parser.accept_words("ALL", "ROWS", "PER", "MATCH"):
        return None
    for ending in _ENDINGS:
        if parser.accept_words(*ending.split()):
            return f"ALL ROWS PER MATCH {ending}"
    return "ALL ROWS PER MATCH"


def _skip(parser: "HeadraceParser") -> tuple[str | None, Token | None]:
    if not parser.accept_words("AFTER", "MATCH", "SKIP"):
        return None, None
    for place_words in ("PAST LAST ROW", "TO NEXT ROW"):
        if parser.accept_words(*place_words.split()):
            return place_words, None
    if not parser.accept_words("TO"):
        raise parser.error(
            f"unexpected {found(parser.peek() or None)} after AFTER MATCH SKIP",
            hint="Write PAST LAST ROW, TO NEXT ROW, TO FIRST variable, TO LAST variable or TO variable.",
        )
    for side in ("FIRST", "LAST"):
        follows = parser.peek(1).token_type != TokenType.IDENTIFIER and parser.peek(1).text.upper()
        if follows != "PATTERN" and parser.accept_words(side):
            return f"TO {side}", _name(parser, "a pattern variable")
    return "TO", _name(parser, "a pattern variable")


def _pattern(parser: "HeadraceParser") -> Pattern:
    if not parser.accept_words("PATTERN"):
        token = parser.peek() or None
        hint = did_you_mean(token.text, (clause.split()[0] for clause in _CLAUSES)) if token else None
        raise parser.error(
            f"expected PATTERN but found {found(token)}",
            hint=hint or f"The clauses stand in this order: {', '.join(_CLAUSES)}.",
        )
    opening = parser.expect_type(TokenType.L_PAREN, "(")
    depth = 1
    while parser.peek() and depth and not _at_clause(parser):
        kind = parser.take().token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
    if depth:
        raise parser.error('")" is missing after PATTERN', token=opening)
    source = parser.source or Source("sql", parser.sql)
    return parse_pattern(source, opening.end + 1, parser.previous().start)


def _at_clause(parser: "HeadraceParser") -> bool:
    """Say whether a clause begins that stands behind PATTERN, so that the parenthesis of the pattern is not closed."""
    word, second, third = (parser.peek(i).text.upper() for i in range(3))
    return (
        (word == "DEFINE" and third == "AS")
        or (word == "SUBSET" and third == "=")
        or (word, second) in {("WITHIN", "INTERVAL"), ("ON", "TIMEOUT")}
    )


def _within(parser: "HeadraceParser") -> exp.Expr | None:
    if not parser.accept_words("WITHIN"):
        return None
    interval: exp.Expr | None = parser._parse_interval()
    if interval is None:
        raise parser.error(
            f"expected an interval but found {found(parser.peek() or None)}",
            hint="Write WITHIN INTERVAL 5 MINUTES.",
        )
    return interval


def _timeout(parser: "HeadraceParser", within: exp.Expr | None) -> bool | None:
    token = parser.peek()
    if not parser.accept_words("ON", "TIMEOUT", "EMIT"):
        return None
    if within is None:
        raise parser.error(
            "ON TIMEOUT EMIT without WITHIN",
            token=token,
            hint="Say how long a match may take: WITHIN INTERVAL 5 MINUTES ON TIMEOUT EMIT.",
        )
    return True


def _subsets(parser: "HeadraceParser") -> list[MatchSubset]:
    if not parser.accept_words("SUBSET"):
        return []
    subsets = [_subset(parser)]
    while parser.accept_type(TokenType.COMMA):
        subsets.append(_subset(parser))
    return subsets


def _subset(parser: "HeadraceParser") -> MatchSubset:
    name = _name(parser, "the subset's name")
    parser.expect_type(TokenType.EQ, "=", hint="Write SUBSET name = (variable, variable).")
    parser.expect_type(TokenType.L_PAREN, "(")
    members = [_identifier(_name(parser, "a pattern variable"))]
    while parser.accept_type(TokenType.COMMA):
        members.append(_identifier(_name(parser, "a pattern variable")))
    parser.expect_type(TokenType.R_PAREN, ")")
    return place(MatchSubset(this=_identifier(name), expressions=members), name, parser.previous())


def _definitions(parser: "HeadraceParser") -> list[MatchDefinition]:
    if not parser.accept_words("DEFINE"):
        return []
    definitions = [_definition(parser)]
    while parser.accept_type(TokenType.COMMA):
        definitions.append(_definition(parser))
    return definitions


def _definition(parser: "HeadraceParser") -> MatchDefinition:
    name = _name(parser, "a pattern variable")
    parser.expect_type(TokenType.ALIAS, "AS", hint="Write DEFINE variable AS condition.")
    condition = parser.required_expression()
    node = MatchDefinition(this=condition, alias=_identifier(name))
    return place(node, name, parser.previous())


def _check(parser: "HeadraceParser", node: MatchRecognize, skip: Token | None) -> None:
    """Raise an error for a variable that the pattern has not, or one that is named twice."""
    known = list(dict.fromkeys(variables(node.pattern)))
    seen: set[str] = set()
    for subset in node.subsets:
        name = subset.this.name
        if name.lower() in seen or name.lower() in {variable.lower() for variable in known}:
            raise _misplaced(parser, subset.this, f"the name {name} is taken already", None)
        seen.add(name.lower())
        for member in subset.expressions:
            _known(parser, member, known)
    defined: set[str] = set()
    for definition in node.definitions:
        variable = definition.args["alias"]
        _known(parser, variable, known)
        if variable.name.lower() in defined:
            raise _misplaced(parser, variable, f"the variable {variable.name} is defined twice", None)
        defined.add(variable.name.lower())
    if skip is not None:
        _known(parser, node.args["skip_variable"], [*known, *(subset.this.name for subset in node.subsets)])


def _known(parser: "HeadraceParser", variable: exp.Identifier, known: Iterable[str]) -> None:
    names = list(known)
    if variable.name.lower() not in {name.lower() for name in names}:
        hint = did_you_mean(variable.name, names, f"The pattern has {', '.join(names) or 'no variables'}.")
        raise _misplaced(parser, variable, f"the pattern has no variable {variable.name}", hint)


def _misplaced(parser: "HeadraceParser", node: exp.Identifier, message: str, hint: str | None) -> Exception:
    token = Token(TokenType.VAR, node.name, start=node.meta["start"], end=node.meta["end"])
    return parser.error(message, token=token, hint=hint)
