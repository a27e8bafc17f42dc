"""Schemathesis reads OpenAPI and tries to break every route; it finds nothing."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from headrace.server.application import PREFIX
from support.rest_server import RestServer, Visitor
from support.waiting import PATIENCE

FOLLOWED = r".*/(figures|logs|events|changes|\{name\})/events$"
"""Answers that do not end; test_views follows them."""
EXAMPLES, MANY_EXAMPLES = 6, 60
SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_nothing_breaks(
    server: RestServer, admin: Visitor, mode: GenerationMode, request: pytest.FixtureRequest
) -> None:
    server.submit(admin)
    with server.totals() as totals:
        totals.take([("a", 1)])
    token = server.with_token(admin)
    load_all_checks()
    # A request can be well formed and its text still make no sense: that is 422, and right.
    # A made-up cookie beside the real token is no way in: test_rights has every route without either.
    excluded = CHECKS.get_by_names(["positive_data_acceptance", "ignored_auth"])
    schema = schemathesis.openapi.from_asgi(f"{PREFIX}/openapi.json", server.app).exclude(path_regex=FOLLOWED)
    schema.config.checks.negative_data_rejection.expected_statuses.append("413")  # a body that is too large
    problems, count = [], 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(SETTINGS, max_examples=MANY_EXAMPLES if request.config.getoption("--long") else EXAMPLES)
        @given(case=operation.as_strategy(generation_mode=mode))
        def tried(case) -> None:
            case.call_and_validate(headers=token.headers, excluded_checks=excluded, timeout=PATIENCE)

        count += 1
        try:
            tried()
        except Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE  # nothing about such a request can be wrong
        except BaseException as failure:
            problems.append(f"{operation.label}: {failure!r}\n{getattr(failure, '__notes__', '')}")
    assert problems == [], "\n\n".join(problems)
    assert count > 50
