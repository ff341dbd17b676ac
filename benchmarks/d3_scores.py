"""Scores of the D3 comparison, question by question, and its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.d3_oracle import gold_chunks
from benchmarks.methods_tables import mean_of_sets
from benchmarks.paper_metrics import answer_f1, evidence_f1
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Question
from structrag.records import Chunk, Hit
from structrag.retrieval.d3.selection import StageCost
from structrag.retrieval.multihop.hops import UNANSWERABLE, Answered

# Evidence F1, tokens and calls of the paper's tables 1 and 3 (150 documents, gpt-3.5-turbo), with
# self-ask of its table 2 (HotpotQA).
PUBLISHED = {
    "PARAGRAPH": "32.0 / 8,519 / 47.24",
    "CHUNK": "35.6 / 5,411 / 2.44",
    "MAP-REDUCE": "12.8 / 12,730 / 48.24",
    "MAP-REDUCE OPTIMIZED": "50.1 / 7,492 / 3.69",
    "D3-BASE": "49.9 / 1,981 / 1.99",
    "D3-HIERBASE": "50.1 / 2,126 / 2.85",
    "D3-LEXICAL": "32.7 / 844 / 1.00",
    "D3-LEXICAL+BASE": "44.4 / 1,520 / 1.95",
    "D3-BASE+LEXICAL": "40.2 / 1,981 / 1.99",
    "SELF-ASK CHUNK": "20.7 / 9,822 / 5.00",
    "SELF-ASK MAP-REDUCE OPTIMIZED": "30.2 / 12,253 / 6.83",
    "SELF-ASK D3-BASE": "26.9 / 5,376 / 5.17",
}
# Head of a column -> how its cells are filled.
COLUMNS = {
    "evidence F1": "{evidence F1:.1f}",
    "recall": "{evidence recall:.1f}",
    "answer F1": "{answer F1:.1f}",
    "paragraphs": "{paragraphs:.1f}",
    "tokens": "{tokens:,.0f} [{tokens, least:,.0f}, {tokens, most:,.0f}]",
    "of CHUNK": "{share}",
    "calls": "{calls:.2f}",
    "scored": "{scored:.1f}",
    "answering tokens": "{answering tokens:,.0f}",
    "failed calls": "{failed calls:.0f}",
    "paper: F1 / tokens / calls": "{paper}",
}
STAGE = {"tokens": "{tokens:,.0f}", "calls": "{calls:.2f}", "scored": "{scored:.1f}"}
GROUP = "{evidence F1:.1f} / {tokens:,.0f} / {calls:.2f}"
READING_ALL = ("CHUNK", "MAP-REDUCE OPTIMIZED")  # what D3 is compared with


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one system did with one question."""

    hits: Sequence[Hit]
    cost: Mapping[str, StageCost]  # of finding the evidence, by stage
    answered: Answered
    degraded: int = 0  # calls that failed


def scored(
    question: Question, paragraphs: Sequence[Chunk], outcome: Outcome
) -> dict[str, float]:
    """The figures of one question."""
    gold = [chunk.id for chunk in gold_chunks(question, paragraphs)]
    found = [hit.chunk.id for hit in outcome.hits]
    spent = sum(outcome.cost.values(), StageCost())
    common = len(set(gold) & set(found))
    return {
        "evidence F1": 100 * (evidence_f1([gold], found) or 0.0),
        "evidence recall": 100 * common / len(gold) if gold else 0.0,
        "answer F1": 100
        * answer_f1(question.answers or [UNANSWERABLE], outcome.answered.answer),
        "tokens": spent.tokens,
        "calls": spent.calls,
        "scored": spent.scored,
        "paragraphs": len(found),
        "answering tokens": outcome.answered.cost.tokens,
        "failed calls": outcome.degraded + (outcome.answered.failure is not None),
    }


def averaged(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of every figure over the questions, that of the tokens with the central 95 % of
    1,000 bootstrap samples of the questions; failed calls are added up."""
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    # As if percent.
    _, low, high = mean_of_sets([[row["tokens"] / 100 for row in rows]])
    means |= {"tokens, least": low, "tokens, most": high}
    return {**means, "failed calls": float(sum(row["failed calls"] for row in rows))}


def stage_means(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Stage -> mean tokens and calls a question."""
    stages: dict[str, StageCost] = {}
    for outcome in outcomes:
        for stage, cost in outcome.cost.items():
            stages[stage] = stages.get(stage, StageCost()) + cost
    return {
        stage: {name: getattr(cost, name) / len(outcomes) for name in STAGE}
        for stage, cost in stages.items()
    }


def cells(columns: Mapping[str, str], values: Mapping[str, Any]) -> list[str]:
    """The filled columns of a row."""
    return [form.format_map(values) for form in columns.values()]


def comparison_table(systems: Mapping[str, Mapping[str, Any]]) -> str:
    """One row a system."""
    chunk = systems["CHUNK"]["means"]["tokens"] if "CHUNK" in systems else 0
    rows = []
    for name, result in systems.items():
        means = result["means"]
        share = f"{means['tokens'] / chunk:.0%}" if chunk else ""
        paper = PUBLISHED.get(name.partition(",")[0], "")
        filled = cells(COLUMNS, {**means, "share": share, "paper": paper})
        rows.append([name, *filled])
    return markdown_table(["system", *COLUMNS], rows, labels=1)


def stage_table(systems: Mapping[str, Mapping[str, Any]]) -> str:
    """What each stage took."""
    rows = [
        [name, stage, *cells(STAGE, means)]
        for name, result in systems.items()
        for stage, means in result["stages"].items()
    ]
    return markdown_table(["system", "stage", *STAGE], rows, labels=2)


def group_table(labels: Sequence[str], systems: Mapping[str, Mapping[str, Any]]) -> str:
    """One row a system, one column a group; `labels` name the group of each question."""
    groups = sorted(set(labels))
    rows = []
    for name, result in systems.items():
        row = [name]
        for group in groups:
            pairs = zip(labels, result["rows"], strict=True)
            means = averaged([own for label, own in pairs if label == group])
            row.append(GROUP.format_map(means))
        rows.append(row)
    heads = [f"{group} ({labels.count(group)} questions)" for group in groups]
    return markdown_table(["evidence F1 / tokens / calls", *heads], rows, labels=1)


def extra_table(
    extras: Mapping[int, Mapping[str, Any]], systems: Mapping[str, Mapping[str, Any]]
) -> str:
    """D3-BASE where more sections are named than hold evidence."""
    known = [name for name in READING_ALL if name in systems]
    rows = []
    for extra, result in extras.items():
        means = result["D3-BASE"]["means"]
        shares = [
            f"{means['tokens'] / systems[name]['means']['tokens']:.1%}"
            for name in known
        ]
        rows.append([f"{extra}", *cells(STAGE, means)[:2], *shares])
    shares = [f"of {name}'s tokens" for name in known]
    head = ["sections named too many", "tokens", "calls", *shares]
    return markdown_table(head, rows, labels=1)
