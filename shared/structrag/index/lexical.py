"""BM25 over rows of text, exact and cheap to change.

Only term counts are kept. They are turned from rows to postings once after a change, and idf,
average length and scores are worked out from them when a query comes, in float64. bm25s computes
the same numbers (it is the oracle of the tests) but needs about 4 s to index 100,000 rows of 100
terms anew after any change; turning the counts takes 0.1 s and leaves nothing to rebuild after
loading.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from structrag.errors import InvalidParameter, check_at_least, check_choice
from structrag.index.ranking import (
    SCORE_DIGITS,
    FloatArray,
    IntArray,
    as_ranking,
    concatenated,
    nth_best,
)
from structrag.text.terms import Tokenizer

# Rows less than one in so many are looked up in the postings, rather than all postings added.
FEW = 8
_MARGIN = 2 * 10.0**-SCORE_DIGITS  # scores that are equal when rounded, and errors of summing


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a query."""

    rows: NDArray[np.int32]  # (df,) that hold it, ascending
    counts: NDArray[np.int32]  # (df,) how often
    weight: float  # it adds weight x count / (count + K) to a row's score, so less than this


def add_terms(
    terms: Sequence[Term], k: FloatArray, rows: IntArray, scores: FloatArray, n: int
) -> tuple[IntArray, FloatArray]:
    """Add all terms to the scores of rows; gives what is left.

    `rows` ascend, `scores` are changed in place, `k` has the K of every row, and the terms are
    added in the order given. Where n < len(rows), rows that cannot be among the `n` best may be
    left out, for which no weight may be below 0. Give the rarest terms first: what the others can
    still add is soon less than what the best rows are ahead by, and then few rows are left to
    score.
    """
    left = sum(term.weight for term in terms)
    for term in terms:
        if n < len(rows) and len(term.rows) * FEW > len(rows):
            ahead = scores[scores > left + _MARGIN]
            if len(ahead) >= n:
                hopeful = np.flatnonzero(scores >= nth_best(ahead, n) - left - _MARGIN)
                if len(hopeful) * FEW < len(rows):
                    rows, scores = rows[hopeful], scores[hopeful]
        left -= term.weight
        at, held = _common(rows, term.rows)
        counts = term.counts[held]
        parts = k[rows[at]]
        parts += counts
        np.divide(counts, parts, out=parts)
        parts *= term.weight
        np.add.at(scores, at, parts)  # faster than scores[at] += parts
    return rows, scores


def _common(rows: IntArray, held: NDArray[np.int32]) -> tuple[IntArray, IntArray | slice]:
    """The positions, in each, of what both have; both ascend."""
    # Rows that follow each other need no search: their positions are differences.
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        first, last = np.searchsorted(held, (rows[0], rows[-1] + 1)).tolist()
        return np.subtract(held[first:last], rows[0], dtype=np.int64), slice(first, last)
    short, long = (rows, held) if len(rows) < len(held) else (held, rows)
    at = np.searchsorted(long, short)
    there = np.flatnonzero(long.take(at, mode="clip") == short)
    pair = (there, at[there])
    return pair if short is rows else pair[::-1]


ABSENT = -1  # length of a row that does not exist in this index
OKAPI_FLOOR = 0.25  # rank_bm25's epsilon: a negative idf becomes this share of the mean idf


@dataclass(frozen=True, slots=True)
class Bm25:
    """A form of BM25 and its parameters.

    `lucene` is Lucene's and bm25s's: idf ln(1 + (N - df + .5) / (df + .5)), term part f / (f + K).
    `okapi` is rank_bm25's: idf ln((N - df + .5) / (df + .5)) with a negative value replaced by a
    quarter of the mean idf, term part f (k1 + 1) / (f + K). K = k1 (1 - b + b length / average
    length).
    """

    method: str = "lucene"
    k1: float | None = None  # None: 1.2 for lucene, 1.5 for okapi
    b: float = 0.75  # from 0, length ignored, to 1

    def __post_init__(self) -> None:
        check_choice("lexical", self.method, ("lucene", "okapi"))
        if self.k1 is None:
            object.__setattr__(self, "k1", 1.2 if self.method == "lucene" else 1.5)
        check_at_least("k1", self.saturation, 0)
        check_at_least("b", self.b, 0)
        if self.b > 1 or math.isinf(self.saturation):
            raise InvalidParameter(
                f"k1 must be finite and b at most 1; got k1={self.k1!r} and b={self.b!r}."
            )

    @property
    def saturation(self) -> float:
        return 0.0 if self.k1 is None else self.k1


