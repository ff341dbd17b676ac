"""Multi-view retrieval: the rankings of all views put together (MC-indexing, section 3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import prod
from typing import Any

import numpy as np

from structrag.errors import (
    InvalidParameter,
    check_at_least,
    check_choice,
    check_optional,
    check_query,
    require,
)
from structrag.index.corpus import CorpusReader, ranked_rows
from structrag.index.index import Index
from structrag.index.ranking import as_ranking
from structrag.model_calls.requests import EmbedTokens, Flow, T, TokenEncoder, ask
from structrag.models.token_vectors import as_token_encoder
from structrag.records import Hit
from structrag.retrieval.fusion import (
    alternating,
    maxnorm,
    minmax,
    reciprocal_rank_fusion,
    reciprocal_ranks,
    sum_of_parts,
    union,
    union_size,
)
from structrag.retrieval.retriever import Retriever, check_index, checked_names
from structrag.text.arrays import Array, FloatArray, unit_vectors

ROUTES = ("dense", "bm25", "tfidf")
TOKENS = "tokens"  # the route of a token encoder
FUSIONS = ("minmax", "union")
# Route -> row -> its score there, best first.
ByRoute = Mapping[str, Mapping[int, float]]
# Chunks taken from each route at most, so that the first k do not depend on k.
POOL = 1000
HOST_POOL = 100  # of a host's vector store, which may be far away


@dataclass(frozen=True, slots=True)
class _Fused:
    """The rankings of one question, and what they add to scores."""

    routes: ByRoute  # as they came
    # The rankings that are combined: `routes`, or those of the views.
    rankings: Mapping[str, Collection[int]]
    parts: Mapping[str, FloatArray]  # what each ranking adds to its rows, in its order

    def parts_of(
        self, row: int, ranks: Mapping[str, Mapping[int, int]]
    ) -> dict[str, float]:
        """Name -> what that ranking adds to the score of this row."""
        row_ranks = _of_row(row, ranks)
        return {
            name: float(self.parts[name][rank - 1]) for name, rank in row_ranks.items()
        }


class MultiViewRetriever(Retriever):
    """Finds chunks of an `Index` by all its views.

    Example:
        >>> from structrag import Index, read_text
        >>> index = Index(views=["raw"])
        >>> _ = index.add([read_text("The blue pump leaks."), read_text("Cats sleep all day.")])
        >>> (hit,) = MultiViewRetriever(index, k=1).search("Which pump leaks?")
        >>> hit.chunk.text, hit.routes["bm25:raw"]
        ('The blue pump leaks.', 1)

    Args:
        index: The index to search.
        k: The number of hits; preset "paper" also accepts a fraction such as 1.5. The first hits do
            not depend on k (up to 1,000).
        preset: "default" returns exactly min(k, chunks) hits. "paper" joins the best k' of each
            view, k' = 2k/3 rounded half up, so it returns between k' and 3k' hits, by the dense
            route alone unless `routes` says otherwise (the paper searches one route). With a single
            view it returns the best k, like the paper's baselines: for a fraction such as 1.5, one
            hit for half of the questions and two for the other half, always the same for a
            question. The paper does not define the order of the hits; here it is by the sum of 1 /
            (60 + rank).
        routes: Some of "dense", "bm25", "tfidf" and a token encoder, such as `TransformersTokens`;
            default the first two (preset "paper": "dense"). "tfidf" is scikit-learn's (extra
            `paper`), fitted to the searched chunks. A token encoder adds the route "tokens": late
            interaction as in ColBERT, with all token vectors in memory, for a few thousand chunks.
        views: The views to search; default all.
        fusion: "minmax" (scores of each route normalised to [0, 1], then added; default) or "union"
            (the best of each view, joined; preset "paper").
        weights: Route name ("dense:raw") or view ("raw") or kind ("bm25") -> weight, default 1
            each; for "minmax".
        order: "score", or "document" for reading order.
        pool: The number of candidates from each route, at least `k`. None: 1,000 from the index's
            own routes, 100 from a host's vector store, where each view is one query.

    A hit's score is from 0 to 1; a chunk that is first on every route has 1. Scores cannot be
    compared between questions. A blank question has no hits. A hit's `routes` and `scores` are its
    ranks and scores on the routes that found it, such as "dense:raw". Its `parts` are the
    contribution of each route to the score: with "minmax" the normalised score times the weight,
    with "union" 1 / (60 + rank) in each view ("raw"), both as shares of the largest possible sum.
    They add up to the score. A chunk that no route found and that only completes the `k` hits has
    no parts, and the score of the last chunk found. `chunk.extras["views_hit"]` names the views
    that ranked the chunk among their first k (k' for "union").
    """

    def __init__(
        self,
        index: Index,
        *,
        k: float = 5,
        preset: str = "default",
        routes: Sequence[Any] | None = None,
        views: Sequence[str] | None = None,
        fusion: str | None = None,
        weights: Mapping[str, float] | None = None,
        order: str = "score",
        pool: int | None = None,
    ) -> None:
        check_index(index, Index)
        check_optional("pool", pool, 1)
        self.pool = pool
        check_choice("preset", preset, ("default", "paper"))
        self.index = index
        self.k: float = _checked_k(k, preset)
        self.preset = preset
        paper = preset == "paper"
        encoder: Any = None
        names: Any = routes
        if routes is not None and not isinstance(routes, str):
            names = [TOKENS if as_token_encoder(one) else one for one in routes]
            encoder = next(filter(as_token_encoder, routes), None)
        allowed = ROUTES if encoder is None else (*ROUTES, TOKENS)
        self.kinds: tuple[str, ...] = checked_names(
            "routes", names, allowed, ROUTES[:1] if paper else ROUTES[:2]
        )
        analyzer = "word" if paper else index.store.settings.tokenizer
        self._text_routes: dict[str, TextRoute] = {}
        if "tfidf" in self.kinds:
            self._text_routes["tfidf"] = TfidfRoute(analyzer, all_rows=paper)
        if encoder is not None:
            self._text_routes[TOKENS] = TokenRoute(encoder)
        self.views: tuple[str, ...] = checked_names("views", views, index.views)
        self.fusion: str = check_choice(
            "fusion", fusion or ("union" if paper else "minmax"), FUSIONS
        )
        self.order: str = check_choice("order", order, ("score", "document"))
        self.routes: tuple[str, ...] = tuple(
            f"{kind}:{view}" for kind in self.kinds for view in self.views
        )
        if weights and self.fusion != "minmax":
            raise InvalidParameter(
                "weights work only with fusion='minmax'; 'union' takes none. Leave weights out, "
                "or pass fusion='minmax'."
            )
        self.weights: list[float] = _route_weights(weights or {}, self.routes)

    def flow(
        self, query: str, k: float | None = None, *, where: Any = None
    ) -> Flow[list[Hit]]:
        """`search` as a flow."""
        check_query(query)
        most = self.k if k is None else _checked_k(k, self.preset)
        reader = self.index.reader()
        rows = reader.select(where)
        if not query.strip():
            return []
        vector = None
        if "dense" in self.kinds:
            (vector,) = yield from self.index.query_vectors(reader, query)
        requests = []
        rankings: dict[str, Any] = dict.fromkeys(self.routes)
        for route in self.routes:
            kind, _, view = route.partition(":")
            if kind in self._text_routes:
                rankings[route] = yield from text_route_flow(
                    self._text_routes[kind], reader, view, query, self._most(most), rows
                )
                continue
            # A host's store of vectors knows no rows, and is given the condition itself.
            is_host = route.startswith("dense") and self.index.dense_store is not None
            among = where if is_host else rows
            n = self._most(most, HOST_POOL if is_host else POOL)
            requests.append(self.index.request(reader, route, query, vector, n, among))
        answers = (yield requests) if requests else []
        asked = [request.route for request in requests]
        rankings |= zip(asked, answers, strict=True)
        fused = self._fused(
            {route: ranked_rows(reader, found) for route, found in rankings.items()}
        )
        # How many of each view "union" joins.
        has_several = len(self.views) > 1
        size = union_size(most) if has_several else alternating(most, query)
        chosen = self._chosen(fused, most, size)
        if self.fusion != "union":
            chosen = _topped_up(chosen, int(most), reader, rows)
        return self._hits(reader, chosen, fused, self._tops(fused, most, size))

    def run(self, flow: Flow[T]) -> T:
        """Run a flow with the index's models and routes."""
        return self.index.run(flow)

    async def arun(self, flow: Flow[T]) -> T:
        """`run` on an event loop."""
        return await self.index.arun(flow)

    def _most(self, k: float, pool: int = POOL) -> int:
        """Return how many chunks a route is asked for."""
        return max(self.pool or pool, int(k) + 1)

    def _fused(self, routes: ByRoute) -> _Fused:
        """The rankings that are fused: the routes', or with "union" the views'."""
        if self.fusion == "minmax":
            parts = {}
            for (route, scores), weight in zip(
                routes.items(), self.weights, strict=True
            ):
                by_terms = route.startswith(("bm25", "tfidf"))
                normalise = maxnorm if by_terms else minmax
                parts[route] = weight * normalise(list(scores.values()))
            return _Fused(routes, routes, parts)
        views = {}
        for view in self.views:
            of_view = [routes[f"{kind}:{view}"] for kind in self.kinds]
            views[view] = reciprocal_rank_fusion(of_view)
        parts = {view: reciprocal_ranks(len(rows)) for view, rows in views.items()}
        return _Fused(routes, views, parts)

    def _chosen(self, fused: _Fused, k: float, size: int) -> list[tuple[int, float]]:
        """The chosen (row, score), best first; ties in document order."""
        rankings = list(fused.rankings.values())
        if self.fusion == "minmax":
            return sum_of_parts(rankings, list(fused.parts.values()), int(k))
        rows = union(rankings, size)
        ranks = _ranks(fused.rankings, set(rows))
        return [(row, sum(fused.parts_of(row, ranks).values())) for row in rows]

    def _tops(self, fused: _Fused, k: float, size: int) -> dict[str, set[int]]:
        """The rows that count as hits of each view. They are the first k of each of its routes, or
        with "union" what it brings."""
        if self.fusion == "union":
            return {
                view: set(islice(fused.rankings[view], size)) for view in self.views
            }
        tops: dict[str, set[int]] = {view: set() for view in self.views}
        for route, ranking in fused.routes.items():
            _, view = route.split(":")
            tops[view].update(islice(ranking, int(k)))
        return tops

    def _hits(
        self,
        reader: CorpusReader,
        chosen: Sequence[tuple[int, float]],
        fused: _Fused,
        tops: Mapping[str, set[int]],
    ) -> list[Hit]:
        # The score of a chunk that is first on every route. All weights may be 0.
        best = sum(self.weights) or 1.0
        if self.fusion != "minmax":
            best = len(self.views) * float(reciprocal_ranks(1)[0])
        rows = [row for row, _ in chosen]
        ranks = _ranks(fused.routes, set(rows))
        same = fused.rankings is fused.routes
        fused_ranks = ranks if same else _ranks(fused.rankings, set(rows))
        hits: list[tuple[int, Hit]] = []
        chunks = reader.chunks_at(rows)
        for rank, ((row, score), chunk) in enumerate(
            zip(chosen, chunks, strict=True), start=1
        ):
            views_hit = [view for view, top in tops.items() if row in top]
            row_ranks = _of_row(row, ranks)
            parts = fused.parts_of(row, fused_ranks)
            hit = Hit(
                replace(chunk, extras={**chunk.extras, "views_hit": views_hit}),
                score / best,
                rank,
                routes=row_ranks,
                scores={route: fused.routes[route][row] for route in row_ranks},
                parts={name: part / best for name, part in parts.items()},
            )
            hits.append((row, hit))
        if self.order == "document":
            hits.sort(key=lambda pair: pair[0])
        return [hit for _, hit in hits]


def _ranks(
    rankings: Mapping[str, Collection[int]], rows: Collection[int]
) -> dict[str, dict[int, int]]:
    """Name -> row -> its rank from 1, for these rows."""
    return {
        name: {row: rank for rank, row in enumerate(ranking, start=1) if row in rows}
        for name, ranking in rankings.items()
    }


def _of_row(row: int, ranks: Mapping[str, Mapping[int, int]]) -> dict[str, int]:
    """Name -> rank of this row, where it has one."""
    return {name: places[row] for name, places in ranks.items() if row in places}


def _topped_up(
    chosen: list[tuple[int, float]], k: int, reader: CorpusReader, selection: Any
) -> list[tuple[int, float]]:
    """Exactly min(k, rows searched) rows with their scores. Rows that no route found follow in
    document order with the last one's score."""
    if len(chosen) >= k:
        return chosen
    rows_chosen = {row for row, _ in chosen}
    lowest = min((score for _, score in chosen), default=0.0)
    rest = (row for row in reader.first_rows(selection, k) if row not in rows_chosen)
    return chosen + [(row, lowest) for row in islice(rest, k - len(chosen))]


def _checked_k(k: float, preset: str) -> float:
    check_at_least("k", k, 1)
    if k == float("inf"):
        raise InvalidParameter(
            "k must be a finite number; to return every chunk, pass k=len(index)."
        )
    if k != int(k) and preset != "paper":
        raise InvalidParameter(
            f"k must be a whole number with preset 'default'; got {k!r}. Fractions are for preset "
            "'paper'."
        )
    return k


def _route_weights(weights: Mapping[str, float], routes: Sequence[str]) -> list[float]:
    """One weight a route: its own, times its view's, times its kind's."""
    names_of = {route: (route, *route.split(":")) for route in routes}
    for name, weight in weights.items():
        check_choice("weights", name, set(chain(*names_of.values())))
        check_at_least(f"weights[{name!r}]", weight, 0)
        if weight == float("inf"):
            raise InvalidParameter(
                f"weights[{name!r}] must be finite; got {weight!r}. Give the other routes 0 "
                "instead."
            )
    return [
        prod(weights.get(name, 1.0) for name in names) for names in names_of.values()
    ]


# -- routes over texts that no store keeps anything for


Scored = tuple[
    Sequence[int], FloatArray
]  # places of texts, ascending, and their scores


class TfidfRoute:
    """Cosines of TF-IDF vectors, by scikit-learn's `TfidfVectorizer`, fitted to what is searched.

    Args:
        analyzer: From a text to its terms, or as in `TfidfVectorizer`.
        all_rows: Whether texts without a term of the question are ranked too.
    """

    def __init__(self, analyzer: Any = "word", *, all_rows: bool = False) -> None:
        require("sklearn", extra="paper")
        self.analyzer, self.all_rows = analyzer, all_rows
        self._fitted: tuple[object, Any, Any] | None = None

    def scores_flow(
        self, key: object, texts: Sequence[str], query: str
    ) -> Flow[Scored]:
        """Score texts by a question. Texts of equal `key` are the same ones."""
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


TextRoute = TfidfRoute | TokenRoute


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
