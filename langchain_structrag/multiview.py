"""Multi-view retrieval (MC-indexing) for LangChain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from langchain_core.documents import Document
from pydantic import Field
from typing_extensions import Self

from langchain_structrag.conversion import as_documents
from langchain_structrag.options import MultiViewFields, MultiViewOptions
from langchain_structrag.retrieving import IndexRetriever
from structrag.hosts.metadata import score_notes
from structrag.index.index import Index
from structrag.records import Hit
from structrag.retrieval.multiview import MultiViewRetriever as CoreRetriever

if TYPE_CHECKING:
    from typing_extensions import Unpack


class MultiViewRetriever(IndexRetriever):
    """Finds chunks by several views of each section (MC-indexing).

    The views are its text, a summary and its keywords.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter."
        >>> document = Document(text, metadata={"source": "pump.md"})
        >>> embeddings = DeterministicFakeEmbedding(size=8)  # or OpenAIEmbeddings()
        >>> retriever = MultiViewRetriever.from_documents([document], embeddings, k=1)
        >>> (chunk,) = retriever.invoke("How do I rinse the filter?", where={"source": "pump.md"})
        >>> chunk.page_content, chunk.metadata["heading_path"]
        ('## Cleaning\\n\\nRinse the filter.', 'Pump > Cleaning')

    Made by `from_documents`, `from_texts` or `load`, or from a structrag `Index`. Returns exactly k
    plain Documents (fewer only where there are fewer chunks; preset "paper": as published), best
    first. `k` and `where` are also taken by `invoke`, `ainvoke` and `batch`; `where` is `{"doc_id":
    "report", "year": [2020, 2021]}` or a function of a document's metadata.

    Metadata of a result, all JSON: its document's, and `doc_id`, `heading_path`, `section_id`,
    `start_index` and `end_index` (characters of the source, exact; of the visible text for HTML),
    `score`, `rank` (from 1), `routes` (route -> rank there), `scores` (route -> its own score),
    `score_parts` (route -> what it added to the score) and `views_hit`. A retriever holds an
    index and its models, so it is not serialised by LangChain: use `save` and `load`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    SETTINGS: ClassVar[tuple[str, ...]] = (
        "k",
        "preset",
        "routes",
        "views",
        "fusion",
        "weights",
        "order",
        "pool",
    )

    OPTIONS: ClassVar[type] = MultiViewOptions

    index: Index = Field(repr=False)
    """What is searched."""
    k: int | float = 5
    """How many results; a fraction only with preset "paper"."""
    preset: str = "default"
    """Either "default", or "paper" for MC-indexing as published."""
    routes: Sequence[str] | None = None
    """Some of "dense" and "bm25"; None: by preset."""
    views: Sequence[str] | None = None
    """Some of the index's views; None: all."""
    fusion: str | None = None
    """Either "minmax" (the default) or "union" (preset "paper")."""
    weights: Mapping[str, float] | None = None
    """Route, view or kind -> weight, default 1 each."""
    order: str = "score"
    """Either "score", or "document" for reading order."""
    pool: int | None = None
    """Chunks that each route may bring; None: 1,000, of a vector store 100."""

    if TYPE_CHECKING:

        def __init__(
            self, *, index: Index, **fields: Unpack[MultiViewFields]
        ) -> None: ...

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Any = None,
        **options: Unpack[MultiViewOptions],
    ) -> Self:
        """Index whole documents, and return a retriever over them.

        Not chunks. A document's id is its own, else its source (and page or row), else derived from
        its content.

        Args:
            embedding: LangChain `Embeddings`, or what structrag's `Index` takes; "lsa", which needs
                no model. None is LSA too, with a warning. Where the object does not tell how much
                the model reads of a text: `LangChainEmbedder(embeddings, max_tokens=512)`.
            options: The fields of this class; `llm` (a LangChain model or chain that writes
                summaries and keywords; None: extractive), `vectorstore` (a LangChain `VectorStore`
                that keeps and embeds the views; `store_filter` and `max_results` as in
                `langchain_structrag.stores.LangChainDenseStore`), `splitter` (one of this package,
                which then always indexes the heading path and counts it to its limit, or one of
                structrag), `store` (where all is kept: a folder, "lancedb:FOLDER" or
                "milvus:PLACE"), and the other arguments of structrag's `Index`.

        Raises:
            UnknownArgument: there is no such option (a TypeError); it says which there are.
            InvalidParameter: a setting is not allowed (a ValueError).
            ModelFailed, InvalidAnswer: the embedding model or the store raised, or gave no usable
                vectors. No retriever comes back, and only the `cache` is kept; `from_documents([],
                ...)` and `add_documents` keep the documents that were finished.
            BudgetExceeded: `max_calls` is reached; likewise.
        """
        return cls._from_documents(documents, embedding, options)

    @classmethod
    async def afrom_documents(
        cls,
        documents: Iterable[Document],
        embedding: Any = None,
        **options: Unpack[MultiViewOptions],
    ) -> Self:
        """`from_documents` on an event loop."""
        return await cls._afrom_documents(documents, embedding, options)

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        embedding: Any = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        **options: Unpack[MultiViewOptions],
    ) -> Self:
        """`from_documents` for strings; `metadatas` is one mapping per text."""
        return cls._from_documents(as_documents(texts, metadatas), embedding, options)

    @classmethod
    async def afrom_texts(
        cls,
        texts: Sequence[str],
        embedding: Any = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        **options: Unpack[MultiViewOptions],
    ) -> Self:
        """`from_texts` on an event loop."""
        return await cls._afrom_documents(
            as_documents(texts, metadatas), embedding, options
        )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        embedding: Any = None,
        **options: Unpack[MultiViewOptions],
    ) -> Self:
        """A retriever over an index that `save` wrote.

        With the models it was built with; `options` as for `from_documents`. `verify=True` checks
        all bytes now.
        """
        return cls._load(path, embedding, options)

    def _make_core(self, settings: dict[str, Any]) -> CoreRetriever:
        return CoreRetriever(self.index, **settings)

    def _document(self, hit: Hit) -> Document:
        document = super()._document(hit)
        document.metadata.update(score_notes(hit))
        document.metadata["views_hit"] = list(hit.chunk.extras.get("views_hit", ()))
        return document

    @classmethod
    def _shared_options(cls) -> tuple[str, ...]:
        return ("preset", "views")