@dataclass(frozen=True, slots=True)
class TermRows:
    """Which terms each row holds.

    Row i has `terms[indptr[i]:indptr[i + 1]]`, each once, with its `counts`.
    """

    lengths: NDArray[
        np.int32
    ]  # (n,) terms in the row, repeats included; ABSENT for no such row in this view
    indptr: NDArray[np.int64]  # (n + 1,)
    terms: NDArray[np.int32]
    counts: NDArray[np.int32]

    def slice(self, start: int, stop: int) -> TermRows:
        """Rows `start` to `stop` (exclusive)."""
        first, last = self.indptr[start], self.indptr[stop]
        return TermRows(
            self.lengths[start:stop],
            self.indptr[start : stop + 1] - first,
            self.terms[first:last],
            self.counts[first:last],
        )


def count_terms(
    texts: Iterable[str | None], tokenizer: Tokenizer, vocabulary: dict[str, int]
) -> TermRows:
    """Tokenise and count the terms of texts.

    New terms get the next numbers in `vocabulary`. A text of None is an absent row.
    """
    lengths: list[int] = []
    widths: list[int] = [0]
    terms: list[int] = []
    counts: list[int] = []
    for text in texts:
        term_counts = Counter(tokenizer(text)) if text is not None else Counter()
        terms.extend([vocabulary.setdefault(term, len(vocabulary)) for term in term_counts])
        counts.extend(term_counts.values())
        widths.append(len(term_counts))
        lengths.append(ABSENT if text is None else sum(term_counts.values()))
    return TermRows(
        np.array(lengths, dtype=np.int32),
        np.cumsum(np.array(widths, dtype=np.int64)),
        np.array(terms, dtype=np.int32),
        np.array(counts, dtype=np.int32),
    )


def join_rows(parts: Sequence[TermRows]) -> TermRows:
    """The rows of all parts, in order."""
    widths = concatenated(
        [np.zeros(1, dtype=np.int64), *(np.diff(part.indptr) for part in parts)], np.int64
    )
    return TermRows(
        concatenated([part.lengths for part in parts], np.int32),
        np.cumsum(widths),
        concatenated([part.terms for part in parts], np.int32),
        concatenated([part.counts for part in parts], np.int32),
    )


@dataclass(frozen=True, slots=True)
class Postings:
    """Which rows hold each term.

    Term t is in `rows[indptr[t]:indptr[t + 1]]`, ascending, with its `counts` there.
    """

    lengths: NDArray[np.int32]  # (n,) as in TermRows
    indptr: NDArray[np.int64]  # (number of terms + 1,)
    rows: NDArray[np.int32]
    counts: NDArray[np.int32]

    def select(self, terms: NDArray[np.int64]) -> Postings:
        """The same rows with only `terms`, renumbered in the order given."""
        starts = self.indptr[terms]
        widths = self.indptr[terms + 1] - starts
        indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(widths)])
        source = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], widths)
        return Postings(self.lengths, indptr, self.rows[source], self.counts[source])


def to_postings(rows: TermRows, n_terms: int) -> Postings:
    """Turn counts by row into counts by term."""
    indptr, indices, counts = _transpose(
        rows.indptr, rows.terms, rows.counts, len(rows.lengths), n_terms
    )
    return Postings(rows.lengths, indptr, indices, counts)


def to_rows(postings: Postings) -> TermRows:
    """Turn counts by term back into counts by row."""
    n_terms = len(postings.indptr) - 1
    indptr, indices, counts = _transpose(
        postings.indptr, postings.rows, postings.counts, n_terms, len(postings.lengths)
    )
    return TermRows(np.asarray(postings.lengths), indptr, indices, counts)


