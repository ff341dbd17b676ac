"""What node parsers take as keywords, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict

from llama_index.core.callbacks import CallbackManager

from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.chunks.hiqa.splitter import HiQASplitterSettings
from structrag.chunks.idms.sentence_margins import MarginFunction
from structrag.chunks.idms.splitter import IDMSSettings
from structrag.chunks.pic.splitter import PICSettings
from structrag.reading.settings import ReadingSettings
from structrag.text.cutting import SentenceSplitter


class ParserArguments(TypedDict, total=False):
    """The fields of every node parser that the core does not know."""

    include_metadata: bool
    include_prev_next_rel: bool
    callback_manager: CallbackManager
    id_func: Callable[..., str]
    chunk_size: int
    tokenizer: Callable[[str], Sequence[Any]] | None
    format: Literal["auto", "html", "markdown", "text"]
    drop_navigation: bool
    strip: bool
    add_context: bool
    metadata_lists: bool
    algorithm_version: Literal[1]


class ContentAwareParserArguments(ReadingSettings, ParserArguments, total=False):
    """The fields of `ContentAwareNodeParser`."""

    chunk_overlap: int
    flat_chunk_size: int | None
    min_chunk_size: int


class FixedParserArguments(ParserArguments, total=False):
    """The fields of `FixedNodeParser`."""

    within_sections: bool
    language: str
    sentence_splitter: SentenceSplitter | None


class _ReadingParserArguments(ParserArguments, total=False):
    """The fields of `ReadingNodeParser` but for its models."""

    min_chunk_size: int | None
    cache: Any
    batch_size: int
    max_concurrency: int


class PICParserArguments(PICSettings, _ReadingParserArguments, total=False):
    """The fields of `PICNodeParser`."""


class IDMSParserArguments(IDMSSettings, _ReadingParserArguments, total=False):
    """The fields of `IDMSNodeParser`."""

    target_chunk_size: int | None
    margin: str | MarginFunction
    enrich: str | IDMSEnricher


class HiQAParserArguments(HiQASplitterSettings, ParserArguments, total=False):
    """The fields of `HiQANodeParser`."""
