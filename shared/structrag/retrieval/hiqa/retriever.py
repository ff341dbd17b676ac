"""HiQA's multi-route retriever: vectors, BM25 and keywords in one score (equation 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from structrag.errors import InvalidParameter, check_choice, check_query, checked_k
from structrag.index.corpus import CorpusReader
from structrag.index.index import Index
from structrag.index.ranking import best_positions
from structrag.model_calls.requests import Flow, Route, T
from structrag.records import Chunk, Hit
from structrag.retrieval.hiqa.candidates import CandidateSource
from structrag.retrieval.hiqa.keywords import Detection, Keywords, KeywordTable
from structrag.retrieval.hiqa.scores import (
    ROUTES,
    Candidates,
    alpha_for,
    auto_alpha,
    auto_beta,
    best_score,
    in_turn,
    weighted_parts,
)
from structrag.retrieval.hiqa.tuning import LabelledQuestion, TuningReport, tune_flow
from structrag.retrieval.retriever import Retriever, check_index, checked_names
from structrag.text.arrays import FloatArray

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

    The pool is the best 50 by vectors, the best 50 by BM25 (as many as `k` where that is more) and,
    up to 150 in all, the chunks that hold most keywords of the query, in document order. Each has
    the sum alpha v + (1 - alpha) r + beta ln(1 + |C|): v is its cosine, min-max over the pool; r
    its BM25 score, divided by the pool's highest; C the query's keywords that its index text holds.
    So nothing is filtered out: a keyword only lifts. A query without vector (no known word) has
    alpha 0, one without BM25 hit alpha 1. Equal scores are in document order.

    A hit's score is this sum divided by the highest that there can be for the query. So it is from
    0 to 1, which a chunk has that is first by vectors and by BM25 and holds all keywords of the
    query. Scores of one query compare; they fall with the rank, except where hits come in turn.

    A name says which document is meant, and not what is asked of it. So among the chunks that hold
    a keyword of the query, the cosine with what is left of the query without its keywords counts as
    much as that with the query: it is added, less its mean over these chunks, so that those that
    answer rise and those that only repeat the name fall (ours: `compare_rest`; not in the presets
    "paper" and "code", nor where a host's store has the vectors).

    A hit's `parts` are the three parts of its score under "dense", "bm25" and "keywords". Its
    `scores` are what is behind them: the cosine, the BM25 score and |C|, where there is one. Its
    `routes` are the ranks on the routes that found it (on "keywords" equal counts share a rank).
    `chunk.extras["keywords"]` are the keywords that it holds of the query.

    A blank query and an empty index have no hits. The first search after documents have changed
    also looks for the keywords in the new ones.

    Args:
        index: What to search.
        k: How many hits; fewer where the pool has fewer. The first hits do not depend on k (up to
            50).
        preset: "default"; "paper" for equation 2 as printed, the cosine of the whole query alone;
            or "code" for what the published code does: the 50 nearest by vectors only, BM25 among
            these, v + 0.5 r, groups as in `diversify` for every question that names a keyword.
            "code" takes no alpha, beta, routes, lexical or compare_rest.
        alpha: Weight of the vectors against BM25, from 0 to 1, default 0.5; or "auto": 0.4 + 0.2 x
            structure, structure being the number of headings above a chunk (at most 3), averaged
            over all chunks and divided by 3, since the paper raises alpha in well-structured
            collections.
        beta: Weight of the keywords, from 0, default 0.2; or "auto": 0.1 (1 + ln(1 + documents /
            mean pages)), at least 0.1, at most 0.4. A document's pages are its metadata "pages",
            else one for every 500 tokens.
        keywords: Critical keywords: names of products, parts, parties. Case, spaces and hyphens do
            not count; they match at word borders, in scripts without spaces anywhere, and one
            inside a longer one does not count.
        detect_keywords: Whether names found in titles and file names are keywords too, except those
            in more than half of four documents or more; "bodies": names of the text as well, by
            form, for documents whose titles say no name, or by a model with a `BodyNames`; or a
            function that finds names in a title, such as `ner_entities(pipeline)`. Where none are
            found beta counts for nothing, and a warning says so once (four documents or more).
        routes: Some of "dense", "bm25" and "keywords"; default all.
        diversify: "round_robin" for questions that compare: where a query names several keywords,
            hits come in turn from the chunks with several of them, with the first alone, with the
            second alone and so on, and after all these from chunks with none.
        view: Which view of the index is searched.
        order: "score", or "document" for reading order.
        compare_rest: Whether chunks that hold a keyword are also compared with the query without
            its keywords. None: by the preset, "default" does.
        lexical: Takes the place of the index's BM25: an object with `search` (and `asearch`, if it
            can be awaited) that is given a `Search` and returns a `Ranking` by chunk id, such as a
            host's Elasticsearch retriever. Scores must be higher for better chunks and above 0.

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
        compare_rest: bool | None = None,
    ) -> None:
        self.preset: str = check_choice("preset", preset, ("default", "paper", "code"))
        if preset == "code":
            _check_left_out(
                alpha=alpha,
                beta=beta,
                routes=routes,
                lexical=lexical,
                compare_rest=compare_rest,
            )
        self.compare_rest: bool = (
            preset == "default" if compare_rest is None else compare_rest
        )
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
            compare_rest=self.compare_rest,
        )

    def flow(
        self, query: str, k: float | None = None, *, where: Any = None
    ) -> Flow[list[Hit]]:
        """`search` as steps."""
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
        """Drive steps with the index's models and routes."""
        return self.index.run(flow)

    async def arun(self, flow: Flow[T]) -> T:
        """`run` on an event loop."""
        return await self.index.arun(flow)

    def pool_flow(self, query: str, *, where: Any = None) -> Flow[Candidates]:
        """The chunks among which a search chooses, with scores."""
        check_query(query)
        n = self._pool_size()
        return (yield from self.source.flow(self.index.reader(), query, n, where))

    def weights(self) -> tuple[float, float]:
        """alpha and beta as numbers, "auto" worked out for the index now."""
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
        """Keyword -> how many documents and how many chunks hold it now. Both the caller's keywords
        and the detected ones are counted."""
        return self._table(self.index.store.reader()).statistics()

    def tune(self, questions: Iterable[LabelledQuestion]) -> TuningReport:
        """Fit alpha and beta to labelled questions, and use them henceforth. See `tune_flow`.
        Raises InvalidParameter for a retriever that does not use them."""
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
