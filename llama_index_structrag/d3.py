"""D3 for LlamaIndex: from an outline to the paragraphs that are evidence."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar

from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import BaseNode, NodeWithScore
from typing_extensions import Self

from llama_index_structrag.events import IndexBuildEndEvent, RetrievalCostEvent
from llama_index_structrag.models import core_embedder, core_model
from llama_index_structrag.options import (
    D3Arguments,
    D3Options,
    RetrieverArguments,
    read_options,
)
from llama_index_structrag.retrieving import (
    ChunkRetriever,
    dispatcher,
    prompt_of,
    template_of,
)
from structrag.asking.cache import Cache
from structrag.asking.requests import Progress, Usage
from structrag.asking.settings import Asking
from structrag.hosts.metadata import d3_notes
from structrag.hosts.options import SHARED_BY_D3
from structrag.records import Hit
from structrag.retrieval.d3.estimating import Estimate
from structrag.retrieval.d3.index import D3AddReport, D3Index
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.results import D3Result
from structrag.retrieval.d3.retriever import D3Retriever as CoreD3Retriever
from structrag.retrieval.d3.selection import Selection

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ROUTE_PLACES, _SELECT_PLACES = ("outline", "question"), ("paragraphs", "question")


class D3Retriever(ChunkRetriever):
    """Finds the paragraphs that answer a question, by the outline (D3).

    First the sections of the outline that may help, then the evidence in them. With a language
    model these are two calls: it reads the outline and names sections, then reads their paragraphs
    and names the evidence. Without one, BM25 and vectors do both. Made by `from_documents` or
    `load`, or from a structrag `D3Index`.

    Example:
        >>> from llama_index.core import Document, MockEmbedding
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter."
        >>> models = {"embed_model": MockEmbedding(embed_dim=8), "llm": None}  # or your own
        >>> retriever = D3Retriever.from_documents([Document(text=text)], **models)
        >>> retriever.retrieve("How do I rinse the filter?")[-1].text
        'Rinse the filter.'

    Nodes are in reading order, as many as there is evidence; their text, offsets and
    `heading_context` are as those of `MultiViewRetriever`.

    Metadata of a node that no model sees, all JSON: `scores` and `score_parts` as in
    `MultiViewRetriever`, where there are any; `d3_kind` ("paragraph", "list", "table" and so on);
    `d3_route`, how the sections were chosen ("llm", "scores", "cross_encoder", "direct" or "all");
    and with `join_adjacent` `d3_paragraphs` (their ids). What a question costs is in `result` and
    in the event `RetrievalCostEvent`, what it would cost in `estimate`.

    Args:
        index: The structrag `D3Index` to search.
        llm: A LlamaIndex LLM that routes and selects; None: neither.
        similarity_top_k: Most nodes of the strategy "fused" and of those that score; None: no limit
            with "fused", else that of `selection`.
        evidence: An `EvidenceRetriever` over the same documents, this package's or structrag's:
            its scores of sentences take the place of BM25 and vectors.
        preset, router, strategy, routing, selection, max_tokens, cross_encoder, join_adjacent,
            cache, max_concurrency, max_calls, progress, timeout: As for structrag's `D3Retriever`.
        options: `where`, `filters`, `format`, `callback_manager` and so on, as for
            `MultiViewRetriever`. `from_documents` and `load` also take `embed_model`, `summariser`
            (who condenses long sections: a model, or None: extractive; default the `llm`), and the
            other arguments of structrag's `D3Index`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    OPTIONS: ClassVar[type] = D3Options
    SHARED_OPTIONS: ClassVar[tuple[str, ...]] = SHARED_BY_D3

    def __init__(
        self,
        index: D3Index,
        *,
        llm: Any = None,
        similarity_top_k: int | None = None,
        preset: str = "default",
        router: str = "auto",
        strategy: str | None = None,
        routing: Routing | None = None,
        selection: Selection | None = None,
        max_tokens: int | None = 1000,
        cross_encoder: Any = None,
        evidence: Any = None,
        join_adjacent: bool = False,
        cache: Cache | str | os.PathLike[str] | None = None,
        max_concurrency: int = 8,
        max_calls: int | None = None,
        progress: Progress | bool | None = None,
        timeout: float | None = None,
        **options: Unpack[RetrieverArguments],
    ) -> None:
        super().__init__(index, **options)
        self.similarity_top_k: int | None = similarity_top_k
        self.retriever: Any = CoreD3Retriever(
            index,
            llm=core_model(llm),
            preset=preset,
            router=router,
            strategy=strategy,
            routing=routing,
            selection=selection,
            k=similarity_top_k,
            max_tokens=max_tokens,
            cross_encoder=cross_encoder,
            evidence=getattr(evidence, "retriever", evidence),
            join_adjacent=join_adjacent,
            asking=Asking(
                cache=cache,
                max_concurrency=max_concurrency,
                max_calls=max_calls,
                progress=progress,
                timeout=timeout,
            ),
        )

    @classmethod
    def from_index(cls, index: D3Index, **arguments: Unpack[D3Arguments]) -> Self:
        """The same as calling the class."""
        return cls(index, **read_options(cls.__name__, arguments, D3Arguments))

    @classmethod
    def from_documents(
        cls, documents: Sequence[BaseNode], **options: Unpack[D3Options]
    ) -> Self:
        """Index whole documents, and return a retriever over them.

        Ids, `embed_model` and errors are those of `MultiViewRetriever.from_documents`.

        Args:
            options: The retriever's arguments, and `embed_model`, `summariser` (who condenses long
                sections: a model, or None: extractive; default the `llm`), and other arguments of
                structrag's `D3Index`.
        """
        return cls._from_documents(documents, options)

    @classmethod
    async def afrom_documents(
        cls, documents: Sequence[BaseNode], **options: Unpack[D3Options]
    ) -> Self:
        """`from_documents` on an event loop."""
        return await cls._afrom_documents(documents, options)

    @classmethod
    def load(
        cls, persist_dir: str | os.PathLike[str], **options: Unpack[D3Options]
    ) -> Self:
        """A retriever over an index that `save` wrote.

        With the models it was built with; `options` as for `from_documents`. `verify=True` checks
        all bytes now.
        """
        return cls._load(persist_dir, options)

    @property
    def usage(self) -> Usage:
        """What the questions have cost so far."""
        usage: Usage = self.retriever.usage
        return usage

    def result(self, question: str) -> D3Result:
        """The evidence, how it was found, and what that cost.

        With the route, the model's answers, and the calls and tokens of each stage.
        """
        return _reported(
            self.retriever.result(question, self.similarity_top_k, where=self.where)
        )

    async def aresult(self, question: str) -> D3Result:
        """`result` on an event loop."""
        result = await self.retriever.aresult(
            question, self.similarity_top_k, where=self.where
        )
        return _reported(result)

    def results(self, questions: Sequence[str]) -> list[D3Result]:
        """`result` for several questions.

        Their calls go out together, at most `max_concurrency` at a time.
        """
        results = self.retriever.results(
            questions, self.similarity_top_k, where=self.where
        )
        return [_reported(result) for result in results]

    async def aresults(self, questions: Sequence[str]) -> list[D3Result]:
        """`results` on an event loop."""
        results = await self.retriever.aresults(
            questions, self.similarity_top_k, where=self.where
        )
        return [_reported(result) for result in results]

    def estimate(self, question: str) -> Estimate:
        """What `result` would cost, stage by stage: expected, and at most.

        Asks no model and embeds nothing.
        """
        estimate: Estimate = self.retriever.estimate(question, where=self.where)
        return estimate

    def nodes(self, result: D3Result) -> list[NodeWithScore]:
        """The evidence of a result as `retrieve` gives it."""
        return self.nodes_of(result.hits)

    def _search(self, query: str) -> list[Hit]:
        return list(self.result(query).hits)

    async def _asearch(self, query: str) -> list[Hit]:
        return list((await self.aresult(query)).hits)

    def _notes(self, hit: Hit) -> dict[str, Any]:
        return {**d3_notes(hit.chunk), **super()._notes(hit)}

    @classmethod
    def _new_index(
        cls, *, embed_model: Any = None, llm: Any = None, **options: Any
    ) -> D3Index:
        return D3Index(**_models(embed_model, llm, options), **options)

    @classmethod
    def _opened_index(
        cls,
        persist_dir: str | os.PathLike[str],
        *,
        embed_model: Any = None,
        llm: Any = None,
        **options: Any,
    ) -> D3Index:
        options.pop("preset", None)  # the index has its own, saved with it
        return D3Index.load(
            persist_dir, **_models(embed_model, llm, options), **options
        )

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


def _models(embed_model: Any, llm: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The models of a `D3Index`; `summariser` is taken out of the options."""
    return {
        "embedder": core_embedder(embed_model),
        "llm": core_model(options.pop("summariser", llm)),
    }


def _reported(result: D3Result) -> D3Result:
    """The result, once the event has said what it cost."""
    cost = {stage: asdict(cost) for stage, cost in result.cost.items()}
    dispatcher.event(
        RetrievalCostEvent(
            question=result.question, cost=cost, degraded=result.degraded
        )
    )
    return result
