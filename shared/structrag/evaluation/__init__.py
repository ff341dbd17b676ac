"""Evaluation metrics: pure functions on spans, ids, ranks and strings.

They need no model and no network. A function takes the gold first, then what was found or
predicted. It scores one question and returns None when the question has no gold. `macro_mean`
turns scores into a figure and counts what it left out. Report with each figure the tokens that the
reader got.
"""

from __future__ import annotations

from structrag.evaluation.aggregate import (
    BootstrapInterval,
    MacroMean,
    macro_mean,
    paired_bootstrap,
)
from structrag.evaluation.answers import (
    answer_tokens,
    exact_match,
    has_answer,
    hits_at_k,
    normalize_answer,
    token_f1,
)
from structrag.evaluation.budget import (
    recall_at_budget,
    spans_at_budget,
    tokens_taken,
)
from structrag.evaluation.measure import SpanMeasure, heading_spans, spans_of
from structrag.evaluation.spans import (
    chunking_error,
    span_f1,
    span_iou,
    span_precision,
    span_recall,
)

__all__ = [
    "BootstrapInterval",
    "MacroMean",
    "SpanMeasure",
    "answer_tokens",
    "chunking_error",
    "exact_match",
    "has_answer",
    "heading_spans",
    "hits_at_k",
    "macro_mean",
    "normalize_answer",
    "paired_bootstrap",
    "recall_at_budget",
    "span_f1",
    "span_iou",
    "span_precision",
    "span_recall",
    "spans_at_budget",
    "spans_of",
    "token_f1",
    "tokens_taken",
]
