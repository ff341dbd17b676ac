"""What asking models costs, and what fell back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from structrag.text.plurals import pluralise


@dataclass(slots=True)
class Usage:
    """What a run has cost so far.

    Tokens of prompts and answers are those that the model's server or framework tells of a call;
    where it tells none, and of embedded texts, `structrag.text.tokens.count_tokens` estimates them.
    """

    calls: int = 0  # of the language model
    failed: int = 0  # of these calls
    prompt_tokens: int = 0
    answer_tokens: int = 0
    embedded: int = 0  # texts sent to the embedder
    embedding_tokens: int = 0
    scored: int = 0  # texts sent to a scorer
    cache_hits: int = 0  # answers, vectors and scores that cost nothing
    # What fell back -> how often.
    fallbacks: Counter[str] = field(default_factory=Counter)
    # What fell back -> why, the first time.
    reasons: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        counts = {name: getattr(self, name) for name in COUNTS}
        return {
            **counts,
            "fallbacks": dict(self.fallbacks),
            "reasons": dict(self.reasons),
        }

    def fell_back(self, counts: Mapping[str, int], reasons: Mapping[str, str]) -> None:
        """Count what fell back; the first reason of each is kept."""
        self.fallbacks.update(counts)
        self.reasons = {**reasons, **self.reasons}

    def __add__(self, other: Usage) -> Usage:
        counts = {name: getattr(self, name) + getattr(other, name) for name in COUNTS}
        reasons = {**other.reasons, **self.reasons}
        return Usage(
            **counts, fallbacks=self.fallbacks + other.fallbacks, reasons=reasons
        )

    def __str__(self) -> str:
        fell_back = fallbacks_line(self.fallbacks, self.reasons)
        parts = [
            calls_line(self.calls, self.prompt_tokens, self.answer_tokens),
            f"{self.failed:,} of the calls failed" if self.failed else "",
            f"{pluralise(self.embedded, 'text')} embedded, "
            f"{pluralise(self.embedding_tokens, 'token')}",
            f"{pluralise(self.scored, 'text')} scored" if self.scored else "",
            pluralise(self.cache_hits, "cache hit"),
            f"fell back: {fell_back}" if fell_back else "",
        ]
        return "; ".join(filter(None, parts))


# the numbers of `Usage`
COUNTS = tuple(
    field.name for field in fields(Usage) if field.name not in {"fallbacks", "reasons"}
)


def fallbacks_line(counts: Mapping[str, int], reasons: Mapping[str, str]) -> str:
    """What fell back, how often and why, in words. Such as "keywords 2 (TimeoutError), summary 1
    (...)"; "" for nothing."""
    parts = []
    for what, count in sorted(counts.items()):
        parts.append(
            f"{what} {count:,} ({reasons[what]})"
            if what in reasons
            else f"{what} {count:,}"
        )
    return ", ".join(parts)


def calls_line(calls: int, prompt_tokens: int, answer_tokens: int) -> str:
    """Calls of a language model in words. Such as "2 language-model calls, 1,200 tokens of prompts
    and 40 of answers"."""
    return (
        f"{pluralise(calls, 'language-model call')}, {pluralise(prompt_tokens, 'token')} of "
        f"prompts and {answer_tokens:,} of answers"
    )
