"""Questions whose answers are easily wrong, and rows that show it; every change of the matcher is tried on them."""

from datetime import timedelta

from headrace.errors import Source
from headrace.language.pattern_parser import parse_pattern
from headrace.language.patterns import variables
from patterns import terms
from patterns.drawing import Rows, plain_rows
from patterns.questions import Question
from patterns.terms import Term
from patterns.twin import Shown, Skip

IDS = terms.aggregate("collect_list({})", None, column="{}id")
VARIABLES = terms.classifiers()
TIMES = (terms.MATCH_NUMBER, terms.TIMED_OUT, terms.AWAITED)


def asked(pattern: str, conditions: dict[str, Term] | None = None, **given: object) -> Question:
    """Return a question by the text of its pattern; it says which rows were taken, and as what."""
    measures = (IDS, VARIABLES, *given.pop("measures", ()))
    tree = parse_pattern(Source("pattern", pattern), 0, len(pattern))
    known = set(variables(tree))
    defined = tuple(each for each in (conditions or {}).items() if each[0] in known)
    return Question(tree, defined, measures, **given)


def _is(variable: str, number: int) -> Term:
    return terms.compared(terms.column(variable), "=", terms.literal(number))


def _up_to(variable: str, number: int) -> Term:
    return terms.compared(terms.column(variable), "<=", terms.literal(number))


def _named(before: Term, name: str) -> Term:
    return terms.compared(before, "=", terms.literal(name))


SMALL = {"A": _up_to("A", 1), "B": _is("B", 2), "C": _is("C", 3)}
SOON = {"within": timedelta(seconds=2)}
ALERTS = {**SOON, "timeouts": True, "measures": TIMES}

HARD = (
    # rounds without rows
    asked("(A*?)*", SMALL),
    asked("(A{0,2}? B??)+"),
    # ends
    asked("A ($ | B) $", SMALL),
    asked("A+ $", SMALL, **SOON),
    asked("^ A* B", SMALL),
    # what was taken before
    asked("(A | B) C", {"C": _named(terms.classifier(last=True, offset=1), "B")}),
    asked("(A | B) C", {"C": _named(terms.classifier(shift=-1), "B")}),
    asked("(A | B) C", {"C": _named(terms.classifier("U"), "B")}, subsets=(("U", ("A", "B")),)),
    asked("(A | B)+ C", {"C": terms.compared(terms.column("C"), "=", terms.aggregate("SUM({})", "B"))}),
    asked("(A | B)+ C", {"C": terms.compared(terms.column("C"), "<", terms.aggregate("COUNT(DISTINCT {})", "B"))}),
    asked("A* B", {"A": terms.compared(terms.count_rows("A"), "<=", terms.literal(2))}),
    asked("A+ B", {"A": terms.compared(terms.column("A"), "<", terms.physical("A", 1)), "B": SMALL["B"]}),
    # time that runs out
    asked("A+? (B | C)", SMALL, **ALERTS),
    asked("A ($ | B) C", SMALL, **ALERTS),
    asked("A $ | A B", SMALL, **ALERTS),
    asked("A B* C", SMALL, **ALERTS, shown=Shown.UNMATCHED),
    asked("A B* C", SMALL, **ALERTS, skip=Skip.TO_NEXT_ROW),
    # what is shown
    asked("A*", SMALL, shown=Shown.ALL_ROWS, measures=(terms.MATCH_NUMBER, terms.count_rows("A"))),
    asked("A B*", SMALL, shown=Shown.UNMATCHED, measures=(terms.logical(None, final=True),), skip=Skip.TO_NEXT_ROW),
    asked("A {- B* -} C?", SMALL, shown=Shown.ALL_ROWS, measures=(terms.count_rows("B"), terms.physical("C", 1))),
    asked("A B+ C", SMALL, skip=Skip.TO_FIRST, skip_to="B", measures=(terms.MATCH_NUMBER,)),
)

ROWS: tuple[Rows, ...] = (
    plain_rows([]),
    plain_rows([0]),
    plain_rows([0, 1]),
    plain_rows([0, 2]),
    plain_rows([0, 3]),
    plain_rows([0, 2, 3]),
    plain_rows([2, 0, 3]),
    plain_rows([1, 1, 2]),
    plain_rows([0, 1, 1, 2, 2, 3]),
    plain_rows([2, None, 0, 0]),
    plain_rows([3, 2, 1, 0, 1, 2, 3]),
    plain_rows([0, 2, 0, 2, 0]),
    plain_rows([0, 2, 2, 2, 3, 0, 3]),
    plain_rows([0, 1, 2, 3], gap=15),
    plain_rows([3, 3, 3], gap=20),
    plain_rows([1, 1], gap=40),
)
