"""The arguments of `from_documents` and its relatives, by retriever.

And what is said of other arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import IndexNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
)

from structrag.asking.cache import Cache
from structrag.asking.requests import Progress
from structrag.asking.settings import AskingOptions
from structrag.errors import check_arguments
from structrag.hosts.options import (
    D3IndexSettings,
    D3Settings,
    EvidenceIndexSettings,
    HiQASettings,
    MultiViewSettings,
)
from structrag.hosts.retrievers import alike
from structrag.index.index import IndexSettings

Where = Mapping[str, Any] | Callable[[dict[str, Any]], bool]
# What users of other retrievers and stores write, and what it is called here.
HINTS = {
    "storage_context": "Pass vector_store=, and save and load the retriever.",
    "transformations": "Pass node_parser=.",
    "vectorstore": "Pass vector_store=.",
    "embedding": "Pass embed_model=.",
    "embeddings": "Pass embed_model=.",
    "chunk_size": "Pass node_parser=ContentAwareNodeParser(chunk_size=...).",
    "chunk_overlap": "Pass node_parser=ContentAwareNodeParser(chunk_overlap=...).",
    "node_parser": "Leave it out: this retriever reads whole documents by their own sections.",
    "splitter": "Leave it out: this retriever reads whole documents by their own sections.",
    "vector_store": "Leave it out: this retriever keeps its vectors itself.",
    "store": "Retrievers over chunks take it (MultiView, HiQA, D3); others have save().",
    "search_kwargs": "Pass similarity_top_k= or filters=.",
    "top_k": "Pass similarity_top_k=.",
}
# Names that LangChain's users and the core know for the same.
SAME = {"k": "similarity_top_k", "splitter": "node_parser", "show_progress": "progress"}


class RetrieverArguments(TypedDict, total=False):
    """Arguments that every retriever has."""

    where: Where | None
    filters: MetadataFilters | None
    format: str
    metadata_lists: bool
    callback_manager: CallbackManager | None
    object_map: dict[str, Any] | None
    objects: list[IndexNode] | None
    verbose: bool


class MultiViewArguments(MultiViewSettings, RetrieverArguments, total=False):
    """Arguments of `MultiViewRetriever` but for its index."""

    similarity_top_k: float
    k: float


class HiQAArguments(HiQASettings, RetrieverArguments, total=False):
    """Arguments of `HiQARetriever` but for its index."""

    similarity_top_k: int
    k: int
    keywords: Iterable[str] | None
    max_tokens: int | None
    tokenizer: Any


class D3Arguments(D3Settings, RetrieverArguments, total=False):
    """Arguments of `D3Retriever` but for its index."""

    similarity_top_k: int | None
    k: int | None
    cache: Cache | str | os.PathLike[str] | None
    max_concurrency: int
    max_calls: int | None
    progress: Progress | bool | None
    timeout: float | None


class EvidenceArguments(RetrieverArguments, total=False):
    """Arguments of `EvidenceRetriever` but for its index."""

    similarity_top_k: int | None
    k: int | None
    max_tokens: int | None
    order: str


class HostOptions(IndexSettings, total=False):
    """What an index of LlamaIndex's models takes."""

    embed_model: Any
    llm: Any
    node_parser: Any
    splitter: Any
    vector_store: BasePydanticVectorStore | None
    show_progress: bool
    verify: bool


class MultiViewOptions(MultiViewArguments, HostOptions, total=False):
    """Arguments of `MultiViewRetriever.from_documents`."""


class HiQAOptions(HiQAArguments, HostOptions, total=False):
    """Arguments of `HiQARetriever.from_documents`."""


class D3Options(D3IndexSettings, D3Arguments, total=False):
    """Arguments of `D3Retriever.from_documents`."""

    summariser: Any
    embed_model: Any
    batch_size: int
    show_progress: bool
    verify: bool


class EvidenceOptions(
    EvidenceIndexSettings, EvidenceArguments, AskingOptions, total=False
):
    """Arguments of `EvidenceRetriever.from_documents`."""

    embed_model: Any
    show_progress: bool
    verify: bool


def read_options(
    what: str, options: Mapping[str, Any], known: type, added: Iterable[str] = ()
) -> dict[str, Any]:
    """The options by their own names.

    Raises UnknownArgument for a name that neither the typed dict `known` nor `added` has.
    """
    check_arguments(what, options, [*known.__annotations__, *added], HINTS)
    return alike(dict(options), SAME)