def _transpose(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    counts: NDArray[np.int32],
    n_rows: int,
    n_columns: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    if not len(indices):
        return np.zeros(n_columns + 1, dtype=np.int64), indices, counts
    from scipy.sparse import csr_matrix

    turned = csr_matrix((counts, indices, indptr), shape=(n_rows, n_columns)).tocsc()
    return turned.indptr.astype(np.int64), turned.indices.astype(np.int32), turned.data


class LexicalIndex:
    """BM25 search over term counts.

    Example:
        >>> index = LexicalIndex.from_texts(["the red pump", "a blue valve", None])
        >>> [row for row, score in index.search("pump", 3)]
        [0]

    Absent rows do not count in any statistic and are never found. `vocabulary` maps a term to its
    number in the postings; terms with a higher number than these know are unknown.
    """

    def __init__(
        self,
        postings: Postings,
        vocabulary: Mapping[str, int],
        *,
        bm25: Bm25 | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self.postings = postings
        self.vocabulary = vocabulary
        self.bm25 = bm25 or Bm25()
        self.tokenizer = tokenizer or Tokenizer()

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str | None],
        *,
        bm25: Bm25 | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> LexicalIndex:
        """Index texts, one row each; None is a row that is absent.

        No texts give a valid empty index.
        """
        vocabulary: dict[str, int] = {}
        rows = count_terms(texts, tokenizer or Tokenizer(), vocabulary)
        return cls(to_postings(rows, len(vocabulary)), vocabulary, bm25=bm25, tokenizer=tokenizer)

    def __len__(self) -> int:
        return len(self.postings.lengths)

    def scores(self, query: str) -> FloatArray:
        """The BM25 score of every row, (n,) float64.

        0 for rows without a query term, for absent rows and for a query without terms. A term given
        twice counts twice.
        """
        n = len(self)
        terms = self._terms(Counter(self.tokenizer(query)))
        return add_terms(terms, self._k, np.arange(n), np.zeros(n), n)[1]

    def search(
        self, query: str, n: int, where: slice | NDArray[np.bool_] | None = None
    ) -> list[tuple[int, float]]:
        """The best rows and their scores.

        At most `n` (row, score) pairs within the rows of `where`, best first, equal scores by row.
        `lucene` finds rows with a score above 0, `okapi` ranks every row, as rank_bm25 does. A
        query without terms finds nothing. The statistics are those of all rows, whatever `where`
        is.
        """
        counts = Counter(self.tokenizer(query))
        rows, scores = self._searched(where)
        if not counts or not len(rows) or n <= 0:
            return []
        terms = self._terms(counts)
        if self.bm25.method == "okapi":
            # Every row is ranked, so none may be left out early.
            scores[self.postings.lengths[rows] == ABSENT] = -np.inf
            rows, scores = add_terms(terms, self._k, rows, scores, len(rows))
            ranked = np.flatnonzero(scores > -np.inf)
        else:
            rows, scores = add_terms(terms, self._k, rows, scores, n)
            ranked = np.flatnonzero(scores > 0)
        return as_ranking(rows[ranked], scores[ranked], n)

    def _searched(self, where: slice | NDArray[np.bool_] | None) -> tuple[IntArray, FloatArray]:
        """The rows to search, ascending, and what they score before any term."""
        if isinstance(where, np.ndarray):
            if np.count_nonzero(where) * FEW < len(where):
                rows = np.flatnonzero(where)
                return rows, np.zeros(len(rows))
            # Rows that follow each other are added faster than they are looked up one by one.
            return np.arange(len(self)), np.where(where, 0.0, -np.inf)
        start, stop, _ = (where or slice(None)).indices(len(self))
        rows = np.arange(start, max(start, stop))
        return rows, np.zeros(len(rows))

    def _terms(self, query: Mapping[str, int]) -> list[Term]:
        """The terms of a query that rows hold, the rarest first."""
        n_terms = len(self.postings.indptr) - 1
        terms = []
        for term, times in query.items():
            number = self.vocabulary.get(term, n_terms)
            if number < n_terms:
                first, last = self.postings.indptr[number : number + 2].tolist()
                rows, counts = self.postings.rows[first:last], self.postings.counts[first:last]
                terms.append(Term(rows, counts, times * self._idf(last - first)))
        return sorted(terms, key=lambda term: len(term.rows))

    def _idf(self, df: int) -> float:
        """A term's idf from its `df` rows, times Okapi's k1 + 1."""
        if df == 0:
            return 0.0
        if self.bm25.method == "lucene":
            return math.log(1 + (self._n_rows - df + 0.5) / (df + 0.5))
        idf = math.log(self._n_rows - df + 0.5) - math.log(df + 0.5)
        return (idf if idf >= 0 else OKAPI_FLOOR * self._mean_idf) * (self.bm25.saturation + 1)

    @cached_property
    def _n_rows(self) -> int:
        return int(np.count_nonzero(self.postings.lengths != ABSENT))

    @cached_property
    def _k(self) -> FloatArray:
        """K of every row."""
        lengths = np.maximum(self.postings.lengths, 0).astype(np.float64)
        average = float(lengths.sum()) / self._n_rows if self._n_rows else 0.0
        relative: FloatArray = lengths / average if average else lengths
        k: FloatArray = self.bm25.saturation * (1 - self.bm25.b + self.bm25.b * relative)
        return k

    @cached_property
    def _mean_idf(self) -> float:
        """Okapi's plain idf, averaged over the terms in use."""
        df = np.diff(self.postings.indptr)
        df = df[df > 0]
        idf = np.log(self._n_rows - df + 0.5) - np.log(df + 0.5)
        return math.fsum(idf.tolist()) / len(idf)
