"""Multi-view retrieval (MC-indexing) for LangChain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from langchain_structrag.retrieving import IndexRetriever
from structrag.index.index import Index
from structrag.integrations.kinds import MULTIVIEW, RetrieverKind


class MultiViewRetriever(IndexRetriever):
    """Finds chunks by several views of each section (MC-indexing): its text, a summary and
    keywords.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter."
        >>> document = Document(text, metadata={"source": "pump.md"})
        >>> embeddings = DeterministicFakeEmbedding(size=8)  # or OpenAIEmbeddings()
        >>> retriever = MultiViewRetriever.from_documents([document], embeddings, k=1)
        >>> (chunk,) = retriever.invoke("How do I rinse the filter?", where={"source": "pump.md"})
        >>> chunk.page_content, chunk.metadata["heading_path"]
        ('## Cleaning\\n\\nRinse the filter.', 'Pump > Cleaning')

    Create it with `from_documents`, `from_texts` or `load`, or from a structrag `Index`. Returns
    exactly k plain Documents (fewer only if there are fewer chunks; preset "paper": as published),
    best first. `k` and `where` are also taken by `invoke`, `ainvoke` and `batch`; `where` is
    `{"doc_id": "report", "year": [2020, 2021]}` or a function of a document's metadata.

    Metadata of a result, all JSON: its document's, and `doc_id`, `heading_path`, `section_id`,
    `start_index` and `end_index` (characters of the source, exact; of the visible text for HTML).
    What belongs to one search is there too, and is ignored by `==`: `score`, `rank` (from 1),
    `routes` (route -> rank there), `scores` (route -> its own score), `score_parts` (route -> its
    contribution to the score) and `views_hit`. A retriever holds an index and its models, so
    LangChain cannot serialise it: use `save` and `load`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    KIND: ClassVar[RetrieverKind] = MULTIVIEW

    index: Index = Field(repr=False)
    """What is searched."""
    k: int | float = 5
    """How many results; a fraction only with preset "paper"."""
    preset: str = "default"
    """Either "default", or "paper" for MC-indexing as published."""
    routes: Sequence[Any] | None = None
    """Some of "dense", "bm25", "tfidf" and a token encoder; None: by preset."""
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
