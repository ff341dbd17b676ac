"""HiQA's alpha and beta fitted to labelled questions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrag.errors import InvalidParameter
from structrag.index.corpus import CorpusReader
from structrag.index.ranking import SCORE_DIGITS
from structrag.model_calls.flow import gather
from structrag.model_calls.requests import Flow
from structrag.records import Chunk
from structrag.retrieval.hiqa.scores import Candidates, alpha_for, normalised
from structrag.text.arrays import FloatArray
from structrag.text.numbers import pluralise

Relevant = str | tuple[str, int, int]  # a document's id, or a span of one in characters

ALPHAS = tuple(i / 10 for i in range(11))
BETAS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
GRID = tuple((alpha, beta) for alpha in ALPHAS for beta in BETAS)
DEFAULT = (0.5, 0.2)
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
    """The result of tuning. Scores are mean reciprocal ranks of the first relevant chunk."""

    alpha: float  # chosen
    beta: float
    n_questions: int
    score: float  # with the chosen weights
    default_score: float  # with the default weights, 0.5 and 0.2
    grid: tuple[tuple[float, float, float], ...]  # all tried: (alpha, beta, score)

    def __str__(self) -> str:
        return (
            f"alpha {self.alpha:g}, beta {self.beta:g}: mean reciprocal rank {self.score:.4f} over "
            f"{pluralise(self.n_questions, 'question')} (default weights {self.default_score:.4f})"
        )


def tune_flow(
    questions: Iterable[LabelledQuestion],
    pool_flow: Callable[[LabelledQuestion], Flow[Candidates]],
    reader: CorpusReader,
) -> Flow[TuningReport]:
    """Try 99 pairs of alpha and beta, both from 0 to 1, on labelled questions.

    The pool of each question is searched once. The pair with the best mean of 1 / rank of the first
    relevant chunk wins (0 where the pool has none), of equals the nearest to the default.

    Raises:
        InvalidParameter: there is no question, or one has nothing relevant.
    """
    questions = list(questions)
    _check(questions)
    rows: list[FloatArray] = []
    for first in range(0, len(questions), _TOGETHER):
        batch = questions[first : first + _TOGETHER]
        pools = yield from gather([pool_flow(question) for question in batch])
        for question, pool in zip(batch, pools, strict=True):
            chunks = reader.chunks_at(pool.rows.tolist())
            relevant = [_is_relevant(chunk, question.relevant) for chunk in chunks]
            rows.append(_reciprocal_ranks(pool, np.array(relevant, dtype=bool)))
    means = np.stack(rows).mean(axis=0).tolist()
    best = min(
        range(len(GRID)), key=lambda i: (-round(means[i], SCORE_DIGITS), _far(i))
    )
    return TuningReport(
        *GRID[best],
        len(questions),
        means[best],
        means[GRID.index(DEFAULT)],
        tuple((*pair, mean) for pair, mean in zip(GRID, means, strict=True)),
    )


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


def _is_relevant(chunk: Chunk, relevant: Collection[Relevant]) -> bool:
    """Return True if a chunk is of one of the documents, or overlaps one of the spans."""
    for item in relevant:
        doc_id, start, end = (
            (item, chunk.start, chunk.end) if isinstance(item, str) else item
        )
        if doc_id == chunk.doc_id and max(start, chunk.start) < min(end, chunk.end):
            return True
    return False


def _reciprocal_ranks(pool: Candidates, relevant: Any) -> FloatArray:
    """1 / rank of the first relevant segment for every pair of weights, (99,)."""
    if not relevant.any():
        return np.zeros(len(GRID))
    v, r = normalised(pool)
    alphas = np.array([alpha_for(pool, alpha) for alpha, _ in GRID])[:, None]
    betas = np.array([beta for _, beta in GRID])[:, None]
    scores = alphas * v + (1 - alphas) * r + betas * np.log1p(pool.counts)
    # Stable, so that equal scores stay in document order, as in the retriever.
    order = np.argsort(-np.round(scores, SCORE_DIGITS), axis=1, kind="stable")
    ranks: FloatArray = 1 / (1 + relevant[order].argmax(axis=1))
    return ranks


def _far(i: int) -> float:
    """Return the distance of a pair of weights from the default."""
    alpha, beta = GRID[i]
    return round(abs(alpha - DEFAULT[0]) + abs(beta - DEFAULT[1]), SCORE_DIGITS)
