"""The golden files: their cases straight, and with a stop and a resume after each batch."""

from pathlib import Path

import pytest

from headrace.testing.discover import discover
from headrace.testing.report import report_case

FOLDER = Path(__file__).parent / "sql"


@pytest.mark.spark
@pytest.mark.parametrize("path", discover([FOLDER]), ids=lambda path: str(path.relative_to(FOLDER)))
def test_golden_file(path, run_cases):
    results = run_cases(path)
    assert results
    failed = [report_case(result) for result in results if not result.passed]
    assert not failed, "\n".join(failed)
