"""Scores of ranked chunks, question by question: hits, Log-Rank Index, recall at some chunks and
within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.paper_metrics import (
    log_rank_index,
    mid_ranks,
)
from benchmarks.question_sets import Dataset, Question
from structrag.evaluation import (
    SpanMeasure,
    paired_bootstrap,
    recall_at_budget,
    span_recall,
    spans_of,
)
from structrag.records import Chunk
from structrag.text.tokens import TokenCounter

Ranking = Sequence[tuple[Chunk, float]]  # chunks with scores, best first
Search = Callable[[str], Ranking]
Points = dict[str, list[float]]  # point -> the score of every question, in [0, 1]


@dataclass
class Sizes:
    """Tokens of chunks, each counted once."""

    counter: TokenCounter
    # Chunk id -> tokens of its text.
    known: dict[str, int] = field(default_factory=dict)

    def __call__(self, chunk: Chunk) -> int:
        if chunk.id not in self.known:
            self.known[chunk.id] = self.counter(chunk.text)
        return self.known[chunk.id]


def read_questions(embedder: Any, dataset: Dataset) -> None:
    """Embed all questions in one call, where the embedder remembers them
    (`quality.RememberedQueries`)."""
    if hasattr(embedder, "known"):
        texts = list(dict.fromkeys(question.question for question in dataset.questions))
        embedder.known.update(
            zip(texts, embedder.embedder.embed(texts, query=True), strict=True)
        )


def relevant_ids(question: Question, chunks: Mapping[str, Sequence[Chunk]]) -> set[str]:
    """The ids of the chunks that share a character with the question's gold; `chunks` by document
    id."""
    return {
        chunk.id
        for doc_id, start, end in question.gold
        for chunk in chunks.get(doc_id, ())
        if max(start, chunk.start) < min(end, chunk.end)
    }


def place_points(ranking: Ranking, relevant: set[str], n: int) -> dict[str, float]:
    """Hits at 1 and 5 and the Log-Rank Index among `n` chunks, ties by mid-rank.

    A relevant chunk that is not in the ranking has the mean rank of all chunks that are not. A
    chunk tied with others is a hit at k where the mean of their ranks is at most k, so that the
    order of the documents decides nothing.
    """
    ranks = dict(
        zip(
            (chunk.id for chunk, _ in ranking),
            mid_ranks([score for _, score in ranking]),
            strict=True,
        )
    )
    places = [ranks.get(name) for name in sorted(relevant)]
    best = min((place for place in places if place is not None), default=float("inf"))
    index = log_rank_index(
        places,
        n,
        # The middle of the ranks that are not known.
        missing=(len(ranking) + 1 + n) / 2 if len(ranking) < n else n,
    )
    return {
        "hit at 1": float(best <= 1),
        "hit at 5": float(best <= 5),
        "Log-Rank Index": index or 0.0,
    }


def place_scores(
    dataset: Dataset, relevant: Sequence[set[str]], n: int, search: Search
) -> Points:
    """`place_points` of every question, whose relevant chunks are given in the same order."""
    rows = [
        place_points(search(question.question), own, n)
        for question, own in zip(dataset.questions, relevant, strict=True)
    ]
    return {point: [row[point] for row in rows] for point in rows[0]} if rows else {}


def recall_points(
    ranking: Sequence[Chunk],
    question: Question,
    measure: SpanMeasure,
    sizes: Sizes,
    *,
    k: int,
    budgets: Sequence[int],
) -> dict[str, float]:
    """Recall of the gold in the first `k` chunks and within each budget of tokens, and the tokens
    that the `k` chunks hold."""
    spans = spans_of(ranking)
    points = {
        f"{k} chunks": span_recall(
            question.gold, spans[:k], measure, mode=question.mode
        )
        or 0.0
    }
    tokens = [sizes(chunk) for chunk in ranking]
    for budget in budgets:
        value = recall_at_budget(
            question.gold, spans, budget, measure, sizes=tokens, mode=question.mode
        )
        points[f"{budget:,} tokens"] = value or 0.0
    return {**points, "tokens": float(sum(tokens[:k]))}


def mean_of(values: Sequence[float]) -> float:
    """Mean in percent."""
    return 100 * float(np.mean(values))


def against(values: Sequence[float], base: Sequence[float]) -> str:
    """The difference to another system in points, with the 95% interval of a paired bootstrap over
    the questions."""
    found = paired_bootstrap(values, base)
    return f"{100 * found.mean:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"


def table_rows(
    scores: Mapping[str, Points], points: Sequence[str], point: str, base: Points
) -> tuple[tuple[str, ...], ...]:
    """Each system's means in percent, and its difference to the base at one point. Names are cut at
    their bars."""
    return tuple(
        (
            *name.split(" | "),
            *(f"{mean_of(own[each]):.1f}" for each in points),
            "" if own is base else against(own[point], base[point]),
        )
        for name, own in scores.items()
    )


def figures(
    scores: Mapping[str, Points], points: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Each system's means in percent, by name."""
    return {
        name: {point: mean_of(own[point]) for point in points}
        for name, own in scores.items()
    }
