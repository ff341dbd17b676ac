"""Metrics that only the tables of the papers need: Chroma's, Pk and its relatives, the Log-Rank
Index, MC-indexing's recall, QASPER's evidence F1, SQuAD's F1 of answers, and hits of answers.

A function takes the gold first, then what was found, and scores one question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from math import floor, log1p
from random import Random
from string import punctuation
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import regex
from nltk.metrics import segmentation

from structrag.evaluation.measure import Span, SpanCover, SpanMeasure

_CHARACTERS = SpanMeasure(unit="char")
_TIE_DIGITS = (
    9  # scores equal to this many decimals are tied, as in every ranking of structrag
)


class ChromaScores(NamedTuple):
    """One question's scores for its retrieved chunks, each in [0, 1].

    Example:
        >>> chroma_scores([("d", 0, 10)], [("d", 0, 20)])
        ChromaScores(recall=1.0, precision=0.5, iou=0.5)
    """

    recall: float
    precision: float
    iou: float


def chroma_scores(
    excerpts: Sequence[Span], retrieved: Sequence[Span]
) -> ChromaScores | None:
    """Recall, precision and IoU of retrieved chunks, as Chroma's code computes them.

    Smith and Troynikov 2024, "Evaluating Chunking Strategies for Retrieval": token-level by name,
    but the code (brandonstarxel/chunking_evaluation) counts characters. Recall divides by the sum
    of the excerpts, precision and IoU by the sum of the retrieved chunks, so that overlap counts
    twice. Chunks of another document count in the denominators only. None without excerpts.
    """
    gold = _total(excerpts)
    if not gold:
        return None
    cover = SpanCover(retrieved, _CHARACTERS)
    covered = sum(
        cover.covered(span) for span in SpanCover(excerpts, _CHARACTERS).spans()
    )
    uncovered = gold - sum(cover.covered(span) for span in excerpts)
    handed = _total(retrieved)
    return ChromaScores(
        recall=covered / gold,
        precision=covered / handed if handed else 0.0,
        iou=covered / (handed + uncovered),
    )


def precision_omega(excerpts: Sequence[Span], chunks: Iterable[Span]) -> float | None:
    """The best precision that a chunking allows, in [0, 1], as Chroma's code computes it.

    |union(chunk ∩ excerpt)| / |union of the chunks that meet an excerpt, and of the uncovered
    excerpts|. Ranges are closed: a chunk that only touches an excerpt meets it. `chunks` are all of
    the corpus. None without excerpts.

    Example:
        >>> precision_omega([("d", 5, 15)], [("d", 0, 10), ("d", 10, 20), ("d", 21, 30)])
        0.5
    """
    gold = SpanCover(excerpts, _CHARACTERS)
    if not gold.total:
        return None
    covering = SpanCover(
        (
            (doc_id, start, end)
            for doc_id, start, end in chunks
            if any(
                name == doc_id and max(start, low) <= min(end, high)
                for name, low, high in excerpts
            )
        ),
        _CHARACTERS,
    )
    covered = sum(covering.covered(span) for span in gold.spans())
    return covered / (covering.total + gold.total - covered)


def _total(spans: Iterable[Span]) -> int:
    return sum(end - start for _, start, end in spans)


def paper_recall(
    gold: Iterable[Span], retrieved: Iterable[Span], measure: SpanMeasure
) -> float | None:
    """Recall as MC-indexing defines it: the sum over retrieved chunks of |chunk ∩ gold| / |gold|.

    Text in two overlapping chunks counts twice, so the value can exceed 1. None without gold.
    """
    cover = SpanCover(gold, measure)
    if not cover.total:
        return None
    return sum(cover.covered(span) for span in retrieved) / cover.total


def evidence_f1(
    annotations: Iterable[Sequence[str]], predicted: Sequence[str]
) -> float | None:
    """The best paragraph F1 over a question's annotators, in [0, 1], as QASPER's script has it.

    Paragraphs are compared as exact strings; repeated predictions are dropped, which the script
    does not do. An annotator's score is 1 when both lists are empty. None without annotators.

    Example:
        >>> evidence_f1([["p1", "p2"], ["p3"]], ["p1"])
        0.6666666666666666
    """
    paragraphs = set(predicted)
    scores = []
    for gold in annotations:
        total = len(paragraphs) + len(gold)
        scores.append(2 * len(paragraphs & set(gold)) / total if total else 1.0)
    return max(scores, default=None)


# -- segmentations: 0 and 1 over the n - 1 gaps between n units, 1 for a boundary


def boundaries(sizes: Sequence[int]) -> list[int]:
    """The gaps of a segmentation given as segment sizes in units.

    Example:
        >>> boundaries([2, 1])
        [0, 1]
    """
    ends = set(accumulate(sizes))
    return [int(gap in ends) for gap in range(1, sum(sizes))]


def pk(
    reference: Sequence[int], hypothesis: Sequence[int], k: int | None = None
) -> float:
    """Pk (Beeferman et al. 1999): the share of windows that differ in having a boundary.

    In [0, 1], lower is better. `k` is the length of the window in gaps; None: half the mean segment
    of the reference. When no window fits, it is 0 if both are equal, else 1.

    Example:
        >>> pk([0, 1, 0, 0], [0, 0, 1, 0], k=2)
        0.6666666666666666
    """
    return _by_windows(segmentation.pk, reference, hypothesis, k)


def window_diff(
    reference: Sequence[int], hypothesis: Sequence[int], k: int | None = None
) -> float:
    """WindowDiff (Pevzner and Hearst 2002): the share of windows whose boundary counts differ.

    Never below `pk` with the same `k`.
    """
    return _by_windows(segmentation.windowdiff, reference, hypothesis, k)


def boundary_f1(
    reference: Sequence[int], hypothesis: Sequence[int], *, tolerance: int = 0
) -> float:
    """F1 of boundaries matched one to one from the left, at most `tolerance` units apart.

    1 when neither side has a boundary, 0 when only one has.

    Example:
        >>> boundary_f1([0, 1, 0, 0], [0, 0, 1, 0], tolerance=1)
        1.0
    """
    first = np.flatnonzero(reference).tolist()
    second = np.flatnonzero(hypothesis).tolist()
    if not first and not second:
        return 1.0
    matched, rest = 0, second[::-1]
    for place in first:
        while rest and rest[-1] < place - tolerance:
            rest.pop()
        if rest and rest[-1] <= place + tolerance:
            matched += 1
            rest.pop()
    return 2 * matched / (len(first) + len(second))


def baseline_segmentations(
    reference: Sequence[int], *, seed: int = 0
) -> dict[str, list[int]]:
    """The segmentations that a method must beat: "none", "all", "random" and "fixed".

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


