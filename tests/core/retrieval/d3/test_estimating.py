"""What a question will cost by stage: as expected, and at most."""

from __future__ import annotations

from typing import Any

import pytest
from d3_making import Overlap
from doubles import HashEmbedder, ScriptedModel
from fixture_cases import examples

from structrag import D3Index, D3Retriever, read_text
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.estimating import Estimate
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.selection import Selection

ANIMALS = "# Birds\n\nThe heron eats frogs.\n\n# Machines\n\nThe engine burns diesel.\n\n# Empty\n"
QUESTION = "Who eats frogs?"
LEVELS = (
    "# Pumps\n\nOne pump.\n\n## Care\n\nOil it.\n\n"
    "# Valves\n\nOne valve.\n\n## Use\n\nTurn it.\n"
)


def index_of(*texts: str) -> D3Index:
    index = D3Index(embedder=HashEmbedder())
    index.add([read_text(text, id=f"d{i}") for i, text in enumerate(texts)])
    return index


def answering(route: str, select: str) -> ScriptedModel:
    return ScriptedModel(
        lambda prompt: route if "Which of these sections" in prompt else select
    )


def estimate(question: str, text: str = ANIMALS, **options: Any) -> Estimate:
    return D3Retriever(index_of(text), **options).estimate(question)


def test_the_totals_add_up_the_stages() -> None:
    costs = {"route": StageCost(1, 10, 2, 3), "select": StageCost(2, 20, 4, 5)}
    assert Estimate(expected=costs).expected_total == StageCost(3, 30, 6, 8)
    assert Estimate(upper=costs).upper_total == StageCost(3, 30, 6, 8)


@pytest.mark.parametrize(("question", "text"), [(" ", ANIMALS), (QUESTION, "")])
def test_a_blank_question_and_an_empty_index_cost_nothing(
    question: str, text: str
) -> None:
    nothing = {"route": StageCost(), "select": StageCost()}
    model = ScriptedModel("1")
    assert estimate(question, text, llm=model) == Estimate(nothing, nothing)


@pytest.mark.parametrize(
    ("question", "likely"),
    [
        (QUESTION, 1),  # the best part alone
        ("zebra", 2),  # no word occurs: all
    ],
)
def test_by_scores_the_parts_are_scored_then_the_paragraphs_of_the_best(
    question: str, likely: int
) -> None:
    cost = estimate(question, routing=Routing(share=0, least_tokens=0))
    assert cost.expected == {
        "route": StageCost(scored=2),
        "select": StageCost(scored=likely),
    }
    assert cost.upper == {
        "route": StageCost(scored=2),
        "select": StageCost(scored=2),
    }


def test_a_cross_encoder_scores_the_sections_with_paragraphs() -> None:
    cost = estimate(QUESTION, router="cross_encoder", cross_encoder=Overlap())
    assert cost.expected["route"] == cost.upper["route"] == StageCost(scored=2)


def test_prompts_are_those_of_the_likely_sections_and_at_most_of_all() -> None:
    index = index_of(ANIMALS)
    likely, most = (
        D3Retriever(index, llm=answering(ids, "1")).result(QUESTION).cost
        for ids in ("1", "1, 2")
    )
    cost = D3Retriever(index, llm=ScriptedModel("1")).estimate(QUESTION)
    prompt = likely["route"].prompt_tokens
    # Answers of 20 tokens, and of the 256 that are reserved.
    assert cost.expected == {
        "route": StageCost(1, prompt, 20),
        "select": StageCost(1, likely["select"].prompt_tokens, 20),
    }
    assert cost.upper == {
        "route": StageCost(1, prompt, 256, 2),
        "select": StageCost(1, most["select"].prompt_tokens, 256),
    }


def test_answers_are_not_longer_than_what_is_reserved_for_them() -> None:
    cost = estimate(
        QUESTION,
        llm=ScriptedModel("1"),
        routing=Routing(answer_tokens=7),
        selection=Selection(answer_tokens=9),
    )
    for by_stage in (cost.expected, cost.upper):
        assert by_stage["route"].answer_tokens == 7
        assert by_stage["select"].answer_tokens == 9


def test_text_that_is_not_routed_costs_no_route() -> None:
    model = ScriptedModel("1")
    cost = estimate(QUESTION, "The heron eats frogs.", llm=model)
    assert cost.expected["route"] == cost.upper["route"] == StageCost()
    assert cost.expected["select"].calls == cost.upper["select"].calls == 1


def test_a_strategy_that_asks_nothing_has_no_answers() -> None:
    model = ScriptedModel("1")
    cost = estimate(QUESTION, llm=model, strategy="lexical")
    assert cost.expected["select"] == StageCost(scored=1)
    assert cost.upper["select"] == StageCost(scored=2)


def test_by_levels_what_is_below_the_likely_sections_is_shown_too() -> None:
    """One call for the first level, one for each of its sections with something below it."""
    cost = estimate(
        "One valve?",
        LEVELS.replace("One pump", "A pump"),
        llm=ScriptedModel("1"),
        routing=Routing(drill="levels"),
    )
    expected, upper = cost.expected["route"], cost.upper["route"]
    assert (expected.calls, expected.answer_tokens, expected.scored) == (2, 40, 0)
    assert (upper.calls, upper.answer_tokens, upper.scored) == (3, 768, 4)
    assert expected.prompt_tokens < upper.prompt_tokens


@examples
def test_chosen_sections_may_bring_what_is_below_them(
    expands: bool, scored: int
) -> None:
    cost = estimate(
        "valve",
        LEVELS,
        llm=ScriptedModel("1"),
        strategy="fused",
        routing=Routing(expand_children=expands),
    )
    assert cost.expected["select"] == StageCost(scored=scored)
    assert cost.upper["select"] == StageCost(scored=4)


def test_only_what_is_searched_is_counted() -> None:
    retriever = D3Retriever(index_of(ANIMALS, LEVELS))
    cost = retriever.estimate("frogs", where={"doc_id": "d0"})
    assert cost.upper == {"route": StageCost(scored=2), "select": StageCost(scored=2)}
    assert retriever.estimate("frogs").upper["route"] == StageCost(scored=6)
