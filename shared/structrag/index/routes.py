"""Who answers a search: the index's own store, or a host's vector store in place of the dense part."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from structrag.errors import InvalidParameter
from structrag.index.entries import Entry
from structrag.index.selection import Selection
from structrag.index.store import Store
from structrag.steps import Ranking, Search


class DenseStore(Protocol):
    """A host's vector store that takes the place of the index's own vectors.

    It is told of a document after the index's own store has taken it. If it raises, the document is taken out again, and deleted here
    before the next try, so `delete` must bear entries that are not there, and `put` entries that are.
    """

    wants_vectors: bool  # True: it is given vectors; False: it embeds the texts itself

    def put(self, entry: Entry) -> None:
        """Add the views of a document; entries of an earlier version have been deleted."""

    def delete(self, entry_keys: Sequence[tuple[str, str]]) -> None:
        """Remove entries by (chunk id, view)."""

    def search(self, request: Search) -> Ranking:
        """The best chunks of the view that `request.route` names ("dense:raw"); none for a blank query, whose vector is None."""

    async def asearch(self, request: Search) -> Ranking:
        """`search` on an event loop."""


@dataclass(frozen=True, slots=True)
class OwnRoute:
    """Searches the index's own store; it names chunks by their rows."""

    store: Store

    def search(self, request: Search) -> Ranking:
        """Chunks by cosine or BM25; none without a query vector or for a blank query."""
        kind, _, view = request.route.partition(":")
        if kind == "bm25":
            return [*self.store.search_lexical(view, request.query, request.n, request.where)]
        if request.vector is None:
            return []
        return [*self.store.search_dense(view, request.vector, request.n, request.where)]

    async def asearch(self, request: Search) -> Ranking:
        """`search` in a worker thread."""
        return await asyncio.to_thread(self.search, request)


def row_numbers(selection: Selection | None, n_rows: int) -> Sequence[int]:
    """The rows that `Store.select` gave, ascending; None stands for all `n_rows`."""
    if selection is None:
        return range(n_rows)
    return range(n_rows)[selection] if isinstance(selection, slice) else np.flatnonzero(selection).tolist()


def check_query(query: Any) -> None:
    """Raise InvalidParameter unless the query is a string."""
    if not isinstance(query, str):
        raise InvalidParameter(f"query must be a string; got {type(query).__name__}.")