def _by_windows(
    metric: Callable[..., Any],
    reference: Sequence[int],
    hypothesis: Sequence[int],
    k: int | None,
) -> float:
    """NLTK's metric, or whether both differ at all where no window fits."""
    if len(reference) != len(hypothesis):
        raise ValueError(
            f"{len(reference)} and {len(hypothesis)} gaps cannot be compared."
        )
    half = (len(reference) + 1) / (2 * (sum(reference) + 1))
    width = k or max(1, floor(half + 0.5))
    if width > len(reference):
        return float(list(reference) != list(hypothesis))
    return float(metric(list(reference), list(hypothesis), width, boundary=1))


# -- ranks


def mid_ranks(scores: Sequence[float]) -> list[float]:
    """The rank of each score, from 1 for the highest; tied scores share the mean of their ranks.

    In sets of near-identical documents the order among ties alone can decide a metric.

    Example:
        >>> mid_ranks([0.9, 0.5, 0.5])
        [1.0, 2.5, 2.5]
    """
    _, places, counts = np.unique(
        -np.round(scores, _TIE_DIGITS), return_inverse=True, return_counts=True
    )
    ranks: list[float] = (np.cumsum(counts) - (counts - 1) / 2)[places].tolist()
    return ranks


def log_rank_index(
    ranks: Sequence[float | None], n: int, *, missing: float | None = None
) -> float | None:
    """HiQA's Log-Rank Index of one query (section 4), in [0, 1], with gamma 1.

    The mean over the query's relevant segments of 1 - ln(r) / ln(n) for the rank r among the `n`
    ranked segments, from 1; None without any. It depends on n, so it is not comparable between
    corpora of different size. The paper gives no gamma, and calls n once segments and once
    documents; segments are what is ranked. A rank of None, for a segment that was not retrieved,
    counts as `missing` (None: n).

    Example:
        >>> log_rank_index([1, None], n=10)
        0.5
    """
    if not ranks:
        return None
    absent = n if missing is None else missing
    places = [absent if rank is None else rank for rank in ranks]
    if n == 1:
        return 1.0
    return sum(1 - log1p(rank - 1) / log1p(n - 1) for rank in places) / len(places)


_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")


def has_answer(answers: Iterable[str], text: str) -> bool:
    """Whether one of the answers stands in the text, by whole words in NFKC and casefolded. Short
    answers also match inside numbers ("3" in "3.50"); one without a word never does.

    Example:
        >>> has_answer(["nineteen hours"], "It lasts nineteen hours.")
        True
    """
    read = _words(text)
    return any(one.strip() and one in read for one in map(_words, answers))


def answer_f1(references: Iterable[str], prediction: str) -> float:
    """The best F1 of bags of words over the references, in SQuAD's normal form. 0 without a common
    word or a reference.

    Example:
        >>> answer_f1(["nineteen hours"], "about nineteen hours of talk")
        0.5714285714285714
    """
    predicted = _bag(prediction)
    return max(
        (
            2 * (predicted & bag).total() / max(1, (predicted + bag).total())
            for bag in map(_bag, references)
        ),
        default=0.0,
    )


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(normalize('NFKC', text.casefold())))} "


def _bag(text: str) -> Counter[str]:
    plain = text.lower().translate(str.maketrans("", "", punctuation))
    return Counter(re.sub(r"\b(a|an|the)\b", " ", plain).split())
