"""HiQA's multi-route retriever: vectors, BM25 and keywords in one score (equation 2), over the pool
of what its routes find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import Any, cast

import numpy as np

from structrag.errors import InvalidParameter, check_choice, check_query, checked_k
from structrag.index.corpus import CorpusReader, ranked_rows
from structrag.index.index import Index
from structrag.index.lexical import LexicalIndex
from structrag.index.ranking import best_positions
from structrag.index.selection import Selection
from structrag.model_calls.requests import Flow, Ranking, Route, Search, T
from structrag.records import Chunk, Hit
from structrag.retrieval.hiqa.keywords import Detection, Keywords, KeywordTable
from structrag.retrieval.hiqa.scores import (
    ROUTES,
    Candidates,
    LabelledQuestion,
    TuningReport,
    alpha_for,
    auto_alpha,
    auto_beta,
    best_score,
    in_turn,
    keyword_ranks,
    tune_flow,
    weighted_parts,
)
from structrag.retrieval.retriever import Retriever, check_index, checked_names
from structrag.text.arrays import FloatArray, IntArray

# Chunks from the vectors and from BM25 each; with those by keyword at most 150.
POOL = 50
ALPHA, BETA = 0.5, 0.2
CODE_WEIGHTS = (1.0, 0.5, 0.0)  # of v, r and keywords in the published code


class HiQARetriever(Retriever):
    """Finds chunks among look-alike documents by vectors, BM25 and keywords.

    Example:
        >>> from structrag import Index, read_text
        >>> index = Index(views=["raw"])
        >>> texts = ["The A10 weighs 5 kg.", "The B20 weighs 5 kg."]
        >>> _ = index.add([read_text(text) for text in texts])
        >>> hit = HiQARetriever(index, keywords=["A10", "B20"]).search("How heavy is the B20?")[0]
        >>> hit.chunk.text, hit.chunk.extras["keywords"]
        ('The B20 weighs 5 kg.', ['B20'])

    The candidates are the best 50 by vectors, the best 50 by BM25 (or `k` if larger) and, up to 150
    in total, the chunks with the most keywords of the query, in document order. The sum of each is
    alpha v + (1 - alpha) r + beta ln(1 + |C|), where v is its cosine, min-max normalised over the
    candidates, r its BM25 score divided by the highest, and C the set of the query's keywords in
    its index text. A keyword raises a score and filters nothing out. A query without a vector (no
    known word) has alpha 0, one without a BM25 hit alpha 1. Ties are in document order.

    A hit's score is this sum divided by the highest possible sum for the query, so it is from 0 to
    1. A chunk scores 1 if it is first by vectors and by BM25 and contains all keywords of the
    query. Scores of one query fall with the rank, unless `diversify` alternates hits.

    A name says which document is meant, not what is asked about it. For chunks with a keyword of
    the query, the cosine with the rest of the query, without its keywords, is therefore added with
    the same weight, minus its mean over these chunks. Chunks that answer the question rise, and
    chunks that only repeat the name fall. This step is ours; it is off in the
    presets "paper" and "code", and when a host's store keeps the vectors.

    A hit's `parts` are the three parts of its score under "dense", "bm25" and "keywords". Its
    `scores` are the raw values: the cosine, the BM25 score and |C|, if any. Its `routes` are its
    ranks on the routes that found it (on "keywords", equal counts share a rank).
    `chunk.extras["keywords"]` lists the query's keywords in the chunk.

    A blank query and an empty index have no hits. The first search after a change also looks for
    keywords in the new documents.

    Args:
        index: The index to search.
        k: The number of hits; fewer if there are fewer candidates. The first hits do not depend on
            k (up to 50).
        preset: "default"; "paper" for equation 2 as printed, the cosine of the whole query alone;
            or "code" for the ranking of the published code (github.com/TebooNok/HiQA,
            `service/knowledge_client.py` and `utils/filter.py` at commit 043e81e9): the 50 nearest
            by vectors only, BM25 among these, v + 0.5 r, and groups as in `diversify` for every
            question that names a keyword. "code" accepts no alpha, beta, routes or lexical.
        alpha: Weight of the vectors against BM25, from 0 to 1, default 0.5; or "auto": 0.4 + 0.2 x
            structure, where structure is the number of headings above a chunk (at most 3), averaged
            over all chunks and divided by 3. The paper raises alpha in well-structured collections.
        beta: Weight of the keywords, from 0, default 0.2; or "auto": 0.1 (1 + ln(1 + documents /
            mean pages)), at least 0.1, at most 0.4. The number of pages comes from the metadata
            "pages", else it is one per 500 tokens.
        keywords: Critical keywords: names of products, parts or parties. Case, spaces and hyphens
            are ignored. They match at word borders (anywhere in scripts without spaces), and not
            inside a longer keyword.
        detect_keywords: Whether names found in titles and file names are keywords too, except those
            in more than half of the documents (from four documents on). "bodies": also names in the
            text, by their form, for documents whose titles have no name; with a `BodyNames`, by a
            model. Or a function that finds names in a title, such as `ner_entities(pipeline)`. If
            none are found, beta has no effect, and a warning says so once (from four documents on).
        routes: Some of "dense", "bm25" and "keywords"; default all.
        diversify: "round_robin" for questions that compare: if a query names several keywords, hits
            alternate between the chunks with several of them, with only the first, with only the
            second and so on; chunks with none come last.
        view: The view of the index to search.
        order: "score", or "document" for reading order.
        lexical: Replaces the index's BM25: an object with `search` (and optionally `asearch`) from
            a `Search` to a `Ranking` by chunk id, such as a host's Elasticsearch retriever. Scores
            must be above 0 and higher for better chunks.

    Raises:
        InvalidParameter: a setting is not allowed.
    """

    def __init__(
        self,
        index: Index,
        *,
        k: int = 5,
        preset: str = "default",
        alpha: float | str | None = None,
        beta: float | str | None = None,
        keywords: Iterable[str] | None = None,
        detect_keywords: Detection = True,
        routes: Sequence[str] | None = None,
        diversify: str | None = None,
        view: str = "raw",
        order: str = "score",
        lexical: Route | None = None,
    ) -> None:
        self.preset: str = check_choice("preset", preset, ("default", "paper", "code"))
        if preset == "code":
            _check_left_out(alpha=alpha, beta=beta, routes=routes, lexical=lexical)
        check_index(index, Index)
        self.index = index
        self.k: int = checked_k(k)
        self.alpha = _checked_weight("alpha", ALPHA if alpha is None else alpha, 1.0)
        self.beta = _checked_weight("beta", BETA if beta is None else beta, inf)
        if diversify is not None:
            check_choice("diversify", diversify, ("round_robin",))
        self.diversify = diversify
        self.order: str = check_choice("order", order, ("score", "document"))
        self.source: CandidateSource = CandidateSource(
            index,
            check_choice("view", view, index.views),
            checked_names("routes", routes, ROUTES),
            Keywords(keywords or (), detect_keywords),
            lexical,
            near_only=preset == "code",
            compare_rest=preset == "default",  # equation 2 has no such step
        )

    def flow(
        self, query: str, k: float | None = None, *, where: Any = None
    ) -> Flow[list[Hit]]:
        """`search` as a flow."""
        check_query(query)
        most = self.k if k is None else checked_k(k)
        reader = self.index.reader()
        pool = yield from self.source.flow(reader, query, self._pool_size(most), where)
        parts, highest = self._parts(reader, pool)
        best = best_positions(parts.sum(axis=0), len(pool.rows)).tolist()
        compares = self.diversify is not None and len(pool.keywords) > 1
        # The published code takes turns for a single keyword too.
        if compares or (self.preset == "code" and pool.keywords):
            best = in_turn(best, pool.held, most)
        parts = parts / highest
        chunks = reader.chunks_at(pool.rows[best[:most]].tolist())
        hits = [
            _hit(chunk, pool, parts, i, rank)
            for rank, (chunk, i) in enumerate(
                zip(chunks, best[:most], strict=True), start=1
            )
        ]
        if self.order == "document":
            hits = [hits[i] for i in np.argsort(pool.rows[best[:most]])]
        return hits

    def _parts(
        self, reader: CorpusReader, pool: Candidates
    ) -> tuple[FloatArray, float]:
        """The parts of the scores, and the highest possible score."""
        routes = self.source.routes
        weights = CODE_WEIGHTS
        if self.preset != "code":
            alpha, beta = self._weights_of(reader)
            alpha = alpha_for(pool, alpha)
            weights = (alpha, 1 - alpha, beta)
        return weighted_parts(pool, weights), best_score(pool, weights, routes)

    def run(self, flow: Flow[T]) -> T:
        """Run a flow with the index's models and routes."""
        return self.index.run(flow)

    async def arun(self, flow: Flow[T]) -> T:
        """`run` on an event loop."""
        return await self.index.arun(flow)

    def pool_flow(self, query: str, *, where: Any = None) -> Flow[Candidates]:
        """The candidates of a search, with scores."""
        check_query(query)
        n = self._pool_size()
        return (yield from self.source.flow(self.index.reader(), query, n, where))

    def weights(self) -> tuple[float, float]:
        """alpha and beta as numbers, with "auto" computed for the current index."""
        return self._weights_of(self.index.store.reader())

    def _weights_of(self, reader: CorpusReader) -> tuple[float, float]:
        """alpha and beta as numbers for what a reader holds."""
        alpha, beta = self.alpha, self.beta
        if isinstance(alpha, str):
            alpha = auto_alpha(self._table(reader).structure)
        if isinstance(beta, str):
            beta = auto_beta(self._table(reader).n_documents, self._table(reader).pages)
        return alpha, beta

    def keyword_statistics(self) -> dict[str, tuple[int, int]]:
        """Return, by keyword, the number of documents and of chunks with it now, for the caller's
        keywords and the detected ones."""
        return self._table(self.index.store.reader()).statistics()

    def tune(self, questions: Iterable[LabelledQuestion]) -> TuningReport:
        """Fit alpha and beta to labelled questions, for all later searches. See `tune_flow`. Raises
        InvalidParameter for a retriever that does not use them."""
        return self._tuned(self.index.run(self._tune_flow(questions)))

    async def atune(self, questions: Iterable[LabelledQuestion]) -> TuningReport:
        """`tune` on an event loop."""
        return self._tuned(await self.index.arun(self._tune_flow(questions)))

    def _tune_flow(self, questions: Iterable[LabelledQuestion]) -> Flow[TuningReport]:
        if self.preset != "default":
            raise InvalidParameter(
                "tune needs a retriever that uses alpha and beta: preset='default'."
            )

        def pool_flow(question: LabelledQuestion) -> Flow[Candidates]:
            return self.pool_flow(question.question, where=question.where)

        return tune_flow(questions, pool_flow, self.index.store.reader())

    def _tuned(self, report: TuningReport) -> TuningReport:
        self.alpha, self.beta = report.alpha, report.beta
        return report

    def _table(self, reader: CorpusReader) -> KeywordTable:
        return self.source.keywords.table(reader)

    def _pool_size(self, k: float | None = None) -> int:
        return max(POOL, self.k if k is None else checked_k(k))


