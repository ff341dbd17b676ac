"""What an algorithm asks for, and what it has cost."""

from __future__ import annotations

import pytest

from structrag.asking.requests import Failed, Usage, why_unusable


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


def test_an_answer_that_cannot_be_used_is_shown() -> None:
    assert why_unusable("1.\n2.") == "the answer cannot be used: '1. 2.'"
    assert len(why_unusable("x" * 9999)) < 130
