"""What a question will cost at most, by stage."""

from __future__ import annotations

from typing import Any

import pytest
from doubles import HashEmbedder, ScriptedModel

from structrag import D3Index, D3Retriever, read_text
from structrag.retrieval.d3.retriever import D3Estimate
from structrag.retrieval.d3.selection import StageCost

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


def estimate(question: str, text: str = ANIMALS, **options: Any) -> D3Estimate:
    return D3Retriever(index_of(text), **options).estimate(question)


@pytest.mark.parametrize(("question", "text"), [(" ", ANIMALS), (QUESTION, "")])
def test_a_blank_question_and_an_empty_index_cost_nothing(
    question: str, text: str
) -> None:
    nothing = {"route": StageCost(), "select": StageCost()}
    model = ScriptedModel("1")
    assert estimate(question, text, llm=model) == D3Estimate(nothing)


@pytest.mark.parametrize("names", [False, True])
def test_prompts_are_those_of_all_sections(names: bool) -> None:
    index = index_of(ANIMALS)
    preset = "paper" if names else "default"
    route = "Birds, Machines, Empty" if names else "1, 2"
    model = ScriptedModel(
        lambda prompt: route if "ection" in prompt.partition("\n")[0] else "1"
    )
    most = D3Retriever(index, llm=model, preset=preset).result(QUESTION).cost
    cost = D3Retriever(index, llm=ScriptedModel("1"), preset=preset).estimate(QUESTION)
    # Answers of the 256 tokens that are reserved.
    assert cost.stages == {
        "route": StageCost(1, most["route"].prompt_tokens, 256, 2),
        "select": StageCost(1, most["select"].prompt_tokens, 256),
    }


def test_text_that_is_not_routed_costs_no_route() -> None:
    model = ScriptedModel("1")
    cost = estimate(QUESTION, "The heron eats frogs.", llm=model)
    assert cost.stages["route"] == StageCost() and cost.stages["select"].calls == 1


def test_a_strategy_that_asks_nothing_has_no_answers() -> None:
    model = ScriptedModel("1")
    cost = estimate(QUESTION, llm=model, strategy="lexical")
    assert cost.stages["select"] == StageCost(scored=2)


def test_only_what_is_searched_is_counted() -> None:
    retriever = D3Retriever(index_of(ANIMALS, LEVELS))
    cost = retriever.estimate("frogs", where={"doc_id": "d0"})
    assert cost.stages == {"route": StageCost(scored=2), "select": StageCost(scored=2)}
    assert retriever.estimate("frogs").stages["route"] == StageCost(scored=6)
