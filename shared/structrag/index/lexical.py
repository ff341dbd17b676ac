"""BM25 over rows of text, exact and cheap to change.

Only term counts are kept. They are turned from rows to postings once after a change, and idf,
average length and scores are worked out from them when a query comes, in float64. bm25s computes
the same numbers (it is the oracle of the tests) but needs about 4 s to index 100,000 rows of 100
terms anew after any change; turning the counts takes 0.1 s and leaves nothing to rebuild after
loading.

Two methods. "lucene" is Lucene's and bm25s's: idf ln(1 + (N - df + .5) / (df + .5)), term part
f / (f + K). "okapi" is rank_bm25's: idf ln((N - df + .5) / (df + .5)), where a quarter of the mean
idf replaces a negative value, term part f (k1 + 1) / (f + K). K = k1 (1 - b + b length / average
length).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from structrag._locks import cached_property
from structrag.index.blocks import Column
from structrag.index.ranking import (
    SCORE_DIGITS,
    FloatArray,
    IntArray,
    RowMap,
    concatenated,
    joined,
    nth_best,
    ranking,
)
from structrag.text.arrays import running_totals
from structrag.text.terms import Tokenizer

# Rows less than one in so many are looked up in the postings, rather than all postings added.
FEW = 8
# Scores that are equal when rounded, and errors of summing.
_MARGIN = 2 * 10.0**-SCORE_DIGITS


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a query."""

    rows: NDArray[np.int32]  # (df,) that hold it, ascending
    counts: NDArray[np.int32]  # (df,) how often
    # It adds weight x count / (count + K) to a row's score, so less than this.
    weight: float


@dataclass(frozen=True, slots=True)
class LengthNorm:
    """The K of BM25 as a line over a row's length."""

    lengths: NDArray[np.int32]  # of every row
    base: float
    slope: float

    def of(self, rows: NDArray[Any]) -> FloatArray:
        """The K of some rows."""
        k = np.multiply(self.lengths.take(rows), self.slope, dtype=np.float64)
        k += self.base
        return k


def add_terms(
    terms: Sequence[Term],
    norm: LengthNorm,
    rows: NDArray[np.int32],
    scores: FloatArray,
    n: int,
) -> tuple[NDArray[np.int32], FloatArray]:
    """Add all terms to the scores of rows. Returns the rows that are left, with their scores.

    `rows` ascend, `scores` are changed in place, and the terms are added in the order given. Where
    n < len(rows), rows that cannot be among the `n` best may be left out, for which no weight may
    be below 0. Give the rarest terms first: what the others can still add is soon less than what
    the best rows are ahead by, and then few rows are left to score.
    """
    left = sum(term.weight for term in terms)
    for term in terms:
        is_frequent = n < len(rows) < 2 * len(term.rows)
        if is_frequent and np.count_nonzero(scores > left + _MARGIN) >= n:
            hopeful = np.flatnonzero(scores >= nth_best(scores, n) - left - _MARGIN)
            if len(hopeful) * FEW < len(rows):
                rows, scores = rows[hopeful], scores[hopeful]
        left -= term.weight
        at, held = _common(rows, term.rows)
        counts = term.counts[held]
        parts = norm.of(term.rows[held])
        parts += counts
        np.divide(counts, parts, out=parts)
        parts *= term.weight
        np.add.at(scores, at, parts)  # faster than scores[at] += parts
    return rows, scores


def _common(
    rows: NDArray[np.int32], held: NDArray[np.int32]
) -> tuple[IntArray, IntArray | slice]:
    """The positions, in each, of what both have; both ascend."""
    # Rows that follow each other need no search: their positions are differences.
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        first, last = np.searchsorted(held, (rows[0], rows[-1] + 1)).tolist()
        return np.subtract(held[first:last], rows[0], dtype=np.int64), slice(
            first, last
        )
    short, long = (rows, held) if len(rows) < len(held) else (held, rows)
    at = np.searchsorted(long, short)
    there = np.flatnonzero(long.take(at, mode="clip") == short)
    pair = (there, at[there])
    return pair if short is rows else pair[::-1]


