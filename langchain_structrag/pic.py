"""PIC for LangChain, in the place of `SemanticChunker`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from langchain_structrag.reading import ReadingTextSplitter
from langchain_structrag.splitting import LengthFunction
from structrag.chunks.pic import PICSplitter
from structrag.chunks.summaries import SUMMARY_PROMPT


class PICTextSplitter(ReadingTextSplitter):
    """Splits where relevance to a pseudo-instruction, such as the document's summary, begins and ends.

        PICTextSplitter(embeddings, llm).split_documents(documents)

    Metadata is that of `ContentAwareTextSplitter` and `pic_relevant`, `pic_mean_similarity` and `pic_threshold` (the latter two where the
    text was long enough to be looked at), and `pic_degraded` where the language model should have given a summary and did not.

    Args:
        embeddings: LangChain `Embeddings`, or what structrag takes: the name of a sentence-transformers model, a function. None: LSA
            of each document's own sentences.
        llm: A chat model or LLM that writes the summary, one call a document or section. None: its most central sentences.
        chunk_size: Hard limit of `page_content`, heading path included where `add_context`.
        min_chunk_size: Wished least size, at most half of `chunk_size`; None: 2/15 of `chunk_size`, 40 tokens of 300.
        length_function: What measures sizes; characters by default, tokens after `from_tiktoken_encoder`.
        pseudo_instruction, instructions, instruction_vectors, threshold, threshold_sd, hysteresis, smooth, scope, respect_sections, bounds,
            prompt, summary_window: As in `structrag.chunks.pic.PICSplitter`.
        exclude_titles, plain_headings, language, format, strip_whitespace, add_context, flat_metadata: As in `ContentAwareTextSplitter`.
        sizes: `cache` (a structrag `Cache`: finished calls and vectors are kept, so that a run can be resumed), `batch_size` and
            `max_concurrency` of the models, `progress`, and what every LangChain splitter takes.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    EXTRAS: ClassVar[Mapping[str, str]] = {
        name: f"pic_{name}" for name in ("relevant", "mean_similarity", "threshold", "degraded")
    }

    def __init__(
        self,
        embeddings: Any = None,
        llm: Any = None,
        *,
        chunk_size: int = 1200,
        min_chunk_size: int | None = None,
        length_function: LengthFunction = len,
        pseudo_instruction: str = "summary",
        instructions: Sequence[str] = (),
        instruction_vectors: Any = None,
        threshold: str | float = "mean",
        threshold_sd: float = 0.0,
        hysteresis: float = 0.0,
        smooth: bool = False,
        scope: str = "auto",
        respect_sections: bool = True,
        bounds: str = "merge",
        prompt: str = SUMMARY_PROMPT,
        summary_window: int = 6000,
        exclude_titles: Sequence[str] = (),
        plain_headings: bool = True,
        language: str = "english",
        add_context: bool = False,
        **sizes: Any,
    ) -> None:
        super().__init__(
            embeddings, llm, chunk_size=chunk_size, length_function=length_function, language=language, **sizes
        )
        self._add_context = add_context
        self.core = PICSplitter(
            pseudo_instruction=pseudo_instruction,
            instructions=instructions,
            instruction_vectors=instruction_vectors,
            threshold=threshold,
            threshold_sd=threshold_sd,
            hysteresis=hysteresis,
            smooth=smooth,
            scope=scope,
            respect_sections=respect_sections,
            bounds=bounds,
            min_tokens=chunk_size * 2 // 15 if min_chunk_size is None else min_chunk_size,
            max_tokens=chunk_size,
            context=add_context,
            exclude_titles=exclude_titles,
            plain_headings=plain_headings,
            counter=self._counter(),
            language=language,
            prompt=prompt,
            summary_window=summary_window,
        )

    @classmethod
    def paper(cls, embeddings: Any = None, llm: Any = None, **settings: Any) -> PICTextSplitter:
        """As published (section 3.2): the document's summary, the mean, no size bounds, sections not looked at."""
        published: dict[str, Any] = {
            "chunk_size": 10**9,
            "min_chunk_size": 0,
            "scope": "document",
            "respect_sections": False,
            "bounds": "none",
            "plain_headings": False,
        }
        return cls(embeddings, llm, **{**published, **settings})
