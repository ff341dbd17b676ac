"""Scores of the D3 comparison, question by question, and its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.d3_oracle import gold_chunks
from benchmarks.paper_metrics import answer_f1, evidence_f1
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Question
from structrag.records import Chunk, Hit
from structrag.retrieval.d3.selection import StageCost
from structrag.retrieval.multihop.hops import UNANSWERABLE, Answered

# Evidence F1, tokens and calls of the paper's tables 1 and 3 (150 documents, gpt-3.5-turbo), with
# self-ask of its table 2 (HotpotQA).
PUBLISHED = {
    "PARAGRAPH": (32.02, 8519, 47.24),
    "CHUNK": (35.59, 5411, 2.44),
    "MAP-REDUCE": (12.84, 12730, 48.24),
    "MAP-REDUCE OPTIMIZED": (50.11, 7492, 3.69),
    "D3-BASE": (49.92, 1981, 1.99),
    "D3-HIERBASE": (50.09, 2126, 2.85),
    "D3-LEXICAL": (32.73, 844, 1.0),
    "D3-LEXICAL+BASE": (44.39, 1520, 1.95),
    "D3-BASE+LEXICAL": (40.23, 1981, 1.99),
    "SELF-ASK CHUNK": (20.66, 9822, 5.0),
    "SELF-ASK MAP-REDUCE OPTIMIZED": (30.19, 12253, 6.83),
    "SELF-ASK D3-BASE": (26.87, 5376, 5.17),
}
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
    tokens = np.array([row["tokens"] for row in rows])
    drawn = np.random.default_rng(0).integers(len(rows), size=(1000, len(rows)))
    low, high = np.quantile(tokens[drawn].mean(axis=1), [0.025, 0.975])
    means |= {"tokens, least": float(low), "tokens, most": float(high)}
    return {**means, "failed calls": float(sum(row["failed calls"] for row in rows))}


def stage_means(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Stage -> mean tokens and calls a question."""
    stages = dict.fromkeys(stage for outcome in outcomes for stage in outcome.cost)
    costs = {
        stage: [outcome.cost.get(stage, StageCost()) for outcome in outcomes]
        for stage in stages
    }
    return {
        stage: {
            "tokens": float(np.mean([cost.tokens for cost in several])),
            "calls": float(np.mean([cost.calls for cost in several])),
            "scored": float(np.mean([cost.scored for cost in several])),
        }
        for stage, several in costs.items()
    }


def comparison_table(systems: Mapping[str, Mapping[str, Any]]) -> str:
    """One row a system."""
    head = [
        "system",
        "evidence F1",
        "recall",
        "answer F1",
        "paragraphs",
        "tokens",
        "of CHUNK",
        "calls",
        "scored",
    ]
    head += ["answering tokens", "failed calls", "paper: F1 / tokens / calls"]
    chunk = systems["CHUNK"]["means"]["tokens"] if "CHUNK" in systems else 0
    rows = []
    for name, result in systems.items():
        means = result["means"]
        figures = [
            f"{means[key]:.1f}"
            for key in ("evidence F1", "evidence recall", "answer F1", "paragraphs")
        ]
        figures += [
            "{:,.0f} [{:,.0f}, {:,.0f}]".format(
                *(means[key] for key in ("tokens", "tokens, least", "tokens, most"))
            ),
            f"{means['tokens'] / chunk:.0%}" if chunk else "",
            f"{means['calls']:.2f}",
            f"{means['scored']:.1f}",
        ]
        published = PUBLISHED.get(name.partition(",")[0])
        paper = (
            f"{published[0]:.1f} / {published[1]:,} / {published[2]:.2f}"
            if published
            else ""
        )
        rows.append(
            [
                name,
                *figures,
                f"{means['answering tokens']:,.0f}",
                f"{means['failed calls']:.0f}",
                paper,
            ]
        )
    return markdown_table(head, rows, labels=1)


def stage_table(systems: Mapping[str, Mapping[str, Any]]) -> str:
    """What each stage took."""
    rows = [
        [
            name,
            stage,
            f"{means['tokens']:,.0f}",
            f"{means['calls']:.2f}",
            f"{means['scored']:.1f}",
        ]
        for name, result in systems.items()
        for stage, means in result["stages"].items()
    ]
    return markdown_table(
        ["system", "stage", "tokens", "calls", "scored"], rows, labels=2
    )


def group_table(labels: Sequence[str], systems: Mapping[str, Mapping[str, Any]]) -> str:
    """One row a system, one column a group; `labels` name the group of each question."""
    groups = sorted(set(labels))
    rows = []
    for name, result in systems.items():
        cells = [name]
        for group in groups:
            pairs = zip(labels, result["rows"], strict=True)
            means = averaged([row for label, row in pairs if label == group])
            cells.append(
                "{evidence F1:.1f} / {tokens:,.0f} / {calls:.2f}".format_map(means)
            )
        rows.append(cells)
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
        rows.append(
            [f"{extra}", f"{means['tokens']:,.0f}", f"{means['calls']:.2f}", *shares]
        )
    head = [
        "sections named too many",
        "tokens",
        "calls",
        *(f"of {name}'s tokens" for name in known),
    ]
    return markdown_table(head, rows, labels=1)
