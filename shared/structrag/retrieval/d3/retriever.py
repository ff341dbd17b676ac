"""D3 retrieval: route to sections, then select evidence among their paragraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from structrag.errors import (
    InvalidParameter,
    check_choice,
    check_optional,
    check_query,
    checked_k,
)
from structrag.index.levels import query_vectors
from structrag.index.ranking import SCORE_DIGITS
from structrag.model_calls.requests import (
    Flow,
    T,
    embedded_by,
    gather,
)
from structrag.model_calls.runner import Runner
from structrag.model_calls.settings import CallOptions, check_call_options
from structrag.model_calls.usage import Usage
from structrag.models.llm import as_language_model
from structrag.records import Chunk, Hit
from structrag.retrieval.d3.evidence import select_flow
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.routing import (
    Routed,
    RouteResult,
    SearchedPart,
    routed_flow,
)
from structrag.retrieval.d3.scoring import (
    check_evidence,
    paragraph_scores_flow,
    paragraph_sentence_flow,
    within_budget,
)
from structrag.retrieval.d3.selection import (
    Evidence,
    Selection,
    StageCost,
    model_counter,
)
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.retrieval.retriever import Retriever, check_index

if TYPE_CHECKING:
    from typing_extensions import Unpack


ROUTERS = ("auto", "llm", "scores", "evidence")
FUSED, EVIDENCE = "fused", "evidence"  # the strategies without a language model
MAX_TOKENS = 1000  # where nothing is limited


class D3Retriever(Retriever):
    """Finds the paragraphs of a `D3Index` that answer a question.

    Example:
        >>> from structrag import D3Index, read_text
        >>> index = D3Index()
        >>> text = "# Pump\\n\\nIt leaks.\\n\\n# Valve\\n\\nIt is made of brass.\\n"
        >>> _ = index.add([read_text(text, format="markdown")])
        >>> [hit.chunk.path for hit in D3Retriever(index, k=1).search("What is the valve made of?")]
        [('Valve',)]

    The hits are in reading order. A language model is called twice: it reads the outline and names
    sections, then reads their paragraphs and names the evidence. Without a model, BM25 and vectors
    select less than half of a long text by parts of sections (see `Routing`), and rank the
    paragraphs there by both and by the score of their part.

    Args:
        index: The index to search.
        llm: The model that routes and selects: a function `str -> str` or a `LanguageModel`; None:
            no model (the index's own model is not asked).
        preset: "default", or "paper": section names instead of ids, and no hits if the model names
            nothing.
        router: "llm"; "evidence" (a section scores as its best sentence); "scores" (BM25 and
            vectors); "auto": "llm" if `llm` is given, else "evidence" if that is given, else
            "scores".
        strategy: "fused", "evidence" (paragraphs by their best sentence, best first, within the
            token budget), or a strategy of `Selection`; None: the strategy of `selection`, whose
            "auto" means "base" with a language model, else "evidence" or "fused" as for `router`.
        evidence: An `EvidenceRetriever` over the same documents, whose sentence scores then replace
            BM25 and vectors.
        routing: Settings of the first stage; default by preset.
        selection: Settings of the second stage, except for "fused"; default by preset.
        k: The largest number of hits; None: no limit with "fused" and for evidence that a language
            model names, else the limit of `selection`.
        max_tokens: The token budget with "fused" and "evidence"; one paragraph is always returned;
            None: 1,000, or no limit if `k` is given.
        options: The settings of `CallSettings`, for all questions of one call; without a cache,
            the cache of the index.

    Raises:
        InvalidParameter: a setting is not allowed or conflicts with another.
    """

    def __init__(
        self,
        index: D3Index,
        *,
        llm: Any = None,
        preset: str = "default",
        router: str = "auto",
        strategy: str | None = None,
        routing: Routing | None = None,
        selection: Selection | None = None,
        k: int | None = None,
        max_tokens: int | None = None,
        evidence: EvidenceRetriever | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        check_index(index, D3Index)
        paper = check_choice("preset", preset, ("default", "paper")) == "paper"
        self.index = index
        model = as_language_model(llm)
        check_evidence(evidence)
        self.evidence = evidence
        self.router: str = _checked_router(router, model, evidence)
        if paper:
            routing = routing or Routing.paper()
            selection = selection or Selection.paper(
                strategy="auto",
                summariser=index.runner.llm or model,
                summary_prompt=index.prompt if index.runner.llm else None,
            )
        self.routing: Routing = routing or Routing()
        self.selection: Selection = selection or Selection()
        counter = model_counter(self.routing.counter, model)
        self.routing = replace(self.routing, counter=counter)
        counter = model_counter(self.selection.counter, model)
        self.selection = replace(self.selection, counter=counter)
        chosen = strategy if strategy is not None else self.selection.strategy
        self.strategy: str = _checked_strategy(chosen, model, evidence)
        if self.strategy not in (FUSED, EVIDENCE):
            self.selection = replace(self.selection, strategy=self.strategy)
        check_optional("max_tokens", max_tokens, 1)
        self.k: int | None = None if k is None else checked_k(k)
        self.max_tokens = max_tokens
        check_call_options(options, D3Retriever)
        if options.get("cache") is None:
            options["cache"] = index.runner.cache
        # One that is fitted to the index's own texts: see `embedded_by`.
        is_fitted = hasattr(index.embedder, "fit")
        embedder = None if is_fitted else index.embedder
        self.runner: Runner = Runner(llm=model, embedder=embedder, **options)

    @property
    def usage(self) -> Usage:
        """The usage of all questions so far."""
        return self.runner.usage

    def result(
        self, question: str, k: float | None = None, *, where: Any = None
    ) -> D3Result:
        """The evidence for a question, with the route, the model's answers and the cost.

        `search` returns only its hits. A blank question or an empty index has none. `k` and `where`
        are as in `search`. A failed call or an unusable answer is replaced by scores and counted;
        other calls are not affected.

        Raises:
            InvalidParameter: the question is not a string, or no document has a key of `where`.
            NoModel: the strategy needs a language model and none was given.
            BudgetExceeded: `max_calls` is reached.
        """
        return self.run(self.result_flow(question, k, where=where))

    async def aresult(
        self, question: str, k: float | None = None, *, where: Any = None
    ) -> D3Result:
        """`result` on an event loop."""
        return await self.arun(self.result_flow(question, k, where=where))

    def results(
        self, questions: Sequence[str], k: float | None = None, *, where: Any = None
    ) -> list[D3Result]:
        """`result` for several questions. Their calls run concurrently, at most `max_concurrency`
        at a time."""
        return self.run(self._results_flow(questions, k, where))

    async def aresults(
        self, questions: Sequence[str], k: float | None = None, *, where: Any = None
    ) -> list[D3Result]:
        """`results` on an event loop."""
        return await self.arun(self._results_flow(questions, k, where))

    def flow(
        self, query: str, k: float | None = None, *, where: Any = None
    ) -> Flow[list[Hit]]:
        """`search` as a flow."""
        result = yield from self.result_flow(query, k, where=where)
        return list(result.hits)

    def result_flow(
        self, question: str, k: float | None = None, *, where: Any = None
    ) -> Flow[D3Result]:
        """`result` as a flow."""
        check_query(question)
        most = self.k if k is None else checked_k(k)
        selection = self.selection if most is None else replace(self.selection, k=most)
        scope = SearchedPart(self.index, where)
        if not question.strip() or not scope.outline:
            return D3Result(
                question, cost={"route": StageCost(), "select": StageCost()}
            )
        sentences = yield from self._sentence_flow(question, scope, where)
        by_sentences = sentences if self.router == EVIDENCE else None
        routed = yield from routed_flow(
            question,
            scope,
            self.router,
            self.routing,
            selection,
            by_sentences,
        )
        details: list[Details] = []
        if self.strategy == EVIDENCE:
            scores = {row: sentences[row] for row in routed.rows if row in sentences}
            evidence = self._best(scope, routed, scores, most)
        else:
            evidence, details = yield from self._selected(
                question, scope, routed, selection, most
            )
        chunks = [
            scope.paragraphs.chunk(routed.rows[place]) for place in evidence.positions
        ]
        hits = hits_of(chunks, evidence, details, routed.route.how)
        if most is not None:
            hits = [hit for hit in hits if hit.rank <= most]
        return D3Result(
            question,
            tuple(hits),
            routed.route,
            evidence,
            {"route": routed.route.cost, "select": evidence.cost},
        )

    def _results_flow(
        self, questions: Sequence[str], k: float | None, where: Any
    ) -> Flow[list[D3Result]]:
        if isinstance(questions, str):
            raise InvalidParameter(
                f"questions must be a list of questions; got one, {questions!r}. Put it in a list."
            )
        return gather(
            [self.result_flow(question, k, where=where) for question in questions]
        )

    def _sentence_flow(
        self, question: str, scope: SearchedPart, where: Any
    ) -> Flow[Mapping[int, float]]:
        """The scores of paragraphs by their best sentences. {} where no stage uses them."""
        if self.evidence is None or EVIDENCE not in (self.router, self.strategy):
            return {}
        return (
            yield from paragraph_sentence_flow(
                self.evidence, question, scope.layout, where
            )
        )

    def _best(
        self,
        scope: SearchedPart,
        routed: Routed,
        scores: Mapping[int, float],
        k: int | None,
    ) -> Evidence:
        """The paragraphs of the route with the best scores, within the tokens."""
        limit = self.max_tokens or (MAX_TOKENS if k is None else None)
        rows = sorted(within_budget(scores, scope.layout.tokens, k=k, max_tokens=limit))
        places = np.searchsorted(np.array(routed.rows), rows).tolist()
        cost = StageCost(scored=len(scores))
        return Evidence(tuple(places), tuple(scores[row] for row in rows), cost)

    def _selected(
        self,
        question: str,
        scope: SearchedPart,
        routed: Routed,
        selection: Selection,
        k: int | None,
    ) -> Flow[tuple[Evidence, list[Details]]]:
        paragraphs = scope.paragraphs
        if self.strategy != FUSED:
            chunks = [paragraphs.chunk(row) for row in routed.rows]
            if "dense" in selection.stages:
                yield from query_vectors(paragraphs, question)
            flow = select_flow(question, chunks, selection)
            evidence = yield from embedded_by(paragraphs.fitted_embedder, flow)
            return evidence, scores_by_strategy(evidence)
        if not routed.rows:
            return Evidence(()), []
        scores = yield from paragraph_scores_flow(
            paragraphs, question, routed.rows, routed.scores
        )
        fused = {row: paragraph.score for row, paragraph in scores.items()}
        evidence = self._best(scope, routed, fused, k)
        chosen = [scores[routed.rows[place]] for place in evidence.positions]
        return evidence, [(one.scores, one.parts) for one in chosen]

    def run(self, flow: Flow[T]) -> T:
        """Run a flow with this retriever's models: its own flow, or that of an agent around it,
        such as `SelfAsk`."""
        return self.runner.run(flow)

    async def arun(self, flow: Flow[T]) -> T:
        """`run` on an event loop. Concurrent calls of other tasks share the limit
        `max_concurrency`."""
        return await self.runner.arun(flow)


def _check_given(evidence: Any, parameter: str) -> None:
    if evidence is None:
        raise InvalidParameter(
            f"evidence must be passed with {parameter}='evidence'; got None. Pass an "
            "EvidenceRetriever over the same documents."
        )


def _checked_strategy(strategy: str, model: Any, evidence: Any) -> str:
    """The strategy, "auto" decided; InvalidParameter where what it needs is missing."""
    if strategy == "auto" and model is not None:
        return "base"
    if strategy == "auto":
        return FUSED if evidence is None else EVIDENCE
    if strategy == EVIDENCE:
        _check_given(evidence, "strategy")
    return strategy


def _checked_router(router: str, model: Any, evidence: Any) -> str:
    """The router, "auto" decided; InvalidParameter where its model is missing."""
    check_choice("router", router, ROUTERS)
    if router == "auto" and model is None:
        return "scores" if evidence is None else "evidence"
    if router == "auto":
        return "llm"
    if router == "evidence":
        _check_given(evidence, "router")
    if router == "llm" and model is None:
        raise InvalidParameter(
            "llm must be passed with router='llm'; got None. Or use router='scores', which needs "
            "no model."
        )
    return router


# The scores and the parts of a hit.
Details = tuple[Mapping[str, float], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class D3Result:
    """The answer to one question.

    Attributes:
        question: As asked.
        hits: The evidence, paragraphs in reading order. `rank` is by score, else by place. `score`
            is from 0 to 1, and those of one question compare. 1 has with "fused" what is first by
            BM25, cosine and part among the paragraphs routed to; with "evidence" the best of all
            paragraphs searched; with "lexical" and "dense" the best routed to. A reranker gives the
            probability. If a language model alone chose, each has 1. With "fused" `scores` has
            BM25, cosine and the score of the part that a paragraph lies in ("bm25", "dense",
            "route"), and `parts` what each adds; with another strategy that scores, its own score
            and its share of the score. `chunk.extras["route"]` is `route.how`.
        route: The sections it was looked for in.
        evidence: The selection; positions are those among the paragraphs of the route.
        cost: Stage ("route", "select") -> what it took.
    """

    question: str
    hits: tuple[Hit, ...] = ()
    route: RouteResult = field(default_factory=RouteResult)
    evidence: Evidence = field(default_factory=lambda: Evidence(()))
    cost: Mapping[str, StageCost] = field(default_factory=dict)

    @property
    def total(self) -> StageCost:
        """The cost of all stages together."""
        return sum(self.cost.values(), StageCost())

    @property
    def dropped(self) -> int:
        """Items in the language model's answers that matched nothing it was shown."""
        return self.route.dropped + self.evidence.dropped

    @property
    def degraded(self) -> int:
        """Calls that failed and were replaced by scores."""
        return self.route.degraded + self.evidence.degraded


def hits_of(
    chunks: Sequence[Chunk], evidence: Evidence, details: Sequence[Details], how: str
) -> list[Hit]:
    """Hits in the order of the chunks, ranked by score, then place.

    Without scores they are ranked by place, and each has 1.0. `how` they were routed to is noted
    in their chunks.
    """
    values = evidence.scores or [1.0] * len(chunks)
    shares = evidence.shares or values
    order = sorted(range(len(chunks)), key=lambda i: -round(values[i], SCORE_DIGITS))
    ranks = {i: rank for rank, i in enumerate(order, start=1)}
    hits = []
    for i, chunk in enumerate(chunks):
        scores, parts = details[i] if details else ({}, {})
        chunk = replace(chunk, extras={**chunk.extras, "route": how})
        hits.append(Hit(chunk, shares[i], ranks[i], scores=scores, parts=parts))
    return hits


def scores_by_strategy(evidence: Evidence) -> list[Details]:
    """The scores and parts of hits that one strategy scored, else nothing."""
    if evidence.scores is None or evidence.shares is None:
        return []
    name = evidence.scored_by
    pairs = zip(evidence.scores, evidence.shares, strict=True)
    return [({name: score}, {name: share}) for score, share in pairs]
