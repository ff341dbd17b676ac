"""HiQA's retriever and the hybrid retrievers of LangChain and LlamaIndex as functions from a
question to ranked chunks. The peers get the very routes of our index, its vectors and its BM25, 50
chunks of each; what differs is how two rankings are put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.hiqa_scores import Search
from structrag.index.corpus import CorpusReader
from structrag.index.index import Index
from structrag.index.snapshot import Reader
from structrag.model_calls.requests import Flow
from structrag.retrieval.hiqa.keywords import KeywordTable
from structrag.retrieval.hiqa.retriever import POOL, CandidateSource, HiQARetriever
from structrag.retrieval.hiqa.scores import ROUTES, Candidates
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.text.arrays import FloatArray

LANGCHAIN = "LangChain EnsembleRetriever"
LLAMA = "LlamaIndex QueryFusionRetriever, {}"
LLAMA_MODES = ("reciprocal_rerank", "relative_score")
PACKAGES = (
    "structrag",
    "langchain-classic",
    "llama-index-core",
    "bm25s",
    "sentence-transformers",
    "torch",
    "numpy",
)


def hiqa(
    index: Index,
    n: int = POOL,
    kind: type[HiQARetriever] = HiQARetriever,
    **settings: Any,
) -> Search:
    """`HiQARetriever` with these settings, its first `n` hits."""
    return hits_of(kind(index, **settings).search, n)


def hits_of(search: Callable[..., Any], n: int, **settings: Any) -> Search:
    """A search of ours for `n` hits."""
    return lambda question: [
        (hit.chunk, hit.score) for hit in search(question, n, **settings)
    ]


class ReciprocalRanks(HiQARetriever):
    """The three rankings put together by the sum of 1 / (60 + rank)."""

    def _parts(
        self, reader: CorpusReader, pool: Candidates
    ) -> tuple[FloatArray, float]:
        parts = np.zeros((len(ROUTES), len(pool.rows)))
        for i, route in enumerate(ROUTES):
            ranks = pool.ranks.get(route, {})
            for j, row in enumerate(pool.rows.tolist()):
                parts[i, j] = 1 / (60 + ranks[row]) if row in ranks else 0
        return parts, len(ROUTES) / 61


class QuestionAlone(CandidateSource):
    """The segments of a question by its own vector, as published."""

    def query_vectors(
        self, reader: Reader, query: str, table: KeywordTable | None
    ) -> Flow[tuple[Any, Any]]:
        """The question's alone, its keywords included."""
        (vector,) = yield from self.index.query_vectors(reader, query)
        return vector, None


def hiqa_alone(index: Index, n: int = POOL) -> Search:
    """`HiQARetriever` by the question's own vector."""
    retriever = HiQARetriever(index)
    retriever.source = QuestionAlone(**vars(retriever.source))
    return hits_of(retriever.search, n)


def multiview(index: Index, n: int = POOL, **settings: Any) -> Search:
    """`MultiViewRetriever` with these settings, its first `n` hits."""
    return hits_of(MultiViewRetriever(index, **settings).search, n)


def route(index: Index, kind: str, n: int = POOL) -> Search:
    """One route of the index alone, "dense" or "bm25"."""
    return hits_of(index.search, n, route=kind)


def peers(index: Index, n: int = POOL) -> dict[str, Search]:
    """The peers that are installed, by name."""
    found: dict[str, Search] = {}
    if find_spec("langchain_classic"):
        found[LANGCHAIN] = langchain(index, n)
    if find_spec("llama_index"):
        found |= {
            LLAMA.format(mode): llama_index(index, mode, n) for mode in LLAMA_MODES
        }
    return found


def langchain(index: Index, n: int = POOL) -> Search:
    """LangChain's EnsembleRetriever, both weights 0.5: weighted reciprocal rank fusion, c = 60."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda

    def documents(kind: str, query: str) -> list[Document]:
        return [
            Document(page_content=chunk.text, metadata={"id": chunk.id})
            for chunk, _ in route(index, kind, n)(query)
        ]

    both = EnsembleRetriever(
        retrievers=[
            RunnableLambda(partial(documents, kind)) for kind in ("dense", "bm25")
        ],
        weights=[0.5, 0.5],
        id_key="id",
    )
    chunks = {chunk.id: chunk for chunk in index.chunks()}
    # It gives no scores: the higher the earlier.
    return lambda question: [
        (chunks[document.metadata["id"]], -float(place))
        for place, document in enumerate(both.invoke(question))
    ]


def fused(
    routes: Sequence[Callable[[str], list[Any]]], mode: str, k: int
) -> Callable[[str], list[Any]]:
    """LlamaIndex's QueryFusionRetriever over functions to its nodes, without generated queries."""
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle

    class Route(BaseRetriever):  # type: ignore[misc]
        def __init__(self, search: Callable[[str], list[Any]]) -> None:
            super().__init__()
            self.search = search

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return self.search(query_bundle.query_str)

    both = QueryFusionRetriever(
        list(map(Route, routes)),
        llm=MockLLM(),
        mode=mode,
        num_queries=1,
        similarity_top_k=k,
        use_async=False,
    )
    retrieve: Callable[[str], list[Any]] = both.retrieve
    return retrieve


def llama_index(index: Index, mode: str, n: int = POOL) -> Search:
    """LlamaIndex's retriever over both routes."""
    from llama_index.core.schema import NodeWithScore, TextNode

    def nodes(kind: str, query: str) -> list[Any]:
        return [
            NodeWithScore(
                node=TextNode(id_=chunk.id, text=chunk.text, metadata={"id": chunk.id}),
                score=score,
            )
            for chunk, score in route(index, kind, n)(query)
        ]

    both = fused([partial(nodes, kind) for kind in ("dense", "bm25")], mode, 2 * n)

    chunks = {chunk.id: chunk for chunk in index.chunks()}
    return lambda question: [
        (chunks[found.node.node_id], float(found.score or 0.0))
        for found in both(question)
    ]
