"""Information density: the worked numbers of equation 2, its factors, entities, models that rate
and list."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense_chunks import chunks_of, measured
from doubles import HashEmbedder, Reluctant, ScriptedModel, split_twice
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import guide

from structrag import Cache, ContentAwareSplitter, Index
from structrag.chunks.enriching.density import (
    DensitySettings,
    density,
    density_flow,
    mean_pair_cosine,
    similarity_to_others,
)
from structrag.errors import InvalidParameter
from structrag.records import Chunk


@examples
def test_worked_numbers(weight: str, value: float, doubled: float) -> None:
    factors = {
        "correlation": 0.5,
        "rating": 0.8,
        "similarity": 0.6,
        "entity_weight": weight,
    }
    assert density([0.8, 0.6, 0.5], [2, 1, 1], 40, **factors) == pytest.approx(value)  # type: ignore[arg-type]
    assert density([0.8, 0.6, 0.5], [4, 2, 2], 80, **factors) == pytest.approx(doubled)  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.integers(2, 9), st.integers(0, 99))
def test_pairs_in_closed_form(n: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n, 4))
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units @ units.T
    assert mean_pair_cosine(vectors) == pytest.approx(
        np.mean([cosines[i, j] for i in range(n) for j in range(n) if i != j])
    )
    best = [
        np.mean(sorted(np.delete(row, i))[::-1][:3]) for i, row in enumerate(cosines)
    ]
    assert similarity_to_others(vectors) == pytest.approx(best)


@pytest.mark.parametrize(
    "text",
    ["NASA left.", "nothing to see here", "One sentence with NASA. And another."],
)
def test_one_sentence_and_one_chunk_are_finite(text: str) -> None:
    for own in measured(chunks_of(text)):
        assert math.isfinite(own.density) and own.density >= 0
        assert own.similarity == 1
    assert measured([]) == []


def test_modes_and_weights() -> None:
    chunks = chunks_of()
    simple = measured(chunks, mode="simple")[0]
    assert simple.density == pytest.approx(100 * 3 / simple.tokens)
    full, literal = measured(chunks)[0], measured(chunks, entity_weight="literal")[0]
    assert literal.density == pytest.approx(3 * full.density)
    assert all(own.similarity == 1 for own in measured(chunks, use_similarity=False))


def test_ratings_fall_back_to_the_median_of_the_others() -> None:
    answers = {"Voyager": "8", "Bread": "no idea", "Rosetta": "4"}

    def rate(prompt: str) -> str:
        return next(answer for word, answer in answers.items() if word in prompt)

    assert [
        own.rating for own in measured(chunks_of(), rate=True, llm=ScriptedModel(rate))
    ] == pytest.approx([0.8, 0.6, 0.4])
    assert [own.rating for own in measured(chunks_of(), rate=True)] == [1, 1, 1]


@examples
def test_wrong_settings_are_named(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        DensitySettings(**choices)


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        (DensitySettings(rate=True), "7"),
        (DensitySettings(entities="llm"), '["Oslo"]'),
        (DensitySettings(entities="llm"), "[]"),
    ],
)
def test_ratings_and_entities(
    settings: DensitySettings, answer: str, tmp_path: Path
) -> None:
    chunks = Index(
        embedder=HashEmbedder(),
        views="raw",
        splitter=ContentAwareSplitter(max_tokens=None),
    )
    chunks.add([guide()])
    llm = Reluctant(answer, word="crane")
    runs = split_twice(
        lambda runner: runner.run(density_flow(chunks.chunks(), settings)),
        llm,
        Cache(tmp_path / "c"),
    )
    assert [calls for calls, _ in runs] == [2, 1, 0]


def chunk(text: str) -> Chunk:
    return Chunk("d:0", "d", "s", 0, len(text), text)


@pytest.mark.parametrize("mode", ["full", "simple"])
def test_a_text_without_tokens_has_no_density(mode: str) -> None:
    (found,) = measured([chunk("NASA flew.")], mode=mode, counter=lambda text: 0)
    assert (found.density, found.tokens) == (0, 0)
