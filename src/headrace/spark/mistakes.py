"""What Spark throws goes in, an error that the user can act on comes out."""

import json
import re
from collections.abc import Callable

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from sqlglot import exp

from headrace.errors import HeadraceError, JobFailed, PlanError, Span
from headrace.language.spans import span_of
from headrace.plan.steps import Scalar
from headrace.spark.kafka_mistakes import kafka_failure
from headrace.spark.view_source import MISTAKE

_PREFIX = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_SUFFIX = re.compile(r"\s*SQLSTATE: \w+.*$", re.DOTALL)
_CONTEXT = re.compile(r"\n?== .*? ==.*$", re.DOTALL)
_HINTS = {
    "DIVIDE_BY_ZERO": "Use try_divide, or guard with nullif(divisor, 0).",
    "CAST_INVALID_INPUT": "Use try_cast, which gives NULL for what does not convert.",
    "CAST_OVERFLOW": "Use a wider type, or try_cast.",
    "ARITHMETIC_OVERFLOW": "Use a wider type, or try_add and its like.",
    "INVALID_ARRAY_INDEX": "Use get(array, index), which gives NULL outside the array.",
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": "Use try_element_at.",
}


def message_of(error: BaseException) -> tuple[str, str]:
    """Return Spark's condition name and its message in one sentence, without codes and plans."""
    condition = ""
    if isinstance(error, PySparkException):
        condition = error.getCondition() or ""
    text = str(error)
    if isinstance(error, Py4JJavaError):
        text = str(error.java_exception.getMessage() or error.java_exception.getClass().getName())
    match = re.search(r"\[([A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]", text)
    if not condition and match:
        condition = match.group(1)
    text = _CONTEXT.sub("", _SUFFIX.sub("", _PREFIX.sub("", text.strip())))
    first = text.strip().split("\nJVM stacktrace:")[0].strip().split("\n")[0].strip()
    if not first[:2].isupper():
        first = first[:1].lower() + first[1:]
    return condition, first.rstrip(".;: ")


def blame(error: PySparkException, candidates: list[Scalar], accepts: Callable[[str], bool]) -> HeadraceError:
    """Return an error at the smallest expression that Spark refuses by itself.

    ``accepts`` tells whether Spark takes an expression over the step's input.
    """
    condition, text = message_of(error)
    span = None
    for scalar in candidates:
        if not accepts(_sql(scalar.tree)):
            span = _smallest(scalar, accepts)
            break
    return PlanError(text, hint=_HINTS.get(condition.split(".")[0]), span=span)


def _smallest(scalar: Scalar, accepts: Callable[[str], bool]) -> Span | None:
    tree = scalar.tree
    while True:
        refused = next(
            (
                child
                for child in tree.iter_expressions()
                if isinstance(child, exp.Condition) and not accepts(_sql(child))
            ),
            None,
        )
        if refused is None:
            break
        tree = refused
    if scalar.span is None:
        return None
    return span_of(tree, scalar.span.source) or scalar.span


def _sql(tree: exp.Expr) -> str:
    from headrace.language.dialect import Headrace

    return str(tree.sql(dialect=Headrace))


_PATTERNS = {
    "PatternLimit": "Make the conditions stricter or WITHIN shorter, or raise SET partial_matches.",
    "BadSkip": "Use a variable that every match has and that is not its first row, or another AFTER MATCH SKIP.",
}


def failure(error: BaseException, output: str, causes: str = "") -> HeadraceError:
    """Return what a running query died of, in a form for the user; ``causes`` is the chain inside Spark."""
    text = f"{error.java_exception}" if isinstance(error, Py4JJavaError) else str(error)
    text = f"{text}\n{causes}"
    condition, message = message_of(error)
    cause = _deepest(text)
    name = f'"{output}" failed'
    if "No space left on device" in text or "File too large" in text or "Disk quota exceeded" in text:
        return JobFailed(
            f"{name}: no space left on the disk",
            detail="The batch was not committed; nothing of it is lost.",
            hint="Make room and run again: it resumes from its checkpoint.",
        )
    if MISTAKE in text:  # of a view that is read: the same would happen again, unless its store is away for a while
        facts, _ = json.JSONDecoder().raw_decode(text.partition(MISTAKE)[2])
        kind = JobFailed if facts["passing"] else PlanError
        return kind(facts["message"], detail=facts["detail"], hint=facts["hint"], passing=facts["passing"])
    of_pattern = re.search(r"org\.headrace\.patterns\.(\w+): ([^\n]*)", text)
    if of_pattern is not None:
        return JobFailed(f"{name}: {of_pattern.group(2)}", hint=_PATTERNS[of_pattern.group(1)])
    of_kafka = kafka_failure(text, name)
    if of_kafka is not None:
        return of_kafka
    if "ConnectException" in text or "Connection refused" in text:
        return JobFailed(
            f"{name}: the connection was refused",
            detail=cause,
            hint="Is the server running at the address of the stream's options?",
            passing=True,
        )
    python = re.findall(r"^(\w+(?:\.\w+)*(?:Error|Exception): .*)$", text, re.MULTILINE)
    if "PythonException" in text or "pyspark.errors.exceptions.worker" in text or condition == "PYTHON_EXCEPTION":
        return JobFailed(
            f"{name}: a Python function raised an error",
            detail=(python[-1] if python else cause) + ".",
            hint="Mend the function and run again: it resumes from its checkpoint.",
        )
    known = re.search(r"\[([A-Z0-9_]+)(?:\.[A-Z0-9_]+)?\]\s*(.*?)(?:SQLSTATE|\n|$)", text, re.DOTALL)
    for found in re.finditer(r"\[([A-Z0-9_]+)(?:\.[A-Z0-9_]+)?\]\s*(.*?)(?: SQLSTATE|\n|$)", text, re.DOTALL):
        if found.group(1) not in {
            "STREAM_FAILED",
            "FAILED_EXECUTE_UDF",
            "FAILED_READ_FILE",
            "FOREACH_BATCH_USER_FUNCTION_ERROR",
        }:
            known = found
            break
    if known is not None:
        return JobFailed(
            f"{name}: {_lower(known.group(2).strip().split('. ')[0])}",
            hint=_HINTS.get(known.group(1), "Mend the cause and run again: it resumes from its checkpoint."),
        )
    return JobFailed(f"{name}: {_lower(_short(cause)) or message}", hint="Run again: it resumes from its checkpoint.")


def _short(cause: str) -> str:
    """Return a cause without the name of its class.

    >>> _short("java.io.IOException: disk on fire")
    'disk on fire'
    """
    return re.sub(r"^[\w.$]+(?:Exception|Error): ", "", cause)


def _lower(text: str) -> str:
    return (text[:1].lower() + text[1:]).rstrip(".;: ")


def _deepest(text: str) -> str:
    causes = re.findall(r"^Caused by: (.*)$", text, re.MULTILINE)
    return (causes[-1] if causes else text.strip().split("\n")[0])[:300]
