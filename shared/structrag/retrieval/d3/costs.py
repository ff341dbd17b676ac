"""The costs of the stages of D3: calls, tokens, and scored texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from structrag.model_calls.usage import calls_line, tokens_of
from structrag.text.tokens import TokenCounter, count_tokens


@dataclass(frozen=True, slots=True)
class StageCost:
    """The cost of one stage, or of several added up.

    Attributes:
        calls: Prompts for the language model, those answered by the cache included.
        prompt_tokens: Tokens of these prompts: as the model tells, else as counted here.
        answer_tokens: Tokens of the answers; a failed call has none.
        scored: Paragraphs or sections scored by a reranker, BM25 or vectors.
    """

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    scored: int = 0

    @property
    def tokens(self) -> int:
        """Prompt and answer tokens together: what the paper counts."""
        return self.prompt_tokens + self.answer_tokens

    def __str__(self) -> str:
        scored = (
            f"; {self.scored:,} paragraphs or sections scored" if self.scored else ""
        )
        return calls_line(self.calls, self.prompt_tokens, self.answer_tokens) + scored

    def __add__(self, other: StageCost) -> StageCost:
        return StageCost(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.answer_tokens + other.answer_tokens,
            self.scored + other.scored,
        )


# Share of a context window that is filled by estimate: texts have up to 1.1 times the estimate by
# cl100k_base, and models' own tokenizers make a few more.
ESTIMATED_SHARE = 0.85


def window_tokens(context_tokens: int, counter: TokenCounter) -> int:
    """The tokens of a window that are filled; fewer of estimated ones."""
    return (
        int(context_tokens * ESTIMATED_SHARE)
        if counter is count_tokens
        else context_tokens
    )


def model_counter(counter: TokenCounter, llm: Any) -> TokenCounter:
    """The chosen counter; without one that of the model's own tokenizer. A model that has none
    keeps the estimate."""
    if counter is not count_tokens:
        return counter
    return getattr(llm, "count_tokens", None) or counter


def call_cost(
    prompt: str, answer: object, counter: TokenCounter = count_tokens
) -> StageCost:
    """The cost of one call. A failed one's answer, no string, has no tokens."""
    return StageCost(1, *tokens_of(prompt, answer, counter))
