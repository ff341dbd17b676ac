"""What sentences are compared with: questions, a summary, central sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, ScriptedModel
from fixture_cases import examples
from samples import topics

from structrag.chunks.divisions import divide
from structrag.chunks.pic.instructions import (
    Instruction,
    InstructionSettings,
    instruction_flow,
    read_texts,
    read_vectors,
)
from structrag.chunks.pic.splitter import PICSplitter
from structrag.chunks.units import Unit, UnitScope
from structrag.errors import InvalidParameter
from structrag.model_calls.runner import Runner
from structrag.reading.files import read_text
from structrag.reading.sections import parse


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


def test_without_an_embedder_the_published_summary_lies_in_the_space_of_the_sentences() -> (
    None
):
    document = topics()
    chunks = PICSplitter.paper().split(
        document, llm=lambda prompt: "A summary of cats."
    )
    assert "".join(chunk.text for chunk in chunks) == document.text and len(chunks) > 1
    assert not any(chunk.extras.get("degraded") for chunk in chunks)


@examples
def test_what_is_no_text_is_no_instruction(value: Any) -> None:
    with pytest.raises(InvalidParameter, match="name must be non-blank strings"):
        read_texts(value, "name")


class Letters:
    """Counts a, b and c in each text."""

    name = "letters"

    def __init__(self) -> None:
        self.asked: list[tuple[bool, list[str]]] = []

    def embed(self, texts: Any, *, query: bool = False) -> np.ndarray:
        self.asked.append((query, sorted(texts)))  # each once, in an order of its own
        return np.array([[text.count(letter) for letter in "abc"] for text in texts])


(DIVISION,) = divide(parse(read_text("x")))


def instructed(
    looked_at: list[bool], script: Any = None, *, every: bool = False, **choices: Any
) -> tuple[list[Any], list[Instruction | None], list[tuple[bool, list[str]]]]:
    """Vectors, instructions, and what was embedded, of the scopes "a b " and "c c b "."""
    text = "a b c c b "
    cuts = [[0, 2, 4], [4, 6, 8, 10]]
    scopes = [
        UnitScope(
            (f"S{n}",),
            tuple(
                Unit(start, start + 2, start, 1, "paragraph", DIVISION)
                for start in starts[:-1]
            ),
            (),
        )
        for n, starts in enumerate(cuts)
    ]
    defaults = {
        "pseudo_instruction": "summary",
        "texts": (),
        "vectors": None,
        "prompt": "{title}: {text}",
        "window": None,
        "language": "english",
    }
    settings = InstructionSettings(**{**defaults, **choices})
    embedder = Letters()
    llm = None if script is None else ScriptedModel(script)
    runner = Runner(embedder=embedder, llm=llm)
    flow = instruction_flow(settings, read_text(text), scopes, looked_at, every=every)
    matrices, instructions = runner.run(flow)
    return matrices, instructions, embedder.asked


def test_nothing_is_asked_and_embedded_where_no_scope_is_looked_at() -> None:
    matrices, instructions, asked = instructed([False, False], lambda prompt: "a")
    assert (matrices, instructions, asked) == ([None, None], [None, None], [])
    _, instructions, asked = instructed([False, False], texts=("b",), every=True)
    assert instructions == [None, None]
    assert asked == [(False, ["a", "b", "c"])]


def test_where_a_summary_fails_the_mean_of_the_vectors_stands_for_it() -> None:
    def script(prompt: str) -> str:
        if prompt.startswith("S0"):
            raise OSError("down")
        return "c"

    _, (first, second), _ = instructed([True, True], script)
    assert first is not None and second is not None
    assert first.vectors == pytest.approx(np.array([[0.5, 0.5, 0]]))
    assert first.degraded and not second.degraded
    assert first.note == (
        "the mean of the sentences' vectors, because the language model failed with "
        "OSError: down"
    )
    _, (mean, _), asked = instructed([True, False], pseudo_instruction="mean")
    assert mean is not None and not mean.degraded
    assert mean.note == "the mean of the sentences' vectors"
    assert asked == [(False, ["a", "b"])]


def test_a_long_instruction_is_the_mean_of_its_windows() -> None:
    long = " ".join(["a"] * 150 + ["b"] * 150)
    _, (first, _), asked = instructed([True, False], texts=(long, "c"), window=6000)
    assert [len(text.split()) for text in asked[1][1]] == [150, 150, 1]
    assert first is not None
    assert first.vectors == pytest.approx(
        np.array([[0.5**0.5, 0.5**0.5, 0], [0, 0, 1]])
    )


@pytest.mark.parametrize(
    "value", [[], [[]], [[[1.0]]], [float("nan")], [float("inf")], "x", [[1], [1, 2]]]
)
def test_what_is_no_array_of_numbers_is_no_vector(value: Any) -> None:
    with pytest.raises(InvalidParameter, match="instruction_vectors must be"):
        read_vectors(value)
