"""A dry run against the run that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from doubles import HashEmbedder, ScriptedModel
from hypothesis import given
from hypothesis import strategies as st

from structrag.errors import ModelFailed, NoModel
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import (
    Ask,
    Choose,
    Embed,
    Failed,
    Request,
    Score,
    Search,
    gather,
    memoised,
)
from structrag.model_calls.runner import DryRun, Runner

WORDS = st.sampled_from(["a", "b c", "d"])
REQUESTS = st.one_of(
    st.builds(Ask, WORDS),
    st.builds(Embed, st.lists(WORDS, min_size=1, max_size=3).map(tuple)),
)
TURNS = st.lists(st.lists(REQUESTS, max_size=4), max_size=4)


def call_settings(*turns: Sequence[Request]) -> Any:
    answers = []
    for requests in turns:
        answers.append((yield list(requests)))
    return answers


class Scorer:
    name = "scorer"

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [1.0 for _ in texts]


@given(TURNS)
def test_it_counts_what_the_run_then_spends(turns: list[list[Request]]) -> None:
    def runner(**models: Any) -> Runner:
        return Runner(llm=ScriptedModel("x"), embedder=HashEmbedder(), **models)

    dry = DryRun(runner())
    dry.run(call_settings(*turns))
    real = runner()
    real.run(memoised(gather([call_settings(*turns)])))
    for count in (
        "calls",
        "prompt_tokens",
        "embedded",
        "embedding_tokens",
        "cache_hits",
    ):
        assert getattr(dry.stages[""], count) == getattr(real.usage, count)


def test_nobody_is_asked_and_stand_ins_answer() -> None:
    model, embedder = ScriptedModel(AssertionError("asked")), HashEmbedder()
    run = DryRun(
        Runner(llm=model, embedder=embedder), stand_in=lambda request, n: f"answer {n}"
    )
    ask, again = Ask("one"), Ask("two")
    (answers,) = run.run(
        call_settings(
            [
                ask,
                again,
                ask,
                Embed(("a", "b")),
                Search("r", "q", None, 3),
                Choose("x", ("a", "b")),
            ]
        )
    )
    # Two texts were counted before.
    assert answers[:3] == ["answer 3", "answer 4", "answer 4"]
    assert answers[3].shape == (2, 4) and np.array_equal(answers[3][0], answers[3][1])
    assert answers[4] == []
    assert isinstance(answers[5], Failed) and isinstance(answers[5].reason, ModelFailed)
    assert model.prompts == [] and embedder.texts == []


def test_without_a_model_calls_fail_as_they_would() -> None:
    run = DryRun(Runner())
    ((answer,),) = run.run(call_settings([Ask("one")]))
    assert isinstance(answer, Failed) and isinstance(answer.reason, NoModel)
    assert run.stages[""].calls == 0


def test_what_the_cache_holds_is_answered_by_it() -> None:
    cache = Cache(":memory:")
    models = {
        "llm": ScriptedModel(str.upper),
        "embedder": HashEmbedder(),
        "cache": cache,
    }
    turn = [Ask("one"), Embed(("a",)), Score("q", ("a",), Scorer())]
    Runner(**models).run(call_settings(turn))
    run = DryRun(Runner(**models))
    (answers,) = run.run(
        call_settings([*turn, Ask("two"), Score("q", ("a", "b"), Scorer())])
    )
    assert answers[0] == "ONE"
    usage = run.stages[""]
    assert (usage.calls, usage.embedded, usage.scored) == (1, 0, 1)
    assert usage.cache_hits == 3  # the prompt, the vector and the score
