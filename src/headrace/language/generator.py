"""A sqlglot tree goes in, the text that parses to the same tree comes out."""

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generators.spark import SparkGenerator

from headrace.language.expressions import (
    MatchDefinition,
    MatchMeasure,
    MatchRecognize,
    MatchSemantics,
    MatchSubset,
    WindowTable,
)
from headrace.language.patterns import format_pattern

__all__ = ["HeadraceGenerator"]

# Spark's generator mends what Spark lacks; Spark 4.3 lacks none of these, and mending changes the tree.
_MENDED = {
    exp.BitwiseLeftShift,
    exp.BitwiseRightShift,
    exp.From,
    exp.Pivot,
    exp.Select,
    exp.WithinGroup,
}


class HeadraceGenerator(SparkGenerator):
    """Spark's text, with window tables, row patterns and versioned tables."""

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Any]] = {
        **{kind: write for kind, write in SparkGenerator.TRANSFORMS.items() if kind not in _MENDED},
        exp.StrPosition: lambda self, node: self.position_sql(node),
        WindowTable: lambda self, node: self.windowtable_sql(node),
        MatchRecognize: lambda self, node: self.rowpattern_sql(node),
        MatchMeasure: lambda self, node: self.matchmeasure_sql(node),
        MatchSemantics: lambda self, node: f"{node.args['kind']} {self.sql(node, 'this')}",
        MatchSubset: lambda self, node: self.matchsubset_sql(node),
        MatchDefinition: lambda self, node: self.matchdefinition_sql(node),
    }

    TYPE_MAPPING: ClassVar[dict[exp.DType, str]] = {
        kind: name for kind, name in SparkGenerator.TYPE_MAPPING.items() if kind != exp.DType.TIME
    }

    def windowtable_sql(self, expression: WindowTable) -> str:
        """Write a window table in its short form."""
        data = self.sql(expression, "this")
        keys = [self.sql(key) for key in expression.partition_by]
        if keys:
            data += f" PARTITION BY {keys[0]}" if len(keys) == 1 else f" PARTITION BY ({', '.join(keys)})"
        arguments = [expression.time, *expression.parameters, expression.args.get("offset")]
        written = [data, *(self.sql(argument) for argument in arguments if argument is not None)]
        return f"{expression.kind}({', '.join(written)}){self._relation_tail(expression)}"

    def rowpattern_sql(self, expression: MatchRecognize) -> str:
        """Write a relation and the pattern that is sought in it."""
        parts = [
            ("PARTITION BY", [self.sql(key) for key in expression.partition_by]),
            ("MEASURES", [self.sql(measure) for measure in expression.measures]),
            ("SUBSET", [self.sql(subset) for subset in expression.subsets]),
            ("DEFINE", [self.sql(definition) for definition in expression.definitions]),
        ]
        partition, measures, subset, define = (f"{word} {', '.join(items)}" if items else "" for word, items in parts)
        skip = expression.args.get("skip")
        variable = self.sql(expression, "skip_variable")
        within = self.sql(expression, "within")
        clauses = [
            partition,
            self.sql(expression, "order").strip(),
            measures,
            expression.args.get("rows"),
            f"AFTER MATCH SKIP {skip} {variable}".rstrip() if skip else "",
            f"PATTERN ({format_pattern(expression.pattern)})" + (f" WITHIN {within}" if within else ""),
            "ON TIMEOUT EMIT" if expression.args.get("timeout") else "",
            subset,
            define,
        ]
        body = self.sep().join(clause for clause in clauses if clause)
        head = f"{self.sql(expression, 'this')} MATCH_RECOGNIZE {self.wrap(body)}"
        return head + self._relation_tail(expression)

    def matchmeasure_sql(self, expression: MatchMeasure) -> str:
        """Write one measure."""
        return f"{self.sql(expression, 'this')} AS {self.sql(expression, 'alias')}"

    def matchsubset_sql(self, expression: MatchSubset) -> str:
        """Write one subset."""
        return f"{self.sql(expression, 'this')} = ({self.expressions(expression, flat=True)})"

    def matchdefinition_sql(self, expression: MatchDefinition) -> str:
        """Write one definition."""
        return f"{self.sql(expression, 'alias')} AS {self.sql(expression, 'this')}"

    def position_sql(self, expression: exp.StrPosition) -> str:
        """Write the place of one string in another, as POSITION."""
        needle, text = self.sql(expression, "substr"), self.sql(expression, "this")
        start = self.sql(expression, "position")
        return f"POSITION({needle}, {text}, {start})" if start else f"POSITION({needle} IN {text})"

    def version_sql(self, expression: exp.Version) -> str:
        """Write the version of a table, as of a moment by FOR SYSTEM_TIME."""
        if expression.name == "TIMESTAMP" and expression.text("kind") == "AS OF":
            return f"FOR SYSTEM_TIME AS OF {self.sql(expression, 'expression')}"
        return super().version_sql(expression)

    def _relation_tail(self, relation: WindowTable | MatchRecognize) -> str:
        alias = self.sql(relation, "alias")
        pivots = self.expressions(relation, key="pivots", sep="", flat=True)
        joins = self.expressions(relation, key="joins", sep="", flat=True)
        return (f" AS {alias}" if alias else "") + pivots + joins
