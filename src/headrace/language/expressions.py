"""The nodes that Headrace adds to sqlglot's trees: window tables and row patterns."""

from typing import Any, ClassVar

from sqlglot import exp

from headrace.language.patterns import Pattern

__all__ = ["MatchDefinition", "MatchMeasure", "MatchRecognize", "MatchSemantics", "MatchSubset", "WindowTable"]


class WindowTable(exp.Expression):
    """A relation cut into windows, such as ``TUMBLE(bids, placed_at, INTERVAL 10 SECONDS)``.

    ``parameters`` stand in the order of the short form: TUMBLE size; HOP slide, size; SLIDE size;
    SESSION gap; CUMULATE step, size; COUNT_TUMBLE rows; COUNT_SLIDE [slide,] rows; PUNCTUATE condition.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "time": False,
        "parameters": True,
        "offset": False,
        "partition_by": False,
        "alias": False,
        "joins": False,
        "pivots": False,
    }

    @property
    def kind(self) -> str:
        """The upper-case name of the window function."""
        return str(self.args["kind"])

    @property
    def time(self) -> exp.Column | None:
        """The column that says when a row happened."""
        column: exp.Column | None = self.args.get("time")
        return column

    @property
    def parameters(self) -> list[exp.Expr]:
        """The arguments after the time column, in the order of the short form."""
        return list(self.args["parameters"])

    @property
    def partition_by(self) -> list[exp.Expr]:
        """The expressions after PARTITION BY; empty without it."""
        return list(self.args.get("partition_by") or ())

    @property
    def name(self) -> str:
        """The name of the table inside; empty for a query."""
        return str(self.this.name) if isinstance(self.this, exp.Table) else ""

    @property
    def alias_or_name(self) -> str:
        """The name by which columns refer to the relation."""
        return self.alias or str(self.this.alias_or_name)


class MatchMeasure(exp.Expression):
    """One ``expression AS name`` of MEASURES."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "alias": True}


class MatchSemantics(exp.Expression):
    """``FINAL last(a.x)`` or ``RUNNING sum(a.x)``: a call that looks at the whole match, or at it so far."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}

    @property
    def is_final(self) -> bool:
        """Whether it looks at the whole match."""
        return bool(self.args["kind"] == "FINAL")


class MatchSubset(exp.Expression):
    """One ``name = (variable, ...)`` of SUBSET: a union of pattern variables."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": True}


class MatchDefinition(exp.Expression):
    """One ``variable AS condition`` of DEFINE; ``alias`` is the variable, ``this`` the condition."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "alias": True}


class MatchRecognize(exp.Expression):
    """A relation searched for a row pattern; it stands wherever a table may.

    ``rows`` is ``ONE ROW PER MATCH`` or ``ALL ROWS PER MATCH`` with its ending; ``skip`` is
    ``PAST LAST ROW``, ``TO NEXT ROW``, ``TO FIRST``, ``TO LAST`` or ``TO`` with ``skip_variable``.
    Both are None where the user left them out. ``timeout`` says whether partial matches that ran out of time are given.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "partition_by": False,
        "order": False,
        "measures": False,
        "rows": False,
        "skip": False,
        "skip_variable": False,
        "pattern": True,
        "within": False,
        "timeout": False,
        "subsets": False,
        "definitions": False,
        "alias": False,
        "joins": False,
        "pivots": False,
    }

    @property
    def pattern(self) -> Pattern:
        """The pattern, as a tree of its own."""
        pattern: Pattern = self.args["pattern"]
        return pattern

    @property
    def measures(self) -> list[MatchMeasure]:
        """The measures; empty without MEASURES."""
        return _list(self.args.get("measures"))

    @property
    def subsets(self) -> list[MatchSubset]:
        """The subsets; empty without SUBSET."""
        return _list(self.args.get("subsets"))

    @property
    def definitions(self) -> list[MatchDefinition]:
        """The conditions; empty without DEFINE."""
        return _list(self.args.get("definitions"))

    @property
    def partition_by(self) -> list[exp.Expr]:
        """The expressions after PARTITION BY; empty without it."""
        return _list(self.args.get("partition_by"))

    @property
    def alias_or_name(self) -> str:
        """The name by which columns refer to the matches; empty without an alias."""
        return self.alias


def _list(value: Any) -> list[Any]:
    return list(value or ())
