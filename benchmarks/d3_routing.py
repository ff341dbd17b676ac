"""How D3 routes without a language model: by the best sentences of sections, as evidence scores
them, beside BM25 and vectors over parts of sections.

    python benchmarks/d3_routing.py [--documents 10] [--sets qasper,nq,cuad]

Prints the tables and writes benchmarks/results/d3_routing.md, in which sets that were not asked
for keep their last table. Each question is searched inside its own document. Without the evaluation
data (STRUCTRAG_DATA) or the encoder it says so and stops.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.d3_evidence import BUDGET, Measured, difference, recall
from benchmarks.d3_systems import document_of
from benchmarks.evidence import ENCODERS
from benchmarks.freshness import stamped
from benchmarks.machine import machine_line
from benchmarks.quality import sampled
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Dataset, Question, load_or_exit, visible
from structrag import D3Index, D3Retriever, EvidenceRetriever, __version__
from structrag.evaluation import SpanMeasure
from structrag.retrieval.d3.routing import SearchedPart
from structrag.retrieval.d3.scoring import (
    normalised_scores,
    paragraph_sentence_flow,
    part_scores_flow,
    part_sentence_scores,
    route_scores,
)

SETS, FIRST = ("qasper", "nq", "cuad"), 3
EVIDENCE, SCORES, BM25 = "best sentences (evidence)", "BM25 and vectors", "BM25 alone"
TOP, AMONG, RECALL = (
    "gold section first",
    f"among the first {FIRST}",
    f"recall at {BUDGET:,}",
)
READING = (
    "Sections ranked by what routes to them; gold is every section that holds a part of the "
    "evidence. Recall is the share of the evidence in the paragraphs that D3 then gives, within "
    f"{BUDGET:,} tokens. In percent, means over the questions; differences are best sentences "
    "minus the row, with the 95% interval of a paired bootstrap over the questions."
)


def measured(dataset: Dataset, embedder: Any) -> dict[str, Measured]:
    """The figures of every router, question by question."""
    index = D3Index(embedder=embedder, batch_size=32)
    index.add(dataset.documents)
    evidence = EvidenceRetriever.from_documents(dataset.documents, embedder)
    retrievers = {
        EVIDENCE: D3Retriever(index, evidence=evidence),
        SCORES: D3Retriever(index),
    }
    measure = SpanMeasure(dataset.texts)
    systems: dict[str, Measured] = {}
    for question in dataset.questions:
        where = {"doc_id": document_of(question)}
        scope = SearchedPart(index, where)
        text = question.question
        sentences = evidence.run(
            paragraph_sentence_flow(evidence, text, scope.layout, where)
        )
        parts = {
            EVIDENCE: part_sentence_scores(sentences, scope.layout),
            SCORES: index.runner.run(
                part_scores_flow(scope.parts, text, scope.part_mask)
            ),
            BM25: {
                row: scores["bm25"]
                for row, scores in normalised_scores(
                    route_scores(scope.parts, text, None, scope.part_mask),
                    scope.part_mask,
                ).items()
            },
        }
        for name, scores in parts.items():
            rank = gold_rank(question, scope, scores)
            figures = {TOP: rank == 1, AMONG: rank <= FIRST}
            if name in retrievers:
                hits = retrievers[name].search(text, where=where)
                chunks = [hit.chunk for hit in sorted(hits, key=lambda hit: hit.rank)]
                figures[RECALL] = recall(question, chunks, measure)
            systems.setdefault(name, Measured()).note(**figures)
    return systems


def gold_rank(
    question: Question, scope: SearchedPart, parts: Mapping[int, float]
) -> int:
    """The place, from 1, of the first section that holds evidence; one behind all without any."""
    scores = scope.section_scores(parts)
    order = sorted(scores, key=lambda position: (-round(scores[position], 9), position))
    for rank, position in enumerate(order, start=1):
        section = scope.outline[position]
        for doc_id, start, end in question.gold:
            if doc_id == section.doc_id and start < section.end and section.start < end:
                return rank
    return len(order) + 1


def table(systems: Mapping[str, Measured]) -> str:
    """One row a router."""
    evidence = systems[EVIDENCE]
    figures = (TOP, AMONG, RECALL)
    rows = []
    for name, system in systems.items():
        own = [figure if figure in system.values else "" for figure in figures]
        shares = [
            f"{100 * system.mean(figure):.1f}" if figure else "" for figure in own
        ]
        minus = [
            difference(evidence, system, figure) if figure and name != EVIDENCE else ""
            for figure in own
        ]
        rows.append([name, *shares, *minus])
    head = ["router", *figures, *(f"minus it: {figure}" for figure in figures)]
    return markdown_table(head, rows, labels=1)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10, help="of each set")
    parser.add_argument("--sets", default=",".join(SETS))
    options = parser.parse_args(arguments)
    embedder, *_ = ENCODERS["minilm"]()
    target = Path(__file__).parent / "results" / "d3_routing.md"
    for name in options.sets.split(","):
        dataset = sampled(visible(load_or_exit(name)), options.documents, None)
        size = f"{len(dataset.documents)} documents, {len(dataset.questions)} questions"
        command = f"`python benchmarks/d3_routing.py --sets {name} --documents {options.documents}`"
        section = (
            f"### {name}: {size}\n\n{command}\n\n{table(measured(dataset, embedder))}"
        )
        print(section, flush=True)
        before = target.read_text(encoding="utf-8") if target.is_file() else ""
        target.write_text(
            page(before, name, stamped(section, __file__)), encoding="utf-8"
        )


def page(before: str, name: str, section: str) -> str:
    """The page with one set's section replaced, or put among the others."""
    parts = re.split(r"^(?=### )", before, flags=re.MULTILINE)[1:]
    sections = {part[4 : part.index(":")]: part.strip() for part in parts}
    sections[name] = section
    head = [
        "# Routing without a language model",
        f"- structrag {__version__}, all-MiniLM-L6-v2; {machine_line()}",
        READING,
    ]
    return (
        "\n\n".join([*head, *(sections[one] for one in SETS if one in sections)]) + "\n"
    )


if __name__ == "__main__":
    main()
