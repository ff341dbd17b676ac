"""D3 for LlamaIndex: from an outline to the paragraphs that are evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import ClassVar

from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_structrag.events import IndexBuildEndEvent, RetrievalCostEvent
from llama_index_structrag.retrieving import (
    IndexRetriever,
    bundle_flow,
    dispatcher,
    prompt_of,
    template_of,
)
from structrag.integrations.kinds import D3, RetrieverKind
from structrag.model_calls.requests import Flow
from structrag.model_calls.usage import Usage
from structrag.records import Hit
from structrag.retrieval.d3.index import D3AddReport
from structrag.retrieval.d3.retriever import D3Result
from structrag.retrieval.d3.retriever import D3Retriever as CoreRetriever

_ROUTE_PLACES, _SELECT_PLACES = ("outline", "question"), ("paragraphs", "question")


class D3Retriever(IndexRetriever):
    """Finds the paragraphs that answer a question, by the outline (D3).

    It first selects sections of the outline, then the evidence in them. A language model is called
    twice: it reads the outline and names sections, then reads their paragraphs and names the
    evidence. Without a model, BM25 and vectors do both. Create it with `from_documents` or `load`,
    or from a structrag `D3Index`.

    Example:
        >>> from llama_index.core import Document, MockEmbedding
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter."
        >>> models = {"embed_model": MockEmbedding(embed_dim=8), "llm": None}  # or your own
        >>> retriever = D3Retriever.from_documents([Document(text=text)], **models)
        >>> retriever.retrieve("How do I rinse the filter?")[-1].text
        'Rinse the filter.'

    Nodes are in reading order, as many as there is evidence; their text, offsets and
    `heading_context` are like those of `MultiViewRetriever`.

    Metadata of a node, all JSON: `scores` and `score_parts` as in
    `MultiViewRetriever`, where there are any; `d3_kind` ("paragraph", "list", "table" and so on);
    `d3_route`, how the sections were chosen ("llm", "scores", "evidence", "direct" or "none").
    `result` and the event `RetrievalCostEvent` have the cost of a question.

    Args:
        index: The structrag `D3Index` to search.
        llm: A LlamaIndex LLM that routes and selects; None: neither.
        similarity_top_k: The largest number of nodes from the strategy "fused" and from strategies
            that score; None: no limit with "fused", else the limit of `selection`.
        evidence: An `EvidenceRetriever` over the same documents, from this package or structrag;
            its sentence scores replace BM25 and vectors.
        preset, router, strategy, routing, selection, max_tokens, cache, max_concurrency, max_calls,
            progress, timeout: As for structrag's `D3Retriever`.
        options: `where`, `filters`, `format`, `callback_manager` and so on, as for
            `MultiViewRetriever`. `from_documents` and `load` also take `embed_model`, `summariser`
            (the model that condenses long sections, or None for extraction; default the `llm`), and
            the other arguments of structrag's `D3Index`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    KIND: ClassVar[RetrieverKind] = D3
    retriever: CoreRetriever

    @property
    def usage(self) -> Usage:
        """The cost of all questions so far."""
        return self.retriever.usage

    def result(self, question: str) -> D3Result:
        """The evidence with the route, the model's answers, and the calls and tokens of each
        stage."""
        return _reported(self.retriever.result(question, **self._limits()))

    async def aresult(self, question: str) -> D3Result:
        """`result` on an event loop."""
        return _reported(await self.retriever.aresult(question, **self._limits()))

    def results(self, questions: Sequence[str]) -> list[D3Result]:
        """`result` for several questions. Their calls run concurrently, at most `max_concurrency`
        at a time."""
        results = self.retriever.results(questions, **self._limits())
        return [_reported(result) for result in results]

    async def aresults(self, questions: Sequence[str]) -> list[D3Result]:
        """`results` on an event loop."""
        results = await self.retriever.aresults(questions, **self._limits())
        return [_reported(result) for result in results]

    def nodes(self, result: D3Result) -> list[NodeWithScore]:
        """The evidence of a result, as `retrieve` returns it."""
        return self.nodes_of(result.hits)

    def _flow(self, query: QueryBundle) -> Flow[D3Result]:
        return bundle_flow(query, self.retriever.result_flow, **self._limits())

    def _hits_in(self, answer: D3Result) -> list[Hit]:
        return list(_reported(answer).hits)

    def _built(self, report: D3AddReport) -> IndexBuildEndEvent:
        facts = {**asdict(report), "chunks": report.paragraphs}
        return IndexBuildEndEvent.model_validate(facts)

    def _get_prompts(self) -> PromptDictType:
        return {
            "route_prompt": prompt_of(self.retriever.routing.template, _ROUTE_PLACES),
            "select_prompt": prompt_of(self.retriever.selection.prompt, _SELECT_PLACES),
        }

    def _update_prompts(self, prompts: PromptDictType) -> None:
        core = self.retriever
        if "route_prompt" in prompts:
            core.routing = replace(
                core.routing, prompt=template_of(prompts["route_prompt"], _ROUTE_PLACES)
            )
        if "select_prompt" in prompts:
            core.selection = replace(
                core.selection,
                prompt=template_of(prompts["select_prompt"], _SELECT_PLACES),
            )


def _reported(result: D3Result) -> D3Result:
    """The result, once the event has said what it cost."""
    cost = {stage: asdict(cost) for stage, cost in result.cost.items()}
    dispatcher.event(
        RetrievalCostEvent(
            question=result.question, cost=cost, degraded=result.degraded
        )
    )
    return result
