"""HiQA's alpha and beta fitted to labelled questions.

Questions left out say what the fit is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.asking.requests import Steps
from structrag.asking.steps import together
from structrag.errors import InvalidParameter, check_choice
from structrag.index.corpus import CorpusReader
from structrag.index.ranking import SCORE_DIGITS
from structrag.records import Chunk
from structrag.retrieval.hiqa.scores import FloatArray, Pool, alpha_for, normalised
from structrag.text.amounts import amount

Relevant = str | tuple[str, int, int]  # a document's id, or a span of one in characters

ALPHAS = tuple(i / 10 for i in range(11))
BETAS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
DEFAULT = (0.5, 0.2)
FEW = 10  # questions; fewer say little
FOLDS = 5
_TOGETHER = 64  # questions searched at a time


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question, and what answers it.

    Example:
        >>> from structrag import HiQARetriever, Index, read_text
        >>> index = Index(views=["raw"])
        >>> _ = index.add([read_text("Valves leak.", id="v"), read_text("Pumps hum.", id="p")])
        >>> HiQARetriever(index).tune([LabelledQuestion("What do pumps do?", ["p"])]).score
        1.0
    """

    question: str
    # Ids of documents, or spans (document id, start, end).
    relevant: Collection[Relevant]
    where: Any = None  # as in `HiQARetriever.search`


@dataclass(frozen=True, slots=True)
class TuningReport:
    """What tuning found. `print(report)` shows all of it."""

    alpha: float  # chosen
    beta: float
    metric: str
    k: int  # hits that the metric looks at; for "mrr" all of the pool count
    n_questions: int
    # Questions for which no route found anything relevant: no weights help them.
    out_of_reach: int
    score: float  # mean of the metric over the questions, with the chosen weights
    default_score: float  # the same with the default weights, 0.5 and 0.2
    # the same where each question's weights were fitted without it and its fold; None for one
    # question
    held_out: float | None
    # All tried: (alpha, beta, mean of the metric).
    grid: tuple[tuple[float, float, float], ...]
    note: str  # what to think of it

    def table(self) -> str:
        """The metric by alpha (down) and beta (across), the chosen one starred."""
        scores = {(alpha, beta): score for alpha, beta, score in self.grid}
        lines = [("alpha  " + "".join(f"beta {beta:<6g}" for beta in BETAS)).rstrip()]
        for alpha in ALPHAS:
            line = f"{alpha:<7g}"
            for beta in BETAS:
                star = "*" if (alpha, beta) == (self.alpha, self.beta) else ""
                line += f"{scores[alpha, beta]:.4f}{star}".ljust(11)
            lines.append(line.rstrip())
        return "\n".join(lines)

    def __str__(self) -> str:
        held_out = "none" if self.held_out is None else f"{self.held_out:.4f}"
        name = (
            f"recall at {self.k}" if self.metric == "recall" else "mean reciprocal rank"
        )
        return (
            f"alpha {self.alpha:g}, beta {self.beta:g}: {name} {self.score:.4f} over "
            f"{amount(self.n_questions, 'question')} (default weights {self.default_score:.4f}; "
            f"fitted without the question {held_out}; out of reach {self.out_of_reach})\n"
            f"{self.note}\n{self.table()}"
        )


def tune_steps(
    questions: Iterable[LabelledQuestion],
    pool_steps: Callable[[LabelledQuestion], Steps[Pool]],
    reader: CorpusReader,
    *,
    k: int,
    metric: str = "mrr",
) -> Steps[TuningReport]:
    """Try 99 pairs of alpha and beta on labelled questions.

    Both go from 0 to 1; the pool of each question is searched once. The best mean wins, of equals
    the pair nearest to the default; so it is never worse than the default on these questions. Where
    questions left out (five folds; each alone where there are fewer than five) do worse with fitted
    weights than with the default, the default stays.

    Args:
        metric: "mrr", 1 / rank of the first relevant chunk of the pool, 0 where there is none; or
            "recall", the share of the relevant documents that the first `retriever.k` hits come
            from, or of the characters of the relevant spans that they cover.

    Raises:
        InvalidParameter: there is no question, one has nothing relevant, or the retriever does not
            use alpha and beta.
    """
    questions = list(questions)
    check_choice("metric", metric, ("mrr", "recall"))
    _check(questions)
    grid = [(alpha, beta) for alpha in ALPHAS for beta in BETAS]
    rows: list[FloatArray] = []
    out_of_reach = 0
    for first in range(0, len(questions), _TOGETHER):
        batch = questions[first : first + _TOGETHER]
        pools = yield from together([pool_steps(question) for question in batch])
        for question, pool in zip(batch, pools, strict=True):
            gains = _gains(reader, pool, question.relevant)
            out_of_reach += not gains.any()
            rows.append(_values(pool, gains, grid, metric, k))
    values = np.stack(rows)
    return _report(values, grid, metric, k, out_of_reach)


