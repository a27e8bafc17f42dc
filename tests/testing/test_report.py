import io

from headrace.testing.report import exit_code, print_report, report_case, report_summary
from headrace.testing.runner import CaseResult, Failure

PASSED = CaseResult("a.test", "all is well", (), 0.123)
FAILED = CaseResult(
    "b.test",
    "counts",
    (
        Failure("straight", 8, "rows views", '- {"n": 1}\n+ {"n": 2}'),
        Failure("resumed", 8, "rows views", '- {"n": 1}\n+ {"n": 2}'),
        Failure("resumed", 12, "rows views", '- {"n": 3}'),
    ),
    2,
)
REPORT = """\
ok         all is well (0.12 s)
FAILED     counts (2.00 s)
  b.test:8: rows views (straight)
    - {"n": 1}
    + {"n": 2}
  b.test:8: rows views (resumed)
    the same as in the straight run
  b.test:12: rows views (resumed)
    - {"n": 3}
1 passed, 1 failed
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_whole_report() -> None:
    stream = io.StringIO()
    assert print_report(iter([PASSED, FAILED]), stream) == 1
    assert stream.getvalue() == REPORT


def test_a_terminal_gets_colour() -> None:
    stream = Terminal()
    print_report([FAILED], stream)
    assert '\x1b[31m- {"n": 1}\x1b[0m' in stream.getvalue()
    assert '\x1b[32m+ {"n": 2}\x1b[0m' in stream.getvalue()


def test_exit_codes() -> None:
    assert exit_code([PASSED]) == 0
    assert exit_code([PASSED, FAILED]) == 1
    assert print_report([PASSED], io.StringIO()) == 0


def test_a_rewritten_case_is_marked() -> None:
    assert report_case(CaseResult("a.test", "t", (), 1, rewritten=2)) == "rewritten  t (1.00 s)"


def test_the_summary() -> None:
    assert report_summary([]) == "0 passed, 0 failed"
