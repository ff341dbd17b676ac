"""HiQA's alpha and beta fitted to labelled questions, with an estimate on questions that were left
out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.asking.requests import Steps
from structrag.asking.steps import together
from structrag.errors import InvalidParameter, check_choice
from structrag.index.ranking import SCORE_DIGITS
from structrag.index.store import Store
from structrag.retrieval.hiqa.scores import FloatArray, Pool, alpha_for, normalised

Relevant = str | tuple[str, int, int]  # a document's id, or a span of one in characters

ALPHAS = tuple(i / 10 for i in range(11))
BETAS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
DEFAULT = (0.5, 0.2)
FEW = 10  # questions; fewer say little
FOLDS = 5
_TOGETHER = 64  # questions searched at a time


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question, and what answers it."""

    question: str
    relevant: Collection[Relevant]  # ids of documents, or spans (document id, start, end)
    where: Any = None  # as in `HiQARetriever.search`


@dataclass(frozen=True, slots=True)
class TuningReport:
    """What tuning found. `print(report)` shows all of it."""

    alpha: float  # chosen
    beta: float
    metric: str
    k: int  # hits that the metric looks at; for "mrr" all of the pool count
    n_questions: int
    out_of_reach: int  # questions for which no route found anything relevant: no weights help them
    score: float  # mean of the metric over the questions, with the chosen weights
    default_score: float  # the same with the default weights, 0.5 and 0.2
    held_out: (
        float | None
    )  # the same where each question's weights were fitted without it and its fold; None for one question
    grid: tuple[
        tuple[float, float, float], ...
    ]  # (alpha, beta, mean of the metric) of all that was tried
    note: str  # what to think of it

    def table(self) -> str:
        """The metric by alpha (down) and beta (across), the chosen weights with a star."""
        scores = {(alpha, beta): score for alpha, beta, score in self.grid}
        lines = [("alpha  " + "".join(f"beta {beta:<6g}" for beta in BETAS)).rstrip()]
        for alpha in ALPHAS:
            cells = [
                f"{scores[alpha, beta]:.4f}"
                + ("*" if (alpha, beta) == (self.alpha, self.beta) else "")
                for beta in BETAS
            ]
            lines.append(f"{alpha:<7g}" + "".join(f"{cell:<11}" for cell in cells).rstrip())
        return "\n".join(lines)

    def __str__(self) -> str:
        held_out = "none" if self.held_out is None else f"{self.held_out:.4f}"
        name = f"recall at {self.k}" if self.metric == "recall" else "mean reciprocal rank"
        return (
            f"alpha {self.alpha:g}, beta {self.beta:g}: {name} {self.score:.4f} over "
            f"{self.n_questions} questions "
            f"(default weights {self.default_score:.4f}; fitted without the question {held_out}; "
            f"out of reach {self.out_of_reach})\n"
            f"{self.note}\n{self.table()}"
        )


