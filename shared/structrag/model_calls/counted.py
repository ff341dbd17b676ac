"""Answers that carry the tokens which the model's side counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

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
    kept: Any = (
        CountedText(answer) if isinstance(answer, str) else CountedMargin(answer)
    )
    kept.tokens = tokens
    return kept  # type: ignore[no-any-return]


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
    """What a server or framework reports of a call, or None. Such reports are mappings or objects,
    which call the same numbers by two names each."""
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
