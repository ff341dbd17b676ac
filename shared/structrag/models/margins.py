"""Margins: by how much one of two options is preferred. From -1 to 1 (foundation, sections 7 and
8). Pure functions, and the steps that weigh two options by whatever the language model at hand can
do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.errors import InvalidParameter, NoModel, check_at_least, check_template
from structrag.model_calls.requests import Ask, Choose, Failed, Flow, Request, ask
from structrag.models.lsa import TfIdf
from structrag.text.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    running_totals,
    unit_vectors,
)
from structrag.text.terms import tokenizer_for

# what the margins of a model were read from; the last two: there is no model, or one that gives
# neither
LOG_PROBABILITIES, RATING, NONE, UNUSABLE = (
    "log-probabilities",
    "rating",
    "none",
    "unusable",
)

PROMPT = """\
Two passages, A and B, follow each other in a document. Should they be kept together in one \
passage, or split into two?
Keep them together if B continues the topic, the argument or the list of A; split them if B turns \
to something else.
1. {first}
2. {second}

Passage A:
{left}

Passage B:
{right}

Answer with 1 or 2 and nothing else."""
SPLIT_OPTION, KEEP_OPTION = "Split them between A and B.", "Keep them together."

PAPER_PROMPT = """\
This is a text chunking task. You are a text analysis expert. Please choose one of the following \
two options based on the logical structure and semantic content of the provided sentence:
1. Split "{left} {right}" into "{left}" and "{right}" two parts;
2. Keep "{left} {right}" unsplit in its original form;
Please answer 1 or 2."""

_TOKEN_MARKS = " \t\r\n\u2581\u0120\u010a"  # how tokenizers write a space or a line end
_NUMBER = r"\d+(?:[.,]\d+)?"
_SCALE = re.compile(
    r"\b0\s*(?:to|-|–|\.\.)\s*10\b|(?:/|\bout of)\s*10\b", re.IGNORECASE
)
_VALUE = re.compile(rf"(?<![\w.,-])-?{_NUMBER}(?![\w]|[.,]\d)")


def check_prompt(prompt: str) -> None:
    """Raise InvalidParameter unless the template has the places {left} and {right}."""
    check_template("prompt", prompt, ["left", "right"], optional=("first", "second"))


class TwoWay(NamedTuple):
    """How two options compare."""

    margin: float  # from -1 to 1, positive: the first
    # probability of both together; a small one says that the model wanted to answer something else
    mass: float


@dataclass(slots=True)
class Masses:
    """The masses of many `TwoWay`.

    They tell how sure it is that a model answers with an option at all.

    Example:
        >>> masses = Masses()
        >>> for mass in (0.9, 0.5):
        ...     masses.add(mass)
        >>> print(masses)
        2 margins, the options with 70% of the probability on average and 50% at least
    """

    n: int = 0
    total: float = 0.0
    least: float = 1.0

    def add(self, mass: float) -> None:
        """Count the mass of one more pair of options."""
        self.n += 1
        self.total += mass
        self.least = min(self.least, mass)

    @property
    def mean(self) -> float | None:
        """The mean, from 0 to 1; None without any."""
        return self.total / self.n if self.n else None

    def __str__(self) -> str:
        if self.mean is None:
            return "no margin"
        return (
            f"{self.n} margins, the options with {self.mean:.0%} of the probability on average and "
            f"{self.least:.0%} at least"
        )


def window_similarity(
    vectors: ArrayLike, window: int = 4, scopes: Sequence[tuple[int, int]] | None = None
) -> FloatArray:
    """The similarity of the two sides of each gap between rows.

    It is the cosine of the mean unit vectors of the `window` rows before and after the gap.
    (n, d) gives (n - 1,); O(n d), by prefix sums. Windows are cut at the ends of `scopes`, runs of
    rows that tile them (None: one), and a gap between two scopes is NaN. A window of zero vectors
    has the cosine 0.

    Raises InvalidParameter unless window >= 1.
    """
    matrix = np.asarray(vectors, dtype=np.float64)
    n = len(matrix)
    low, high, inside = window_bounds(n, window, scopes)
    if n < 2:
        return np.zeros(0)
    sums = np.zeros((n + 1, matrix.shape[1]))
    np.cumsum(unit_vectors(matrix), axis=0, out=sums[1:])
    gaps = np.arange(1, n)
    before = sums[gaps] - sums[low]
    after = sums[high] - sums[gaps]
    dots = np.einsum("ij,ij->i", before, after)
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    return _cosines(dots, lengths, inside)


def _cosines(dots: FloatArray, lengths: FloatArray, inside: BoolArray) -> FloatArray:
    """The cosines of products and lengths; 0 for nothing, NaN between scopes."""
    cosines = np.divide(dots, lengths, out=np.zeros(len(dots)), where=lengths > 1e-9)
    return np.where(inside, np.clip(cosines, -1.0, 1.0), np.nan)


def window_bounds(
    n: int, window: int, scopes: Sequence[tuple[int, int]] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp], BoolArray]:
    """The windows before and after each gap between n rows.

    For each gap: the first row of the window before it, the row behind the window after it, and
    whether both sides are in one scope. Raises InvalidParameter unless window >= 1.
    """
    check_at_least("window", window, 1)
    first = np.zeros(n, dtype=np.intp)
    last = np.full(n, n, dtype=np.intp)
    for start, end in scopes or ():
        first[start:end], last[start:end] = start, end
    gaps = np.arange(1, n)
    return (
        np.maximum(first[:-1], gaps - window),
        np.minimum(last[1:], gaps + window),
        first[1:] == first[:-1],
    )


def squash(values: ArrayLike) -> FloatArray:
    """Return tanh(z / 2) of the z-scores of the values, by the population standard deviation. Equal
    values give 0, and NaN stays NaN."""
    series = np.asarray(values, dtype=np.float64)
    finite = series[np.isfinite(series)]
    if not finite.size:
        return series
    spread = float(finite.std())
    centred = series - finite.mean()
    squashed: FloatArray = np.tanh(
        centred / spread / 2 if spread > 1e-9 else centred * 0.0
    )
    return squashed


def similarity_margins(
    vectors: ArrayLike, window: int = 4, scopes: Sequence[tuple[int, int]] | None = None
) -> FloatArray:
    """The margins of gaps between sentences, without a language model.

    They are `squash(window_similarity(...))`. Positive: the two sides are more alike than the sides
    of an average gap of this document.
    """
    return squash(window_similarity(vectors, window, scopes))


def word_margins(
    texts: Sequence[str],
    window: int = 4,
    scopes: Sequence[tuple[int, int]] | None = None,
    *,
    language: str = "english",
) -> FloatArray:
    """`similarity_margins` of TF-IDF vectors fitted on the texts themselves.

    Term frequency is sublinear; the vectors are never made dense. n texts give (n - 1,), NaN
    between two `scopes`. Texts without any word but stop words have the cosine 0. O(words x
    window).
    """
    low, high, inside = window_bounds(len(texts), window, scopes)
    if len(texts) < 2:
        return np.zeros(0)
    table = TfIdf.of(texts, tokenizer_for(language))
    gaps = np.arange(1, len(texts))
    keys, sums = _sums(table, low, gaps)
    others, other_sums = _sums(table, gaps, high)
    _, left, right = np.intersect1d(keys, others, True, return_indices=True)

    def by_gap(keys: IntArray, products: FloatArray) -> Any:
        return np.bincount(keys // max(1, len(table.terms)), products, len(gaps))

    dots = by_gap(keys[left], sums[left] * other_sums[right])
    lengths = np.sqrt(by_gap(keys, sums**2) * by_gap(others, other_sums**2))
    return squash(_cosines(dots, lengths, inside))


def _sums(table: TfIdf, first: IntArray, last: IntArray) -> tuple[IntArray, FloatArray]:
    """The sums of the rows from first[i] to last[i] where they are not 0, by i * terms + term."""
    starts = table.ends[first]
    sizes = table.ends[last] - starts
    totals = running_totals(sizes)
    places = np.arange(totals[-1]) + np.repeat(starts - totals[:-1], sizes)
    keys: Any = np.repeat(np.arange(len(first)) * len(table.terms), sizes)
    keys, which = np.unique(keys + table.columns[places], return_inverse=True)
    sums: Any = np.bincount(which, table.values[places], len(keys))
    return keys, sums


def two_way(
    first: Sequence[float],
    second: Sequence[float],
    *,
    at_most: float | None = None,
    normalised: bool = True,
) -> TwoWay | None:
    """Compare two options by the log-probabilities of their variants.

    Logarithms are natural; the probabilities of an option's variants are added up. An option
    without any counts with `at_most`, the smallest log-probability that was returned. Both without,
    or one without and `at_most` None: None. `normalised=False` gives pA - pB, as Meta-Chunking
    does, instead of (pA - pB) / (pA + pB).
    """
    if not first and not second:
        return None
    if at_most is not None:
        first, second = first or [at_most], second or [at_most]
    if not first or not second:
        return None
    one = float(np.logaddexp.reduce(first))
    other = float(np.logaddexp.reduce(second))
    p_one, p_other = float(np.exp(one)), float(np.exp(other))
    difference = p_one - p_other
    if normalised and one != other:  # by the logarithms: both probabilities may be 0
        difference = float(np.tanh((one - other) / 2))
    return TwoWay(min(1.0, max(-1.0, difference)), min(1.0, p_one + p_other))


def two_way_of_top(
    top: Iterable[tuple[str, float]],
    options: tuple[str, str],
    *,
    normalised: bool = True,
) -> TwoWay | None:
    """`two_way` from the most likely first tokens of an answer, (token, log-probability).

    A token stands for an option if they are equal but for case and the mark of a space. None if
    neither option is among them.
    """
    listed = list(top)
    first, second = (_of_option(option, listed) for option in options)
    smallest = min((p for _, p in listed), default=None)
    return two_way(first, second, at_most=smallest, normalised=normalised)


def _of_option(option: str, top: Sequence[tuple[str, float]]) -> list[float]:
    """The log-probabilities of the tokens that stand for an option."""
    word = option.strip().casefold()
    return [p for token, p in top if token.strip(_TOKEN_MARKS).casefold() == word]


def parse_rating(answer: str) -> float | None:
    """The number from 0 to 10 in an answer; None without one. Answers are such as `7`, `7.5/10` and
    `Rating: 8`. None, too, if there is more than one number."""
    numbers = _VALUE.findall(_SCALE.sub(" ", answer))
    values = {float(number.replace(",", ".")) for number in numbers}
    if len(values) != 1:
        return None
    value = values.pop()
    return value if 0 <= value <= 10 else None


def rating_margin(answers: Sequence[str]) -> float | None:
    """(x - 5) / 5 for the answers' median rating x. None if no answer holds a rating."""
    ratings = [
        rating for answer in answers if (rating := parse_rating(answer)) is not None
    ]
    return (median(ratings) - 5) / 5 if ratings else None


