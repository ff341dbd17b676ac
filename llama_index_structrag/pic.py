"""PIC for LlamaIndex, in the place of `SemanticSplitterNodeParser`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from llama_index.core.bridge.pydantic import Field, model_validator
from typing_extensions import Self

from llama_index_structrag.parsing import Splitter
from llama_index_structrag.reading import ReadingNodeParser
from llama_index_structrag.settings import token_counter
from structrag.chunks.pic import PICSplitter
from structrag.chunks.summaries import SUMMARY_PROMPT
from structrag.tokens import TokenCounter


class PICNodeParser(ReadingNodeParser):
    """Nodes are runs of sentences that are relevant to a pseudo-instruction, such as the document's summary, and runs that are not.

    Takes the place of `SemanticSplitterNodeParser(embed_model=...)`; see `ContentAwareNodeParser` for offsets, limits and metadata, and
    `structrag.chunks.pic.PICSplitter` for the settings. Metadata, which no model sees: `pic_relevant`; `pic_mean_similarity` and
    `pic_threshold` where the text was long enough to be looked at; `pic_degraded` where the LLM should have given a summary and did not.
    """

    EXTRAS: ClassVar[Mapping[str, str]] = {
        name: f"pic_{name}" for name in ("relevant", "mean_similarity", "threshold", "degraded")
    }

    chunk_size: int = Field(default=300, gt=0, description="Most tokens of a node's text as it is embedded.")
    min_chunk_size: int | None = Field(
        default=None, ge=0, description="Wished least tokens of a node, at most half of chunk_size; None: 2/15 of it."
    )
    pseudo_instruction: Literal["summary", "mean"] = Field(
        default="summary", description="The LLM's summary (without an LLM the central sentences), or the mean vector."
    )
    instructions: list[str] = Field(default_factory=list, description="Questions or texts in place of the summary.")
    instruction_vectors: list[list[float]] | None = Field(
        default=None, description="The same as vectors of embed_model, one a row."
    )
    threshold: Literal["mean", "median"] | float = Field(default="mean", description="Or a number.")
    threshold_sd: float = Field(default=0.0, description="Standard deviations added to the mean or median.")
    hysteresis: float = Field(default=0.0, ge=0, description="Standard deviations by which it must be passed.")
    smooth: bool = Field(default=False, description="Whether similarities are medians of three.")
    scope: Literal["auto", "document", "section"] = Field(default="auto", description="What shares a threshold.")
    respect_sections: bool = Field(default=True, description="Whether no node crosses the border of a section.")
    bounds: Literal["merge", "dp", "none"] = Field(default="merge", description="How small runs grow.")
    prompt: str = Field(default=SUMMARY_PROMPT, description="What the LLM is asked, with {title} and {text}.")
    summary_window: int = Field(default=6000, ge=100, description="Estimated tokens that the LLM is given at once.")
    exclude_titles: list[str] = Field(
        default_factory=list, description="Titles, in any case, of sections left out with everything below them."
    )
    plain_headings: bool = Field(default=True, description="Whether headings are looked for in plain text.")

    @classmethod
    def class_name(cls) -> str:
        return "PICNodeParser"

    @classmethod
    def paper(cls, embed_model: Any = None, llm: Any = None, **settings: Any) -> Self:
        """As published (section 3.2): the document's summary, the mean, no size bounds, sections not looked at."""
        published: dict[str, Any] = {
            "chunk_size": 10**9,
            "min_chunk_size": 0,
            "scope": "document",
            "respect_sections": False,
            "bounds": "none",
            "add_context": False,
            "plain_headings": False,
        }
        return cls(embed_model=embed_model, llm=llm, **{**published, **settings})

    @model_validator(mode="after")
    def _check_core(self) -> Self:
        self._core(self.chunk_size, token_counter(self.tokenizer), self._least(), self.add_context)
        return self

    def core_splitter(self, limit: int, counter: TokenCounter, *, context: bool = True) -> Splitter:
        return self._core(limit, counter, min(self._least(), limit // 2), context and self.add_context)

    def _least(self) -> int:
        return self.chunk_size * 2 // 15 if self.min_chunk_size is None else self.min_chunk_size

    def _core(self, limit: int, counter: TokenCounter, least: int, context: bool) -> PICSplitter:
        return PICSplitter(
            pseudo_instruction=self.pseudo_instruction,
            instructions=tuple(self.instructions),
            instruction_vectors=self.instruction_vectors,
            threshold=self.threshold,
            threshold_sd=self.threshold_sd,
            hysteresis=self.hysteresis,
            smooth=self.smooth,
            scope=self.scope,
            respect_sections=self.respect_sections,
            bounds=self.bounds,
            min_tokens=least,
            max_tokens=limit,
            context=context,
            exclude_titles=tuple(self.exclude_titles),
            plain_headings=self.plain_headings,
            counter=counter,
            language=self.language,
            prompt=self.prompt,
            summary_window=self.summary_window,
        )
