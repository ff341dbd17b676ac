"""The baselines that D3 is compared with: what they read, what they keep, what they cost."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from doubles import ScriptedModel
from fixture_cases import examples

from benchmarks.d3_baselines import (
    BASELINES,
    chunk_flow,
    map_reduce_flow,
    map_reduce_optimized_flow,
    paragraph_flow,
    says_yes,
)
from structrag.model_calls.runner import Runner
from structrag.records import Chunk
from structrag.retrieval.d3.selection import Evidence
from structrag.text.tokens import count_tokens

QUESTION = "What do herons eat?"


def chunks(*texts: str) -> list[Chunk]:
    return [
        Chunk(f"d:{i}", "d", "d#0", i, i + len(text), text)
        for i, text in enumerate(texts)
    ]


def oracle(wanted: str) -> Any:
    """Says yes to a paragraph, and names those of several, that hold a word."""

    def answer(prompt: str) -> str:
        if "yes" in prompt:
            return "Yes." if wanted in prompt.partition("Question:")[0] else "No."
        shown = prompt.rpartition("Question:")[0]
        return ", ".join(re.findall(rf"\[(\d+)\] [^\[]*{wanted}", shown)) or "none"

    return answer


def run(flow: Any, model: Any) -> Evidence:
    result: Evidence = Runner(llm=model).run(flow)
    return result


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_all_find_the_evidence_in_reading_order(name: str) -> None:
    paragraphs = chunks(
        *(
            f"heron {i} " + "word " * 400
            if i % 5 == 1
            else f"otter {i} " + "word " * 400
            for i in range(20)
        )
    )
    model = ScriptedModel(oracle("heron"))
    found = run(BASELINES[name](QUESTION, paragraphs), model)
    assert found.positions == (1, 6, 11, 16)
    assert found.cost.calls == len(model.prompts)
    assert found.cost.prompt_tokens == sum(map(count_tokens, model.prompts))
    assert (
        asyncio.run(Runner(llm=model).arun(BASELINES[name](QUESTION, paragraphs)))
        == found
    )


def test_calls_and_sizes() -> None:
    # 520 tokens each.
    paragraphs = chunks(*(f"h{i} " + "heron " * 259 for i in range(20)))
    model = ScriptedModel(oracle("heron"))
    assert run(paragraph_flow(QUESTION, paragraphs), model).cost.calls == 20
    assert run(map_reduce_flow(QUESTION, paragraphs), model).cost.calls == 21
    assert max(map(count_tokens, model.prompts)) > 20 * 520  # all in one call
    model = ScriptedModel(oracle("heron"))
    # Six paragraphs a call.
    assert run(chunk_flow(QUESTION, paragraphs), model).cost.calls == 4
    frame = max(map(count_tokens, model.prompts)) - 6 * 520
    assert max(map(count_tokens, model.prompts)) <= 3500 + frame
    assert frame < 100
    assert run(map_reduce_optimized_flow(QUESTION, paragraphs), model).cost.calls == 8
    one, two = (
        run(chunk_flow(QUESTION, paragraphs, chunk_tokens=n), model).cost.calls
        for n in (530, 1100)
    )
    assert (one, two) == (20, 10)


@examples
def test_yes(answer: str) -> None:
    assert says_yes(answer)


@examples
def test_no(answer: str) -> None:
    assert not says_yes(answer)
