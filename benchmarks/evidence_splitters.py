"""What splitters' chunks gain when what they find is packed as evidence.

    python benchmarks/evidence_splitters.py [--sets nq,qasper,cuad] [--questions 40]

Each method indexes a set and searches it as its defaults do. Then the first chunks that it found,
as many as hold 4,000 tokens, are shortened to the evidence in them, as `EvidenceCompressor` and
`EvidencePostprocessor` do. Prints recall within 500 and 1,000 tokens both ways, the paired
differences, and those to `EvidenceRetriever` over the whole documents, with 95 % intervals; writes
benchmarks/results/evidence_splitters.md. Without the evaluation data (STRUCTRAG_DATA) or the
encoder it says so and stops.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.evidence import ENCODERS, Setting, shown
from benchmarks.freshness import save
from benchmarks.machine import machine_line
from benchmarks.methods import POOLED, sample
from benchmarks.methods_systems import BOTH, Indexed, Models, d3, hiqa, multiview, own
from benchmarks.methods_tables import mean_of_sets
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Question
from structrag import EvidenceRetriever, FixedSplitter, __version__
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.evaluation import SpanMeasure, span_recall
from structrag.evaluation.measure import Span, spans_of
from structrag.model_calls.cache import Cache
from structrag.reading.settings import ReadOptions
from structrag.records import Chunk
from structrag.retrieval.evidence.shortening import Shortener

BUDGETS = (500, 1000)
READ = 4000  # tokens of chunks that are shortened
EVIDENCE = "EvidenceRetriever"
METHODS: Mapping[str, Callable[..., Indexed]] = {
    "fixed 200": partial(own, FixedSplitter(200)),
    "MC-indexing (three views)": multiview,
    "D3 (paragraphs of routed sections)": d3,
    "HiQA": hiqa,
    "PIC": partial(own, PICSplitter()),
    "IDMS": partial(own, IDMSSplitter()),
}
READING = (
    "Recall is the share of the gold text that the reader is given within so many tokens, in "
    'percent. "As found": chunks in rank order, the last one cut where the budget ends. "As '
    'evidence": the first chunks, as many as hold 4,000 tokens, shortened to the evidence in them. '
    "Intervals hold the central 95 % of 1,000 bootstrap samples of the questions, drawn within "
    "each set; those of differences are paired. The last column is the difference of "
    f'"as evidence" to {EVIDENCE} over the whole documents.'
)


Recalls = dict[int, list[float]]  # budget -> recall of every question


def as_found(
    setting: Setting, question: Question, chunks: Sequence[Chunk]
) -> dict[int, float]:
    """Recall of ranked chunks."""
    values = setting.at_budgets(question, spans_of(chunks))
    return {budget: values[budget] for budget in BUDGETS}


def as_evidence(
    setting: Setting, question: Question, chunks: Sequence[Chunk]
) -> dict[int, float]:
    """Recall of the evidence in the first chunks."""
    read: list[Chunk] = []
    tokens = 0
    for chunk in chunks:
        tokens += setting.counter(chunk.text)
        if read and tokens > READ:
            break
        read.append(chunk)
    values = {}
    for budget in BUDGETS:
        shortener = Shortener(
            setting.encoder,
            max_tokens=budget,
            context="none",
            read_options=ReadOptions(counter=setting.counter),
        )
        slices = shortener.shorten([chunk.text for chunk in read], question.question)
        spans = [
            (
                read[one.text].doc_id,
                read[one.text].start + one.start,
                read[one.text].start + one.end,
            )
            for one in slices
        ]
        values[budget] = recall(setting, question, spans)
    return values


def recall(setting: Setting, question: Question, spans: Sequence[Span]) -> float:
    """The share of the gold that the spans hold."""
    return span_recall(question.gold, spans, setting.measure, mode=question.mode) or 0.0


def whole_documents(setting: Setting, questions: Sequence[Question]) -> Recalls:
    """`EvidenceRetriever` over the documents."""
    retriever = EvidenceRetriever.from_documents(
        setting.dataset.documents,
        setting.encoder,
        read_options=ReadOptions(counter=setting.counter),
    )
    values: Recalls = {budget: [] for budget in BUDGETS}
    for question in questions:
        for budget in BUDGETS:
            hits = retriever.search(
                question.question, where=setting.where(question), max_tokens=budget
            )
            spans = spans_of([hit.chunk for hit in hits])
            values[budget].append(recall(setting, question, spans))
    return values


def measured(
    setting: Setting, questions: Sequence[Question], index: Callable[..., Indexed]
) -> tuple[Recalls, Recalls]:
    """One method's recall of every question, as found and as evidence."""
    search = index(
        setting.dataset, Models(setting.encoder, Cache(":memory:"))
    ).searches[BOTH]
    found: Recalls = {budget: [] for budget in BUDGETS}
    packed: Recalls = {budget: [] for budget in BUDGETS}
    for question in questions:
        chunks = search(question.question, setting.where(question))
        for values, way in ((found, as_found), (packed, as_evidence)):
            for budget, value in way(setting, question, chunks).items():
                values[budget].append(value)
    return found, packed


