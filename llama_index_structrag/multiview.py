"""Multi-view retrieval (MC-indexing) for LlamaIndex."""

from __future__ import annotations

from typing import ClassVar

from llama_index_structrag.retrieving import IndexRetriever
from structrag.integrations.kinds import MULTIVIEW, RetrieverKind


class MultiViewRetriever(IndexRetriever):
    """Finds chunks by several views of each section (MC-indexing): its text, a summary and
    keywords.

    Example:
        >>> from llama_index.core import Document, MockEmbedding
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter."
        >>> options = {"embed_model": MockEmbedding(embed_dim=8), "similarity_top_k": 1}
        >>> retriever = MultiViewRetriever.from_documents([Document(text=text)], **options)
        >>> (node,) = retriever.retrieve("How do I rinse the filter?")  # takes query engines too
        >>> node.metadata["heading_path"], node.text
        ('Pump > Cleaning', '## Cleaning\\n\\nRinse the filter.')

    Returns exactly `similarity_top_k` nodes (fewer only if there are fewer chunks; preset "paper":
    as published), best first. A node's text is a slice of its document's from `start_char_idx` to
    `end_char_idx` (for HTML, of the visible text), `ref_doc_id` is the document's id. Metadata, all
    JSON: the document's, and `heading_path` (titles joined by " > "), `heading_context` and
    `section_id`; and, hidden from models and ignored by `==` and `hash` where they belong to one
    search,
    `source_start`, `source_end`, `routes` (route -> rank there), `scores` (route -> its own score),
    `score_parts` (route -> its contribution to the score) and `views_hit`.

    Args:
        index: The structrag `Index` to search; `from_documents` and `load` create one.
        similarity_top_k: The number of nodes; a fraction only with preset "paper".
        preset: "default", or "paper" for MC-indexing as published.
        routes: Some of "dense", "bm25", "tfidf" and a token encoder; None: by preset.
        views, fusion, weights, order, pool: As for structrag's `MultiViewRetriever`.
        options: `where` limits the search to documents, by a function of their metadata or by
            `{"doc_id": "report", "year": [2020, 2021]}`; `filters` does so with LlamaIndex's
            `MetadataFilters`; `format` of documents added, "markdown", "html", "text" or "auto";
            `callback_manager`, `object_map`, `objects`, `verbose` as for every LlamaIndex
            retriever.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    KIND: ClassVar[RetrieverKind] = MULTIVIEW
