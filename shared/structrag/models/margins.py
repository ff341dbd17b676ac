"""Margins: by how much one of two options is preferred, from -1 to 1 (foundation, sections 7 and
8).

Pure functions, and the steps that weigh two options by whatever the language model at hand can do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.asking.prompts import check_template
from structrag.asking.requests import Ask, Choose, Failed, Steps
from structrag.errors import InvalidParameter, NoModel, check_at_least

FloatArray = NDArray[np.float64]

# what the margins of a model were read from; the last two: there is no model, and one that gives
# neither
LOG_PROBABILITIES, RATING, NONE, UNUSABLE = "log-probabilities", "rating", "none", "unusable"

PROMPT = """\
Two passages, A and B, follow each other in a document. Should they be kept together in one passage, or split into two?
Keep them together if B continues the topic, the argument or the list of A; split them if B turns to something else.
1. {first}
2. {second}

Passage A:
{left}

Passage B:
{right}

Answer with 1 or 2 and nothing else."""
SPLIT_OPTION, KEEP_OPTION = "Split them between A and B.", "Keep them together."

PAPER_PROMPT = """\
This is a text chunking task. You are a text analysis expert. Please choose one of the following two options based on the \
logical structure and semantic content of the provided sentence:
1. Split "{left} {right}" into "{left}" and "{right}" two parts;
2. Keep "{left} {right}" unsplit in its original form;
Please answer 1 or 2."""

_TOKEN_MARKS = " \t\r\n\u2581\u0120\u010a"  # how tokenizers write a space or a line end
_NUMBER = r"\d+(?:[.,]\d+)?"
_SCALE = re.compile(r"\b0\s*(?:to|-|–|\.\.)\s*10\b|(?:/|\bout of)\s*10\b", re.IGNORECASE)
_VALUE = re.compile(rf"(?<![\w.,-])-?{_NUMBER}(?![\w]|[.,]\d)")


def check_prompt(prompt: str) -> None:
    """Raise InvalidParameter unless the template has the places {left} and {right}."""
    check_template("prompt", prompt, ["left", "right"], optional=("first", "second"))


class TwoWay(NamedTuple):
    """How two options compare."""

    margin: float  # from -1 to 1, positive: the first
    # probability of both together; a small one says that the model wanted to answer something else
    mass: float


def window_similarity(
    vectors: ArrayLike, window: int = 4, scopes: Sequence[tuple[int, int]] | None = None
) -> FloatArray:
    """For each gap between neighbouring rows, the cosine of the mean unit vectors of `window` rows
    before and after it.

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
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    sums = np.zeros((n + 1, matrix.shape[1]))
    np.cumsum(
        np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0),
        axis=0,
        out=sums[1:],
    )
    gaps = np.arange(1, n)
    before, after = sums[gaps] - sums[low], sums[high] - sums[gaps]
    product = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    cosines = np.divide(
        np.einsum("ij,ij->i", before, after), product, out=np.zeros(n - 1), where=product > 1e-9
    )
    same: FloatArray = np.where(inside, np.clip(cosines, -1.0, 1.0), np.nan)
    return same


