"""The arguments of `from_documents` and its relatives, by retriever. And what is said of other
arguments."""

from __future__ import annotations

from typing import Any

from langchain_core.vectorstores import VectorStore
from pydantic import BaseModel, model_validator

from langchain_structrag.reading import EmbeddingNames
from langchain_structrag.stores import LangChainDenseStore, StoreFilter
from structrag.errors import check_arguments
from structrag.index.selection import Condition
from structrag.integrations.arguments import with_one_embedder
from structrag.integrations.kinds import CoreOptions

# Arguments of other retrievers and stores -> advice.
HINTS = {
    "search_kwargs": (
        "Pass k=4 for the number of results, and where=... for a condition."
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
    "filter": "Pass where=.",
}


class RetrieverOptions(EmbeddingNames, CoreOptions, total=False):
    """Keyword arguments of the retrievers; each refuses those that it does not know."""

    k: float | None
    where: Condition | None
    format: str
    metadata_lists: bool
    name: str | None
    tags: list[str] | None
    metadata: dict[str, Any] | None
    splitter: Any
    vectorstore: VectorStore | LangChainDenseStore | None
    store_filter: StoreFilter | None
    max_results: int | None


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