def _hit(chunk: Chunk, pool: Candidates, parts: FloatArray, i: int, rank: int) -> Hit:
    row = int(pool.rows[i])
    keywords = [pool.keywords[number] for number in np.flatnonzero(pool.held[:, i])]
    return Hit(
        replace(chunk, extras={**chunk.extras, "keywords": keywords}),
        float(parts[:, i].sum()),
        rank,
        routes={
            route: ranks[row] for route, ranks in pool.ranks.items() if row in ranks
        },
        scores=_scores(pool, i),
        parts=dict(zip(ROUTES, parts[:, i].tolist(), strict=True)),
    )


def _scores(pool: Candidates, i: int) -> dict[str, float]:
    """Route -> its score of one segment, where it has one."""
    scores: dict[str, float] = {}
    if not np.isnan(pool.cosine[i]):
        scores["dense"] = float(pool.cosine[i])
    if pool.bm25[i]:
        scores["bm25"] = float(pool.bm25[i])
    if count := pool.held[:, i].sum():
        scores["keywords"] = float(count)
    return scores


def _checked_weight(name: str, value: float | str, most: float) -> float | str:
    if value == "auto":
        return "auto"
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value <= most
        or value == inf
    ):
        limit = "at least 0" if most == inf else f"from 0 to {most:g}"
        raise InvalidParameter(
            f"{name} must be 'auto' or a finite number {limit}; got {value!r}."
        )
    return float(value)


def _check_left_out(**options: Any) -> None:
    fixed = [name for name, value in options.items() if value is not None]
    if fixed:
        raise InvalidParameter(
            f"preset 'code' fixes {', '.join(fixed)}; leave out either these or the preset."
        )


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
