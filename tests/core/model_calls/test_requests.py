"""What an algorithm asks for, and what it has cost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from doubles import HashTokens

from structrag.model_calls.requests import (
    Ask,
    Embed,
    EmbedTokens,
    Failed,
    Score,
    Search,
    why_unusable,
)
from structrag.model_calls.usage import Usage


def test_what_a_run_has_cost_reads_as_a_line() -> None:
    usage = Usage(
        calls=1,
        prompt_tokens=1200,
        answer_tokens=40,
        embedded=11,
        embedding_tokens=1,
        cache_hits=1,
    )
    line = (
        "1 language-model call, 1,200 tokens of prompts and 40 of answers; 11 texts embedded, 1 "
        "token; 1 cache hit"
    )
    assert str(usage) == line
    usage.fallbacks.update(summary=2, keywords=1)
    assert str(usage) == f"{line}; fell back: keywords 1, summary 2"
    usage.fell_back({"summary": 1}, {"summary": "TimeoutError"})
    usage.fell_back({"summary": 1}, {"summary": "ConnectionError"})
    usage.failed = 1
    assert "; 1 of the calls failed; " in str(usage)
    assert str(usage).endswith("; fell back: keywords 1, summary 4 (TimeoutError)")
    assert usage.as_dict()["reasons"] == {"summary": "TimeoutError"}
    assert usage.as_dict()["failed"] == 1
    assert repr(usage).startswith("Usage(calls=1, ")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (TimeoutError(), "TimeoutError"),
        (ValueError("no\n  such  thing"), "ValueError: no such thing"),
        (ValueError("x" * 999), f"ValueError: {'x' * 200}..."),
    ],
)
def test_a_failed_call_reads_as_one_short_line(error: Exception, line: str) -> None:
    assert str(Failed(error)) == why_unusable(Failed(error)) == line


def test_what_two_runs_have_cost_is_added_up() -> None:
    one = Usage(
        calls=1,
        failed=2,
        prompt_tokens=3,
        answer_tokens=4,
        embedded=5,
        embedding_tokens=6,
        scored=7,
        cache_hits=8,
        fallbacks=Counter(summary=1),
        reasons={"summary": "TimeoutError"},
    )
    other = Usage(
        calls=10,
        failed=10,
        prompt_tokens=10,
        answer_tokens=10,
        embedded=10,
        embedding_tokens=10,
        scored=10,
        cache_hits=10,
        fallbacks=Counter(summary=2, keywords=1),
        reasons={"summary": "ValueError", "keywords": "KeyError"},
    )
    assert (one + other).as_dict() == {
        "calls": 11,
        "failed": 12,
        "prompt_tokens": 13,
        "answer_tokens": 14,
        "embedded": 15,
        "embedding_tokens": 16,
        "scored": 17,
        "cache_hits": 18,
        "fallbacks": {"summary": 3, "keywords": 1},
        "reasons": {"summary": "TimeoutError", "keywords": "KeyError"},
    }
    assert "; 7 texts scored; " in str(one)


class Unhashable:
    """Stands for a model that defines equality, and so has no hash."""

    name = "unhashable"
    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("request_", "other"),
    [
        (
            Ask("prompt", llm=Unhashable(), schema={"type": "object"}),  # type: ignore[arg-type]
            Ask("prompt"),
        ),
        (Embed(("text",), embedder=Unhashable()), Embed(("text",))),  # type: ignore[arg-type]
        (
            EmbedTokens(("text",), Unhashable()),  # type: ignore[arg-type]
            EmbedTokens(("text",), HashTokens()),
        ),
        (
            Search("dense", "query", None, 5, searcher=Unhashable()),  # type: ignore[arg-type]
            Search("dense", "query", None, 5),
        ),
        (
            Score("query", ("text",), Unhashable()),  # type: ignore[arg-type]
            Score("query", ("text",), None),  # type: ignore[arg-type]
        ),
    ],
)
def test_requests_are_told_apart_by_models_that_have_no_hash(
    request_: Any, other: Any
) -> None:
    assert hash(request_) == hash(other)
    assert len({request_, other}) == 2
