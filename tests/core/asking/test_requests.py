"""What an algorithm asks for, and what it has cost."""

from __future__ import annotations

from structrag.asking.requests import Usage


def test_what_a_run_has_cost_reads_as_a_line() -> None:
    usage = Usage(
        calls=1, prompt_tokens=1200, answer_tokens=40, embedded=11, embedding_tokens=1, cache_hits=1
    )
    line = (
        "1 language-model call, 1,200 tokens of prompts and 40 of answers; 11 texts embedded, 1 "
        "token; 1 cache hit"
    )
    assert str(usage) == line
    usage.fallbacks.update(summary=2, keywords=1)
    assert str(usage) == f"{line}; fell back: 1 keywords, 2 summary"
    assert repr(usage).startswith("Usage(calls=1, ")
