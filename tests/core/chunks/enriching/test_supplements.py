"""Sentences added to a chunk that lacks what its entities mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dense_chunks import enrich
from doubles import HashEmbedder, ScriptedModel
from fixture_cases import examples
from samples import DENSE, LONG

from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.records import Chunk, Document


@pytest.mark.parametrize(
    ("answer", "usable"),
    [
        ("ACME makes steel near the river.", True),
        ("The plant makes steel near the river.", False),  # lost ACME
        # A name that the text has not.
        ("ACME and NASA make steel by the river.", False),
        ("", False),
        (LONG, False),  # too long
    ],
)
def test_a_models_short_text_is_checked(answer: str, usable: bool) -> None:
    found = enrich(ScriptedModel(answer), low=99.0, supplement=False)[4]
    assert (found.extras.get("reduced") == answer) is usable
    assert found.extras.get("dropped") == (None if usable else 1)
    assert found.extras["action"] == ("reduced" if usable else "none")


def settings_of() -> Any:
    from structrag.chunks.enriching.density import DensitySettings

    return DensitySettings(use_similarity=False)


def test_rounds_are_bounded_and_end_when_nothing_is_missing() -> None:
    nothing = ScriptedModel("[]")
    enrich(nothing, high=1.0, reduce=False)
    asked = len(nothing.prompts)
    passages = {
        prompt.split("Passage:")[1].split("Sentences:")[0] for prompt in nothing.prompts
    }
    assert asked == len(passages)  # one round
    greedy = ScriptedModel(
        lambda prompt: json.dumps([prompt.split("1. ")[1].split()[1]])
    )
    enrich(greedy, high=1.0, reduce=False, growth=1.0)
    assert len(greedy.prompts) <= 3 * asked


@examples
def test_names_of_at_most_five_words_and_three_of_one_answer(
    answer: list[str], dropped: int | None
) -> None:
    names = "One two three four five six ring. Seven sings. Eight swims, Nine flies, Ten runs."
    text = f"{DENSE}\n\nThe next sentence is not shown. {names}\n"
    middle = len(DENSE) + 2
    chunks = [
        Chunk("d:0", "d", "s", 0, middle, text[:middle]),
        Chunk("d:1", "d", "s", middle, len(text), text[middle:]),
    ]
    enricher = IDMSEnricher(
        high=0.01,
        low=0.0,
        reduce=False,
        growth=1.0,
        density=settings_of(),
    )
    model = ScriptedModel(json.dumps(answer))
    found = enricher.enrich(
        Document(text, id="d"), chunks, embedder=HashEmbedder(), llm=model
    )
    assert found[0].extras.get("dropped") == dropped
    shown = (
        model.prompts[0].split("Sentences:")[1].split("Missing")[0].strip().split("\n")
    )
    assert [line.split(". ")[0] for line in shown] == [
        str(n + 1) for n in range(len(shown))
    ]