ABSENT = -1  # length of a row that does not exist in this index
# rank_bm25's epsilon: a negative idf becomes this share of the mean idf.
OKAPI_FLOOR = 0.25
PACKAGE_ROWS = 10_000  # that rank_bm25 is given, which reads every row for every query


LUCENE, OKAPI = "lucene", "okapi"
METHODS = (LUCENE, OKAPI)
# How soon more of a term adds little: Lucene's own value, and rank_bm25's.
K1 = {LUCENE: 1.2, OKAPI: 1.5}
B = 0.75  # how much the length of a text counts, from 0, not at all, to 1; both have this value


def length_norm(length: Any, average: float) -> Any:
    """Lucene's K of texts with `length` terms, a number or an array, among ones of `average`."""
    return K1[LUCENE] * (1 - B + B * (length / (average or 1.0)))


def idf(n_rows: float, df: Any) -> Any:
    """Lucene's, above 0 for any `df`, a number or an array, up to `n_rows`."""
    return np.log1p((n_rows - df + 0.5) / (df + 0.5))


@dataclass(frozen=True, slots=True)
class TermRows:
    """Which terms each row holds. Row i has `terms[indptr[i]:indptr[i + 1]]`, each once, with its
    `counts`."""

    # (n,) terms in the row, repeats included; ABSENT for no such row in this view.
    lengths: NDArray[np.int32]
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
    """Tokenise and count the terms of texts. New terms get the next numbers in `vocabulary`. A text
    of None is an absent row."""
    lengths: list[int] = []
    widths: list[int] = [0]
    terms: list[int] = []
    counts: list[int] = []
    for text in texts:
        term_counts = Counter(tokenizer(text)) if text is not None else Counter()
        terms.extend(
            [vocabulary.setdefault(term, len(vocabulary)) for term in term_counts]
        )
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
        [np.zeros(1, dtype=np.int64), *(np.diff(part.indptr) for part in parts)],
        np.int64,
    )
    return TermRows(
        concatenated([part.lengths for part in parts], np.int32),
        np.cumsum(widths),
        concatenated([part.terms for part in parts], np.int32),
        concatenated([part.counts for part in parts], np.int32),
    )


class Vocabulary(Protocol):
    """Terms and their numbers in the postings of one segment, from 0."""

    def get(self, term: str, /) -> int | None: ...

    def items(self) -> Iterable[tuple[str, int]]: ...


