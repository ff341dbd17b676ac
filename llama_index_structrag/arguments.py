"""What node parsers take as keywords, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from llama_index.core.callbacks import CallbackManager
from typing_extensions import TypedDict

from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.chunks.idms.sentence_margins import MarginFunction


class SectionParserArguments(TypedDict, total=False):
    """The fields of `SectionNodeParser`."""

    include_metadata: bool
    include_prev_next_rel: bool
    callback_manager: CallbackManager
    id_func: Callable[..., str]
    chunk_size: int
    tokenizer: Callable[[str], Sequence[Any]] | None
    format: Literal["auto", "html", "markdown", "text"]
    drop_navigation: bool
    language: str
    sentence_splitter: Callable[[str], list[tuple[int, int]]] | None
    strip: bool
    add_context: bool
    metadata_lists: bool
    algorithm_version: Literal[1]
    exclude_titles: Sequence[str]
    plain_headings: bool


class _ReadingParserArguments(SectionParserArguments, total=False):
    """The fields of `ReadingNodeParser` but for its models."""

    min_chunk_size: int | None
    respect_sections: bool
    boundary_embedder: Any
    reuse_vectors: bool
    cache: Any
    batch_size: int
    max_concurrency: int
    prompt: str


class PICParserArguments(_ReadingParserArguments, total=False):
    """The fields of `PICNodeParser` but for its models."""

    pseudo_instruction: Literal["summary", "mean"]
    instructions: Sequence[str]
    instructions_key: str | None
    instruction_vectors: Sequence[Sequence[float]] | None
    as_query: bool
    threshold: Literal["mean", "median"] | float
    threshold_sd: float
    hysteresis: float
    scope: Literal["auto", "document", "section"]
    bounds: Literal["merge", "none"]
    summary_window: int | None


class IDMSParserArguments(_ReadingParserArguments, total=False):
    """The fields of `IDMSNodeParser` but for its models."""

    target_chunk_size: int | None
    margin: Literal["auto", "llm", "similarity", "words"] | MarginFunction
    context: str
    theta0: float
    warmup: int
    history: int | None
    merge: Literal["weakest", "greedy", "none"]
    normalised: bool
    enrich: str | IDMSEnricher


class HiQAParserArguments(SectionParserArguments, total=False):
    """The fields of `HiQANodeParser`."""

    metadata: Literal["path", "section", "none"]
    table_cells: bool
    describe_image: Callable[[str], str] | None
