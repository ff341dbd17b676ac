"""The arguments of `from_documents` and its relatives, by retriever.

And what is said of other arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import IndexNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters

from structrag.asking.cache import Cache
from structrag.asking.requests import Progress
from structrag.asking.settings import Asking, AskingOptions
from structrag.errors import check_arguments
from structrag.hosts.arguments import alike
from structrag.index.index import IndexSettings
from structrag.reading.settings import Reading
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.selection import Selection
from structrag.text.tokens import TokenCounter

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


class MultiViewArguments(RetrieverArguments, total=False):
    """Arguments of `MultiViewRetriever` but for its index."""

    similarity_top_k: float
    k: float
    preset: str
    routes: Sequence[str] | None
    views: Sequence[str]
    fusion: str | None
    weights: Mapping[str, float] | None
    order: str
    pool: int | None


class HiQAArguments(RetrieverArguments, total=False):
    """Arguments of `HiQARetriever` but for its index."""

    similarity_top_k: int
    k: int
    preset: str
    alpha: float | str | None
    beta: float | str | None
    keywords: Iterable[str] | None
    detect_keywords: Any
    fusion: str | None
    routes: Sequence[str] | None
    diversify: str | None
    view: str
    order: str
    lexical: Any
    compare_rest: bool | None
    max_tokens: int | None
    tokenizer: Any


class D3Arguments(RetrieverArguments, total=False):
    """Arguments of `D3Retriever` but for its index."""

    llm: Any
    similarity_top_k: int | None
    k: int | None
    preset: str
    router: str
    strategy: str | None
    routing: Routing | None
    selection: Selection | None
    max_tokens: int | None
    cross_encoder: Any
    evidence: Any
    join_adjacent: bool
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


class D3Options(D3Arguments, total=False):
    """Arguments of `D3Retriever.from_documents`."""

    embed_model: Any
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
    batch_size: int
    show_progress: bool
    verify: bool


class EvidenceOptions(EvidenceArguments, AskingOptions, total=False):
    """Arguments of `EvidenceRetriever.from_documents`."""

    embed_model: Any
    token_encoder: Any
    context: str
    dimensions: int | None
    reading: Reading | None
    language: str
    asking: Asking | None
    show_progress: bool
    verify: bool


def read_options(what: str, options: Mapping[str, Any], known: type) -> dict[str, Any]:
    """The options by their own names.

    Raises UnknownArgument for a name that the typed dict `known` has not.
    """
    check_arguments(what, options, known.__annotations__, HINTS)
    return alike(dict(options), SAME)
