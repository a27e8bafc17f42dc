"""Routes of alerts: those that hold now, and the rules that they come from."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from headrace.server.rest.asking import Changing, Reading
from headrace.server.rest.jobs import alerts_page
from headrace.server.rest.models import alerts as models
from headrace.server.rest.models.fields import Page
from headrace.server.rest.models.jobs import Alert
from headrace.server.rest.paging import Paged
from headrace.server.services.alert_rules import KeptRule

__all__ = ["router"]

router = APIRouter(tags=["alerts"])

RuleName = Annotated[str, Path(min_length=1, max_length=100, pattern=r"^[!-~]([ -~]*[!-~])?$", examples=["far behind"])]


@router.get("/alerts")
def alerts(
    asking: Reading,
    paged: Paged,
    over: Annotated[bool, Query(description="Also those that hold no longer.")] = False,
) -> Page[Alert]:
    """List the alerts of all jobs that one may see, the newest first."""
    return alerts_page(paged, asking.services.alerts.all(asking.who, over=over))


@router.get("/alert-rules")
def rules(asking: Reading, paged: Paged) -> Page[models.AlertRule]:
    """List the rules of alerts: standard ones, those of the server's file, and those that people have made."""
    return paged.page(asking.services.alert_rules.all(asking.who), place=lambda each: each.rule.name, shown=_rule)


@router.put("/alert-rules/{name}", response_model=models.AlertRule)
def put_rule(name: RuleName, body: models.AlertRuleWish, change: Changing) -> Response:
    """Add a rule, or change the one of that name; it counts at once."""
    act = lambda _: _rule(change.services.alert_rules.put(change.who, name, body.options()))  # noqa: E731
    return change.apply(body, act)


@router.delete("/alert-rules/{name}", status_code=204)
def remove_rule(name: RuleName, change: Changing) -> Response:
    """Remove a rule that people have made."""
    return change.apply(None, lambda _: change.services.alert_rules.remove(change.who, name), status=204)


def _rule(kept: KeptRule) -> models.AlertRule:
    options = kept.options
    return models.AlertRule(
        name=options.pop("name"),
        kind=options.pop("kind"),
        job=options.pop("job", "*"),
        options=options,
        origin=kept.origin,
        changed_at=kept.changed_at,
        changed_by=kept.changed_by,
    )
