"""Which function calls become nodes of their own; every other call stays as the user wrote it.

sqlglot turns calls into nodes that mean the same in many databases, and some lose an argument or change their
name on the way. Headrace has one engine, so only calls that later steps look for by class, and that come out
as they went in, are such nodes; all others are `exp.Anonymous`.
"""

from collections.abc import Callable
from typing import Any

from sqlglot import exp

__all__ = ["GRAMMARS", "NAME_KEY", "TYPED", "builders", "function_name"]

NAME_KEY = "headrace_name"

# The most arguments with which a call is a node of its own.
TYPED = {
    "ANY_VALUE": 1,
    "APPROX_COUNT_DISTINCT": 2,
    "AVG": 1,
    "BIT_AND": 1,
    "BIT_OR": 1,
    "BIT_XOR": 1,
    "BOOL_AND": 1,
    "BOOL_OR": 1,
    "COALESCE": 99,
    "COLLECT_LIST": 1,
    "COLLECT_SET": 1,
    "CORR": 2,
    "COUNT": 99,
    "COUNT_IF": 1,
    "COVAR_POP": 2,
    "COVAR_SAMP": 2,
    "CUME_DIST": 0,
    "CURRENT_TIMESTAMP": 0,
    "DENSE_RANK": 0,
    "EXPLODE": 1,
    "EXPLODE_OUTER": 1,
    "FIRST": 1,
    "FIRST_VALUE": 1,
    "GREATEST": 99,
    "GROUPING": 1,
    "GROUPING_ID": 99,
    "IF": 3,
    "INLINE": 1,
    "KURTOSIS": 1,
    "LAG": 3,
    "LAST": 1,
    "LAST_VALUE": 1,
    "LEAD": 3,
    "LEAST": 99,
    "MAX": 1,
    "MAX_BY": 2,
    "MEAN": 1,
    "MEDIAN": 1,
    "MIN": 1,
    "MIN_BY": 2,
    "MODE": 1,
    "NTH_VALUE": 2,
    "NTILE": 1,
    "NULLIF": 2,
    "PERCENTILE_CONT": 1,
    "PERCENTILE_DISC": 1,
    "PERCENT_RANK": 0,
    "POSEXPLODE": 1,
    "POSEXPLODE_OUTER": 1,
    "RANK": 0,
    "REGR_COUNT": 2,
    "REGR_SLOPE": 2,
    "ROW_NUMBER": 0,
    "SKEWNESS": 1,
    "STACK": 99,
    "STDDEV": 1,
    "STDDEV_POP": 1,
    "STDDEV_SAMP": 1,
    "SUM": 1,
    "VARIANCE": 1,
    "VAR_POP": 1,
}

# Calls with a grammar of their own, such as EXTRACT(HOUR FROM a).
GRAMMARS = frozenset(
    {
        "AND",
        "BROADCAST",
        "BROADCASTJOIN",
        "CAST",
        "EXTRACT",
        "JSON_TABLE",
        "MAPJOIN",
        "MERGE",
        "MERGEJOIN",
        "OR",
        "OVERLAY",
        "POSITION",
        "SHUFFLEMERGE",
        "SHUFFLE_HASH",
        "SHUFFLE_REPLICATE_NL",
        "SUBSTR",
        "SUBSTRING",
        "TRIM",
        "TRY_CAST",
    }
)

Builder = Callable[..., exp.Expr]


def builders(functions: dict[str, Builder]) -> dict[str, Builder]:
    """Return, of sqlglot's builders of function nodes, those that Headrace wants."""
    return {name: _bounded(name, functions[name], most) for name, most in TYPED.items() if name in functions}


def function_name(call: exp.Expr) -> str:
    """Return the lower-case name by which the user called a function.

    >>> function_name(exp.Anonymous(this="Upper", expressions=[]))
    'upper'
    """
    if isinstance(call, exp.Anonymous):
        return str(call.name).lower()
    written = call.meta.get(NAME_KEY)
    if written is None and isinstance(call, exp.Func):
        written = call.sql_name()
    return str(written or call.key).lower()


def _bounded(name: str, build: Builder, most: int) -> Builder:
    # sqlglot first calls without the dialect, and with it after a TypeError.
    def bounded(args: list[Any], dialect: Any) -> exp.Expr:
        if len(args) > most:
            return exp.Anonymous(this=name, expressions=args)
        try:
            return build(args)
        except TypeError:
            return build(args, dialect=dialect)

    return bounded
