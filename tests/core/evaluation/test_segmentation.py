"""Pk, WindowDiff, boundary F1, with NLTK as oracle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.evaluation import (
    baseline_segmentations,
    boundaries,
    boundary_f1,
    default_window,
    pk,
    window_diff,
)

REFERENCE = boundaries([4, 4, 2])


@st.composite
def pairs(draw, least=0):
    gaps = draw(st.integers(least, 24))
    side = st.lists(st.integers(0, 1), min_size=gaps, max_size=gaps)
    return draw(side), draw(side)


def test_boundaries() -> None:
    assert boundaries([2, 1, 3]) == [0, 1, 1, 0, 0]
    assert boundaries([1]) == boundaries([]) == []


@pytest.mark.parametrize(
    ("hypothesis", "expected"),
    [
        (boundaries([4, 4, 2]), (0, 0, 0, 0)),
        (boundaries([3, 5, 2]), (0.25, 0.25, 0.2222, 0.2222)),
        (boundaries([10]), (0.50, 0.50, 0.4444, 0.4444)),
        (boundaries([1] * 10), (0.50, 1.0, 0.5556, 1.0)),
    ],
)
def test_table(hypothesis, expected) -> None:
    assert default_window(REFERENCE) == 2
    found = [
        metric(REFERENCE, hypothesis, k=2, variant=v)
        for v in ("canonical", "nltk")
        for metric in (pk, window_diff)
    ]
    assert found == pytest.approx(expected, abs=5e-5)
    assert pk(REFERENCE, hypothesis) == pytest.approx(expected[0])
    assert window_diff(REFERENCE, hypothesis) == pytest.approx(expected[1])


def test_near_misses_up_to_the_edge() -> None:
    reference = boundaries([5, 5])
    assert default_window(reference) == 3
    found = [pk(reference, boundaries([size, 10 - size])) for size in (4, 3, 2, 1)]
    assert found == pytest.approx([2 / 7, 4 / 7, 5 / 7, 4 / 7])


def test_default_window_rounds_half_up() -> None:
    assert default_window(boundaries([5, 5])) == 3  # 2.5
    assert default_window([1] * 9) == 1
    assert default_window([]) == 1
    assert default_window(REFERENCE, variant="nltk") == 2  # 10 / 4 = 2.5, half to even


def test_too_short_for_a_window() -> None:
    for metric in (pk, window_diff):
        assert metric([1, 0], [1, 0], k=3) == 0
        assert metric([1, 0], [0, 1], k=3) == 1
        assert metric([], []) == 0
        assert metric([1, 0], [0, 1], k=4, variant="nltk") == 1


@given(pairs(least=1), st.integers(1, 6))
def test_nltk_variant_equals_nltk(pair, k) -> None:
    from nltk.metrics import segmentation as nltk_segmentation  # slow to import

    reference, hypothesis = pair
    if k > len(reference) + 1:
        return
    strings = ["".join(map(str, [*side, 0])) for side in pair]
    assert pk(reference, hypothesis, k=k, variant="nltk") == pytest.approx(
        nltk_segmentation.pk(*strings, k=k)
    )
    assert window_diff(reference, hypothesis, k=k, variant="nltk") == pytest.approx(
        nltk_segmentation.windowdiff(*strings, k)
    )
    if sum(reference):  # without a boundary older releases of NLTK divide by zero
        assert pk(reference, hypothesis, variant="nltk") == pytest.approx(
            nltk_segmentation.pk(*strings)
        )


@pytest.mark.parametrize("variant", ["canonical", "nltk"])
@given(pairs(), st.none() | st.integers(1, 6))
def test_invariants(variant, pair, k) -> None:
    for metric in (pk, window_diff):
        assert metric(pair[0], pair[0], k=k, variant=variant) == 0
    assert (
        0
        <= pk(*pair, k=k, variant=variant)
        <= window_diff(*pair, k=k, variant=variant)
        <= 1
    )


@given(pairs(), st.integers(1, 5))
def test_canonical_against_the_definition(pair, k) -> None:
    reference, hypothesis = pair
    n = len(reference) + 1
    if n <= k:
        return
    windows = [
        (reference[i - 1 : i - 1 + k], hypothesis[i - 1 : i - 1 + k])
        for i in range(1, n - k + 1)
    ]
    assert all(len(a) == k for a, _ in windows)
    assert pk(*pair, k=k) == pytest.approx(
        sum(any(a) != any(b) for a, b in windows) / (n - k)
    )
    assert window_diff(*pair, k=k) == pytest.approx(
        sum(sum(a) != sum(b) for a, b in windows) / (n - k)
    )


def test_boundary_f1() -> None:
    near = boundaries([3, 5, 2])
    assert boundary_f1(REFERENCE, near) == 0.5
    assert boundary_f1(REFERENCE, near, tolerance=1) == 1
    assert boundary_f1([0, 0], [0, 0]) == 1
    assert boundary_f1([0, 1], [0, 0]) == 0
    # One to one.
    assert boundary_f1([0, 1, 0], [1, 0, 1], tolerance=1) == pytest.approx(2 / 3)


@given(pairs(), st.integers(0, 4))
def test_boundary_f1_invariants(pair, tolerance) -> None:
    reference, hypothesis = pair
    score = boundary_f1(*pair, tolerance=tolerance)
    assert 0 <= score <= boundary_f1(*pair, tolerance=tolerance + 1) <= 1
    assert boundary_f1(reference, reference, tolerance=tolerance) == 1
    assert boundary_f1(hypothesis, reference, tolerance=tolerance) == score


def test_baselines() -> None:
    made = baseline_segmentations(REFERENCE, seed=1)
    assert list(made) == ["none", "all", "random", "fixed"]
    assert made["none"] == [0] * 9
    assert made["all"] == [1] * 9
    assert sum(made["random"]) == 2
    assert made["fixed"] == boundaries([3, 3, 3, 1])
    assert made == baseline_segmentations(REFERENCE, seed=1)
    assert baseline_segmentations([]) == {
        "none": [],
        "all": [],
        "random": [],
        "fixed": [],
    }


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pk([0], [0, 1]), "must cover the same gaps; got 1 and 2"),
        (lambda: window_diff([0, 2], [0, 1]), "must hold 0 and 1 only"),
        (lambda: pk([0, 1], [0, 1], k=0), "k must be a number of at least 1; got 0"),
        (
            lambda: pk([0, 1], [0, 1], variant="beeferman"),
            "variant must be one of 'canonical', 'nltk'",
        ),
        (
            lambda: boundary_f1([0], [1], tolerance=-1),
            "tolerance must be a number of at least 0; got -1",
        ),
        (lambda: boundaries([2, 0]), "sizes must be a number of at least 1; got 0"),
    ],
)
def test_bad_input(call, message) -> None:
    with pytest.raises(InvalidParameter, match=message):
        call()


def test_the_mean_size_of_fixed_segments_is_rounded_half_up() -> None:
    assert baseline_segmentations(boundaries([1, 4]))["fixed"] == boundaries([3, 2])
