"""The arguments of `from_documents` and its relatives, by retriever. And what is said of other
arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Literal, TypedDict

from langchain_core.vectorstores import VectorStore
from pydantic import BaseModel, model_validator

from langchain_structrag.stores import LangChainDenseStore, StoreFilter
from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.chunks.hiqa.splitter import HiQASplitterSettings
from structrag.chunks.idms.sentence_margins import MarginFunction
from structrag.chunks.idms.splitter import IDMSSettings
from structrag.chunks.pic.splitter import PICSettings
from structrag.errors import check_arguments
from structrag.integrations.kinds import CoreOptions
from structrag.integrations.retrievers import with_one_embedder
from structrag.integrations.splitters import hints_of
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import Progress
from structrag.model_calls.settings import CallOptions

# Arguments of other retrievers and stores -> advice.
HINTS = {
    "search_kwargs": (
        "Pass k=4 for the number of results, and where=... to invoke for a condition."
    ),
    "chunk_size": "Pass splitter=ContentAwareTextSplitter(chunk_size=...).",
    "chunk_overlap": "Pass splitter=ContentAwareTextSplitter(chunk_overlap=...).",
    "text_splitter": "Pass splitter=.",
    "node_parser": "Pass splitter=.",
    "vector_store": "Pass vectorstore=.",
    "splitter": "Omit it: this retriever splits whole documents by their sections.",
    "vectorstore": "Omit it: this retriever stores its own vectors.",
    "store": (
        "Only retrievers over chunks accept it (MultiView, HiQA, D3); for others use save()."
    ),
    "similarity_top_k": "Pass k=.",
    "top_k": "Pass k=.",
    "show_progress": "Pass progress=True.",
    "filter": "Pass where= or filter= to invoke.",
    "where": "Pass where= to invoke.",
}


class EmbeddingNames(TypedDict, total=False):
    """Other names of `embedding`, which are taken as well."""

    embeddings: Any
    embed_model: Any
    embedder: Any


class RetrieverOptions(EmbeddingNames, CoreOptions, total=False):
    """Keyword arguments of the retrievers; each refuses those that it does not know."""

    k: float | None
    format: str
    metadata_lists: bool
    name: str | None
    tags: list[str] | None
    metadata: dict[str, Any] | None
    splitter: Any
    vectorstore: VectorStore | LangChainDenseStore | None
    store_filter: StoreFilter | None
    max_results: int | None


class SplitterArguments(TypedDict, total=False):
    """Arguments of every splitter here and of LangChain, without its sizes."""

    keep_separator: bool | Literal["start", "end"]
    add_start_index: bool
    strip_whitespace: bool
    format: str
    metadata_lists: bool


class ReadingArguments(EmbeddingNames, SplitterArguments, total=False):
    """Arguments of every splitter that calls models."""

    chunk_overlap: int
    cache: Cache | None
    batch_size: int
    max_concurrency: int
    progress: Progress | None


class PICArguments(PICSettings, ReadingArguments, total=False):
    """Arguments of `PICTextSplitter` but for models and sizes."""


class IDMSArguments(IDMSSettings, ReadingArguments, total=False):
    """Arguments of `IDMSTextSplitter` but for models, sizes, margin and enrichment."""


class HiQAArguments(HiQASplitterSettings, SplitterArguments, total=False):
    """Arguments of `HiQATransformer` but for its sizes."""


class _Sizes(TypedDict, total=False):
    chunk_size: int
    min_chunk_size: int | None
    length_function: Callable[[str], int]
    add_context: bool


class PICPaperArguments(PICArguments, _Sizes, total=False):
    """Arguments of `PICTextSplitter.paper`."""


class IDMSPaperArguments(IDMSArguments, _Sizes, total=False):
    """Arguments of `IDMSTextSplitter.paper`."""

    target_chunk_size: int | None
    margin: str | MarginFunction
    enrich: str | IDMSEnricher


class HiQAPaperArguments(HiQAArguments, total=False):
    """Arguments of `HiQATransformer.paper` and `code`."""

    chunk_size: int
    length_function: Callable[[str], int]
    add_context: bool


class FormatterArguments(CallOptions, total=False):
    """Settings of `HiQAFormatter` for its language model."""

    window_words: int
    padding_words: int
    prompt: str


# The core's names of settings that have another name in LangChain -> advice.
SPLITTER_HINTS = hints_of(counter="length_function")


def taken_embedding(
    embedding: Any, settings: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The embedding, by whichever name it came, and the other settings."""
    given = {} if embedding is None else {"embedding": embedding}
    read = with_one_embedder({**given, **settings}, "embedding")
    return read.pop("embedding", None), read


def further_settings(
    owner: type, settings: Mapping[str, Any], known: type
) -> dict[str, Any]:
    """The further settings of a splitter or formatter. Raises UnknownArgument for a name that
    neither its arguments nor the typed dict `known` has."""
    arguments = [name for name in signature(owner).parameters if name != "settings"]
    check_arguments(
        owner.__name__, settings, [*arguments, *known.__annotations__], SPLITTER_HINTS
    )
    return dict(settings)


class KnownFields(BaseModel):
    """Base of classes that reject unknown fields and name the closest one."""

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, fields: Any) -> Any:
        """Name the nearest field where one is unknown."""
        if isinstance(fields, dict):
            if "embedding" in cls.model_fields:
                fields = with_one_embedder(fields, "embedding")
            check_arguments(cls.__name__, fields, cls.model_fields, HINTS)
        return fields
