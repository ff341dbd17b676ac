"""IDMS for LangChain: margin sampling, in place of `SemanticChunker`, and enrichment of any
chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar

from langchain_core.documents import BaseDocumentTransformer, Document
from typing_extensions import Unpack

from langchain_structrag.conversion import check_documents
from langchain_structrag.models import models_of
from langchain_structrag.reading import (
    EmbeddingNames,
    PaperSizes,
    ReadingArguments,
    ReadingTextSplitter,
    taken_embedding,
)
from langchain_structrag.splitting import LengthFunction, further_settings
from structrag.chunks.enriching.enricher import (
    EnrichingSplitter,
    IDMSEnricher,
    with_enrichment,
)
from structrag.chunks.idms.splitter import IDMSSettings, IDMSSplitter, MarginFunction
from structrag.chunks.model_splitter import ReadingSplitter
from structrag.integrations.enriching import (
    HostChunk,
    checked_enricher,
    enriched_flow,
    idms_margin,
    idms_target,
    shows_path,
)
from structrag.integrations.metadata import (
    ENRICHMENT_KEYS,
    IDMS_KEYS,
    SEGMENT_TEXT_KEY,
    chunk_notes,
)
from structrag.integrations.places import trusted_start
from structrag.integrations.splitters import UNLIMITED, changes_of, take_settings
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import Progress
from structrag.model_calls.runner import Runner
from structrag.records import Chunk


class IDMSArguments(IDMSSettings, ReadingArguments, total=False):
    """Arguments of `IDMSTextSplitter` but for models, sizes, margin and enrichment."""


class IDMSPaperArguments(IDMSArguments, PaperSizes, total=False):
    """Arguments of `IDMSTextSplitter.paper`."""

    target_chunk_size: int | None
    margin: str | MarginFunction
    enrich: str | IDMSEnricher


class IDMSTextSplitter(ReadingTextSplitter):
    """Splits where sentences belong together less than at recent gaps.

    Small chunks are merged. With an `embedding`, the similarity of the sentences around each gap
    decides; with an `llm` as well, every gap is one question with a one-token answer.

    Example:
        >>> text = "# Pump\\n\\nIt moves water. Rinse its filter. Invoices are due in March."
        >>> splitter = IDMSTextSplitter(chunk_size=50)  # or IDMSTextSplitter(embedding, llm)
        >>> for chunk in splitter.split_text(text):
        ...     print(repr(chunk))
        '# Pump\\n\\nIt moves water. Rinse its filter.'
        'Invoices are due in March.'

    Metadata is that of `ContentAwareTextSplitter`, plus `idms_margin` (of the gap before the chunk;
    0.0 at the start of a section), `idms_margin_source` ("log-probabilities", "rating",
    "similarity", "words" or "function"), and `idms_margin_fallbacks` and `idms_degraded`: the
    number of gaps for which similarity replaced a missing answer of the model, and whether there
    were any. `enrich` adds `idms_density`, `idms_action`, `idms_reduced` (a shorter text) and
    `idms_added` (a JSON string: sentences of the document that explain what the chunk assumes, with
    their offsets); without it they are 0.0, "none" and "". The enriched text is embedded:
    `page_content` is the shorter text, if any, and `segment_text` the original passage; with
    `add_context`, added sentences come first.

    Args:
        embedding: LangChain `Embeddings`, or any embedder that structrag accepts, such as the name
            of a sentence-transformers model or a function. None: the document's own words (TF-IDF).
        llm: A chat model or LLM that weighs "keep" against "split": by the log-probabilities of its
            answer if it returns them, else by a rating from 0 to 10. None: similarity decides.
        chunk_size: Hard limit of `page_content`, including the heading path with `add_context`.
        min_chunk_size: Smaller segments are merged if both fit; at most `chunk_size`; None: half of
            it.
        target_chunk_size: The size that `merge="greedy"` aims at; None: two thirds of `chunk_size`.
        length_function: The function that measures sizes; characters by default, tokens with
            `from_tiktoken_encoder`.
        margin: As in `structrag.IDMSSplitter`; "auto" with neither embedding nor llm: "words".
        enrich: "none", "reduce", "supplement", "both", "paper" (all of it as published), or an
            `IDMSEnricher` with custom settings, except for its limit, which is `chunk_size`.
        add_context: As in `ContentAwareTextSplitter`.
        settings: The other settings of `structrag.IDMSSplitter`: context, warmup, history,
            merge, prompt, normalised, respect_sections, boundary_embedder, reuse_vectors,
            exclude_titles, plain_headings, language, sentence_splitter. `cache`, `batch_size`,
            `max_concurrency`, `progress`, `format`, `strip_whitespace` and `metadata_lists` as in
            `PICTextSplitter`, and the arguments of every LangChain splitter.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    KEYS: ClassVar[Mapping[str, str]] = IDMS_KEYS

    def __init__(
        self,
        embedding: Any = None,
        llm: Any = None,
        *,
        chunk_size: int = 1200,
        min_chunk_size: int | None = None,
        target_chunk_size: int | None = None,
        length_function: LengthFunction = len,
        margin: str | MarginFunction = "auto",
        enrich: str | IDMSEnricher = "none",
        add_context: bool = False,
        **settings: Unpack[IDMSArguments],
    ) -> None:
        embedding, rest = taken_embedding(embedding, settings)
        others = further_settings(IDMSTextSplitter, rest, IDMSArguments)
        core_settings = take_settings(IDMSSplitter, others)
        super().__init__(
            embedding,
            llm,
            chunk_size=chunk_size,
            length_function=length_function,
            add_context=add_context,
            **others,
        )
        splitter = IDMSSplitter(
            margin=idms_margin(margin, embedding, llm),
            min_tokens=min_chunk_size,
            target_tokens=idms_target(target_chunk_size, chunk_size),
            max_tokens=chunk_size,
            heading_path=add_context and shows_path(enrich, core_settings),
            counter=self._counter(),
            **core_settings,
        )
        self.core: ReadingSplitter = with_enrichment(
            splitter,
            enrich,
            max_tokens=chunk_size,
            counter=self._counter(),
            into_context=add_context,
        )

    def _with_path(self) -> Any:
        core: Any = self.core
        if isinstance(core, EnrichingSplitter):
            inner: Any = core.splitter
            return replace(
                core, splitter=replace(inner, heading_path=inner.respect_sections)
            )
        return replace(core, heading_path=core.respect_sections)

    @classmethod
    def paper(
        cls,
        embedding: Any = None,
        llm: Any = None,
        **settings: Unpack[IDMSPaperArguments],
    ) -> IDMSTextSplitter:
        """As published: the current chunk against the next sentence, then enriched. Merged up to
        200 words, without a limit or sections. Sizes are words. Pass an `llm`, or a
        `TransformersMargin` as `margin`. Pass `enrich="none"` for margins alone.
        """
        published = changes_of(IDMSSplitter.paper())
        sizes = {
            "length_function": count_words,
            "chunk_size": UNLIMITED,
            "min_chunk_size": 0,
            "target_chunk_size": 200,
        }
        enrich = settings.get("enrich", "paper")
        plain = {
            "plain_headings": False,
            "enrich": enrich,
            "add_context": enrich != "none",
        }
        arguments: dict[str, Any] = {**published, **sizes, **plain, **settings}
        return cls(embedding, llm, **arguments)

    def _has_index_text(self) -> bool:
        return isinstance(self.core, EnrichingSplitter)


def count_words(text: str) -> int:
    """The words of a text, separated by white space."""
    return len(text.split())


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
            cache=cache,
            batch_size=batch_size,
            max_concurrency=max_concurrency,
            progress=progress,
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
        if end is None and isinstance(start, int):  # another splitter made it
            end = start + len(document.page_content)
        place = trusted_start(document.page_content, start, end)
        hosts.append(HostChunk(document.page_content, document.metadata, place))
    return hosts


def _enriched(document: Document, chunk: Chunk) -> Document:
    metadata = {
        **deepcopy(document.metadata),
        SEGMENT_TEXT_KEY: document.page_content,
        **chunk_notes(chunk, ENRICHMENT_KEYS),
    }
    return Document(page_content=chunk.index_text, metadata=metadata, id=document.id)
