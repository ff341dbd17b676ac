"""Recall at an equal token budget: k chunks of 43 words and k of 500 are different offers, the same
number of tokens is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from structrag.errors import InvalidParameter, check_at_least, check_choice
from structrag.evaluation.measure import Span, SpanMeasure, TokenSpans
from structrag.evaluation.spans import span_recall

Sizes = Sequence[int] | Callable[[str], int]
"""Tokens handed over per chunk, in rank order, or a token counter to apply to each chunk's text."""

_CUTS = ("truncate", "stop")


def tokens_taken(
    sizes: Sequence[int], budget: int, *, cut: str = "truncate"
) -> list[int]:
    """Return how many tokens of each chunk are handed over within a budget.

    Chunks are taken in rank order. The list ends where the budget does, so it may be shorter than
    `sizes`. Its sum is what the reader gets. Overlapping text is paid for each time.

    cut: "truncate" takes the part of the crossing chunk that still fits. "stop" leaves that chunk
    and all after it out, but always takes one chunk, so it can exceed the budget.

    Example:
        >>> tokens_taken([40, 40, 40], 100)
        [40, 40, 20]
        >>> tokens_taken([40, 40, 40], 100, cut="stop")
        [40, 40]
    """
    check_choice("cut", cut, _CUTS)
    check_at_least("budget", budget, 1)
    left, taken = budget, []
    for size in map(int, sizes):
        check_at_least("sizes", size, 0)
        if size > left:
            if cut == "truncate" and left:
                taken.append(left)
            elif cut == "stop" and not taken:
                taken.append(size)
            break
        taken.append(size)
        left -= size
    return taken


def spans_at_budget(
    ranking: Sequence[Span],
    budget: int,
    measure: SpanMeasure,
    *,
    sizes: Sizes,
    cut: str = "truncate",
    token_spans: TokenSpans | None = None,
) -> list[Span]:
    """The spans of a ranking that fit into `budget` tokens.

    The last one may be cut short (see `tokens_taken`).

    sizes: tokens per chunk as the reader gets it, or a counter for the text alone.
    token_spans: with it a cut falls on the end of a token of the chunk's text, and tokens of
    `sizes` beyond the text's own (a context shown in front) are spent first. Without it the cut is
    proportional in characters.
    """

    def text(span: Span) -> str:
        doc_id, start, end = span
        return measure.text(doc_id)[start:end]

    if callable(sizes):
        sizes = [sizes(text(span)) for span in ranking]
    elif len(sizes) != len(ranking):
        raise InvalidParameter(
            f"sizes must have one entry per ranked chunk, here {len(ranking)}; got {len(sizes)}."
        )
    spans = []
    taken = tokens_taken(sizes, budget, cut=cut)
    for span, size, left in zip(ranking, sizes, taken, strict=False):
        doc_id, start, end = span
        if left < size and token_spans is None:
            end = start + (end - start) * left // size
        elif left < size and token_spans is not None:
            end = start + _characters_of(left, size, token_spans(text(span)))
        spans.append((doc_id, start, end))
    return spans


def recall_at_budget(
    gold: Iterable[Span],
    ranking: Sequence[Span],
    budget: int,
    measure: SpanMeasure,
    *,
    sizes: Sizes,
    cut: str = "truncate",
    token_spans: TokenSpans | None = None,
    mode: str = "all",
) -> float | None:
    """`span_recall` of what fits into `budget` tokens.

    Chunks are taken in rank order. None without gold. Never decreases with the budget, and equals
    the recall of the whole ranking once that fits. Usual budgets: 500, 1,000, 2,000, 4,000. The
    other parameters: see `spans_at_budget` and `span_recall`.

    Example:
        >>> ranking = [("d", 0, 100), ("d", 100, 200)]
        >>> measure = SpanMeasure(unit="char")
        >>> recall_at_budget([("d", 90, 110)], ranking, 30, measure, sizes=[25, 25])
        1.0
    """
    spans = spans_at_budget(
        ranking, budget, measure, sizes=sizes, cut=cut, token_spans=token_spans
    )
    return span_recall(gold, spans, measure, mode=mode)


def _characters_of(taken: int, size: int, tokens: Sequence[tuple[int, int]]) -> int:
    """Return the length of a chunk's first tokens in characters."""
    # Tokens beyond the text's own are a context in front of it, which is spent first.
    of_text = taken - max(0, size - len(tokens))
    if of_text <= 0 or not tokens:
        return 0
    return tokens[min(of_text, len(tokens)) - 1][1]
