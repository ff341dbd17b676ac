"""What finding has cost."""

from __future__ import annotations

from types import SimpleNamespace

from structrag.retrieval.d3.costs import (
    StageCost,
    call_cost,
    model_counter,
)
from structrag.text.tokens import count_tokens


def test_costs_add_up() -> None:
    total = StageCost(1, 10, 2, 3) + StageCost(2, 20, 4, 0)
    assert total == StageCost(3, 30, 6, 3)
    assert (
        str(total)
        == "3 language-model calls, 30 tokens of prompts and 6 of answers; 3 paragraphs or "
        "sections scored"
    )
    assert (
        str(StageCost(1, 1, 1))
        == "1 language-model call, 1 token of prompts and 1 of answers"
    )
    assert total.tokens == 36
    assert call_cost("ten short words", "yes", len) == StageCost(1, 15, 3)
    assert call_cost("ten short words", None, len) == StageCost(1, 15, 0)


def test_a_models_own_tokenizer_counts_unless_another_counter_is_chosen() -> None:
    with_tokenizer = SimpleNamespace(count_tokens=len)
    assert model_counter(count_tokens, with_tokenizer) is len
    assert model_counter(str.__len__, with_tokenizer) == str.__len__
    assert (
        model_counter(count_tokens, SimpleNamespace(count_tokens=None)) is count_tokens
    )
    assert model_counter(count_tokens, None) is count_tokens
