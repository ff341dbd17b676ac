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


def tokens_taken(sizes: Sequence[int], budget: int, *, cut: str = "truncate") -> list[int]:
    """How many tokens of each chunk are handed over, in rank order, until `budget` tokens are
    spent.

    The list ends where the budget does, so it may be shorter than `sizes`; its sum is what the
    reader gets. cut: "truncate" takes the part of the crossing chunk that still fits; "stop" leaves
    that chunk and all after it out, but always takes one chunk, so it can exceed the budget.
    Overlapping text is paid for each time.
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
    """The spans of a ranking that fit into `budget` tokens; the last one may be cut short (see
    `tokens_taken`).

    sizes: tokens per chunk as the reader gets it, or a counter for the text alone.
    token_spans: with it a cut falls on the end of a token of the chunk's text, and tokens of
    `sizes` beyond the text's own (a context shown in front) are spent first. Without it the cut is
    proportional in characters.
    """
    counted = _sizes(sizes, ranking, measure)
    kept = []
    for span, size, taken in zip(
        ranking, counted, tokens_taken(counted, budget, cut=cut), strict=False
    ):
        doc_id, start, end = span
        if taken < size:
            text = measure.text(doc_id)[start:end] if token_spans else ""
            end = start + _kept_characters(end - start, text, size, taken, token_spans)
        kept.append((doc_id, start, end))
    return kept


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
    """`span_recall` of what fits into `budget` tokens, taken in rank order; None without gold.

    Never decreases with the budget, and equals the recall of the whole ranking once that fits.
    Usual budgets: 500, 1,000, 2,000, 4,000. The other parameters: see `spans_at_budget` and
    `span_recall`.
    """
    kept = spans_at_budget(ranking, budget, measure, sizes=sizes, cut=cut, token_spans=token_spans)
    return span_recall(gold, kept, measure, mode=mode)


def texts_at_budget(
    texts: Sequence[str],
    budget: int,
    *,
    sizes: Sizes,
    cut: str = "truncate",
    token_spans: TokenSpans | None = None,
) -> list[str]:
    """The chunk texts that fit into `budget` tokens, as `spans_at_budget` does for spans."""
    counted = [sizes(text) for text in texts] if callable(sizes) else _checked(sizes, len(texts))
    kept = []
    for text, size, taken in zip(
        texts, counted, tokens_taken(counted, budget, cut=cut), strict=False
    ):
        kept.append(
            text
            if taken == size
            else text[: _kept_characters(len(text), text, size, taken, token_spans)]
        )
    return kept


def _sizes(sizes: Sizes, ranking: Sequence[Span], measure: SpanMeasure) -> Sequence[int]:
    if callable(sizes):
        return [sizes(measure.text(doc_id)[start:end]) for doc_id, start, end in ranking]
    return _checked(sizes, len(ranking))


def _checked(sizes: Sequence[int], expected: int) -> Sequence[int]:
    if len(sizes) != expected:
        raise InvalidParameter(
            f"sizes must have one entry per ranked chunk, here {expected}; got {len(sizes)}."
        )
    return sizes


def _kept_characters(
    length: int, text: str, size: int, taken: int, token_spans: TokenSpans | None
) -> int:
    """How many of a chunk's first characters its first `taken` of `size` tokens hold."""
    if token_spans is None:
        return length * taken // size
    tokens = token_spans(text)
    kept = taken - max(0, size - len(tokens))
    return 0 if kept <= 0 else tokens[min(kept, len(tokens)) - 1][1] if tokens else 0
