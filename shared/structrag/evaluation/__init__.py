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
    accuracy,
    adequacy,
    answer_tokens,
    exact_match,
    has_answer,
    has_one_token_alias,
    hits_at_budget,
    hits_at_k,
    normalize_answer,
    token_f1,
)
from structrag.evaluation.budget import (
    recall_at_budget,
    spans_at_budget,
    texts_at_budget,
    tokens_taken,
)
from structrag.evaluation.chroma import (
    ChromaScores,
    chroma_scores,
    chunks_to_retrieve,
    position_as_coded,
    precision_omega,
)
from structrag.evaluation.evidence import evidence_f1
from structrag.evaluation.judging import answer_prompt, judge_pair, winners
from structrag.evaluation.measure import SpanMeasure, heading_spans, spans_of
from structrag.evaluation.ranking import log_rank_index, log_rank_score, mid_ranks
from structrag.evaluation.segmentation import (
    baseline_segmentations,
    boundaries,
    boundary_f1,
    default_window,
    pk,
    window_diff,
)
from structrag.evaluation.spans import (
    chunking_error,
    paper_recall,
    span_f1,
    span_iou,
    span_precision,
    span_recall,
)

__all__ = [
    "BootstrapInterval",
    "ChromaScores",
    "MacroMean",
    "SpanMeasure",
    "accuracy",
    "adequacy",
    "answer_prompt",
    "answer_tokens",
    "baseline_segmentations",
    "boundaries",
    "boundary_f1",
    "chroma_scores",
    "chunking_error",
    "chunks_to_retrieve",
    "default_window",
    "evidence_f1",
    "exact_match",
    "has_answer",
    "has_one_token_alias",
    "heading_spans",
    "hits_at_budget",
    "hits_at_k",
    "judge_pair",
    "log_rank_index",
    "log_rank_score",
    "macro_mean",
    "mid_ranks",
    "normalize_answer",
    "paired_bootstrap",
    "paper_recall",
    "pk",
    "position_as_coded",
    "precision_omega",
    "recall_at_budget",
    "span_f1",
    "span_iou",
    "span_precision",
    "span_recall",
    "spans_at_budget",
    "spans_of",
    "texts_at_budget",
    "token_f1",
    "tokens_taken",
    "window_diff",
    "winners",
]
