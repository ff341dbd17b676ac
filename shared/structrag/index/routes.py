"""A search by the routes of an index, and what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from structrag.index.corpus import CorpusReader
from structrag.index.snapshot import Reader
from structrag.model_calls.requests import Ranking, Search


@dataclass(frozen=True, slots=True)
class OwnRoute:
    """Searches an index as it was at one moment. It names chunks by their rows."""

    is_ours: ClassVar[bool] = True
    reader: CorpusReader

    def search(self, request: Search) -> Ranking:
        """Chunks by cosine or BM25. None without a query vector or for a blank query."""
        kind, _, view = request.route.partition(":")
        if kind == "bm25":
            return self._lexical(view, request)
        if request.vector is None:
            return []
        return [
            *self.reader.search_dense(view, request.vector, request.n, request.where)
        ]

    def _lexical(self, view: str, request: Search) -> Ranking:
        reader, query, n = self.reader, request.query, request.n
        if isinstance(reader, Reader) and reader.settings.bm25.method == "okapi":
            # As published, a search within one document knows that document alone.
            scope = reader.lexical(view).within(reader.select(request.where))
            return [*scope.search(query, n)]
        return [*reader.search_lexical(view, query, n, request.where)]


def ranked_rows(reader: CorpusReader, ranking: Ranking) -> dict[int, float]:
    """A ranking as row -> score, in its order. Each chunk is there once, with its best score.
    Chunks that the reader does not hold are left out."""
    scores: dict[Any, float] = dict(ranking)
    # Our own routes give rows, each once: there is nothing to look up.
    if len(scores) == len(ranking) and set(map(type, scores)) == {int}:
        return scores
    scores = {}
    for key, score in ranking:
        row = reader.row_of(key) if isinstance(key, str) else key
        scores.setdefault(row, score)
    scores.pop(None, None)
    return scores
