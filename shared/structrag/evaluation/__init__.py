"""Evaluation metrics: pure functions on spans, ids, ranks and strings.

They need no model and no network. A function takes the gold first, then what was found or
predicted. It scores one question and returns None when the question has no gold. Report
with each figure the tokens that the reader got.
"""

from __future__ import annotations

from structrag.evaluation.aggregate import (
    MeanEstimate,
    paired_bootstrap,
)
from structrag.evaluation.answers import (
    answer_tokens,
    has_answer,
    hits_at_k,
    normalize_answer,
    token_f1,
)
from structrag.evaluation.measure import (
    SpanMeasure,
    chunking_error,
    heading_spans,
    recall_at_budget,
    span_recall,
    spans_at_budget,
    spans_of,
    tokens_taken,
)

__all__ = [
    "MeanEstimate",
    "SpanMeasure",
    "answer_tokens",
    "chunking_error",
    "has_answer",
    "heading_spans",
    "hits_at_k",
    "normalize_answer",
    "paired_bootstrap",
    "recall_at_budget",
    "span_recall",
    "spans_at_budget",
    "spans_of",
    "token_f1",
    "tokens_taken",
]
