"""Scores by how much likelier a prompt makes a text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from structrag.errors import InvalidParameter
from structrag.models import LikelihoodGain


class Toy:
    """Words of the prompt cost one nat, others three."""

    name = "toy"

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def score(
        self, prompt: str, continuations: Sequence[str], *, chat: bool
    ) -> list[float]:
        assert not chat and all(text.startswith(" ") for text in continuations)
        words = set(prompt.split())
        return [
            -sum(1.0 if word in words else 3.0 for word in c.split())
            for c in continuations
        ]


def test_the_gain_is_by_token_of_the_text() -> None:
    gain = LikelihoodGain(Toy())
    assert gain.score(
        "water pumps", ["water", "water pumps", "water cats", "cats", ""]
    ) == [
        2.0,
        2.0,
        1.0,
        0.0,
        0.0,
    ]
    assert gain.name == "likelihood gain|toy"


def test_what_is_impossible_has_the_least_score() -> None:
    class Impossible(Toy):
        def score(
            self, prompt: str, continuations: Sequence[str], *, chat: bool
        ) -> list[float]:
            return [-math.inf if prompt else -1.0 for _ in continuations]

    assert LikelihoodGain(Impossible()).score("a", ["b", "c"]) == [-1e6] * 2


class OnlyScores:
    name = "scores"

    def score(self, prompt: str, continuations: Sequence[str], *, chat: bool) -> Any:
        return [0.0 for _ in continuations]


class OnlyCounts:
    name = "counts"

    def count_tokens(self, text: str) -> int:
        return 1


@pytest.mark.parametrize("model", [None, object(), str, OnlyScores(), OnlyCounts()])
def test_a_model_without_likelihoods_is_refused(model: Any) -> None:
    with pytest.raises(InvalidParameter, match="model must give likelihoods"):
        LikelihoodGain(model)


@pytest.mark.slow
@pytest.mark.llm
def test_a_real_model_prefers_words_of_the_text(smollm: tuple[Any, Any]) -> None:
    from structrag.models import TransformersModel

    gain = LikelihoodGain(TransformersModel(*smollm, window=512))
    text = "The seal of the shaft wears out after two years. Order it by its code.\n\nKeywords:"
    scores = gain.score(text, ["seal", "shaft seal", "heron", "parliament"])
    assert max(scores) == scores[1]  # rare words in few tokens gain something anywhere
