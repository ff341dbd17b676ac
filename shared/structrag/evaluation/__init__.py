"""Evaluation metrics: pure functions on spans and scores.

They need no model and no network. A function takes the gold first, then what was found or
predicted. It scores one question and returns None when the question has no gold. Report
with each figure the tokens that the reader got.
"""

from __future__ import annotations

from structrag.evaluation.aggregate import (
    MeanEstimate,
    paired_bootstrap,
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
    "chunking_error",
    "heading_spans",
    "paired_bootstrap",
    "recall_at_budget",
    "span_recall",
    "spans_at_budget",
    "spans_of",
    "tokens_taken",
]
