"""HiQA's score (equation 2), rules of thumb for its weights, and grouping; alpha and beta fitted to
labelled questions. Pure functions over a pool of segments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log
from typing import Any

import numpy as np

from structrag.errors import InvalidParameter
from structrag.index.corpus import CorpusReader
from structrag.index.ranking import SCORE_DIGITS
from structrag.model_calls.requests import Flow, gather
from structrag.records import Chunk
from structrag.retrieval.fusion import maxnorm, minmax, round_robin
from structrag.text.arrays import BoolArray, FloatArray, IntArray
from structrag.text.numbers import pluralise

ROUTES = ("dense", "bm25", "keywords")  # also the order of the three parts of a score


@dataclass(frozen=True, slots=True)
class Candidates:
    """The n segments that one query's routes found, and their scores."""

    rows: IntArray  # (n,), of the index, ascending
    cosine: FloatArray  # (n,); NaN where no cosine is known
    bm25: FloatArray  # (n,); 0 where the route found nothing
    keywords: tuple[str, ...]  # of the query, as written
    held: BoolArray  # (keywords, n): which segment holds which of them
    # route -> row -> rank from 1, where the route itself found the row
    ranks: Mapping[str, Mapping[int, int]]
    # (n,); what is added to the cosine of those that hold a keyword (see `CandidateSource`)
    shift: FloatArray | float = 0.0

    @property
    def counts(self) -> IntArray:
        """|C|: how many of the query's keywords each segment holds, (n,)."""
        return self.held.sum(axis=0)  # type: ignore[no-any-return]


def normalised(pool: Candidates) -> tuple[FloatArray, FloatArray]:
    """v and r of equation 2, (n,) each, in [0, 1]. v is the min-max of the cosines, r BM25 divided
    by its maximum; both are 0 where the route has no score."""
    has_cosine = ~np.isnan(pool.cosine)
    v = np.zeros(len(pool.rows))
    v[has_cosine] = minmax((pool.cosine + pool.shift)[has_cosine])
    return v, maxnorm(pool.bm25)


def alpha_for(pool: Candidates, alpha: float) -> float:
    """`alpha`, but 0 without cosines, and 1 without a BM25 hit."""
    if np.isnan(pool.cosine).all():
        return 0.0
    return alpha if (pool.bm25 > 0).any() else 1.0


def weighted_parts(pool: Candidates, weights: Sequence[float]) -> FloatArray:
    """v, r and ln(1 + |C|) times their weights, (3, n). With alpha, 1 - alpha and beta their sum is
    equation 2. The logarithm is the natural one."""
    v, r = normalised(pool)
    summands = np.stack([v, r, np.log1p(pool.counts)])
    parts: FloatArray = np.array(weights)[:, None] * summands
    return parts


def best_score(
    pool: Candidates, weights: Sequence[float], routes: Sequence[str]
) -> float:
    """Return the score of a segment that is first on every route and contains all of the query's
    keywords; 1 if that is 0. `weights` are of v, r and ln(1 + |C|)."""
    most = {"dense": 1.0, "bm25": 1.0, "keywords": float(np.log1p(len(pool.keywords)))}
    best = 0.0
    for route, weight in zip(ROUTES, weights, strict=True):
        if route in routes:
            best += weight * most[route]
    return best or 1.0


def keyword_ranks(rows: IntArray, counts: IntArray) -> dict[int, int]:
    """Row -> rank by |C|, for rows with at least one keyword. Equal counts share the best of their
    ranks."""
    above = len(counts) - np.searchsorted(np.sort(counts), counts, side="right")
    holds = counts > 0
    return dict(zip(rows[holds].tolist(), (above[holds] + 1).tolist(), strict=True))


def auto_alpha(structure: float) -> float:
    """0.4 + 0.2 x structure, so from 0.4 to 0.6.

    `structure`, in [0, 1], is the number of headings above a segment, at most 3, averaged over all
    segments and divided by 3. The paper raises alpha "in well-structured collections with clear
    hierarchies" and gives no figures; these are ours, around its default.
    """
    return 0.4 + 0.2 * structure


def auto_beta(n_documents: int, mean_pages: float) -> float:
    """0.1 (1 + ln(1 + documents / mean pages)), at most 0.4.

    It is at least 0.1. Many short documents need the keywords most. The paper raises beta with that
    ratio and gives no figures. 0.1 for an empty collection.
    """
    if not n_documents or mean_pages <= 0:
        return 0.1
    return min(0.4, 0.1 * (1 + log(1 + n_documents / mean_pages)))


def in_turn(order: Sequence[int], held: BoolArray, k: int) -> list[int]:
    """The first `k` positions, in turn from the published code's groups.

    `order` has the positions best first. Groups: segments with several of the keywords, then those
    with one, by keyword. Segments with none come after all others.
    """
    counts = held.sum(axis=0)
    groups = [[i for i in order if counts[i] > 1]]
    groups += [[i for i in order if counts[i] == 1 and holds[i]] for holds in held]
    named = round_robin(groups, k)
    rest = (i for i in order if not counts[i])
    return named + list(islice(rest, max(0, k - len(named))))


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