def weigh_flow(
    questions: Sequence[str],
    options: tuple[str, str],
    *,
    component: str = "",
    source: str = "",
    required: bool = False,
    normalised: bool = True,
) -> Flow[tuple[list[float | None], str]]:
    """The margins of questions with the same options, and their source.

    The source says what the margins were read from. `source` "" lets the first question decide,
    once for all: the model weighs options itself (log-probabilities), or it answers with a rating,
    or it does neither (unusable), or there is no model (none). A margin is None where the model
    failed or its answer said nothing.

    Raises:
        NoModel: there is no language model and `required` is set.
    """
    if not questions:
        return [], source
    if source:
        margins = yield from _margins(questions, options, component, source, normalised)
        return margins, source
    answer = yield from ask(Choose(questions[0], options, component, normalised))
    if isinstance(answer, Failed) and isinstance(answer.reason, NoModel):
        if required:
            raise answer.reason
        return [None] * len(questions), NONE
    if isinstance(answer, Failed) or answer is None:
        rated = yield from _margins(
            questions[:1], options, component, RATING, normalised
        )
        answer = rated[0]
        source = UNUSABLE if answer is None else RATING
    else:
        source = LOG_PROBABILITIES
    rest = yield from _margins(questions[1:], options, component, source, normalised)
    return [answer, *rest], source


