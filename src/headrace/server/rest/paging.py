"""A whole list and what is asked of it go in; one page of it, and where the next begins, come out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Query

from headrace.server.rest.models.fields import Page

__all__ = ["Paged", "Paging"]

LARGEST_PAGE = 500
Found = TypeVar("Found")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Paging:
    """Which part of a list is asked for: so many behind a place.

    A place is a text by which the list is ordered, so what comes and goes between two pages shifts nothing.

    >>> Paging(None, 2).page(["c", "a", "b"], place=str, shown=str.upper)
    Page(items=['A', 'B'], next='b')
    >>> Paging("b", 2).page(["c", "a"], place=str, shown=str.upper)
    Page(items=['C'], next=None)
    >>> Paging("b", 2).page(["c", "a", "b"], place=str, shown=str.upper, newest_first=True).items
    ['A']
    """

    after: str | None
    limit: int

    def page(
        self,
        found: Iterable[Found],
        *,
        place: Callable[[Found], str],
        shown: Callable[[Found], Item],
        newest_first: bool = False,
    ) -> Page[Item]:
        """Return the page of a list that is asked for; only its own items are ``shown``."""
        ordered = sorted(((place(each), each) for each in found), key=lambda pair: pair[0], reverse=newest_first)
        behind = [pair for pair in ordered if self.after is None or self._is_behind(pair[0], newest_first)]
        these = behind[: self.limit]
        return Page(items=[shown(each) for _, each in these], next=these[-1][0] if len(behind) > len(these) else None)

    def _is_behind(self, place: str, newest_first: bool) -> bool:
        assert self.after is not None
        return place < self.after if newest_first else place > self.after


async def paging(
    after: Annotated[str | None, Query(max_length=1000, description="The next of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE)] = 100,
) -> Paging:
    """Return which part of a list a request asks for."""
    return Paging(after, limit)


Paged = Annotated[Paging, Depends(paging)]
