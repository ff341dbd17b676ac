"""Thoughts of reasoning models around their answers."""

from __future__ import annotations

from typing import Any

import pytest
from growth import LINEAR, Shape, growth

from structrag.errors import InvalidAnswer
from structrag.model_calls.cache import Cache, cache_key
from structrag.model_calls.requests import Ask, Failed, ask
from structrag.model_calls.runner import Runner
from structrag.model_calls.stripping import without_thoughts
from structrag.models.llm import FunctionModel

THOUGHT = 'Okay, a ZEBRA.\n\nI could write {"summary": "ZEBRA"} or [3].'
ANSWER = '{"summary": "Tanks are drained."}'
GPT_OSS = f"<|channel|>analysis<|message|>{THOUGHT}<|end|>"


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>{THOUGHT}</think>{ANSWER}",
        f"\n<think>\n{THOUGHT}\n</think>\n\n{ANSWER}\n",
        f"{THOUGHT}</think>\n{ANSWER}",
        f"<THINKING>{THOUGHT}</Thinking>{ANSWER}",
        f"<thought>{THOUGHT}</thought>\n{ANSWER}",
        f"<think>{THOUGHT}</think><think>{THOUGHT}</think>{ANSWER}",
        f"<think>Close with </think> then. {THOUGHT}</think>{ANSWER}",
        f"<think>{THOUGHT} <reasoning>no</reasoning> so</think>{ANSWER}",
        f"{ANSWER}\n<think>{THOUGHT}</think>\n",
        f"<think>{THOUGHT}</think><answer>{ANSWER}</answer>",
        f"[THINK]{THOUGHT}[/THINK]{ANSWER}",
        f"◁think▷{THOUGHT}◁/think▷{ANSWER}",
        f"<|begin_of_thought|>{THOUGHT}<|end_of_thought|>\n"
        f"<|begin_of_solution|>{ANSWER}<|end_of_solution|>",
        f"<|START_THINKING|>{THOUGHT}<|END_THINKING|><|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>",
        f"<|channel>thought\n{THOUGHT}<channel|>{ANSWER}",
        f"<unused94>thought\n{THOUGHT}<unused95>{ANSWER}",
        f"<|think|>{THOUGHT}<|/think|>{ANSWER}",
        f"{GPT_OSS}<|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>",
        f"<|start|>assistant{GPT_OSS}<|start|>assistant<|channel|>final "
        f"<|constrain|>json<|message|>{ANSWER}",
        f"analysisWe think. {THOUGHT}assistantfinal{ANSWER}",
    ],
)
def test_thoughts_are_left_out(answer: str) -> None:
    assert without_thoughts("Summarise.", answer) == ANSWER


@pytest.mark.parametrize(
    "answer",
    [
        "",
        ANSWER,
        " A model writes a <think> tag first.",
        "analysis of the pump: it leaks",
        "`<thinking>` is what they write, I think>",
    ],
)
def test_other_answers_stay_as_they_are(answer: str) -> None:
    assert without_thoughts("Summarise.", answer) == answer


def test_a_quotation_of_the_prompt_is_none() -> None:
    page = "Models write:\n\n<think>\nwell\n</think>\n\nthen they answer."
    assert without_thoughts(f"Format this:\n{page}", page) == page
    thought = f"<think>{THOUGHT}</think>\n{page}"
    assert without_thoughts(f"Format this:\n{page}", thought) == page


CUT_OFF = [
    f"<think>{THOUGHT}",
    f"<think>a</think> <think>{THOUGHT}",
    f"{ANSWER}\n<thinking>{THOUGHT}",
    f"[THINK]{THOUGHT}",
    GPT_OSS,
    f"<|channel|>analysis<|message|>{THOUGHT}",
    f"analysisWe think. {THOUGHT}",
]


@pytest.mark.parametrize("answer", CUT_OFF)
def test_an_answer_that_ends_amid_a_thought_is_none(answer: str) -> None:
    runner = Runner(llm=FunctionModel(lambda _: answer, name="r1"), cache=":memory:")

    def flow() -> Any:
        return (yield from ask(Ask("Summarise.")))

    with pytest.warns(UserWarning, match="inside its reasoning"):
        failed = runner.run(flow())
    assert isinstance(failed, Failed) and isinstance(failed.reason, InvalidAnswer)
    assert runner.usage.failed == 1 and runner.usage.answer_tokens > 5


def test_thoughts_count_and_are_not_read_from_a_cache() -> None:
    cache, answer = Cache(":memory:"), f"<think>{THOUGHT}</think>Drained."
    runner = Runner(llm=FunctionModel(lambda _: answer, name="r1"), cache=cache)

    def flow() -> Any:
        return (yield from ask(Ask("Summarise.")))

    assert runner.run(flow()) == "Drained."
    assert runner.usage.answer_tokens > 10
    # A cache of an earlier release holds the thoughts.
    cache.put(cache_key("ask", "r1", "", "Summarise."), {"answer": answer})
    assert runner.run(flow()) == "Drained." and runner.usage.cache_hits == 1


@pytest.mark.parametrize(
    "shape",
    [
        Shape("<think>"),
        Shape("a <think>"),
        Shape("<think>a</think>"),
        Shape("</think>"),
        Shape(" ", "<think"),
        Shape("<|channel|>final", "<|channel|>"),
        Shape("assistantfinal", "analysisWe"),
        Shape("<answer>", "<think></think>"),
    ],
    ids=range(8),
)
def test_time_grows_with_the_length(shape: Shape) -> None:
    assert growth(lambda text: without_thoughts("", text), shape, 100_000) < LINEAR