def _margins(
    questions: Sequence[str],
    options: tuple[str, str],
    component: str,
    source: str,
    normalised: bool,
) -> Flow[list[float | None]]:
    if not questions or source in {NONE, UNUSABLE}:
        return [None] * len(questions)
    answers = yield [
        _asking(question, options, component, source, normalised)
        for question in questions
    ]
    return [_margin(answer) for answer in answers]


def _asking(
    question: str,
    options: tuple[str, str],
    component: str,
    source: str,
    normalised: bool,
) -> Request:
    """Make the request for a margin from this source."""
    if source == LOG_PROBABILITIES:
        return Choose(question, options, component, normalised)
    if source == RATING:
        prompt = (
            f"{question}\n\nDo not answer with an option. Answer with one number from 0 to 10 and "
            f"nothing else: 10 if the answer is certainly {options[0]!r}, 0 if it is certainly "
            f"{options[1]!r}, 5 if you cannot tell."
        )
        return Ask(prompt, f"{component}.{RATING}")
    raise InvalidParameter(
        f"source must be '', {LOG_PROBABILITIES!r}, {RATING!r} or {NONE!r}; got {source!r}."
    )


def _margin(answer: Any) -> float | None:
    """The margin of an answer, which may hold a rating; or None."""
    if isinstance(answer, str):
        return rating_margin([answer])
    return None if isinstance(answer, Failed) else answer
