"""The pool of HiQA's retriever: what its routes find, and their scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

import numpy as np

from structrag.index.corpus import CorpusReader
from structrag.index.index import Index
from structrag.index.lexical import LexicalIndex
from structrag.index.routes import ranked_rows
from structrag.index.selection import Selection
from structrag.model_calls.requests import Flow, Ranking, Route, Search
from structrag.retrieval.hiqa.keywords import Keywords, KeywordTable
from structrag.retrieval.hiqa.scores import Candidates, keyword_ranks
from structrag.text.arrays import IntArray

Scores = dict[int, float]  # row -> score, best first

_NO_ROWS: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class CandidateSource:
    """The search for the segments that a query is compared with."""

    index: Index
    view: str
    routes: tuple[str, ...]
    keywords: Keywords
    lexical: Route | None = None  # instead of the index's BM25
    # the published code: vectors alone find, and BM25 knows nothing but what they found
    near_only: bool = False
    compare_rest: bool = True  # with the query without its keywords too

    def flow(
        self, reader: CorpusReader, query: str, n: int, where: Any
    ) -> Flow[Candidates]:
        """The pool of a query in a reader of the index.

        A blank query has an empty one. It has the best `n` by vectors and the best `n` by BM25. As
        many as they leave of 3n are the best segments with keywords: those of them that it has
        already count, so it may have fewer than 3n.
        """
        table = self.keywords.table(reader) if "keywords" in self.routes else None
        if not query.strip() or not len(reader):
            return _pool(_NO_ROWS, {}, {}, {}, None, [])
        rows = reader.select(where)
        vector = rest = None
        if "dense" in self.routes:
            vector, rest = yield from self.query_vectors(reader, query, table)
        dense, bm25 = yield from self._rankings(reader, query, vector, n, where, rows)
        pooled = np.unique(np.fromiter([*dense, *bm25], dtype=np.int64))
        keys: list[str] = []
        if table:
            keys = table.found_in(query)
            missing = 0 if self.near_only else 3 * n - len(pooled)
            if keys and missing > 0:
                named = table.best(keys, missing, _positions(reader, table, rows))
                pooled = np.union1d(pooled, named)
        if not len(pooled):
            return _pool(_NO_ROWS, {}, {}, {}, table, keys)
        cosines, weights = self._completed(
            reader, query, vector, pooled, dense, bm25, n
        )
        pool = _pool(
            pooled, cosines, weights, {"dense": dense, "bm25": bm25}, table, keys
        )
        if vector is None or rest is None:
            return pool
        return self._reordered(reader, pool, rest)

    def _reordered(
        self, reader: CorpusReader, pool: Candidates, rest: Any
    ) -> Candidates:
        """Order the chunks with a keyword by the rest of the query.

        To their cosine is added the one with `rest`, the vector of the query without its keywords,
        less the mean of these. Their order thus depends on what is asked, while their mean stays
        that of the whole query.
        """
        holds = pool.held.any(axis=0) & ~np.isnan(pool.cosine)
        if holds.sum() < 2:
            return pool
        among = reader.among(pool.rows[holds])
        ranking = reader.search_dense(self.view, rest, int(holds.sum()), among)
        by_row = dict(ranking)
        cosines = np.array([by_row.get(row, np.nan) for row in pool.rows.tolist()])
        holds &= ~np.isnan(cosines)
        if not holds.any():
            return pool
        shift = np.zeros(len(pool.rows))
        shift[holds] = cosines[holds] - cosines[holds].mean()
        return replace(pool, shift=shift)

    def query_vectors(
        self, reader: CorpusReader, query: str, table: KeywordTable | None
    ) -> Flow[tuple[Any, Any]]:
        """Embed the query, and the query without its keywords. Either vector is None if there is
        nothing to embed; the second also if a host has the vectors."""
        has_vectors = self.index.dense_store is None
        rest = ""
        if table and has_vectors and self.compare_rest:
            rest = table.names.removed(query)
        # Without a word left, or without a keyword, there is nothing else to ask.
        if not any(map(str.isalnum, rest)) or rest == " ".join(query.split()):
            (whole,) = yield from self.index.query_vectors(reader, query)
            return whole, None
        whole, without = yield from self.index.query_vectors(reader, query, rest)
        return whole, without

    def _rankings(
        self,
        reader: CorpusReader,
        query: str,
        vector: Any,
        n: int,
        where: Any,
        rows: Any,
    ) -> Flow[tuple[Scores, Scores]]:
        """Search the rows by vectors and BM25. A host gets the condition `where`, since it does not
        know rows."""
        requests: dict[str, Search] = {}
        if "dense" in self.routes:
            among = where if self.index.dense_store is not None else rows
            requests["dense"] = self.index.request(
                reader, f"dense:{self.view}", query, vector, n, among
            )
        if "bm25" in self.routes and not self.near_only:
            route = f"bm25:{self.view}"
            if self.lexical is None:
                requests["bm25"] = self.index.request(
                    reader, route, query, None, n, rows
                )
            else:
                requests["bm25"] = Search(route, query, None, n, where, self.lexical)
        answers = (yield list(requests.values())) if requests else []
        rankings: dict[str, Ranking] = dict(zip(requests, answers, strict=True))
        # An engine's answers lie within the rows; it is asked once more only about a host's.
        is_engine = reader.row_numbers is not None
        dense = _within(
            reader,
            ranked_rows(reader, rankings.get("dense", [])),
            None if is_engine else rows,
            n,
        )
        among = None if is_engine and self.lexical is None else rows
        bm25 = _within(reader, ranked_rows(reader, rankings.get("bm25", [])), among, n)
        if self.lexical is not None:  # a host may also give chunks without any score
            bm25 = {row: score for row, score in bm25.items() if score > 0}
        return dense, bm25

    def _completed(
        self,
        reader: CorpusReader,
        query: str,
        vector: Any,
        pooled: IntArray,
        dense: Scores,
        bm25: Scores,
        n: int,
    ) -> tuple[Scores, Scores]:
        """Cosines and BM25 scores of all rows that the index can score. A route that found fewer
        than `n` rows has given all its scores."""
        rows = pooled.tolist()
        if self.near_only:
            texts = reader.view_texts_at(rows, self.view)
            settings = reader.settings
            lexical = LexicalIndex.from_texts(
                texts, method=settings.lexical, tokenizer=settings.tokenizer
            )
            return dense, dict(zip(rows, lexical.scores(query).tolist(), strict=True))
        among = reader.among(pooled)
        if (
            vector is not None
            and self.index.dense_store is None
            and n <= len(dense) < len(pooled)
        ):
            dense = dict(reader.search_dense(self.view, vector, len(pooled), among))
        if (
            "bm25" in self.routes
            and self.lexical is None
            and n <= len(bm25) < len(pooled)
        ):
            bm25 = dict(reader.search_lexical(self.view, query, len(pooled), among))
        return dense, bm25


def _positions(
    reader: CorpusReader, table: KeywordTable, selected: Any
) -> Selection | None:
    """Positions of the rows a search may see; None for all."""
    if table.row_numbers is None or selected is None:
        return cast("Selection | None", selected)
    return np.isin(table.row_numbers, reader.first_rows(selected, len(reader)))


def _within(
    reader: CorpusReader, ranking: Mapping[int, float], selected: Any, n: int
) -> Scores:
    """Return the first `n` of a ranking within the rows searched. A host's store may ignore the
    condition, or return more."""
    inside: Iterable[int] = ranking
    if isinstance(selected, slice):
        inside = (row for row in ranking if selected.start <= row < selected.stop)
    elif isinstance(selected, np.ndarray):
        inside = (row for row in ranking if row < len(selected) and selected[row])
    elif selected is not None:  # an engine's own filter
        allowed = set(reader.first_rows(selected, len(reader)))
        inside = (row for row in ranking if row in allowed)
    return {row: ranking[row] for row in islice(inside, n)}


def _pool(
    rows: IntArray,
    cosines: Scores,
    weights: Scores,
    rankings: Mapping[str, Scores],
    table: KeywordTable | None,
    keys: list[str],
) -> Candidates:
    held = table.held(keys, rows) if table else np.zeros((0, len(rows)), dtype=bool)
    ranks: dict[str, dict[int, int]] = {}
    for route, ranking in rankings.items():
        ranks[route] = {row: rank for rank, row in enumerate(ranking, start=1)}
    ranks["keywords"] = keyword_ranks(rows, held.sum(axis=0))
    return Candidates(
        rows,
        np.array([cosines.get(row, np.nan) for row in rows.tolist()], dtype=np.float64),
        np.array([weights.get(row, 0.0) for row in rows.tolist()], dtype=np.float64),
        tuple(table.written[key] for key in keys) if table else (),
        held,
        ranks,
    )
