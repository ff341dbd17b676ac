"""Count what asking models costs, and what fell back. Answers carry the tokens that the model's
side counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

from structrag.text.numbers import pluralise
from structrag.text.tokens import TokenCounter, count_tokens

Answer = TypeVar("Answer", str, float)


class CallTokens(NamedTuple):
    """The tokens of one call of a language model."""

    prompt: int
    answer: int


class CountedText(str):
    """An answer with its tokens; a string in every other way."""

    tokens: CallTokens


class CountedMargin(float):
    """A margin with its tokens; a number in every other way."""

    tokens: CallTokens


def counted(answer: Answer, tokens: CallTokens | None) -> Answer:
    """The answer with the tokens of its call.

    It stays as it is where they are not known.

    Example:
        >>> answer = counted("A pump.", CallTokens(31, 4))
        >>> answer, tokens_of("What moves water?", answer)
        ('A pump.', CallTokens(prompt=31, answer=4))
    """
    if tokens is None:
        return answer
    with_tokens: Any = (
        CountedText(answer) if isinstance(answer, str) else CountedMargin(answer)
    )
    with_tokens.tokens = tokens
    return with_tokens  # type: ignore[no-any-return]


def tokens_of(
    prompt: str, answer: object, counter: TokenCounter = count_tokens
) -> CallTokens:
    """The tokens of a call, as its answer tells, else counted. Only text has an answer's tokens."""
    answer_tokens = counter(answer) if isinstance(answer, str) else 0
    return told_tokens(answer) or CallTokens(counter(prompt), answer_tokens)


def told_tokens(answer: object) -> CallTokens | None:
    """The tokens that an answer carries, if it does."""
    return answer.tokens if isinstance(answer, CountedText | CountedMargin) else None


def reported_tokens(usage: Any) -> CallTokens | None:
    """Read the report of a server or framework on a call; None if it has no counts. Reports are
    mappings or objects, with two names for each number."""
    numbers = []
    for names in (
        ("prompt_tokens", "input_tokens"),
        ("completion_tokens", "output_tokens"),
    ):
        values = (
            usage.get(name)
            if isinstance(usage, Mapping)
            else getattr(usage, name, None)
            for name in names
        )
        numbers.append(next((value for value in values if type(value) is int), None))
    prompt, answer = numbers
    # 0 of a prompt is what frameworks tell where the server told nothing.
    return CallTokens(prompt, answer or 0) if prompt else None


@dataclass(slots=True)
class Usage:
    """The cost of a run so far.

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
    # View or chunks that fell back -> how often.
    fallbacks: Counter[str] = field(default_factory=Counter)
    # View or chunks that fell back -> the first reason.
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
    """Say what fell back, how often and why, for example "keywords 2 (TimeoutError), summary 1
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
    """Say what language-model calls cost, for example "2 language-model calls, 1,200 tokens of
    prompts and 40 of answers"."""
    return (
        f"{pluralise(calls, 'language-model call')}, {pluralise(prompt_tokens, 'token')} of "
        f"prompts and {answer_tokens:,} of answers"
    )
