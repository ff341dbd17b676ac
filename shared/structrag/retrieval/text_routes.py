"""Routes over the texts of a view that no store keeps anything for: TF-IDF and late interaction.

They prepare what they need from the texts at the first search, and keep it in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from structrag.index.corpus import CorpusReader
from structrag.index.ranking import as_ranking
from structrag.model_calls.flow import ask
from structrag.model_calls.requests import EmbedTokens, Flow, TokenEncoder
from structrag.text.arrays import Array, FloatArray
from structrag.text.vectors import unit_vectors

Scored = tuple[
    Sequence[int], FloatArray
]  # places of texts, ascending, and their scores


class TextRoute(Protocol):
    """Scores texts by a question. Texts of equal `key` are the same ones."""

    def scores_flow(
        self, key: object, texts: Sequence[str], query: str
    ) -> Flow[Scored]: ...


class TfidfRoute:
    """Cosines of TF-IDF vectors, by scikit-learn's `TfidfVectorizer`, fitted to what is searched.

    Args:
        analyzer: From a text to its terms, or as in `TfidfVectorizer`.
        all_rows: Whether texts without a term of the question are ranked too.
    """

    def __init__(self, analyzer: Any = "word", *, all_rows: bool = False) -> None:
        self.analyzer, self.all_rows = analyzer, all_rows
        self._fitted: tuple[object, Any, Any] | None = None

    def scores_flow(
        self, key: object, texts: Sequence[str], query: str
    ) -> Flow[Scored]:
        yield from ()
        if self._fitted is None or self._fitted[0] != key:
            from sklearn.feature_extraction.text import TfidfVectorizer

            vectorizer = TfidfVectorizer(analyzer=self.analyzer)
            try:
                matrix = vectorizer.fit_transform(texts)
            except ValueError:  # no text has a term
                return [], np.zeros(0)
            self._fitted = key, vectorizer, matrix
        _, vectorizer, matrix = self._fitted
        scores = (matrix @ vectorizer.transform([query]).T).toarray()[:, 0]
        if self.all_rows:
            return range(len(texts)), scores
        found = np.flatnonzero(scores > 0)
        return found.tolist(), scores[found]


class TokenRoute:
    """Late interaction as ColBERT's: of each token of the question the highest cosine with a token
    of the text, added up. The vectors of every text that was searched are kept, 4 bytes a number.
    """

    def __init__(self, encoder: TokenEncoder) -> None:
        self.encoder = encoder
        self._vectors: dict[str, Array] = {}

    def scores_flow(
        self, key: object, texts: Sequence[str], query: str
    ) -> Flow[Scored]:
        new = tuple({text: None for text in texts if text not in self._vectors})
        if new:
            read = yield from ask(EmbedTokens(new, self.encoder))
            for text, tokens in zip(new, read, strict=True):
                self._vectors[text] = _rows(tokens)
        (tokens,) = yield from ask(EmbedTokens((query,), self.encoder, query=True))
        asked = _rows(tokens)
        places = [i for i, text in enumerate(texts) if len(self._vectors[text])]
        if not places or not len(asked):
            return [], np.zeros(0)
        parts = [self._vectors[texts[i]] for i in places]
        starts = np.cumsum([0, *map(len, parts[:-1])])
        cosines = np.concatenate(parts) @ asked.T
        highest = np.maximum.reduceat(cosines, starts, axis=0)
        return places, highest.sum(axis=1, dtype=np.float64)


def _rows(tokens: Any) -> Array:
    """The vectors of tokens at length 1."""
    return unit_vectors(tokens.vectors).astype(np.float32)


def text_route_flow(
    route: TextRoute, reader: CorpusReader, view: str, query: str, n: int, rows: Any
) -> Flow[list[tuple[int, float]]]:
    """The best rows of a view within a selection, as (row, score) pairs; equal scores by row."""
    numbers = reader.first_rows(rows, len(reader))
    texts = reader.view_texts_at(numbers, view)
    there = [i for i, text in enumerate(texts) if text]
    if not there:
        return []
    chosen = np.array([numbers[i] for i in there])
    key = view, reader.changes, chosen.tobytes()
    places, scores = yield from route.scores_flow(
        key, [str(texts[i]) for i in there], query
    )
    return as_ranking(chosen[list(places)], scores, n) if len(places) else []
