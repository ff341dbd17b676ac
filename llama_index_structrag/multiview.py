"""Multi-view retrieval (MC-indexing) for LlamaIndex."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from llama_index.core.schema import BaseNode
from typing_extensions import Self

from llama_index_structrag.options import (
    MultiViewArguments,
    MultiViewOptions,
    RetrieverArguments,
    read_options,
)
from llama_index_structrag.retrieving import ChunkRetriever
from structrag.index.index import Index
from structrag.records import Hit
from structrag.retrieval.multiview import MultiViewRetriever as CoreRetriever

if TYPE_CHECKING:
    from typing_extensions import Unpack


class MultiViewRetriever(ChunkRetriever):
    """Finds chunks by several views of each section (MC-indexing).

    The views are its text, a summary and its keywords.

    Example:
        >>> from llama_index.core import Document, MockEmbedding
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter."
        >>> options = {"embed_model": MockEmbedding(embed_dim=8), "similarity_top_k": 1}
        >>> retriever = MultiViewRetriever.from_documents([Document(text=text)], **options)
        >>> (node,) = retriever.retrieve("How do I rinse the filter?")  # takes query engines too
        >>> node.metadata["heading_path"], node.text
        ('Pump > Cleaning', '## Cleaning\\n\\nRinse the filter.')

    Returns exactly `similarity_top_k` nodes (fewer only where there are fewer chunks; preset
    "paper": as published), best first. A node's text is a slice of its document's from
    `start_char_idx` to `end_char_idx` (for HTML, of the visible text), `ref_doc_id` is the
    document's id. Metadata, all JSON: the document's, and `heading_path` (titles joined by " > "),
    `heading_context`, `section_id`, `source_start`, `source_end`, `routes` (route -> rank there),
    `scores` (route -> its own score), `score_parts` (route -> what it added to the score) and
    `views_hit`.

    Args:
        index: The structrag `Index` to search; `from_documents` and `load` make one.
        similarity_top_k: How many nodes; a fraction only with preset "paper".
        preset: "default", or "paper" for MC-indexing as published.
        routes: Some of "dense" and "bm25"; None: by preset.
        views, fusion, weights, order, pool: As for structrag's `MultiViewRetriever`.
        options: `where` limits the search to documents, `{"doc_id": "report", "year": [2020,
            2021]}` or a function of their metadata; `filters` does so with LlamaIndex's
            `MetadataFilters`; `format` of documents added, "markdown", "html", "text" or "auto";
            `callback_manager`, `object_map`, `objects`, `verbose` as for every LlamaIndex
            retriever.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    OPTIONS: ClassVar[type] = MultiViewOptions
    SHARED_OPTIONS: ClassVar[tuple[str, ...]] = ("preset", "views")

    def __init__(
        self,
        index: Index,
        *,
        similarity_top_k: float = 5,
        preset: str = "default",
        routes: Sequence[str] | None = None,
        views: Sequence[str] | None = None,
        fusion: str | None = None,
        weights: Mapping[str, float] | None = None,
        order: str = "score",
        pool: int | None = None,
        **options: Unpack[RetrieverArguments],
    ) -> None:
        super().__init__(index, **options)
        self.similarity_top_k: float = similarity_top_k
        self.retriever: Any = CoreRetriever(
            index,
            k=similarity_top_k,
            preset=preset,
            routes=routes,
            views=views,
            fusion=fusion,
            weights=weights,
            order=order,
            pool=pool,
        )

    @classmethod
    def from_index(cls, index: Index, **arguments: Unpack[MultiViewArguments]) -> Self:
        """The same as calling the class."""
        return cls(index, **read_options(cls.__name__, arguments, MultiViewArguments))

    @classmethod
    def from_documents(
        cls, documents: Sequence[BaseNode], **options: Unpack[MultiViewOptions]
    ) -> Self:
        """Index whole documents, and return a retriever over them.

        Not chunks. Their `doc_id` is their identity.

        Args:
            options: The retriever's arguments, and `embed_model` (a LlamaIndex embedding model or
                what structrag's `Index` takes; None: that of LlamaIndex's `Settings`, and where
                none is set LSA, with a warning; "lsa" says that LSA is meant; where its object does
                not tell how much the model reads of a text, `LlamaIndexEmbedder(embed_model,
                max_tokens=512)`), `llm` (writes summaries and keywords; None: extractive),
                `vector_store` (a LlamaIndex vector store that keeps the vectors), `node_parser`
                (the heading path is indexed unless it has `add_context=False`), `store` (where all
                is kept: a folder, "lancedb:FOLDER" or "milvus:PLACE"), and other arguments of
                structrag's `Index`. `k`, `splitter` and `show_progress` are other names of
                `similarity_top_k`, `node_parser` and `progress`.

        Raises:
            UnknownArgument: there is no such option (a TypeError); it says which there are.
            InvalidParameter: a setting is not allowed (a ValueError).
            ModelFailed, InvalidAnswer: the embedding model or the store raised, or gave no usable
                vectors. No retriever comes back, and only the `cache` is kept; `from_documents([],
                ...)` and `add` keep the documents that were finished.
            BudgetExceeded: `max_calls` is reached; likewise.
        """
        return cls._from_documents(documents, options)

    @classmethod
    async def afrom_documents(
        cls, documents: Sequence[BaseNode], **options: Unpack[MultiViewOptions]
    ) -> Self:
        """`from_documents` on an event loop."""
        return await cls._afrom_documents(documents, options)

    @classmethod
    def load(
        cls, persist_dir: str | os.PathLike[str], **options: Unpack[MultiViewOptions]
    ) -> Self:
        """A retriever over an index that `save` wrote.

        With the models it was built with; `options` as for `from_documents`. `verify=True` checks
        all bytes now.
        """
        return cls._load(persist_dir, options)

    def _notes(self, hit: Hit) -> dict[str, Any]:
        return {
            **super()._notes(hit),
            "views_hit": list(hit.chunk.extras.get("views_hit", ())),
        }
