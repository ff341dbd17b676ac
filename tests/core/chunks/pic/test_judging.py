"""Which sentences are relevant."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, Similarities
from fixture_cases import examples
from samples import numbered

from structrag.chunks.divisions import divide
from structrag.chunks.pic.instructions import Instruction
from structrag.chunks.pic.judging import Judged, judge
from structrag.chunks.pic.splitter import PICSplitter
from structrag.chunks.scopes import Scope
from structrag.chunks.series import Series
from structrag.chunks.units import Unit
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from structrag.records import Chunk

SEVEN = [0.62, 0.58, 0.31, 0.44, 0.71, 0.40, 0.39]


def split_numbers(values: list[float], **changes: Any) -> list[Chunk]:
    splitter = PICSplitter.paper(instruction_vectors=[1.0, 0.0], **changes)
    return splitter.split(numbered(len(values)), embedder=Similarities(values))


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 0.55, 1 / 3])
@pytest.mark.parametrize("n", [1, 2, 7, 59])
def test_equal_similarities_make_one_relevant_chunk(value: float, n: int) -> None:
    chunks = split_numbers([value] * n)
    assert len(chunks) == 1 and chunks[0].extras["relevant"] is True


@pytest.mark.parametrize(
    ("threshold", "relevant"), [(-math.inf, True), (math.inf, False)]
)
def test_infinite_thresholds_make_one_chunk(threshold: float, relevant: bool) -> None:
    (chunk,) = split_numbers(SEVEN, threshold=threshold)
    assert chunk.extras["relevant"] is relevant
    assert (
        json.loads(json.dumps(dict(chunk.extras), allow_nan=False))["threshold"] is None
    )


def test_long_documents_with_sections_have_a_threshold_for_each() -> None:
    body = " ".join(
        f"Words about thing {i} and other {i % 7} things." for i in range(120)
    )
    short = "A short section. It has three sentences. They stay together."
    document = read_text(
        f"# One\n\n{body}\n\n# Two\n\n{short}\n\n# Three\n\n{body}",
        format="markdown",
        id="d",
    )
    found = PICSplitter().explain(document, embedder=HashEmbedder())
    assert [len(series.values) > 0 for series in found.series] == [True, False, True]
    small = next(chunk for chunk in found.chunks if "three sentences" in chunk.text)
    assert small.extras["relevant"] is True and small.extras["threshold"] is None
    assert (
        len(
            PICSplitter(scope="document")
            .explain(document, embedder=HashEmbedder())
            .series
        )
        == 1
    )
    runs = [run for series in found.series for run in series.runs]
    assert len(runs) == len(found.chunks)


def test_repeated_sentences_and_zero_vectors_make_one_relevant_chunk() -> None:
    repeated = read_text("The same again. " * 12)
    zero = lambda sentences: np.zeros((len(sentences), 4))  # noqa: E731
    for embedder in (HashEmbedder(), zero, None):
        (chunk,) = PICSplitter.paper().split(repeated, embedder=embedder)
        assert chunk.extras["relevant"] is True
    assert len(PICSplitter.paper().split(numbered(9), embedder=zero)) == 1


@examples
def test_a_run_of_units_that_differ_is_judged_by_its_mean(
    flags: list[bool], mean: float, is_relevant: bool
) -> None:
    judged = Judged(
        [0.0] * 3, None, np.zeros(3), 0.5, np.array(flags), lambda run: mean
    )  # type: ignore[arg-type]
    assert judged.is_relevant((0, 3)) is is_relevant


(DIVISION,) = divide(parse(read_text("x")))


def judged(values: list[float], tokens: list[int], **changes: Any) -> Judged:
    """Units of so many tokens whose vectors have these cosines to the instruction."""
    units = tuple(
        Unit(i, i + 1, i, n, "paragraph", DIVISION) for i, n in enumerate(tokens)
    )
    matrix = np.array([[value, math.sqrt(1 - value * value)] for value in values])
    settings = {"threshold": "mean", "spread": 0.0, "hysteresis": 0.0, **changes}
    instruction = Instruction(np.array([[1.0, 0.0]]), note="cats")
    return judge(Scope((), units, ()), matrix, instruction, **settings)


def test_units_are_compared_with_the_instruction_and_with_the_one_before() -> None:
    found = judged([0.6, 0.8, 0.0], [3, 2, 5])
    assert found.values == pytest.approx([0.6, 0.8, 0.0])
    assert found.threshold == pytest.approx(1.4 / 3)
    assert found.flags.tolist() == [True, True, False]
    # 0.6 * 0.8 + 0.8 * 0.6, then 0.6 alone.
    assert found.affinity == pytest.approx([0.0, 0.96, 0.6])


def test_the_threshold_may_be_moved_and_a_run_goes_on_within_the_margin() -> None:
    values = [0.9, 0.5, 0.7, 0.1, 0.5, 0.9]
    # The mean is 0.6, the deviation 0.28.
    assert judged(values, [1] * 6).flags.tolist() == [1, 0, 1, 0, 0, 1]
    higher = judged(values, [1] * 6, spread=0.5)
    assert higher.threshold == pytest.approx(0.6 + 0.5 * float(np.std(values)))
    assert higher.flags.tolist() == [1, 0, 0, 0, 0, 1]
    going_on = judged(values, [1] * 6, hysteresis=0.5)
    assert going_on.flags.tolist() == [1, 1, 1, 0, 0, 1]


def test_the_extras_of_a_run_are_those_of_its_own_units() -> None:
    found = judged([0.6, 0.8, 0.0], [3, 2, 5])
    assert found.extras((0, 2)) == {
        "relevant": True,
        "mean_similarity": 0.68,  # weighted by tokens
        "threshold": 0.466667,
    }
    assert found.extras((1, 3)) == {
        "relevant": False,
        "mean_similarity": 0.228571,
        "threshold": 0.466667,
    }
    assert found.extras((2, 3))["relevant"] is False
    assert judged([0.6, 0.8], [1, 1], threshold=math.inf).extras((0, 2)) == {
        "relevant": False,
        "mean_similarity": 0.7,
        "threshold": None,
    }


def test_a_run_just_at_the_threshold_is_relevant() -> None:
    def run_of_mean(mean: float) -> Judged:
        flags = np.array([True, False])
        return Judged([0.0] * 2, None, np.zeros(2), 0.5, flags, lambda run: mean)

    assert run_of_mean(0.5 - 5e-10).is_relevant((0, 2))
    assert not run_of_mean(0.5 - 2e-9).is_relevant((0, 2))


def test_a_scope_that_is_not_looked_at_is_relevant_and_compared_with_nothing() -> None:
    units = tuple(Unit(i, i + 1, i, 2, "paragraph", DIVISION) for i in range(2))
    scope = Scope((), units, ())
    settings: dict[str, Any] = {"threshold": "mean", "spread": 0.0, "hysteresis": 0.0}
    nothing = judge(scope, None, None, **settings)
    assert nothing.affinity == [0.0, 0.0] and nothing.is_relevant((0, 2))
    assert nothing.extras((0, 2)) == {
        "relevant": True,
        "mean_similarity": None,
        "threshold": None,
    }
    assert nothing.series(scope, [(0, 1), (0, 1), (1, 2)]) == Series(
        units, (), (), ((0, 1), (1, 2))
    )
    # Its vectors may be needed nevertheless.
    vectors = judge(scope, np.array([[1.0, 0.0], [0.6, 0.8]]), None, **settings)
    assert vectors.affinity == pytest.approx([0.0, 0.6])
    assert vectors.flags.all() and math.isnan(vectors.threshold)


def test_a_series_names_each_run_once_and_the_threshold_of_each_unit() -> None:
    found = judged([0.6, 0.8, 0.0], [3, 2, 5])
    units = tuple(Unit(i, i + 1, i, 1, "paragraph", DIVISION) for i in range(3))
    series = found.series(Scope((), units, ()), [(0, 2), (2, 3), (2, 3)])
    assert series.runs == ((0, 2), (2, 3)) and series.note == "cats"
    assert series.values == pytest.approx((0.6, 0.8, 0.0))
    assert series.thresholds == pytest.approx((1.4 / 3,) * 3)


def test_a_chunk_compared_with_less_than_was_wished_says_so() -> None:
    units = (Unit(0, 1, 0, 1, "paragraph", DIVISION),)
    instruction = Instruction(np.array([[1.0, 0.0]]), degraded=True)
    found = judge(
        Scope((), units, ()),
        np.array([[1.0, 0.0]]),
        instruction,
        threshold=0.5,
        spread=0.0,
        hysteresis=0.0,
    )
    assert found.extras((0, 1)) == {
        "relevant": True,
        "mean_similarity": 1.0,
        "threshold": 0.5,
        "degraded": True,
    }


def test_the_closest_of_several_instructions_counts() -> None:
    units = tuple(Unit(i, i + 1, i, 1, "paragraph", DIVISION) for i in range(2))
    found = judge(
        Scope((), units, ()),
        np.array([[0.6, 0.8], [1.0, 0.0]]),
        Instruction(np.eye(2)),
        threshold=0.9,
        spread=0.0,
        hysteresis=0.0,
    )
    assert found.values == pytest.approx([0.8, 1.0])
    # Its own sentences are not compared with themselves.
    own = judge(
        Scope((), units, ()),
        np.array([[0.6, 0.8], [1.0, 0.0]]),
        Instruction(np.zeros((0, 0)), (0, 1)),
        threshold=0.9,
        spread=0.0,
        hysteresis=0.0,
    )
    assert own.values == pytest.approx([0.6, 0.6])
