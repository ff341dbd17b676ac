"""IDMS's enrichment as a LangChain document transformer."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentTransformer, Document

from langchain_structrag.conversion import check_documents
from langchain_structrag.models import models_of
from langchain_structrag.options import (
    EmbeddingNames,
    further_settings,
    taken_embedding,
)
from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.integrations.enriching import (
    HostChunk,
    checked_enricher,
    enriched_flow,
    enrichment_notes,
)
from structrag.integrations.metadata import SEGMENT_TEXT_KEY
from structrag.integrations.offsets import trusted_start
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import Progress
from structrag.model_calls.runner import Runner
from structrag.model_calls.settings import CallSettings
from structrag.records import Chunk

if TYPE_CHECKING:
    from typing_extensions import Unpack


class IDMSEnrichmentTransformer(BaseDocumentTransformer):
    """Shortens chunks that say little, and explains chunks that assume much (IDMS).

    Example:
        >>> from structrag import IDMSEnricher
        >>> texts = ["Long Short-Term Memory (LSTM) keeps a state.", "It rains.",
        ...     "The LSTM of 2014 beats the GRU in speed and in size, as was shown in May."]
        >>> transformer = IDMSEnrichmentTransformer(enrich=IDMSEnricher(high=0.1, growth=1.0))
        >>> chunks = transformer.transform_documents([Document(text) for text in texts])
        >>> chunks[2].page_content.splitlines()[0], chunks[2].metadata["idms_action"]
        ('Long Short-Term Memory (LSTM)', 'supplemented')

    It accepts the chunks of any splitter. Pass all chunks of a document in one call and in order:
    densities are compared within a document, and explanations come from its other chunks. Chunks
    belong to one document if their `source`, `file_path`, `file_name` or `doc_id` agree; without
    these, as long as `start_index` rises. It returns the same number of copies, in the same order.

    `page_content` is the text to index and read: the shorter text, or added sentences before the
    text. Metadata is that of the chunk, plus `segment_text` (the original text), `idms_density`,
    `idms_action` ("none", "reduced" or "supplemented"), `idms_reduced`, `idms_added` (a JSON
    string: sentences with their offsets, -1 for chunks without `start_index`) and `idms_degraded`.

    Args:
        embedding: LangChain `Embeddings`, or any embedder that structrag accepts; None: LSA of each
            document's own sentences.
        llm: A chat model or LLM that shortens texts and names missing entities; None: whole
            sentences are selected, and codes get the document's own definition.
        enrich: "reduce", "supplement", "both", "paper" (as published) or an `IDMSEnricher` with
            custom settings and prompts.
        cache, batch_size, max_concurrency, progress: As in `PICTextSplitter`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    def __init__(
        self,
        embedding: Any = None,
        llm: Any = None,
        *,
        enrich: str | IDMSEnricher = "both",
        cache: Cache | None = None,
        batch_size: int = 64,
        max_concurrency: int = 8,
        progress: Progress | None = None,
        **settings: Unpack[EmbeddingNames],
    ) -> None:
        embedding, unknown = taken_embedding(embedding, settings)
        further_settings(IDMSEnrichmentTransformer, unknown, EmbeddingNames)
        self.core: IDMSEnricher = checked_enricher(enrich)
        self._models = models_of(
            embedding,
            llm,
            CallSettings(cache, batch_size, max_concurrency, progress=progress),
        )

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """Enriched copies of chunks."""
        checked, runner = check_documents(documents), Runner(**self._models)
        chunks = runner.run(enriched_flow(self.core, _hosts(checked), runner))
        return list(map(_enriched, checked, chunks))

    async def atransform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """`transform_documents` by the models' own asynchronous calls."""
        checked, runner = check_documents(documents), Runner(**self._models)
        chunks = await runner.arun(enriched_flow(self.core, _hosts(checked), runner))
        return list(map(_enriched, checked, chunks))


def _hosts(documents: Sequence[Document]) -> list[HostChunk]:
    hosts = []
    for document in documents:
        start = document.metadata.get("start_index")
        end = document.metadata.get("end_index")
        if end is None and isinstance(start, int):  # of another splitter
            end = start + len(document.page_content)
        place = trusted_start(document.page_content, start, end)
        hosts.append(HostChunk(document.page_content, document.metadata, place))
    return hosts


def _enriched(document: Document, chunk: Chunk) -> Document:
    metadata = {
        **deepcopy(document.metadata),
        SEGMENT_TEXT_KEY: document.page_content,
        **enrichment_notes(chunk),
    }
    return Document(page_content=chunk.index_text, metadata=metadata, id=document.id)
