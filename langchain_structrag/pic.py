"""PIC for LangChain, in place of `SemanticChunker`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from typing_extensions import Unpack

from langchain_structrag.reading import (
    PaperSizes,
    ReadingArguments,
    ReadingTextSplitter,
    taken_embedding,
)
from langchain_structrag.splitting import LengthFunction, further_settings
from structrag.chunks.pic.splitter import PICSettings, PICSplitter
from structrag.integrations.metadata import PIC_KEYS
from structrag.integrations.splitters import UNLIMITED, changes_of, take_settings


class PICArguments(PICSettings, ReadingArguments, total=False):
    """Arguments of `PICTextSplitter` but for models and sizes."""


class PICPaperArguments(PICArguments, PaperSizes, total=False):
    """Arguments of `PICTextSplitter.paper`."""


class PICTextSplitter(ReadingTextSplitter):
    """Splits where relevance to a pseudo-instruction begins and ends.

    The pseudo-instruction is, for example, the document's summary.

    Example:
        >>> text = "# Pump\\n\\nIt moves water. Rinse its filter. Invoices are due in March."
        >>> splitter = PICTextSplitter(chunk_size=50)  # or PICTextSplitter(embedding, llm)
        >>> for chunk in splitter.split_text(text):
        ...     print(repr(chunk))
        '# Pump\\n\\nIt moves water. Rinse its filter.'
        'Invoices are due in March.'

    Metadata is that of `ContentAwareTextSplitter` and `pic_relevant`, `pic_mean_similarity` and
    `pic_threshold` (both 0.0 if the text was too short to compare), and `pic_degraded`, whether the
    language model failed to write a summary.

    Args:
        embedding: LangChain `Embeddings`, or any embedder that structrag accepts, such as the name
            of a sentence-transformers model or a function. None: LSA of each document's own
            sentences.
        llm: A chat model or LLM that writes the summary, with one call per document or section.
            None: the most central sentences serve instead.
        chunk_size: Hard limit of `page_content`, including the heading path with `add_context`.
        min_chunk_size: The minimum size to aim at, at most half of `chunk_size`; None: a third of
            it.
        length_function: The function that measures sizes; characters by default, tokens with
            `from_tiktoken_encoder`.
        add_context: As in `ContentAwareTextSplitter`.
        settings: The other settings of `structrag.PICSplitter`: pseudo_instruction, instructions,
            instructions_key, as_query, threshold, threshold_sd, hysteresis, scope,
            respect_sections, bounds, prompt, summary_window, boundary_embedder, reuse_vectors,
            exclude_titles, plain_headings, language, sentence_splitter. `cache` (a structrag
            `Cache` that keeps finished calls and vectors, so that a run can be resumed),
            `batch_size` and `max_concurrency` of the models, and `progress`. `format`,
            `strip_whitespace` and `metadata_lists` as in `ContentAwareTextSplitter`, and the
            arguments of every LangChain splitter.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    KEYS: ClassVar[Mapping[str, str]] = PIC_KEYS

    def __init__(
        self,
        embedding: Any = None,
        llm: Any = None,
        *,
        chunk_size: int = 1200,
        min_chunk_size: int | None = None,
        length_function: LengthFunction = len,
        add_context: bool = False,
        **settings: Unpack[PICArguments],
    ) -> None:
        embedding, rest = taken_embedding(embedding, settings)
        others = further_settings(PICTextSplitter, rest, PICArguments)
        core_settings = take_settings(PICSplitter, others)
        super().__init__(
            embedding,
            llm,
            chunk_size=chunk_size,
            length_function=length_function,
            add_context=add_context,
            **others,
        )
        self.core: PICSplitter = PICSplitter(
            min_tokens=min_chunk_size,
            max_tokens=chunk_size,
            context=add_context,
            counter=self._counter(),
            **core_settings,
        )

    @classmethod
    def paper(
        cls,
        embedding: Any = None,
        llm: Any = None,
        **settings: Unpack[PICPaperArguments],
    ) -> PICTextSplitter:
        """As published (section 3.2): the document's summary, the mean as threshold, no size
        bounds, no sections."""
        published = changes_of(PICSplitter.paper(), "context")
        sizes = {"chunk_size": UNLIMITED, "min_chunk_size": 0}
        arguments: dict[str, Any] = {**published, **sizes, **settings}
        return cls(embedding, llm, **arguments)
