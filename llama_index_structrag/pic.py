"""PIC for LlamaIndex, in the place of `SemanticSplitterNodeParser`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from llama_index.core.bridge.pydantic import Field
from typing_extensions import Self, Unpack

from llama_index_structrag.arguments import PICParserArguments
from llama_index_structrag.parsing import Splitter
from llama_index_structrag.reading import ReadingNodeParser
from structrag.chunks.pic.splitter import PICSplitter
from structrag.hosts.metadata import PIC_KEYS
from structrag.hosts.splitters import UNLIMITED, defaults_of
from structrag.text.tokens import TokenCounter

_DEFAULTS = defaults_of(PICSplitter)


class PICNodeParser(ReadingNodeParser):
    """Nodes are runs of sentences relevant to a pseudo-instruction, or not.

    The pseudo-instruction is, for example, the document's summary.

    Example:
        >>> from llama_index.core import Document
        >>> text = "# Pump\\n\\nIt moves water. Rinse its filter. Invoices are due in March."
        >>> parser = PICNodeParser(chunk_size=24)  # or with embed_model and llm
        >>> for node in parser.get_nodes_from_documents([Document(text=text)]):
        ...     print(repr(node.text))
        '# Pump\\n\\nIt moves water.'
        'Rinse its filter. Invoices are due in March.'

    Takes the place of `SemanticSplitterNodeParser(embed_model=...)`; see `ContentAwareNodeParser`
    for offsets, limits and metadata, and `structrag.chunks.pic.splitter.PICSplitter` for the
    settings. Metadata, which no model sees: `pic_relevant`; `pic_mean_similarity` and
    `pic_threshold`, 0.0 where the text was too short to be looked at; `pic_degraded`, whether the
    LLM should have given a summary and did not.
    """

    KEYS: ClassVar[Mapping[str, str]] = PIC_KEYS

    min_chunk_size: int | None = Field(
        default=_DEFAULTS["min_tokens"],
        ge=0,
        description="Wished least tokens of a node, at most half of chunk_size; None: a third of "
        "it.",
    )
    pseudo_instruction: Literal["summary", "mean"] = Field(
        default=_DEFAULTS["pseudo_instruction"],
        description="The LLM's summary (without an LLM the central sentences), or the mean vector.",
    )
    instructions: list[str] = Field(
        default_factory=list, description="Questions or texts in place of the summary."
    )
    instructions_key: str | None = Field(
        default=_DEFAULTS["instructions_key"],
        description="Metadata key under which a document has instructions of its own.",
    )
    instruction_vectors: list[list[float]] | None = Field(
        default=_DEFAULTS["instruction_vectors"],
        description="The same as vectors of embed_model, one a row.",
    )
    as_query: bool = Field(
        default=_DEFAULTS["as_query"],
        description="Whether the summary is embedded as a query, not as sentences are.",
    )
    threshold: Literal["mean", "median"] | float = Field(
        default=_DEFAULTS["threshold"], description="Or a number."
    )
    threshold_sd: float = Field(
        default=_DEFAULTS["threshold_sd"],
        description="Standard deviations added to the mean or median.",
    )
    hysteresis: float = Field(
        default=_DEFAULTS["hysteresis"],
        ge=0,
        description="Standard deviations by which it must be passed.",
    )
    scope: Literal["auto", "document", "section"] = Field(
        default=_DEFAULTS["scope"], description="What shares a threshold."
    )
    bounds: Literal["merge", "none"] = Field(
        default=_DEFAULTS["bounds"], description="How small runs grow."
    )
    prompt: str = Field(
        default=_DEFAULTS["prompt"],
        description="What the LLM is asked, with {title} and {text}.",
    )
    summary_window: int | None = Field(
        default=_DEFAULTS["summary_window"],
        ge=100,
        description="Estimated tokens that the LLM is given at once; None: all.",
    )

    @classmethod
    def class_name(cls) -> str:
        return "PICNodeParser"

    @classmethod
    def paper(
        cls,
        embed_model: Any = None,
        llm: Any = None,
        **settings: Unpack[PICParserArguments],
    ) -> Self:
        """As published (section 3.2).

        The document's summary, the mean, no size bounds, sections not looked at.
        """
        sizes = {"chunk_size": UNLIMITED, "min_chunk_size": 0, "add_context": False}
        published = {**cls.shared(PICSplitter, PICSplitter.paper()), **sizes}
        return cls(embed_model=embed_model, llm=llm, **{**published, **settings})

    def core_splitter(
        self, limit: int, counter: TokenCounter, *, context: bool = True
    ) -> Splitter:
        least = (
            None
            if self.min_chunk_size is None
            else min(self.min_chunk_size, limit // 2)
        )
        return self._core(limit, counter, least, context and self.add_context)

    def _core(
        self, limit: int, counter: TokenCounter, least: int | None, context: bool
    ) -> PICSplitter:
        settings = self.settings_of(PICSplitter)
        return PICSplitter(
            **settings,
            min_tokens=least,
            max_tokens=limit,
            context=context,
            counter=counter,
        )
