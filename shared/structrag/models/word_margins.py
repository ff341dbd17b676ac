"""The margins of gaps between sentences by their own words.

No model, no embedder; sparse and linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structrag.models.margins import FloatArray, squash, window_bounds
from structrag.text.terms import tokenizer_for


def word_margins(
    texts: Sequence[str],
    window: int = 4,
    scopes: Sequence[tuple[int, int]] | None = None,
    *,
    language: str = "english",
) -> FloatArray:
    """`similarity_margins` of TF-IDF vectors fitted on the texts themselves.

    Term frequency is sublinear; the vectors are never made dense. n texts give (n - 1,), NaN
    between two `scopes`. Texts without any word but stop words have the cosine 0. O(words x
    window).
    """
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

    n = len(texts)
    low, high, inside = window_bounds(n, window, scopes)
    if n < 2:
        return np.zeros(0)
    tokenizer = tokenizer_for(language)
    vectorizer = TfidfVectorizer(
        sublinear_tf=True, tokenizer=tokenizer, token_pattern=None, lowercase=False
    )
    try:
        rows: Any = vectorizer.fit_transform(texts)
    except ValueError:  # no text has a term
        return np.where(inside, 0.0, np.nan)
    gaps = np.arange(1, n)

    def sums(first: Any, last: Any) -> Any:
        """Row i: the sum of the rows from first[i] to last[i]."""
        lengths = last - first
        ends = np.concatenate([[0], np.cumsum(lengths)])
        columns = np.arange(ends[-1]) - np.repeat(ends[:-1] - first, lengths)
        return csr_matrix((np.ones(ends[-1]), columns, ends), shape=(n - 1, n)) @ rows

    before, behind = sums(low, gaps), sums(gaps, high)
    lengths = np.sqrt(_dots(before, before) * _dots(behind, behind))
    dots = _dots(before, behind)
    cosines = np.divide(dots, lengths, out=np.zeros(n - 1), where=lengths > 1e-9)
    return squash(np.where(inside, np.clip(cosines, -1.0, 1.0), np.nan))


def _dots(left: Any, right: Any) -> FloatArray:
    """The products of the rows of two sparse matrices."""
    sums = left.multiply(right).sum(axis=1)
    dots: FloatArray = np.asarray(sums, dtype=np.float64).ravel()
    return dots