def window_bounds(
    n: int, window: int, scopes: Sequence[tuple[int, int]] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """For each gap between n rows: the first row of the window before it, the row behind the window
    after it, and whether both sides are in one scope. Raises InvalidParameter unless window >= 1.
    """
    check_at_least("window", window, 1)
    first, last = np.zeros(n, dtype=np.intp), np.full(n, n, dtype=np.intp)
    for start, end in scopes or ():
        first[start:end], last[start:end] = start, end
    gaps = np.arange(1, n)
    return (
        np.maximum(first[:-1], gaps - window),
        np.minimum(last[1:], gaps + window),
        first[1:] == first[:-1],
    )


def squash(values: ArrayLike) -> FloatArray:
    """tanh(z / 2) of the z-scores of the values (population standard deviation); all 0 where they
    are equal. NaN stays NaN."""
    series = np.asarray(values, dtype=np.float64)
    known = series[np.isfinite(series)]
    if not known.size:
        return series
    spread = float(known.std())
    centred = series - known.mean()
    squashed: FloatArray = np.tanh(centred / spread / 2 if spread > 1e-9 else centred * 0.0)
    return squashed


def similarity_margins(
    vectors: ArrayLike, window: int = 4, scopes: Sequence[tuple[int, int]] | None = None
) -> FloatArray:
    """The margins of the gaps between sentences without a language model:
    `squash(window_similarity(...))`.

    Positive: the two sides are more alike than the sides of an average gap of this document.
    """
    return squash(window_similarity(vectors, window, scopes))


def two_way(
    first: Sequence[float],
    second: Sequence[float],
    *,
    at_most: float | None = None,
    normalised: bool = True,
) -> TwoWay | None:
    """Compare two options by the natural log-probabilities of the variants of each, which are added
    up.

    An option without any counts with `at_most`, the smallest log-probability that was returned.
    Both without, or one without and `at_most` None: None. `normalised=False` gives pA - pB, as
    Meta-Chunking does, instead of (pA - pB) / (pA + pB).
    """
    if not first and not second:
        return None
    if at_most is None and not (first and second):
        return None
    one, other = (
        float(np.logaddexp.reduce(values)) if len(values) else float(at_most or 0.0)
        for values in (first, second)
    )
    p_one, p_other = float(np.exp(one)), float(np.exp(other))
    difference = (
        0.0
        if one == other
        else float(np.tanh((one - other) / 2))
        if normalised
        else p_one - p_other
    )
    return TwoWay(min(1.0, max(-1.0, difference)), min(1.0, p_one + p_other))


def two_way_of_top(
    top: Iterable[tuple[str, float]], options: tuple[str, str], *, normalised: bool = True
) -> TwoWay | None:
    """`two_way` from the most likely first tokens of an answer, (token, log-probability).

    A token stands for an option if they are equal but for case and the mark of a space. None if
    neither option is among them.
    """
    listed = list(top)
    values = [[p for token, p in listed if _is_option(token, option)] for option in options]
    return two_way(
        values[0],
        values[1],
        at_most=min((p for _, p in listed), default=None),
        normalised=normalised,
    )


def _is_option(token: str, option: str) -> bool:
    return token.strip(_TOKEN_MARKS).casefold() == option.strip().casefold()


def rating_prompt(question: str, options: tuple[str, str]) -> str:
    """The question of a `Choose`, answered by a number from 0 to 10 instead."""
    return (
        f"{question}\n\nDo not answer with an option. Answer with one number from 0 to 10 and "
        "nothing else: 10 if the answer is "
        f"certainly {options[0]!r}, 0 if it is certainly {options[1]!r}, 5 if you cannot tell."
    )


def parse_rating(answer: str) -> float | None:
    """The number from 0 to 10 in an answer such as `7`, `7.5/10`, `Rating: 8`; None if there is
    none, or more than one."""
    values = {float(value.replace(",", ".")) for value in _VALUE.findall(_SCALE.sub(" ", answer))}
    if len(values) != 1:
        return None
    value = values.pop()
    return value if 0 <= value <= 10 else None


def holds_rating(answer: str) -> bool:
    """Whether `parse_rating` finds one."""
    return parse_rating(answer) is not None


def rating_margin(answers: Sequence[str]) -> float | None:
    """(x - 5) / 5 for the median x of the ratings in the answers; None if none holds one."""
    ratings = [rating for answer in answers if (rating := parse_rating(answer)) is not None]
    return (median(ratings) - 5) / 5 if ratings else None


def weigh_steps(
    questions: Sequence[str],
    options: tuple[str, str],
    *,
    component: str = "",
    source: str = "",
    required: bool = False,
) -> Steps[tuple[list[float | None], str]]:
    """The margins of many questions with the same options, and what they were read from.

    `source` "" lets the first question decide, once for all: the model weighs options itself
    (log-probabilities), or it answers with a rating, or it does neither (unusable), or there is no
    model (none). A margin is None where the model failed or its answer said nothing.

    Raises:
        NoModel: there is no language model and `required` is set.
    """
    if not questions:
        return [], source
    if source:
        return (yield from _margins(questions, options, component, source)), source
    answer = (yield [Choose(questions[0], options, component)])[0]
    if isinstance(answer, Failed) and isinstance(answer.reason, NoModel):
        if required:
            raise answer.reason
        return [None] * len(questions), NONE
    if isinstance(answer, Failed) or answer is None:
        rated = yield from _margins(questions[:1], options, component, RATING)
        answer = rated[0]
        source = UNUSABLE if answer is None else RATING
    else:
        source = LOG_PROBABILITIES
    rest = yield from _margins(questions[1:], options, component, source)
    return [answer, *rest], source


def _margins(
    questions: Sequence[str], options: tuple[str, str], component: str, source: str
) -> Steps[list[float | None]]:
    if not questions or source in {NONE, UNUSABLE}:
        return [None] * len(questions)
    if source == LOG_PROBABILITIES:
        answers = yield [Choose(question, options, component) for question in questions]
        return [None if isinstance(answer, Failed) else answer for answer in answers]
    if source != RATING:
        raise InvalidParameter(
            f"source must be '', {LOG_PROBABILITIES!r}, {RATING!r} or {NONE!r}; got {source!r}."
        )
    answers = yield [
        Ask(rating_prompt(question, options), f"{component}.{RATING}", usable=holds_rating)
        for question in questions
    ]
    return [None if isinstance(answer, Failed) else rating_margin([answer]) for answer in answers]
