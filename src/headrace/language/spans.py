"""A piece of a tree goes in, its place in the user's text comes out."""

from typing import TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from headrace.errors import Source, Span

__all__ = ["forget_places", "place", "span_of"]

Node = TypeVar("Node", bound=exp.Expr)


def span_of(expression: exp.Expr, source: Source) -> Span:
    """Return the smallest span that covers an expression and all that it holds.

    One that holds no place of its own, such as a bare keyword, is where what it stands in is. An expression that was
    not parsed from the source, and stands in nothing that was, spans the whole text.
    """
    start, end = len(source.text), -1
    for node in expression.walk():
        meta = node.meta
        if meta.get("start") is not None and meta.get("end") is not None:
            start = min(start, meta["start"])
            end = max(end, meta["end"] + 1)
    if end >= 0:
        return Span(source, start, end)
    return Span(source, 0, len(source.text)) if expression.parent is None else span_of(expression.parent, source)


def place(node: Node, first: Token, last: Token) -> Node:
    """Return a node after noting that it reaches from one token to another."""
    return node.update_positions(line=first.line, col=first.col, start=first.start, end=last.end)


def forget_places(node: exp.Expr) -> None:
    """Remove the places from a tree that was parsed from another text."""
    for inner in node.walk():
        for key in ("line", "col", "start", "end"):
            inner.meta.pop(key, None)
