"""Searching one view of an index by one route."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structrag.errors import InvalidParameter, check_at_least, check_choice
from structrag.index.routes import check_query
from structrag.records import Hit
from structrag.steps import Search, Steps

if TYPE_CHECKING:
    from structrag.index.index import Index


def search_steps(index: Index, query: str, k: int, view: str, route: str, where: Any) -> Steps[list[Hit]]:
    """`Index.search` as steps."""
    check_choice("route", route, ("dense", "bm25"))
    check_choice("view", view, index.views)
    check_query(query)
    check_at_least("k", k, 1)
    if k == float("inf") or k != int(k):
        raise InvalidParameter(f"k must be a whole number; got {k!r}.")
    vector = (yield from index.query_vector(query)) if route == "dense" else None
    name = f"{route}:{view}"
    (ranking,) = yield [Search(name, query, vector, int(k), where)]
    found = index.rows(ranking)
    return [
        Hit(index.store.chunk(row), score, rank, {name: rank}, {name: score})
        for rank, (row, score) in enumerate(found.items(), start=1)
    ]
