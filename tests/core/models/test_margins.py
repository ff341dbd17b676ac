"""Margins: two options compared by log-probabilities, ratings, votes; the similarity margin; who is
asked and what falls back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from doubles import ScriptedModel
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidParameter, NoModel
from structrag.model_calls.runner import Runner
from structrag.models.margins import (
    LOG_PROBABILITIES,
    NONE,
    RATING,
    UNUSABLE,
    parse_rating,
    similarity_margins,
    squash,
    two_way,
    two_way_of_top,
    weigh_flow,
    window_similarity,
)

logs = st.floats(-30, 0)


def test_missing_options() -> None:
    found = two_way_of_top([("1", -0.1), ("the", -4.0), ("x", -9.0)], ("1", "2"))
    assert found is not None and found.margin == pytest.approx(0.9997, abs=1e-4)
    other = two_way_of_top([("2", -0.1), ("x", -9.0)], ("1", "2"))
    assert other is not None and other.margin == pytest.approx(-0.9997, abs=1e-4)
    assert two_way_of_top([("yes", -0.1)], ("1", "2")) is None
    assert two_way_of_top([], ("1", "2")) is None
    assert two_way([], [-1.0]) is None


@given(st.lists(logs, min_size=1, max_size=4), st.lists(logs, min_size=1, max_size=4))
def test_margin_is_that_of_the_probabilities(
    first: list[float], second: list[float]
) -> None:
    a, b = sum(map(math.exp, first)), sum(map(math.exp, second))
    found, swapped = two_way(first, second), two_way(second, first)
    assert found is not None and swapped is not None
    assert found.margin == pytest.approx((a - b) / (a + b), abs=1e-9)
    assert found.margin == -swapped.margin
    assert -1 <= found.margin <= 1 and 0 <= found.mass <= 1


@examples
def test_ratings(answer: str, rating: float | None) -> None:
    assert parse_rating(answer) == rating


WORKED = [[1, 0], [1, 0], [0, 1], [0, 1]]


@examples
def test_worked_similarity_margins(window: int, cosines: list[float]) -> None:
    assert window_similarity(WORKED, window) == pytest.approx(cosines, abs=1e-4)
    assert similarity_margins(WORKED, window) == pytest.approx(
        [0.3395, -0.6089, 0.3395], abs=1e-4
    )


@settings(max_examples=60)
@given(
    st.integers(2, 12), st.integers(1, 5), st.integers(0, 2**32 - 1), st.integers(0, 12)
)
def test_prefix_sums_equal_the_means_of_windows(
    n: int, window: int, seed: int, border: int
) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n, 3))
    vectors[seed % n] = 0
    border = min(border, n)
    scopes = [(a, b) for a, b in ((0, border), (border, n)) if a < b]
    found = window_similarity(vectors, window, scopes)
    units = [v / (np.linalg.norm(v) or 1.0) for v in vectors]
    for gap in range(1, n):
        if gap == border:
            assert math.isnan(found[gap - 1])
            continue
        low, high = (0, border) if gap < border else (border, n)
        left = np.mean(units[max(low, gap - window) : gap], axis=0)
        right = np.mean(units[gap : min(high, gap + window)], axis=0)
        lengths = np.linalg.norm(left) * np.linalg.norm(right)
        expected = left @ right / lengths if lengths > 1e-9 else 0.0
        assert found[gap - 1] == pytest.approx(expected, abs=1e-9)


def test_equal_sentences_and_few_sentences() -> None:
    assert similarity_margins(np.full((6, 3), 0.3)).tolist() == [0.0] * 5
    assert similarity_margins(np.zeros((4, 2))).tolist() == [0.0] * 3
    assert similarity_margins(np.ones((1, 2))).size == 0
    assert similarity_margins(np.zeros((0, 1))).size == 0
    assert np.isnan(squash([math.nan])).all()
    with pytest.raises(InvalidParameter, match="window"):
        window_similarity(WORKED, 0)


class Weigher(ScriptedModel):
    """Weighs options by a script, too."""

    def __init__(self, weigh: object, script: object = "7") -> None:
        super().__init__(script)
        self.weigh = weigh
        self.asked = 0

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        self.asked += 1
        if isinstance(self.weigh, Exception):
            raise self.weigh
        return self.weigh(prompt) if callable(self.weigh) else self.weigh  # type: ignore[return-value]

    async def achoose(self, prompt: str, options: tuple[str, str]) -> float | None:
        return self.choose(prompt, options)


@pytest.mark.parametrize(
    ("model", "margins", "source"),
    [
        (Weigher(0.25), [0.25] * 3, LOG_PROBABILITIES),
        (
            Weigher(lambda prompt: None if prompt == "b" else -1.0),
            [-1.0, None, -1.0],
            LOG_PROBABILITIES,
        ),
        (Weigher(None), [0.4] * 3, RATING),
        (Weigher(OSError("down")), [0.4] * 3, RATING),
        (ScriptedModel("6"), [0.2] * 3, RATING),
        (ScriptedModel("yes"), [None] * 3, UNUSABLE),
        (ScriptedModel(OSError("down")), [None] * 3, UNUSABLE),
        (None, [None] * 3, NONE),
    ],
)
async def test_what_the_model_can_do_is_decided_by_the_first_question(
    model: ScriptedModel | None, margins: list[float | None], source: str
) -> None:
    for result in (
        Runner(llm=model).run(weigh_flow(["a", "b", "c"], ("2", "1"))),
        await Runner(llm=model).arun(weigh_flow(["a", "b", "c"], ("2", "1"))),
    ):
        assert result[1] == source
        assert result[0] == pytest.approx(margins)


def test_a_model_that_is_not_there_is_an_error_where_it_is_required() -> None:
    with pytest.raises(NoModel, match="llm="):
        Runner().run(weigh_flow(["a"], ("2", "1"), required=True))
    assert Runner().run(weigh_flow([], ("2", "1"), required=True)) == ([], "")


def test_a_model_without_log_probabilities_is_probed_once() -> None:
    model = Weigher(None)
    Runner(llm=model).run(weigh_flow(["a", "b", "c"], ("2", "1")))
    assert model.asked == 1 and len(model.prompts) == 3


def test_variants_of_a_token_are_added_up() -> None:
    top = [("Yes", -1.6), (" yes", -2.3), ("\u2581no", -0.9), ("yesterday", -0.5)]
    found = two_way_of_top(top, ("yes", "no"))
    assert found is not None and found.margin == pytest.approx(-0.1473, abs=1e-4)