@dataclass(frozen=True)
class Postings:
    """Which rows hold each term. Term t is in `rows[indptr[t]:indptr[t + 1]]`, ascending, with its
    `counts` there."""

    lengths: Column  # (n,) int32, as in TermRows
    indptr: Column  # (number of terms + 1,) int64
    rows: Column  # int32
    counts: Column  # int32

    @property
    def n_terms(self) -> int:
        """How many terms the postings know; later numbers are unknown."""
        return len(self.indptr) - 1

    @cached_property
    def size(self) -> tuple[int, int]:
        """How many rows there are, and their terms together, repeats included."""
        lengths = self.lengths.all()
        lengths = lengths[lengths != ABSENT]
        return len(lengths), int(lengths.sum(dtype=np.int64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The four arrays by their names."""
        return {name: getattr(self, name).all() for name in POSTINGS}

    @classmethod
    def of(cls, **arrays: NDArray[Any]) -> Postings:
        """Postings of plain arrays."""
        return cls(**{name: Column(array) for name, array in arrays.items()})

    def select(self, terms: NDArray[np.int64]) -> Postings:
        """The same rows with only `terms`, renumbered in the order given."""
        old = self.indptr.all()
        starts = old[terms]
        widths = old[terms + 1] - starts
        indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(widths)])
        source = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], widths)
        return Postings.of(
            lengths=self.lengths.all(),
            indptr=indptr,
            rows=self.rows.all()[source],
            counts=self.counts.all()[source],
        )


POSTINGS = {"lengths": "int32", "indptr": "int64", "rows": "int32", "counts": "int32"}


def to_postings(rows: TermRows, n_terms: int) -> Postings:
    """Turn counts by row into counts by term."""
    indptr, indices, counts = _transpose(
        rows.indptr, rows.terms, rows.counts, len(rows.lengths), n_terms
    )
    return Postings.of(lengths=rows.lengths, indptr=indptr, rows=indices, counts=counts)


def to_rows(postings: Postings) -> TermRows:
    """Turn counts by term into counts by row."""
    lengths = postings.lengths.all()
    indptr, indices, counts = _transpose(
        postings.indptr.all(),
        postings.rows.all(),
        postings.counts.all(),
        postings.n_terms,
        len(lengths),
    )
    return TermRows(lengths, indptr, indices, counts)


def _transpose(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    counts: NDArray[np.int32],
    n_rows: int,
    n_columns: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    order = indices.astype(np.int64) << 32 | np.arange(len(indices))
    order.sort()  # several times faster than a stable argsort
    order &= 0xFFFFFFFF
    rows = np.repeat(np.arange(n_rows, dtype=np.int32), np.diff(indptr))
    ends = running_totals(np.bincount(indices, minlength=n_columns))
    return ends, rows[order], counts[order]


@dataclass(frozen=True)
class LexicalPart:
    """The postings of one view of one segment. `place` says where the segment's rows stand among
    all rows."""

    postings: Postings
    vocabulary: Vocabulary
    place: RowMap

    @cached_property
    def size(self) -> tuple[int, int]:
        """How many rows there are, and their terms together, repeats included."""
        if self.place.positions is None:
            return self.postings.size
        lengths = self.postings.lengths.all()
        lengths = lengths[(self.place.positions >= 0) & (lengths != ABSENT)]
        return len(lengths), int(lengths.sum(dtype=np.int64))

    def posting(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The rows that hold a term and how often, deleted ones too."""
        number = self.vocabulary.get(term)
        if number is None or number >= self.postings.n_terms:
            return _NO_ROWS, _NO_ROWS
        first, last = self.postings.indptr.part(number, number + 2).tolist()
        return self.postings.rows.part(first, last), self.postings.counts.part(
            first, last
        )


_NO_ROWS: NDArray[np.int32] = np.empty(0, dtype=np.int32)


class LexicalIndex:
    """BM25 search over term counts.

    Example:
        >>> index = LexicalIndex.from_texts(["the red pump", "a blue valve", None])
        >>> [row for row, score in index.search("pump", 3)]
        [0]

    The counts lie in one or more parts, which are scored by the statistics of all. Absent rows do
    not count in any statistic and are never found.
    """

    def __init__(
        self,
        parts: Sequence[LexicalPart],
        *,
        method: str = LUCENE,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self.parts: list[LexicalPart] = list(parts)
        self.method = method
        self.tokenizer: Tokenizer = tokenizer or Tokenizer()
        self._scoped: tuple[Any, LexicalIndex] | None = None

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str | None],
        *,
        method: str = LUCENE,
        tokenizer: Tokenizer | None = None,
    ) -> LexicalIndex:
        """Index texts, one row each; None is a row that is absent. No texts give a valid empty
        index."""
        vocabulary: dict[str, int] = {}
        rows = count_terms(texts, tokenizer or Tokenizer(), vocabulary)
        postings = to_postings(rows, len(vocabulary))
        part = LexicalPart(postings, vocabulary, RowMap(len(rows.lengths)))
        return cls([part], method=method, tokenizer=tokenizer)

    def __len__(self) -> int:
        """The number of rows, absent ones among them."""
        return sum(part.place.n_live for part in self.parts)

    def scores(self, query: str) -> FloatArray:
        """The BM25 score of every row, float64. 0 for rows without a query term, for absent rows
        and for a query without terms. A term given twice counts twice."""
        scores = np.zeros(len(self))
        terms = self._terms(Counter(self.tokenizer(query)))
        rows = self._place.live_rows().astype(np.int32)
        _, live_scores = add_terms(
            terms, self._norm, rows, np.zeros(len(rows)), len(rows)
        )
        scores[self._place.positions_of(rows)] = live_scores
        return scores

    def search(
        self, query: str, n: int, where: slice | NDArray[np.bool_] | None = None
    ) -> list[tuple[int, float]]:
        """The best rows and their scores.

        At most `n` (row, score) pairs within the rows of `where`, best first, equal scores by row.
        `lucene` finds rows with a score above 0, `okapi` ranks every row, as rank_bm25 does, and by
        that package where it is installed and there are at most 10,000 rows. A query without terms
        finds nothing. The statistics are those of all rows, whatever `where` is; see `within`.
        """
        counts = Counter(self.tokenizer(query))
        if not counts or n <= 0:
            return []
        if where is None and self._packaged is not None:
            positions, package = self._packaged
            return ranking(positions, package.get_scores([*counts.elements()]), n)
        rows, scores = self._searched(where)
        if not len(rows):
            return []
        rows, scores = self._best(self._terms(counts), rows, scores, n)
        return ranking(self._place.positions_of(rows), scores, n)

    def within(self, where: slice | NDArray[np.bool_] | None) -> LexicalIndex:
        """The rows of a selection as an index of their own: they keep their numbers, and the
        statistics are theirs alone. The last one is kept."""
        if where is None:
            return self
        key: Any = (
            (where.start, where.stop) if isinstance(where, slice) else where.tobytes()
        )
        if self._scoped is None or self._scoped[0] != key:
            parts = [
                replace(part, place=part.place.within(where)) for part in self.parts
            ]
            scoped = LexicalIndex(parts, method=self.method, tokenizer=self.tokenizer)
            self._scoped = key, scoped
        return self._scoped[1]

    @cached_property
    def _packaged(self) -> tuple[IntArray, Any] | None:
        """The rows as rank_bm25 scores them, with their numbers; None where it does not."""
        few = 0 < sum(part.place.n_rows for part in self.parts) <= PACKAGE_ROWS
        if self.method != OKAPI or not few or not self._size[1]:
            return None
        try:
            from rank_bm25 import BM25Okapi
        except ImportError:
            return None
        texts: dict[int, list[str]] = {}  # by the number of the row
        for part in self.parts:
            postings, place = part.postings, part.place
            there = postings.lengths.all() != ABSENT
            if place.live is not None:
                there &= place.live
            at = place.positions_of(np.arange(place.n_rows)).tolist()
            texts |= {at[row]: [] for row in np.flatnonzero(there).tolist()}
            for term, _ in part.vocabulary.items():
                rows, counts = part.posting(term)
                for row, times in zip(rows.tolist(), counts.tolist(), strict=True):
                    if there[row]:
                        texts[at[row]] += [term] * times
        positions = sorted(texts)
        # In one order, or sums differ in their last digit with the order of adding.
        package = BM25Okapi(
            [sorted(texts[position]) for position in positions],
            k1=K1[OKAPI],
            b=B,
            epsilon=OKAPI_FLOOR,
        )
        return np.array(positions), package

    def _searched(
        self, where: slice | NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int32], FloatArray]:
        """The rows to search, ascending, and their scores before any term."""
        selection, n_rows = self._place.local(where), self._place.n_rows
        if isinstance(selection, np.ndarray):
            if np.count_nonzero(selection) * FEW < n_rows:
                rows = np.flatnonzero(selection).astype(np.int32)
                return rows, np.zeros(len(rows))
            # Rows that follow each other are added faster than they are looked up one by one.
            return np.arange(n_rows, dtype=np.int32), np.where(selection, 0.0, -np.inf)
        start, stop, _ = (selection or slice(None)).indices(n_rows)
        rows = np.arange(start, stop, dtype=np.int32)
        return rows, np.zeros(len(rows))

    def _best(
        self, terms: Sequence[Term], rows: NDArray[np.int32], scores: FloatArray, n: int
    ) -> tuple[NDArray[np.int32], FloatArray]:
        """Rows with their scores, at least the `n` best."""
        if self.method == OKAPI:
            # Every row is ranked, so none may be left out early.
            scores[self._norm.lengths[rows] == ABSENT] = -np.inf
            rows, scores = add_terms(terms, self._norm, rows, scores, len(rows))
            lowest = -np.inf
        else:
            rows, scores = add_terms(terms, self._norm, rows, scores, n)
            lowest = 0.0
        ranked = np.flatnonzero(scores > lowest)
        if len(ranked) > n:
            best = nth_best(scores[ranked], n) - 10.0**-SCORE_DIGITS
            ranked = ranked[scores[ranked] >= best]
        return rows[ranked], scores[ranked]

    def _terms(self, query: Mapping[str, int]) -> list[Term]:
        """The query's terms that rows hold, rarest first."""
        terms = []  # each with the number of its rows that are not deleted
        for term, times in query.items():
            rows, counts = self._posting(term)
            df = self._n_live(rows)
            if df:
                terms.append((df, Term(rows, counts, times * self._idf(df))))
        return [term for _, term in sorted(terms, key=itemgetter(0))]

    def frequencies(self, terms: Iterable[str]) -> tuple[int, list[int]]:
        """How many rows there are, and how many of them hold each term."""
        return self._size[0], [self._n_live(self._posting(term)[0]) for term in terms]

    def _n_live(self, rows: NDArray[np.int32]) -> int:
        live = self._place.live
        return len(rows) if live is None else int(np.count_nonzero(live[rows]))

    def _posting(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The rows that hold a term and how often, deleted ones too."""
        if len(self.parts) == 1:
            return self.parts[0].posting(term)
        rows, counts = [], []
        first = 0
        for part in self.parts:
            of_part, part_counts = part.posting(term)
            if len(of_part):  # a small segment lacks many terms
                rows.append(of_part + np.int32(first) if first else of_part)
                counts.append(part_counts)
            first += part.place.n_rows
        return concatenated(rows, np.int32), concatenated(counts, np.int32)

    @cached_property
    def _place(self) -> RowMap:
        """The positions of the rows of all parts, part after part."""
        return joined([part.place for part in self.parts])

    @cached_property
    def _norm(self) -> LengthNorm:
        n_rows, n_terms = self._size
        average = n_terms / n_rows if n_rows else 0.0
        k1 = K1[self.method]
        slope = k1 * B / average if average else 0.0
        lengths = concatenated(
            [part.postings.lengths.all() for part in self.parts], np.int32
        )
        return LengthNorm(lengths, k1 * (1 - B), slope)

    def _idf(self, df: int) -> float:
        """A term's idf from its `df` rows, times Okapi's k1 + 1."""
        n_rows = self._size[0]
        if self.method == LUCENE:
            return float(idf(n_rows, df))
        okapi = math.log(n_rows - df + 0.5) - math.log(df + 0.5)
        return (okapi if okapi >= 0 else OKAPI_FLOOR * self._mean_idf) * (K1[OKAPI] + 1)

    @cached_property
    def _size(self) -> tuple[int, int]:
        """How many rows there are in all, and their terms together."""
        sizes = [part.size for part in self.parts]
        return sum(rows for rows, _ in sizes), sum(terms for _, terms in sizes)

    @cached_property
    def _mean_idf(self) -> float:
        """Okapi's plain idf, averaged over the terms in use."""
        totals: Counter[str] = Counter()
        for part in self.parts:
            live, postings = part.place.live, part.postings
            counted = (
                np.ones(len(postings.rows))
                if live is None
                else live[postings.rows.all()]
            )
            sums = np.concatenate([[0], np.cumsum(counted, dtype=np.int64)])
            bounds = sums[postings.indptr.all()]
            frequencies = np.diff(bounds).tolist()
            for term, number in part.vocabulary.items():
                if number < len(frequencies) and frequencies[number]:
                    totals[term] += frequencies[number]
        df = np.array(list(totals.values()))
        idf = np.log(self._size[0] - df + 0.5) - np.log(df + 0.5)
        return math.fsum(idf.tolist()) / len(idf)
