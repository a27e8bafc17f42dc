"""Results of cases go in; progress lines, diffs and the last line come out as text."""

from collections.abc import Iterable, Sequence
from typing import TextIO

from headrace.testing.runner import CaseResult, Failure

__all__ = ["exit_code", "print_report", "report_case", "report_summary"]

_COLOURS = {"-": "31", "+": "32"}


def print_report(results: Iterable[CaseResult], stream: TextIO) -> int:
    """Write each result to a stream as it comes, and the summary last; return the exit code."""
    color = stream.isatty()
    seen = []
    for result in results:
        seen.append(result)
        stream.write(report_case(result, color=color) + "\n")
        stream.flush()
    stream.write(report_summary(seen, color=color) + "\n")
    return exit_code(seen)


def exit_code(results: Sequence[CaseResult]) -> int:
    """Return 1 if any case failed, else 0."""
    return int(any(not result.passed for result in results))


def report_case(result: CaseResult, *, color: bool = False) -> str:
    """Return the progress line of a case, and below it a diff for each block that failed.

    >>> failure = Failure("straight", 5, "rows v", '- {"n": 1}')
    >>> print(report_case(CaseResult("a.test", "counts", (failure,), 0.5)))
    FAILED     counts (0.50 s)
      a.test:5: rows v (straight)
        - {"n": 1}
    """
    status, code = ("ok", "32") if result.passed else ("FAILED", "31")
    if result.passed and result.rewritten:
        status, code = "rewritten", "33"
    lines = [f"{_painted(f'{status:<10}', code, color)} {result.title} ({result.seconds:.2f} s)"]
    for failure in result.failures:
        lines.append(f"  {result.file}:{failure.line}: {failure.directive} ({failure.mode})")
        if _is_repeated(failure, result.failures):
            lines.append("    the same as in the straight run")
            continue
        diff = failure.diff.split("\n")
        lines += ["    " + _painted(line, _COLOURS.get(line[:1], ""), color) for line in diff]
    return "\n".join(line.rstrip() for line in lines)


def report_summary(results: Sequence[CaseResult], *, color: bool = False) -> str:
    """Return the last line: how many cases passed and how many failed.

    >>> report_summary([CaseResult("a.test", "counts", (), 0.5)])
    '1 passed, 0 failed'
    """
    failed = sum(not result.passed for result in results)
    return _painted(f"{len(results) - failed} passed, {failed} failed", "31" if failed else "32", color)


def _is_repeated(failure: Failure, failures: Sequence[Failure]) -> bool:
    """Return whether a failure of the resumed run is nothing new."""
    return failure.mode == "resumed" and any(
        other.mode == "straight" and (other.line, other.diff) == (failure.line, failure.diff) for other in failures
    )


def _painted(text: str, code: str, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color and code and text else text