def table(
    found: Mapping[str, Sequence[Recalls]],
    packed: Mapping[str, Sequence[Recalls]],
    whole: Sequence[Recalls],
    budget: int,
) -> str:
    """A row a method, its sets in order."""
    rows = []
    base = [one[budget] for one in whole]
    for name in found:
        plain = [one[budget] for one in found[name]]
        short = [one[budget] for one in packed[name]]
        gaps = [_gap(short, plain), _gap(short, base)]
        rows.append([name, str(mean_of_sets(plain)), str(mean_of_sets(short)), *gaps])
    rows.append([f"**{EVIDENCE}**", "", str(mean_of_sets(base)), "", ""])
    heads = ["", "as found", "as evidence", "difference", f"to {EVIDENCE}"]
    return markdown_table(heads, rows, labels=1)


def _gap(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> str:
    pairs = zip(first, second, strict=True)
    return shown(mean_of_sets([np.subtract(a, b).tolist() for a, b in pairs]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="nq,qasper,cuad")
    parser.add_argument(
        "--questions", type=int, default=40, help="Of each set, evenly drawn."
    )
    parser.add_argument("--output", type=Path, default=quality.RESULTS)
    options = parser.parse_args(arguments)
    encoder, *_ = ENCODERS["minilm"]()
    counter, label = quality.reader_counter()
    found: dict[str, list[Recalls]] = {name: [] for name in METHODS}
    packed: dict[str, list[Recalls]] = {name: [] for name in METHODS}
    whole: list[Recalls] = []
    asked = []
    for name in options.sets.split(","):
        dataset = sample(name, False).dataset
        every = max(1, len(dataset.questions) // options.questions)
        questions = dataset.questions[::every][: options.questions]
        gold = {doc_id for question in questions for doc_id, *_ in question.gold}
        documents = tuple(
            one for one in dataset.documents if one.id in gold or name in POOLED
        )
        dataset = replace(dataset, documents=documents, questions=questions)
        setting = Setting(dataset, encoder, counter, SpanMeasure(dataset.texts))
        asked.append(f"{name} {len(questions)} questions, {len(documents)} documents")
        whole.append(whole_documents(setting, questions))
        for method, index in METHODS.items():
            one, other = measured(setting, questions, index)
            found[method].append(one)
            packed[method].append(other)
            means = [
                f"{100 * float(np.mean(values[1000])):.1f}" for values in (one, other)
            ]
            print(f"{name}: {method}: {' '.join(means)}", file=sys.stderr, flush=True)
    facts = [f"structrag: {__version__}", f"machine: {machine_line()}"]
    facts.append("encoder: minilm")
    facts += [f"reader's tokens: {label}", f"samples: {'; '.join(asked)}"]
    parts = [
        "# Splitters' chunks packed as evidence",
        "\n".join(f"- {fact}" for fact in facts),
    ]
    parts.append(READING)
    for budget in BUDGETS:
        parts += [f"## Within {budget:,} tokens", table(found, packed, whole, budget)]
    text = "\n\n".join(parts) + "\n"
    print(text)
    save(options.output / "evidence_splitters.md", text, __file__)


if __name__ == "__main__":
    main()