def _check(questions: Sequence[LabelledQuestion]) -> None:
    if not questions:
        raise InvalidParameter(
            "questions must hold at least one LabelledQuestion; got none."
        )
    for question in questions:
        if isinstance(question.relevant, str) or not question.relevant:
            raise InvalidParameter(
                "relevant must be a set of document ids or (id, start, end) spans, at least one; "
                f"got {question.relevant!r} for {question.question!r}."
            )


def _gains(
    reader: CorpusReader, pool: Pool, relevant: Collection[Relevant]
) -> FloatArray:
    """The share of each relevant item in each segment, (items, n)."""
    gains = np.zeros((len(relevant), len(pool.rows)))
    for column, chunk in enumerate(reader.chunks_at(pool.rows.tolist())):
        for line, item in enumerate(relevant):
            gains[line, column] = _gain(chunk, item)
    return gains


def _gain(chunk: Chunk, item: Relevant) -> float:
    if isinstance(item, str):  # any chunk of the document will do
        return float(chunk.doc_id == item)
    doc_id, start, end = item
    shared = min(end, chunk.end) - max(start, chunk.start)
    return max(0, shared) / max(1, end - start) if chunk.doc_id == doc_id else 0.0


def _values(
    pool: Pool,
    gains: FloatArray,
    grid: Sequence[tuple[float, float]],
    metric: str,
    k: int,
) -> FloatArray:
    """The metric of one question for every pair of weights, (len(grid),)."""
    if not gains.any():
        return np.zeros(len(grid))
    v, r = normalised(pool)
    alphas = np.array([alpha_for(pool, alpha) for alpha, _ in grid])[:, None]
    betas = np.array([beta for _, beta in grid])[:, None]
    scores = alphas * v + (1 - alphas) * r + betas * np.log1p(pool.counts)
    # Stable, so that equal scores stay in document order, as in the retriever.
    order: NDArray[np.int64] = np.argsort(
        -np.round(scores, SCORE_DIGITS), axis=1, kind="stable"
    )
    if metric == "mrr":
        relevant = gains.max(axis=0)[order] > 0
        result: FloatArray = 1 / (1 + relevant.argmax(axis=1))
        return result
    shares = np.minimum(gains[:, order[:, :k]].sum(axis=2), 1)
    recall: FloatArray = shares.mean(axis=0)
    return recall


def _report(
    values: FloatArray,
    grid: Sequence[tuple[float, float]],
    metric: str,
    k: int,
    out_of_reach: int,
) -> TuningReport:
    n = len(values)
    default = grid.index(DEFAULT)
    means = values.mean(axis=0)
    best = _best(means, grid)
    held_out = _held_out(values, grid)
    default_score = round(float(means[default]), SCORE_DIGITS)
    is_worse = held_out is not None and round(held_out, SCORE_DIGITS) < default_score
    note = _note(n, is_default=best == default, is_worse=is_worse)
    if is_worse:
        best = default
    return TuningReport(
        *grid[best],
        metric,
        k,
        n,
        out_of_reach,
        float(means[best]),
        float(means[default]),
        held_out,
        tuple((*pair, mean) for pair, mean in zip(grid, means.tolist(), strict=True)),
        note,
    )


def _held_out(values: FloatArray, grid: Sequence[tuple[float, float]]) -> float | None:
    """The mean metric by weights fitted without the question's fold.

    None for one question.
    """
    n = len(values)
    if n == 1:
        return None
    folds = np.arange(n) % min(FOLDS, n)
    fitted = [_best(values[folds != fold].mean(axis=0), grid) for fold in folds]
    return float(values[np.arange(n), fitted].mean())


def _note(n: int, *, is_default: bool, is_worse: bool) -> str:
    """What to think of weights fitted to `n` questions."""
    few = ""
    if n < FEW:
        few = (
            f"{n} question{' is' if n == 1 else 's are'} little to choose weights by; {FEW}, "
            "better 50, would say something."
        )
    if is_default:
        return f"{few} No weights did better than the default.".strip()
    if is_worse:
        return (
            "Questions left out did worse with fitted weights than with the default, so the "
            f"default stays. {few}"
        ).strip()
    return few or (
        "Questions left out did at least as well with fitted weights as with the default."
    )


def _best(means: FloatArray, grid: Sequence[tuple[float, float]]) -> int:
    """The place of the best mean. Of equals the nearest to the default, then the first."""

    def order(i: int) -> tuple[float, float, int]:
        distance = abs(grid[i][0] - DEFAULT[0]) + abs(grid[i][1] - DEFAULT[1])
        return -round(float(means[i]), SCORE_DIGITS), round(distance, SCORE_DIGITS), i

    return min(range(len(grid)), key=order)
