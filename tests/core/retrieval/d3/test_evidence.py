"""Selecting evidence: every strategy and chain on scripted models, whatever they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from d3_making import Overlap
from doubles import HashEmbedder, ScriptedModel
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import D3Index, D3Retriever, read_text
from structrag.errors import NoModel
from structrag.model_calls.runner import Runner
from structrag.records import Chunk
from structrag.retrieval.d3.evidence import (
    select_flow,
)
from structrag.retrieval.d3.selection import Evidence, Selection

QUESTION = "what do cats eat"
TEXTS = [
    "Cats eat fish every day.",
    "The pump moves water.",
    "Dogs eat meat, and cats eat fish too.",
    "Nothing is said here.",
    "What people eat is told below.",
    "Water is wet.",
]


def chunks(
    texts: Sequence[str],
    context: str = "Guide > Animals",
    kind: str = "paragraph",
    **extras: Any,
) -> list[Chunk]:
    made = []
    start = 0
    for text in texts:
        made.append(
            Chunk(
                f"d:{start}",
                "d",
                "d#1",
                start,
                start + len(text),
                text,
                context,
                kind=kind,
                extras=extras,
            )
        )
        start += len(text)
    return made


def selected(
    strategy: str, script: Any = None, texts: Sequence[str] = TEXTS, **changes: Any
) -> Evidence:
    runner = Runner(
        llm=None if script is None else ScriptedModel(script), embedder=HashEmbedder()
    )
    return runner.run(select_flow(QUESTION, chunks(texts), models(strategy, **changes)))


def models(strategy: str, **changes: Any) -> Selection:
    given = {
        "monot5": Overlap(lambda share: share - 1),
        "cross_encoder": Overlap(),
        **changes,
    }
    return Selection(strategy=strategy, **given)


# -- base


@pytest.mark.parametrize("answer", ["7", "7, 9", "[99]"])
def test_ids_that_were_never_shown_are_no_answer(answer: str) -> None:
    evidence = selected("base", answer, ["Cats eat fish.", "Pumps move water."])
    assert evidence.positions == (0,)  # by BM25; the question is of cats
    assert evidence.dropped and evidence.degraded == 1
    assert "not shown" in evidence.failures[0]


def test_without_a_language_model() -> None:
    assert selected("auto").positions == selected("lexical").positions == (0, 2)
    assert selected("auto").degraded == 0
    assert selected("auto", "2").positions == (1,)
    for strategy in ("base", "hierbase", "lexical+base"):
        with pytest.raises(NoModel):
            selected(strategy)


# -- hierbase


# -- chains


# -- invariants

GARBAGE = st.sampled_from(
    ["", "none", "1, 2, 2, 99", "[3]-[900]", '{"ids": [1, "4"]}', "I am sorry.", "Paragraph 2 in "
                                                                                 "section 3.2 "
        "(45%)", "第2段", "x" * 9999]
) | st.text(max_size=20)  # fmt: skip
STRATEGIES = ["base", "hierbase", "monot5", "cross_encoder", "lexical", "dense"]
CHAINS = [
    *STRATEGIES,
    "base+monot5",
    "monot5+base",
    "dense+hierbase",
    "lexical+base+cross_encoder",
]
LONG = [
    *TEXTS,
    *(f"{text} " + "More is said of it in these words. " * 20 for text in TEXTS),
]


@settings(max_examples=60, deadline=None)
@given(
    answers=st.lists(GARBAGE, min_size=1, max_size=6),
    strategy=st.sampled_from(CHAINS),
    n=st.integers(0, 12),
    fails=st.integers(2, 4),
)
def test_any_answers_give_a_valid_subset_and_sync_equals_async(
    answers: list[str], strategy: str, n: int, fails: int
) -> None:
    def scripted() -> Callable[[str], str]:
        # By prompt, as calls of one round may come in any order.
        def script(prompt: str) -> str:
            number = sum(map(ord, prompt))
            if number % fails == 1:
                raise OSError("connection reset")
            return answers[number % len(answers)]

        return script

    setting = models(strategy, context_tokens=500)
    paragraphs = chunks(LONG[:n])
    runner = Runner(llm=ScriptedModel(scripted()), embedder=HashEmbedder())
    evidence = runner.run(select_flow(QUESTION, paragraphs, setting))
    assert list(evidence.positions) == sorted(set(evidence.positions))
    assert set(evidence.positions) <= set(range(n))
    assert evidence.scores is None or len(evidence.scores) == len(evidence.positions)
    assert evidence.degraded == len(evidence.failures)
    assert evidence.cost.calls == len(evidence.answers)
    assert (
        asyncio.run(runner.arun(select_flow(QUESTION, paragraphs, setting))) == evidence
    )


def test_hierbase_reads_summaries_of_the_summariser() -> None:
    def summarise(prompt: str) -> str:
        return "It leaks. " if "pump" in prompt else "Of brass."

    long = " It is said again and again, so that this is a long paragraph." * 3
    text = f"# A\n\nThe pump drips.{long}\n\n# B\n\nThe valve.{long}\n\n# C\n\nShort.\n"
    summariser = ScriptedModel(summarise)
    index = D3Index(preset="paper", llm=summariser)
    index.add([read_text(text, format="markdown")])
    before = len(summariser.prompts)
    model = ScriptedModel(lambda prompt: "A, B, C" if "Section" in prompt else "1")
    retriever = D3Retriever(index, llm=model, preset="paper", strategy="hierbase")
    result = retriever.result("What drips?")
    assert len(summariser.prompts) - before == 3  # whatever their length
    assert "[1] It leaks.\n[2] Of brass.\n" in model.prompts[1]
    assert (
        "The pump drips." not in model.prompts[1]
        and "The pump drips." in model.prompts[2]
    )
    assert [hit.chunk.path for hit in result.hits] == [("A",)]
    assert result.cost["select"].calls == 2


# And no loop, as "x" * 9000 is.
TOO_LONG = " ".join(f"word{number}" for number in range(900))


@pytest.mark.parametrize("is_published", [True, False])
@pytest.mark.parametrize(
    "answer", [OSError("down"), "", "I cannot help with that.", "x" * 9000, TOO_LONG]
)
def test_a_paragraph_whose_summary_fails_is_extracted(
    answer: Any, is_published: bool
) -> None:
    paragraphs = chunks(LONG)
    model = ScriptedModel("1")
    make = Selection.paper if is_published else Selection
    settings = make(strategy="hierbase", summariser=ScriptedModel(answer))
    evidence = Runner(llm=model).run(select_flow(QUESTION, paragraphs, settings))
    plain = replace(settings, summariser=None)
    assert (
        evidence.positions
        == Runner(llm=ScriptedModel("1"))
        .run(select_flow(QUESTION, paragraphs, plain))
        .positions
    )
    is_used = answer == TOO_LONG or (is_published and "cannot" in str(answer))
    assert bool(evidence.failures) is not is_used


# -- limits; characters or words are tokens


def test_a_question_that_fills_the_context_takes_no_call() -> None:
    runner = Runner(llm=ScriptedModel("1"))
    flow = select_flow("cats " * 4000, chunks(TEXTS), Selection(strategy="base"))
    evidence = runner.run(flow)
    assert runner.usage.calls == 0
    assert evidence.positions == (0, 2)
    assert evidence.degraded == 1
