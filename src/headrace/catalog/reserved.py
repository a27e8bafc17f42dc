"""The name of a column goes in; an error comes out if Headrace has a column of its own of that name."""

from headrace.errors import PlanError, Span

CHANGE = "_change"
"""The field of a JSON line, and the column of a file, that says whether a row comes or goes."""
_HIDDEN = ("__", "_headrace_")


def check_column_name(name: str, span: Span | None) -> None:
    """Raise if columns that go through a query unseen are called so."""
    if name.lower().startswith(_HIDDEN):
        raise PlanError(
            f'"{name}" is a reserved name',
            detail="Columns that begin with __ or _headrace_ are those that Headrace adds and hides.",
            hint=f'Call the column "{name.lstrip("_") or "value"}".',
            span=span,
        )


def check_not_change(name: str, where: str, span: Span | None) -> None:
    """Raise where a column of the user's would be taken for what says whether a row comes or goes."""
    if name.lower() == CHANGE:
        raise PlanError(
            f'"{CHANGE}" is a reserved name in {where}',
            detail="It says whether a row comes or goes.",
            hint="Give the column another name.",
            span=span,
        )
