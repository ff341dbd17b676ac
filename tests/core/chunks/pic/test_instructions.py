"""What sentences are compared with: questions, a summary, central sentences."""

from __future__ import annotations

from typing import Any

import pytest
from doubles import HashEmbedder, ScriptedModel
from samples import topics

from structrag.chunks.pic.splitter import PICSplitter
from structrag.model_calls.runner import Runner


def test_as_published_one_function_embeds_summary_and_sentences() -> None:
    class Told(HashEmbedder):
        def embed(self, texts: Any, *, query: bool = False) -> Any:
            asked.append(query)
            return super().embed(texts, query=query)

    asked: list[bool] = []
    for changes, queries in (({}, {False}), ({"as_query": True}, {False, True})):
        asked.clear()
        PICSplitter.paper(**changes).split(
            topics(), embedder=Told(), llm=ScriptedModel("Cats and pumps.")
        )
        assert set(asked) == queries


def test_questions_take_the_place_of_the_summary() -> None:
    splitter = PICSplitter.paper(instructions="Which cat will purr and sleep?")
    assert splitter.instructions == ("Which cat will purr and sleep?",)
    llm, embedder = ScriptedModel("never asked"), HashEmbedder(256)
    found = splitter.explain(topics(), embedder=embedder, llm=llm)
    assert not llm.prompts and not embedder.queries  # compared as sentences are
    relevant = " ".join(
        chunk.text for chunk in found.chunks if chunk.extras["relevant"]
    )
    assert "Cats purr" in relevant and "fuel" not in relevant
    both = PICSplitter.paper(
        instructions=[
            "Which cat will purr and sleep?",
            "What do valves open and close?",
        ]
    )
    values = both.explain(topics(), embedder=embedder).series[0].values
    assert all(
        a >= b - 1e-9 for a, b in zip(values, found.series[0].values, strict=True)
    )


REFUSAL = "I'm sorry, I cannot help with that."


def test_as_published_whatever_the_model_answers_is_the_summary() -> None:
    models = {"embedder": HashEmbedder(), "llm": ScriptedModel(REFUSAL)}
    assert PICSplitter.paper().explain(topics(), **models).series[0].note == REFUSAL
    ours = PICSplitter.paper(summary_window=1000)
    chunks = ours.split(topics(), **models)
    assert all(chunk.extras["degraded"] for chunk in chunks)


@pytest.mark.parametrize("script", [RuntimeError("down"), "", "  \n", 7])
def test_without_a_usable_summary_the_mean_vector_is_taken_and_said(
    script: Any,
) -> None:
    runner = Runner(embedder=HashEmbedder(), llm=ScriptedModel(script))
    chunks = PICSplitter.paper().split(topics(), runner=runner)
    assert all(chunk.extras["degraded"] is True for chunk in chunks)
    assert runner.usage.fallbacks["chunks"] == len(chunks)
    mean = PICSplitter.paper(pseudo_instruction="mean").split(
        topics(), embedder=HashEmbedder()
    )
    assert [(c.start, c.end, c.extras["relevant"]) for c in mean] == [
        (c.start, c.end, c.extras["relevant"]) for c in chunks
    ]
    assert not any("degraded" in chunk.extras for chunk in mean)


def test_without_any_model_the_central_sentences_are_the_instruction() -> None:
    found = PICSplitter.paper().explain(topics())
    assert found.series[0].note and all(
        part in topics().text for part in found.series[0].note.split(". ")
    )
    assert not any("degraded" in chunk.extras for chunk in found.chunks)
    values = found.series[0].values
    assert max(values) < 1 - 1e-6 or len(set(values)) == 1  # no sentence matches itself


def test_without_an_embedder_the_published_summary_lies_in_the_space_of_the_sentences() -> (
    None
):
    document = topics()
    chunks = PICSplitter.paper().split(
        document, llm=lambda prompt: "A summary of cats."
    )
    assert "".join(chunk.text for chunk in chunks) == document.text and len(chunks) > 1
    assert not any(chunk.extras.get("degraded") for chunk in chunks)
