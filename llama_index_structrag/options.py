"""Keyword arguments of node parsers and retrievers, for type checkers and editors, and hints for
names that are unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import IndexNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
)

from structrag.errors import check_arguments
from structrag.integrations.arguments import resolve_aliases, with_one_embedder
from structrag.integrations.kinds import CoreOptions

Where = Mapping[str, Any] | Callable[[dict[str, Any]], bool]
# Arguments of other retrievers and stores -> advice.
HINTS = {
    "storage_context": "Pass vector_store=, and save and load the retriever.",
    "transformations": "Pass node_parser=.",
    "vectorstore": "Pass vector_store=.",
    "chunk_size": "Pass node_parser=ContentAwareNodeParser(chunk_size=...).",
    "chunk_overlap": "Pass node_parser=ContentAwareNodeParser(chunk_overlap=...).",
    "node_parser": "Omit it: this retriever splits whole documents by their sections.",
    "splitter": "Omit it: this retriever splits whole documents by their sections.",
    "vector_store": "Omit it: this retriever stores its own vectors.",
    "store": (
        "Only retrievers over chunks accept it (MultiView, HiQA, D3); for others use save()."
    ),
    "search_kwargs": "Pass similarity_top_k= or filters=.",
    "top_k": "Pass similarity_top_k=.",
}
# Names that LangChain's users and the core know for the same.
SAME = {"k": "similarity_top_k", "splitter": "node_parser", "show_progress": "progress"}


class RetrieverSettings(CoreOptions, total=False):
    """Keyword arguments of the retriever classes besides those that all of them take."""

    tokenizer: Any


class RetrieverOptions(RetrieverSettings, total=False):
    """Keyword arguments of `from_documents`; each retriever refuses those that it does not know."""

    similarity_top_k: float | None
    k: float | None
    where: Where | None
    filters: MetadataFilters | None
    format: str
    metadata_lists: bool
    callback_manager: CallbackManager | None
    object_map: dict[str, Any] | None
    objects: list[IndexNode] | None
    verbose: bool
    embed_model: Any
    embedding: Any
    embeddings: Any
    embedder: Any
    node_parser: Any
    splitter: Any
    vector_store: BasePydanticVectorStore | None
    show_progress: bool


def read_options(
    what: str, options: Mapping[str, Any], known: Iterable[str]
) -> dict[str, Any]:
    """The options by their own names. Raises UnknownArgument for one that is not known."""
    names = list(known)
    if "embed_model" in names:
        options = with_one_embedder(options, "embed_model")
    names += [name for name, own in SAME.items() if own in names]
    check_arguments(what, options, names, HINTS)
    return resolve_aliases(dict(options), SAME)
