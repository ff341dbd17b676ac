"""Information density: the worked numbers of equation 2, its factors, entities, models that rate
and list."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
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
from structrag.asking.runner import Runner
from structrag.chunks.asking_splitter import runner_for
from structrag.chunks.enriching.density import (
    DensityFactors,
    DensitySettings,
    Entity,
    density,
    density_steps,
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


def test_negative_factors_count_as_none_and_nothing_is_zero() -> None:
    assert density([-0.5, 1.0], [1, 1], 100) == pytest.approx(1.0)
    assert density([1.0], [1], 100, correlation=-0.2) == 0
    assert density([], [], 100) == density([1.0], [1], 0) == 0


def test_worked_correlation() -> None:
    a = np.array([1.0, 0, 0])
    b = np.array([0.9, math.sqrt(1 - 0.81), 0])
    y = (0.1 - 0.5 * 0.9) / b[1]
    c = np.array([0.5, y, math.sqrt(1 - 0.25 - y * y)])
    pairs = [float(p @ q) for p, q in itertools.combinations((a, b, c), 2)]
    assert sorted(pairs) == pytest.approx([0.1, 0.5, 0.9])
    assert mean_pair_cosine([a, b, c]) == pytest.approx(0.5)
    assert mean_pair_cosine([[3.0, 4.0]]) == mean_pair_cosine(np.zeros((0, 2))) == 1
    assert mean_pair_cosine(np.zeros((3, 2))) == 0


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


def test_similarity_of_a_single_chunk_and_of_many() -> None:
    assert similarity_to_others([[1.0, 0.0]]).tolist() == [1.0]
    many = similarity_to_others(np.random.default_rng(0).normal(size=(1100, 3)))
    assert many.shape == (1100,) and (many > 0.9).all()


def test_every_factor_can_be_seen() -> None:
    found = measured(chunks_of())
    assert [own.density > 0 for own in found] == [True, False, True]
    first = found[0]
    assert {entity.name: entity.count for entity in first.entities} == {
        "NASA": 2,
        "Voyager One": 2,
        "Earth": 1,
    }
    again = density(
        [entity.effectiveness for entity in first.entities],
        [entity.count for entity in first.entities],
        first.tokens,
        correlation=first.correlation,
        rating=first.rating,
        similarity=first.similarity,
    )
    assert first.density == pytest.approx(again)
    assert first.rating == 1 and 0 < first.effectiveness <= 1


@pytest.mark.parametrize(
    "text",
    ["NASA left.", "nothing to see here", "One sentence with NASA. And another."],
)
def test_one_sentence_and_one_chunk_are_finite(text: str) -> None:
    for own in measured(chunks_of(text)):
        assert math.isfinite(own.density) and own.density >= 0
        assert own.similarity == 1
    assert measured([]) == []


def test_a_document_without_words_or_chunks_has_vectors_of_their_shape() -> None:
    runner = Runner(embedder=HashEmbedder())
    for chunks, shape in (([], (0, 1)), (chunks_of(), (3, 64))):
        _, vectors = runner.run(density_steps(chunks, DensitySettings()))
        assert vectors.means.shape == shape
        assert [len(of_chunk) for of_chunk in vectors.sentences] == list(
            map(len, vectors.spans)
        )


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


def test_each_text_is_embedded_once() -> None:
    embedder = HashEmbedder()
    Runner(embedder=embedder).run(density_steps(chunks_of(), DensitySettings()))
    assert len(embedder.texts) == len(set(embedder.texts))
    assert sum(text.endswith(".") for text in embedder.texts) == 9


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
        lambda runner: runner.run(density_steps(chunks.chunks(), settings)),
        llm,
        Cache(tmp_path / "c"),
    )
    assert [calls for calls, _ in runs] == [2, 1, 0]


def test_all_chunks_may_be_the_share_of_an_entity() -> None:
    assert DensitySettings(max_share=1).max_share == 1


def test_effectiveness_is_the_mean_of_the_entities() -> None:
    entities = (Entity("a", 5, 0.9), Entity("b", 1, 0.5))
    assert DensityFactors(0.0, entities, 1, 1, 1, 9).effectiveness == pytest.approx(0.7)
    assert DensityFactors(0.0, (), 1, 1, 1, 9).effectiveness == 0


def test_factors_above_1_count_as_1() -> None:
    assert density([1.5, 0.5], [1, 1], 50) == pytest.approx(3.0)
    assert density([0.5], [1], 50, correlation=1.2, similarity=2) == pytest.approx(1.0)
    assert density([0.5], [1], 50, similarity=-0.1) == 0


def test_a_row_is_compared_with_all_others_and_not_with_itself() -> None:
    """1,100 rows, more than are compared at a time: four are like no other."""
    vectors = np.zeros((1100, 5))
    vectors[:, 0] = 1
    different = [0, 511, 512, 1099]
    vectors[different] = np.eye(5)[1:]
    values = similarity_to_others(vectors)
    assert np.flatnonzero(values == 0).tolist() == different
    assert np.flatnonzero(values == 1).tolist() == sorted(
        set(range(1100)) - set(different)
    )


@pytest.mark.parametrize(
    ("n", "first"), [(2, 0.0), (3, 0.5), (4, 2 / 3), (5, 1.0), (6, 1.0)]
)
def test_three_others_count_or_as_many_as_there_are(n: int, first: float) -> None:
    """The second row is across the first, all behind it are like the first."""
    vectors = np.tile([1.0, 0.0], (n, 1))
    vectors[1] = [0.0, 1.0]
    assert similarity_to_others(vectors)[0] == pytest.approx(first)


def chunk(text: str) -> Chunk:
    return Chunk("d:0", "d", "s", 0, len(text), text)


@pytest.mark.parametrize("mode", ["full", "simple"])
def test_a_text_without_tokens_has_no_density(mode: str) -> None:
    (found,) = measured([chunk("NASA flew.")], mode=mode, counter=lambda text: 0)
    assert (found.density, found.tokens) == (0, 0)


def test_a_blank_chunk_has_no_entities_and_a_vector_of_zeros() -> None:
    steps = density_steps([chunk("NASA flew."), chunk(" ")], DensitySettings())
    factors, vectors = Runner(embedder=HashEmbedder()).run(steps)
    assert [len(own.entities) for own in factors] == [1, 0]
    assert not vectors.means[1].any() and vectors.means[0].any()
    assert factors[1].density == factors[1].similarity == 0


def test_an_entity_is_compared_with_the_sentences_it_stands_in() -> None:
    vectors = {"NASA": [1, 0], "NASA flew.": [1, 0], "It saw NASA.": [0, 1]}

    def embed(texts: Sequence[str]) -> np.ndarray:
        return np.array([vectors.get(text, [-1, 0]) for text in texts])

    steps = density_steps(
        [chunk("NASA flew. Nobody knew. It saw NASA.")],
        DensitySettings(entities=lambda text: ["NASA"]),
    )
    (found,), _ = runner_for(embed).run(steps)
    (entity,) = found.entities
    # Between the first and the last sentence.
    assert (entity.name, entity.count) == ("NASA", 2)
    assert entity.effectiveness == pytest.approx(0.5**0.5)


def test_a_name_over_the_end_of_a_sentence_has_no_effectiveness() -> None:
    text = "We saw it. Yes we did."
    (found,) = measured([chunk(text)], entities=lambda text: ["it. Yes"])
    assert found.entities == (Entity("it. Yes", 1, 0.0),)


def test_without_any_rating_all_chunks_are_rated_best() -> None:
    found = measured(chunks_of(), rate=True, llm=ScriptedModel("no idea"))
    assert [own.rating for own in found] == [1, 1, 1]


def test_nobody_is_asked_to_rate_without_chunks() -> None:
    llm = ScriptedModel("7")
    assert measured([], rate=True, llm=llm) == [] and not llm.prompts
    assert [own.rating for own in measured([chunk("x")], llm=llm)] == [1]
    assert not llm.prompts
