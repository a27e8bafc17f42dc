"""A request goes in; it is refused if a parameter stands twice where one is asked for."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

__all__ = ["each_once"]


async def each_once(request: Request) -> None:
    """Refuse a parameter of which only one value is taken and several are given: nobody could say which counts."""
    given = Counter(name for name, _ in request.query_params.multi_items())
    several = {name for name, count in given.items() if count > 1}
    twice = several & _single(request.scope["route"]) if several else several
    if twice:
        raise RequestValidationError(
            [{"loc": ("query", name), "msg": "The parameter is given more than once."} for name in sorted(twice)]
        )


def _single(route: APIRoute) -> set[str]:
    """Return the parameters of a route that have one value."""
    return {each.alias for each in _asked(route.dependant) if not _is_list(each.field_info.annotation)}


def _asked(dependant: Dependant) -> Iterator[Any]:
    yield from dependant.query_params
    for each in dependant.dependencies:
        yield from _asked(each)


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(map(_is_list, get_args(annotation)))
