"""What sentences are compared with: questions, a summary, central sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doubles import HashEmbedder, ScriptedModel
from samples import topics

from structrag.asking.runner import Runner
from structrag.chunks.pic.splitter import PICSplitter
from structrag.errors import InvalidParameter


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
    assert not llm.prompts and embedder.queries == ["Which cat will purr and sleep?"]
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


def test_the_language_model_is_asked_once_and_its_summary_embedded_as_a_query() -> None:
    llm, embedder = ScriptedModel("Cats purr, sleep and hunt."), HashEmbedder(256)
    runner = Runner(embedder=embedder, llm=llm)
    chunks = PICSplitter.paper(as_query=True).split(topics(), runner=runner)
    assert (
        len(llm.prompts) == 1
        and llm.prompts[0].startswith("Read this passage:\n")
        and "crankshaft" in llm.prompts[0]
    )
    assert embedder.queries == ["Cats purr, sleep and hunt."]
    assert sorted(embedder.texts) == sorted(set(embedder.texts))  # every sentence once
    assert (
        not any("degraded" in chunk.extras for chunk in chunks)
        and not runner.usage.fallbacks
    )


@pytest.mark.parametrize(
    "script",
    [RuntimeError("down"), "", "  \n", "I'm sorry, I cannot help with that.", 7],
)
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


def test_instruction_vectors_must_fit_the_embedder() -> None:
    with pytest.raises(InvalidParameter, match="64 dimensions"):
        PICSplitter.paper(instruction_vectors=[[1.0, 2.0]]).split(
            topics(), embedder=HashEmbedder()
        )


def test_each_document_brings_instructions_of_its_own() -> None:
    splitter = PICSplitter.paper(
        instructions_key="questions", instructions="How do valves open?"
    )
    expected = {
        "What do kittens drink?": ["What do kittens drink?"],
        ("Which cat purrs?", "Why do cats hunt?"): [
            "Which cat purrs?",
            "Why do cats hunt?",
        ],
        None: ["How do valves open?"],
    }
    for questions, queries in expected.items():
        meta = {} if questions is None else {"questions": questions}
        if isinstance(questions, tuple):
            meta = {"questions": list(questions)}
        embedder, llm = HashEmbedder(), ScriptedModel("Never asked.")
        splitter.split(replace(topics(), meta=meta), embedder=embedder, llm=llm)
        assert sorted(embedder.queries) == sorted(queries) and not llm.prompts
    embedder = HashEmbedder()
    PICSplitter.paper(instructions_key="questions", as_query=True).split(
        topics(), embedder=embedder, llm=lambda prompt: "A summary of cats."
    )
    assert embedder.queries == ["A summary of cats."]
    for bad in (7, ["", "a"], {"a": 1}):
        with pytest.raises(InvalidParameter, match="questions must be texts"):
            splitter.split(
                replace(topics(), meta={"questions": bad}), embedder=HashEmbedder()
            )


def test_without_an_embedder_the_published_summary_lies_in_the_space_of_the_sentences() -> (
    None
):
    document = topics()
    chunks = PICSplitter.paper().split(
        document, llm=lambda prompt: "A summary of cats."
    )
    assert "".join(chunk.text for chunk in chunks) == document.text and len(chunks) > 1
    assert not any(chunk.extras.get("degraded") for chunk in chunks)
