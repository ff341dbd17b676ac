"""The arguments of `from_documents` and its relatives, by retriever.

And what is said of other arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.vectorstores import VectorStore

from langchain_structrag.store_filters import StoreFilter
from langchain_structrag.stores import LangChainDenseStore
from structrag.asking.settings import Asking, AskingOptions
from structrag.errors import check_arguments
from structrag.index.index import IndexSettings
from structrag.reading.settings import Reading
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.selection import Selection
from structrag.text.tokens import TokenCounter

# What users of other retrievers and stores write, and what it is called here.
HINTS = {
    "search_kwargs": "For the number of results pass k=4, for a condition where=... to invoke.",
    "embeddings": "Pass embedding=.",
    "embed_model": "Pass embedding=.",
    "chunk_size": "Pass splitter=ContentAwareTextSplitter(chunk_size=...).",
    "chunk_overlap": "Pass splitter=ContentAwareTextSplitter(chunk_overlap=...).",
    "text_splitter": "Pass splitter=.",
    "node_parser": "Pass splitter=.",
    "vector_store": "Pass vectorstore=.",
    "splitter": "Leave it out: this retriever reads whole documents by their own sections.",
    "vectorstore": "Leave it out: this retriever keeps its vectors itself.",
    "similarity_top_k": "Pass k=.",
    "top_k": "Pass k=.",
    "show_progress": "Pass progress=True.",
    "filter": "Pass where= or filter= to invoke.",
    "where": "Pass where= to invoke.",
}


class RetrieverFields(AskingOptions, total=False):
    """Fields that every retriever has, and how models are asked."""

    format: str
    metadata_lists: bool
    name: str | None
    tags: list[str] | None
    metadata: dict[str, Any] | None


class MultiViewFields(RetrieverFields, total=False):
    """Fields of `MultiViewRetriever` but for its index."""

    k: float
    preset: str
    routes: Sequence[str] | None
    views: Sequence[str]
    fusion: str | None
    weights: Mapping[str, float] | None
    order: str
    pool: int | None


class HiQAFields(RetrieverFields, total=False):
    """Fields of `HiQARetriever` but for its index."""

    k: int
    preset: str
    alpha: float | str | None
    beta: float | str | None
    keywords: Sequence[str] | None
    detect_keywords: Any
    fusion: str | None
    routes: Sequence[str] | None
    diversify: str | None
    view: str
    order: str
    lexical: Any
    compare_rest: bool | None
    max_tokens: int | None
    counter: TokenCounter


class D3Fields(RetrieverFields, total=False):
    """Fields of `D3Retriever` but for its index."""

    llm: Any
    preset: str
    router: str
    strategy: str | None
    routing: Routing | None
    selection: Selection | None
    k: int | None
    max_tokens: int | None
    cross_encoder: Any
    evidence: Any
    join_adjacent: bool


class EvidenceFields(RetrieverFields, total=False):
    """Fields of `EvidenceRetriever` but for its index."""

    k: int | None
    max_tokens: int | None
    order: str


class HostOptions(IndexSettings, total=False):
    """What an index of LangChain's models takes."""

    llm: Any
    splitter: Any
    vectorstore: VectorStore | LangChainDenseStore | None
    store_filter: StoreFilter | None
    max_results: int | None
    verify: bool


class MultiViewOptions(MultiViewFields, HostOptions, total=False):
    """Arguments of `MultiViewRetriever.from_documents`."""


class HiQAOptions(HiQAFields, HostOptions, total=False):
    """Arguments of `HiQARetriever.from_documents`."""


class D3Options(D3Fields, total=False):
    """Arguments of `D3Retriever.from_documents`."""

    summariser: Any
    summary_tokens: int | None
    whole_tokens: int | None
    section_tokens: int | None
    paragraph_tokens: int | None
    window_tokens: int
    keywords: int | None
    prompt: str | None
    part_tokens: int
    exclude_titles: Sequence[str]
    plain_headings: bool
    counter: TokenCounter
    language: str
    stems: bool
    dtype: str
    asking: Asking | None
    verify: bool


class EvidenceOptions(EvidenceFields, total=False):
    """Arguments of `EvidenceRetriever.from_documents`."""

    token_encoder: Any
    context: str
    dimensions: int | None
    reading: Reading | None
    language: str
    asking: Asking | None
    verify: bool


def check_options(what: str, options: Iterable[str], known: type) -> None:
    """Raise UnknownArgument for a name that the typed dict `known` has not."""
    check_arguments(what, options, known.__annotations__, HINTS)