def tune_steps(
    questions: Iterable[LabelledQuestion],
    pool_steps: Callable[[LabelledQuestion], Steps[Pool]],
    store: Store,
    *,
    k: int,
    metric: str = "mrr",
) -> Steps[TuningReport]:
    """Try alpha from 0 to 1 and beta from 0 to 1, 99 pairs, on labelled questions; the pool of each
    is searched once.

    The best mean wins, of equals the pair nearest to the default; so it is never worse than the
    default on these questions. Where questions left out (five folds; each alone where there are
    fewer than five) do worse with fitted weights than with the default, the default stays.

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
        some = questions[first : first + _TOGETHER]
        pools = yield from together([pool_steps(question) for question in some])
        for each, pool in zip(some, pools, strict=True):
            gains = _gains(store, pool, each.relevant)
            out_of_reach += not gains.any()
            rows.append(_values(pool, gains, grid, metric, k))
    values = np.stack(rows)
    return _report(values, grid, metric, k, out_of_reach)


def _check(questions: Sequence[LabelledQuestion]) -> None:
    if not questions:
        raise InvalidParameter("questions must hold at least one LabelledQuestion; got none.")
    for each in questions:
        if isinstance(each.relevant, str) or not each.relevant:
            raise InvalidParameter(
                "relevant must be a set of document ids or (id, start, end) spans, at least one; "
                f"got {each.relevant!r} for "
                f"{each.question!r}."
            )


def _gains(store: Store, pool: Pool, relevant: Collection[Relevant]) -> FloatArray:
    """For each relevant item and segment of the pool the share of the item that the segment holds,
    (items, n)."""
    gains = np.zeros((len(relevant), len(pool.rows)))
    for column, row in enumerate(pool.rows.tolist()):
        chunk = store.chunk(row)
        for line, item in enumerate(relevant):
            doc_id, start, end = (item, 0, 0) if isinstance(item, str) else item
            if chunk.doc_id != doc_id:
                continue
            shared = min(end, chunk.end) - max(start, chunk.start)
            gains[line, column] = (
                1.0 if isinstance(item, str) else max(0, shared) / max(1, end - start)
            )
    return gains


def _values(
    pool: Pool, gains: FloatArray, grid: Sequence[tuple[float, float]], metric: str, k: int
) -> FloatArray:
    """The metric of one question for every pair of weights, (len(grid),)."""
    if not gains.any():
        return np.zeros(len(grid))
    v, r = normalised(pool)
    alphas = np.array([alpha_for(pool, alpha) for alpha, _ in grid])[:, None]
    betas = np.array([beta for _, beta in grid])[:, None]
    scores = np.round(alphas * v + (1 - alphas) * r + betas * np.log1p(pool.counts), SCORE_DIGITS)
    order: NDArray[np.int64] = np.argsort(-scores, axis=1, kind="stable")
    if metric == "mrr":
        relevant = np.any(gains, axis=0, keepdims=True)[0][order]
        result: FloatArray = 1 / (1 + relevant.argmax(axis=1))
        return result
    found = np.minimum(gains[:, order[:, :k]].sum(axis=2), 1)
    recall: FloatArray = found.mean(axis=0)
    return recall


def _report(
    values: FloatArray, grid: Sequence[tuple[float, float]], metric: str, k: int, out_of_reach: int
) -> TuningReport:
    n = len(values)
    default = grid.index(DEFAULT)
    means = values.mean(axis=0)
    best = _best(means, grid)
    folds = np.arange(n) % min(FOLDS, n)
    held_out = None
    if n > 1:
        fitted = [_best(values[folds != folds[i]].mean(axis=0), grid) for i in range(n)]
        held_out = float(np.mean([values[i, choice] for i, choice in enumerate(fitted)]))
    note = "Questions left out did at least as well with fitted weights as with the default."
    if held_out is None or n < FEW:
        note = (
            f"{n} question{' is' if n == 1 else 's are'} little to choose weights by; {FEW}, "
            "better 50, would say something."
        )
    if best == default:
        note = (
            f"{note} No weights did better than the default."
            if n < FEW
            else "No weights did better than the default."
        )
    elif held_out is not None and round(held_out, SCORE_DIGITS) < round(
        float(means[default]), SCORE_DIGITS
    ):
        note = (
            "Questions left out did worse with fitted weights than with the default, so the "
            f"default stays. {note if n < FEW else ''}"
        )
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
        tuple((alpha, beta, float(mean)) for (alpha, beta), mean in zip(grid, means, strict=True)),
        note.strip(),
    )


def _best(means: FloatArray, grid: Sequence[tuple[float, float]]) -> int:
    """The place of the best mean; of equals the nearest to the default, then the first."""

    def distance(i: int) -> float:
        return round(abs(grid[i][0] - DEFAULT[0]) + abs(grid[i][1] - DEFAULT[1]), SCORE_DIGITS)

    return min(
        range(len(grid)), key=lambda i: (-round(float(means[i]), SCORE_DIGITS), distance(i), i)
    )
