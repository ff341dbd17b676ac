"""Searching one view of an index by one route."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from structrag.errors import InvalidParameter, check_at_least, check_choice
from structrag.index.routes import check_query
from structrag.records import Hit
from structrag.steps import Search, Steps

if TYPE_CHECKING:
    from structrag.index.index import Index

T = TypeVar("T")
ATTEMPTS = 5  # of one search, when documents keep changing under it


def steady_steps(index: Index, attempt: Callable[[], Steps[T]]) -> Steps[T]:
    """The result of a search; begun anew, a few times at most, where documents change under way and rows with them."""
    for _ in range(ATTEMPTS - 1):
        changes = index.store.changes
        try:
            result = yield from attempt()
        except InvalidParameter:
            if index.store.changes == changes:
                raise
            continue
        if index.store.changes == changes:
            return result
    return (yield from attempt())


def search_steps(index: Index, query: str, k: int, view: str, route: str, where: Any) -> Steps[list[Hit]]:
    """`Index.search` as steps."""
    check_choice("route", route, ("dense", "bm25"))
    check_choice("view", view, index.views)
    check_query(query)
    check_at_least("k", k, 1)
    if k == float("inf") or k != int(k):
        raise InvalidParameter(f"k must be a whole number; got {k!r}.")
    return (yield from steady_steps(index, lambda: _attempt(index, query, int(k), view, route, where)))


def _attempt(index: Index, query: str, k: int, view: str, route: str, where: Any) -> Steps[list[Hit]]:
    vector = (yield from index.query_vector(query)) if route == "dense" else None
    name = f"{route}:{view}"
    (ranking,) = yield [Search(name, query, vector, k, where)]
    found = index.rows(ranking)
    return [
        Hit(index.store.chunk(row), score, rank, {name: rank}, {name: score})
        for rank, (row, score) in enumerate(found.items(), start=1)
    ]
