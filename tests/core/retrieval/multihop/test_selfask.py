"""Self-ask: the loop, its ends, its bounds, its counts; synchronously and on an event loop."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder, Reluctant, ScriptedModel
from hypothesis import given, settings
from hypothesis import strategies as st
from multihop_making import (
    QUESTION,
    call_settings,
    index_of,
    is_final,
    is_next,
    two_hops,
)
from samples import guide

from structrag import Cache
from structrag.errors import InvalidParameter, ModelFailed, NoModel
from structrag.index.index import Index
from structrag.reading.files import read_text
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever
from structrag.retrieval.multihop.agents import SelfAsk, SelfAskPrompts, SelfAskResult
from structrag.retrieval.multihop.hops import (
    UNANSWERABLE,
)
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.text.tokens import count_tokens


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Callable[[SelfAsk, str], SelfAskResult]:
    if request.param == "sync":
        return lambda agent, question: agent.answer(question)
    return lambda agent, question: asyncio.run(agent.aanswer(question))


def test_every_chunk_is_evidence_once_in_order_of_first_use() -> None:
    result = call_settings(ScriptedModel(two_hops), k=3).answer(QUESTION)
    used = [hit.chunk.id for hop in result.trace for hit in hop.evidence]
    assert [hit.chunk.id for hit in result.evidence] == list(dict.fromkeys(used))
    assert len(used) > len(result.evidence)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.text(max_size=40)
        | st.sampled_from(["Follow up: A?", "So the final answer is: x", "?"]),
        min_size=1,
    )
)
def test_whatever_the_model_says_there_is_a_result(replies: list[str]) -> None:
    endless = itertools.cycle(replies)
    result = call_settings(ScriptedModel(lambda _: next(endless))).answer(QUESTION)
    assert len(result.trace) <= 4
    assert result.total.calls <= 4 + 5 + 2
    assert result.failures == 0


def test_the_direct_question_that_fails_twice_leaves_the_trace(ask: Any) -> None:
    def script(prompt: str) -> str:
        if is_final(prompt):
            raise TimeoutError("slow")
        return "Follow up: Who directed it?" if is_next(prompt) else "Ada Holm"

    result = ask(call_settings(ScriptedModel(script)), QUESTION)
    assert (result.answer, result.failures, len(result.trace)) == ("", 2, 1)


def test_a_model_that_only_fails_is_an_error_with_its_cause(ask: Any) -> None:
    failure = TimeoutError("slow")
    with pytest.raises(ModelFailed, match="All 3 calls") as raised:
        ask(call_settings(ScriptedModel(failure)), QUESTION)
    assert raised.value.__cause__ is failure
    with pytest.raises(NoModel, match="needs a language model"):
        ask(call_settings(None), QUESTION)


def test_two_models_share_the_work() -> None:
    """The index's model makes summaries and keywords; the one given asks and answers; both are
    counted by the index."""
    summaries, agent = (
        ScriptedModel("a summary", "summaries"),
        ScriptedModel(two_hops, "agent"),
    )
    index = Index(
        embedder=HashEmbedder(), llm=summaries, views=("raw", "summary"), batch_size=8
    )
    index.add(
        [
            read_text(
                "# Films\n## The Lantern\n" + "It was directed by Ada Holm. " * 60,
                id="films",
            )
        ]
    )
    before = index.usage.calls
    assert before == len(summaries.prompts) > 0
    result = SelfAsk(MultiViewRetriever(index), agent).answer(QUESTION)
    assert len(summaries.prompts) == before
    assert index.usage.calls - before == len(agent.prompts) == result.total.calls


def test_braces_in_evidence_questions_and_answers_are_only_text() -> None:
    model = ScriptedModel(
        lambda prompt: (
            "Follow up: what is {x}?" if is_next(prompt) else "{history} {evidence}"
        )
    )
    result = SelfAsk(
        MultiViewRetriever(index_of("# T\nset {a} and {0}\n"), k=1), model
    ).answer("what is {question}?")
    assert result.answer == "{history} {evidence}"
    assert "what is {question}?" in model.prompts[-1]


def test_bad_input_is_named() -> None:
    retriever = MultiViewRetriever(index_of())
    with pytest.raises(InvalidParameter, match="retriever"):
        SelfAsk(object(), None)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="max_followups"):
        SelfAsk(retriever, max_followups=0)
    for least in (-1, 5, True):
        with pytest.raises(InvalidParameter, match="min_followups"):
            SelfAsk(retriever, min_followups=least)
    with pytest.raises(InvalidParameter, match="token_budget"):
        SelfAsk(retriever, token_budget=-1)
    with pytest.raises(InvalidParameter, match="evidence_tokens"):
        SelfAsk(retriever, evidence_tokens=0)
    with pytest.raises(InvalidParameter, match="history"):
        SelfAskPrompts(next="{question}")
    with pytest.raises(InvalidParameter, match="doubled"):
        SelfAskPrompts(answer="{evidence")
    with pytest.raises(InvalidParameter, match="query"):
        SelfAsk(retriever).answer(None)  # type: ignore[arg-type]


# -- answering from evidence


# -- the retriever's own model and costs


def made_up(prompt: str) -> str:
    """Gives a final answer at once, and what follow-ups are answered only from evidence."""
    if is_next(prompt):
        return "So the final answer is: Paris"
    return "Bergen" if "Bergen" in prompt else UNANSWERABLE


def test_a_final_answer_before_any_retrieval_is_not_taken() -> None:
    retriever = MultiViewRetriever(index_of())
    model = ScriptedModel(made_up)
    result = SelfAsk(retriever, model).answer(QUESTION)
    assert [hop.follow_up for hop in result.trace] == [QUESTION]
    assert result.evidence and result.trace[0].answer == "Bergen"
    # The model saw the evidence's answer before it.
    assert result.stopped == "final_answer"
    assert "Intermediate answer: Bergen" in model.prompts[-1]
    twice = SelfAsk(retriever, ScriptedModel(made_up), min_followups=2).answer(QUESTION)
    assert (twice.stopped, len(twice.trace), twice.answer) == (
        "repeated_followup",
        1,
        "Bergen",
    )


def test_self_ask(tmp_path: Path) -> None:
    index = D3Index(embedder=HashEmbedder())
    index.add([guide()])
    llm = Reluctant("So the final answer is: Oslo")
    found = []
    for _ in range(3):
        before = llm.calls
        retriever = D3Retriever(index, llm=llm.model, cache=Cache(tmp_path / "c"))
        result = SelfAsk(retriever, min_followups=0).answer("Where to?")
        found.append((result.stopped, llm.calls - before))
    assert [stopped for stopped, _ in found] == [
        "no_reply",
        "final_answer",
        "final_answer",
    ]
    assert found[2][1] == 0


@pytest.mark.parametrize("budget", [0, 200, 400, 800])
def test_no_round_begins_beyond_the_token_budget(budget: int) -> None:
    number = itertools.count()
    model = ScriptedModel(
        lambda prompt: (
            f"Follow up: Question {next(number)}?" if is_next(prompt) else "something"
        )
    )
    result = call_settings(model, max_followups=50, token_budget=budget).answer(
        QUESTION
    )
    assert result.stopped == "token_budget"
    assert result.answer == "something"
    asked = [prompt for prompt in model.prompts if is_next(prompt)]
    assert sum(map(count_tokens, asked)) <= budget
    assert (not asked) == (budget < 200)
