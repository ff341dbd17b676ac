"""The arguments of `from_documents` and its relatives, by retriever.

And what is said of other arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.vectorstores import VectorStore

from langchain_structrag.store_filters import StoreFilter
from langchain_structrag.stores import LangChainDenseStore
from structrag.asking.settings import AskingOptions
from structrag.errors import check_arguments
from structrag.hosts.options import (
    D3IndexSettings,
    D3Settings,
    EvidenceIndexSettings,
    HiQASettings,
    MultiViewSettings,
    TreeIndexSettings,
    TreeSettings,
)
from structrag.index.index import IndexSettings
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
    "store": "Only MultiViewRetriever and HiQARetriever take it; save() writes the others' index.",
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


class MultiViewFields(MultiViewSettings, RetrieverFields, total=False):
    """Fields of `MultiViewRetriever` but for its index."""

    k: float


class HiQAFields(HiQASettings, RetrieverFields, total=False):
    """Fields of `HiQARetriever` but for its index."""

    k: int
    keywords: Sequence[str] | None
    max_tokens: int | None
    counter: TokenCounter


class D3Fields(D3Settings, RetrieverFields, total=False):
    """Fields of `D3Retriever` but for its index."""

    k: int | None


class TreeFields(TreeSettings, RetrieverFields, total=False):
    """Fields of `TreeRetriever` but for its index."""

    k: int


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


class D3Options(D3IndexSettings, D3Fields, total=False):
    """Arguments of `D3Retriever.from_documents`."""

    summariser: Any
    verify: bool


class TreeOptions(TreeIndexSettings, TreeFields, HostOptions, total=False):
    """Arguments of `TreeRetriever.from_documents`."""

    summariser: Any


class EvidenceOptions(EvidenceIndexSettings, EvidenceFields, total=False):
    """Arguments of `EvidenceRetriever.from_documents`."""

    verify: bool


def check_options(what: str, options: Iterable[str], known: type) -> None:
    """Raise UnknownArgument for a name that the typed dict `known` has not."""
    check_arguments(what, options, known.__annotations__, HINTS)
