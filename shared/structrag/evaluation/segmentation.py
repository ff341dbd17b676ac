"""Segmentations of n units against a reference: Pk, WindowDiff and boundary F1.

A segmentation is a sequence of 0 and 1 over the n - 1 gaps between units (1: a boundary), as
`boundaries([4, 4, 2])` makes. Lower Pk and WindowDiff are better. A number means little alone:
print those of `baseline_segmentations` beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import floor
from random import Random

import numpy as np

from structrag.errors import InvalidParameter, check_at_least, check_choice

_VARIANTS = ("canonical", "nltk")


def boundaries(sizes: Sequence[int]) -> list[int]:
    """The gaps of a segmentation given as segment sizes in units.

    Empty for no sizes.

    Example:
        >>> boundaries([2, 1])
        [0, 1]
    """
    gaps: list[int] = []
    for size in sizes:
        check_at_least("sizes", size, 1)
        gaps += [0] * (size - 1) + [1]
    return gaps[:-1]


def default_window(reference: Sequence[int], *, variant: str = "canonical") -> int:
    """Half the mean segment length of the reference, at least 1.

    "canonical" rounds n / (2 segments) half up. "nltk" takes the boundaries as the number of
    segments and rounds half to even, as NLTK's `pk` does.
    """
    check_choice("variant", variant, _VARIANTS)
    n, ones = len(reference) + 1, sum(reference)
    if variant == "nltk":
        return max(1, round(n / (2 * max(ones, 1))))
    return max(1, floor(n / (2 * (ones + 1)) + 0.5))


def pk(
    reference: Sequence[int],
    hypothesis: Sequence[int],
    *,
    k: int | None = None,
    variant: str = "canonical",
) -> float:
    """Pk, the share of windows that differ in having a boundary.

    Beeferman et al. 1999. In [0, 1]. When no window fits, it is 0 if both are equal, else 1.

    Example:
        >>> pk([0, 1, 0, 0], [0, 0, 1, 0], k=2)
        0.6666666666666666

    k: window length in gaps, default `default_window` of the variant.
    variant: "canonical" slides over the n - 1 gaps, n - k windows. "nltk" adds a last position
    without boundary, so one window more, and equals `nltk.metrics.segmentation`. State which one a
    figure is.
    """
    counts = _window_counts(reference, hypothesis, k, variant)
    if counts is None:
        return float(list(reference) != list(hypothesis))
    return sum((a > 0) != (b > 0) for a, b in counts) / len(counts)


def window_diff(
    reference: Sequence[int],
    hypothesis: Sequence[int],
    *,
    k: int | None = None,
    variant: str = "canonical",
) -> float:
    """WindowDiff, the share of windows whose boundary counts differ.

    Pevzner and Hearst 2002. In [0, 1], and never below `pk` with the same k and variant. The
    parameters are those of `pk`.

    Example:
        >>> window_diff([1, 0, 0], [1, 1, 0], k=2)
        1.0
    """
    counts = _window_counts(reference, hypothesis, k, variant)
    if counts is None:
        return float(list(reference) != list(hypothesis))
    return sum(a != b for a, b in counts) / len(counts)


def boundary_f1(
    reference: Sequence[int], hypothesis: Sequence[int], *, tolerance: int = 0
) -> float:
    """F1 of boundaries matched one to one, in [0, 1].

    They are matched greedily from the left, at most `tolerance` units apart. 1 when neither side
    has a boundary, 0 when only one has.

    Example:
        >>> boundary_f1([0, 1, 0, 0], [0, 0, 1, 0], tolerance=1)
        1.0
    """
    _check(reference, hypothesis)
    check_at_least("tolerance", tolerance, 0)
    first = np.flatnonzero(reference).tolist()
    second = np.flatnonzero(hypothesis).tolist()
    if not first and not second:
        return 1.0
    i = j = matched = 0
    while i < len(first) and j < len(second):
        if abs(first[i] - second[j]) <= tolerance:
            matched, i, j = matched + 1, i + 1, j + 1
        elif first[i] < second[j]:
            i += 1
        else:
            j += 1
    return 2 * matched / (len(first) + len(second))


def baseline_segmentations(
    reference: Sequence[int], *, seed: int = 0
) -> dict[str, list[int]]:
    """The segmentations a method must beat: "none", "all", "random" and "fixed".

    "random" has as many boundaries as the reference, drawn with `seed`; "fixed" has segments of the
    reference's mean size, rounded half up.
    """
    gaps, ones = len(reference), sum(reference)
    drawn = set(Random(seed).sample(range(gaps), ones))
    size = floor((gaps + 1) / (ones + 1) + 0.5)
    return {
        "none": [0] * gaps,
        "all": [1] * gaps,
        "random": [int(gap in drawn) for gap in range(gaps)],
        "fixed": [int((gap + 1) % size == 0) for gap in range(gaps)],
    }


def _window_counts(
    reference: Sequence[int], hypothesis: Sequence[int], k: int | None, variant: str
) -> list[tuple[int, int]] | None:
    """The boundaries of both in each window, None when no window fits."""
    check_choice("variant", variant, _VARIANTS)
    _check(reference, hypothesis)
    width = default_window(reference, variant=variant) if k is None else k
    check_at_least("k", width, 1)
    padding = [0] if variant == "nltk" else []
    first = list(accumulate([*reference, *padding], initial=0))
    second = list(accumulate([*hypothesis, *padding], initial=0))
    windows = range(len(first) - width)
    return [
        (first[i + width] - first[i], second[i + width] - second[i]) for i in windows
    ] or None


def _check(reference: Sequence[int], hypothesis: Sequence[int]) -> None:
    if len(reference) != len(hypothesis):
        raise InvalidParameter(
            "reference and hypothesis must cover the same gaps; "
            f"got {len(reference)} and {len(hypothesis)}."
        )
    if not {*reference, *hypothesis} <= {0, 1}:
        raise InvalidParameter(
            "reference and hypothesis must hold 0 and 1 only; "
            "make them from sizes with boundaries()."
        )
