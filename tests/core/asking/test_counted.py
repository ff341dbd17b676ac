"""Answers that tell what their call took."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace

import pytest

from structrag import Cache
from structrag.asking.counted import CallTokens, counted, reported_tokens, tokens_of
from structrag.asking.requests import Ask, Choose
from structrag.asking.runner import Runner

TOKENS = CallTokens(31, 4)


@pytest.mark.parametrize("answer", ["A pump.", "", 0.25, -1.0, 0])
def test_a_counted_answer_is_that_answer(answer: float | str) -> None:
    kept = counted(answer, TOKENS)
    assert kept == answer and hash(kept) == hash(answer)
    assert json.dumps({"answer": kept}) == json.dumps(
        {"answer": answer if isinstance(answer, str) else float(answer)}
    )
    assert tokens_of("prompt", pickle.loads(pickle.dumps(kept))) == TOKENS
    assert counted(answer, None) is answer


def test_what_tells_nothing_is_counted() -> None:
    assert tokens_of("ten short words", "yes", len) == (15, 3)
    assert tokens_of("ten short words", None, len) == (15, 0)
    assert tokens_of("ten short words", 0.5, len) == (15, 0)
    assert tokens_of("ten short words", counted("yes", TOKENS), len) == TOKENS


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, (7, 2)),
        ({"input_tokens": 7, "output_tokens": 2}, (7, 2)),
        (SimpleNamespace(prompt_tokens=7, completion_tokens=None), (7, 0)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": "7", "completion_tokens": True}, None),
        ({}, None),
        (None, None),
    ],
)
def test_what_servers_and_frameworks_report(
    usage: object, expected: tuple[int, int] | None
) -> None:
    assert reported_tokens(usage) == expected


class Telling:
    """Tells 100 tokens of every prompt and 3 of every answer."""

    name = "telling"

    def complete(self, prompt: str) -> str:
        return counted(f"{prompt} Yes.", CallTokens(100, 3))

    def choose(self, prompt: str, options: tuple[str, str]) -> float:
        return counted(0.5, CallTokens(100, 1))


def test_usage_is_what_the_model_tells_also_behind_an_echo_and_from_the_cache() -> None:
    prompt = "Does a pump move water? Answer with yes or no, nothing else."
    cache = Cache(":memory:")

    def steps():  # type: ignore[no-untyped-def]
        return (yield [Ask(prompt), Choose(prompt, ("yes", "no"))])

    runner = Runner(llm=Telling(), cache=cache)
    for asked in (runner, Runner(llm=Telling(), cache=cache)):
        text, margin = asked.run(steps())
        assert (text, margin) == ("Yes.", 0.5)
        assert (tokens_of("", text), tokens_of("", margin)) == ((100, 3), (100, 1))
    assert (
        runner.usage.calls,
        runner.usage.prompt_tokens,
        runner.usage.answer_tokens,
    ) == (
        2,
        200,
        4,
    )
    assert asked.usage.prompt_tokens == 0 and asked.usage.cache_hits == 2
