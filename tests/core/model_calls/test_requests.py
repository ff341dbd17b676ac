"""What an algorithm asks for, and what it has cost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, HashTokens

from structrag.model_calls.calling import ModelCall
from structrag.model_calls.requests import (
    Ask,
    Choose,
    Embed,
    EmbedTokens,
    Failed,
    Score,
    Search,
    TokenVectors,
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


def test_a_run_that_asked_nothing_cost_nothing() -> None:
    assert str(Usage()) == (
        "0 language-model calls, 0 tokens of prompts and 0 of answers; 0 texts embedded, 0 "
        "tokens; 0 cache hits"
    )
    assert not any(Usage().as_dict().values())


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


NO_TOKENS = np.zeros((0, 2))


@pytest.mark.parametrize(
    "record",
    [
        Ask("prompt"),
        Choose("prompt", ("1", "2")),
        Embed(("text",)),
        EmbedTokens(("text",), HashTokens()),
        Search("dense", "query", None, 5),
        Score("query", ("text",), None),  # type: ignore[arg-type]
        Failed(TimeoutError()),
        TokenVectors(np.zeros(0), NO_TOKENS, NO_TOKENS, np.zeros(2)),
        ModelCall("embedder", None, "embed", ()),
        Usage(),
    ],
    ids=lambda record: type(record).__name__,
)
def test_records_take_no_attribute_that_they_do_not_have(record: Any) -> None:
    with pytest.raises((AttributeError, TypeError)):
        record.unknown = "no field of it"
    assert not hasattr(record, "__dict__")  # there are thousands at once
    if not isinstance(record, Usage):
        first = record.__slots__[0]
        with pytest.raises(AttributeError):
            setattr(record, first, getattr(record, first))


def test_what_a_request_says_when_nothing_else_is_said() -> None:
    assert Ask("prompt") == Ask("prompt", "", True, None, None)
    assert Choose("prompt", ("1", "2")) == Choose("prompt", ("1", "2"), "", True)
    assert Embed(("text",)) == Embed(("text",), False, None)
    encoder = HashTokens()
    assert EmbedTokens(("a",), encoder) == EmbedTokens(("a",), encoder, False)
    assert Failed(TimeoutError()).asked is True


def test_texts_of_one_kind_have_one_model_and_one_prompt() -> None:
    embedder, encoder = HashEmbedder(), HashTokens()
    kinds = [
        Embed(("a",)).kind,
        Embed(("a",), query=True).kind,
        Embed(("a",), embedder=embedder).kind,
        Embed(("a",), embedder=HashEmbedder()).kind,
        EmbedTokens(("a",), encoder).kind,
        EmbedTokens(("a",), encoder, query=True).kind,
        EmbedTokens(("a",), HashTokens()).kind,
    ]
    assert len(set(kinds)) == 7
    assert Embed(("a",)).kind == Embed(("b", "c")).kind
    assert Embed(("a",), embedder=embedder).kind == Embed(("b",), False, embedder).kind
    assert EmbedTokens(("a",), encoder).kind == EmbedTokens(("b",), encoder).kind
