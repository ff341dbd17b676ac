"""What a second search finds of questions that take two facts: HotpotQA, its paragraphs as a pool.

    python benchmarks/hops.py [--self-ask 10]

One search by fixed chunks and by `EvidenceRetriever`, and `TwoHop` over both with its bridges.
With --self-ask the first so many questions are also asked by `SelfAsk` with a real, very small
language model (that of real_llm.py), which takes about a minute a question. Prints the tables and
writes benchmarks/results/hops.md. Token vectors are kept as benchmarks/evidence.py keeps them.
Without the evaluation data (STRUCTRAG_DATA) or the encoder it says so and stops.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.evidence import KEPT, KeptTokens, shown
from benchmarks.freshness import save
from benchmarks.machine import machine_line
from benchmarks.methods_tables import Interval, mean_of_sets
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Dataset, Question, load_or_exit
from benchmarks.real_llm import chosen_model
from structrag import (
    EvidenceRetriever,
    FixedSplitter,
    Index,
    MultiViewRetriever,
    SelfAsk,
    TwoHop,
    __version__,
)
from structrag.evaluation import (
    SpanMeasure,
    paired_bootstrap,
    recall_at_budget,
    spans_of,
)
from structrag.reading.settings import ReadOptions
from structrag.records import Hit
from structrag.retrieval.retriever import Retriever
from structrag.text.tokens import TokenCounter

BUDGETS = (500, 1000)
FIXED, EVIDENCE = "fixed 200, vectors and BM25", "EvidenceRetriever"
READING = (
    "The paragraphs are one pool, and the gold of a question are its two supporting facts. Both: "
    "the share of questions for which both facts are given whole within so many tokens. Recall: "
    "the share of their text. In percent. Passages are handed over in rank order, those of two "
    "searches by turns, the last one cut where the budget ends. Differences are those to one "
    "search of the same retriever, paired, in points. Intervals hold the central 95 % of 1,000 "
    "bootstrap samples of the questions; bold where 0 is not inside a difference's. What was best "
    "on the other half: the questions are halved by turns, and each half is searched in the way "
    "that gave both facts most often in the other half, at both budgets and for both retrievers "
    "together."
)
BRIDGES: Mapping[str, dict[str, Any]] = {  # arguments of TwoHop
    "five names of the first search": {"entity_hits": None},
    "five names of its first five hits": {"entity_hits": 5},
    "five names of its first two hits (default)": {},
    "the best passage": {"max_entities": 1, "find_entities": lambda text: [text]},
}
CHOSEN = "what was best on the other half"
# "both 500", "recall 500", ... -> every question's, in [0, 1]
Points = dict[str, list[float]]
Search = Callable[[Question], Sequence[Hit]]


def points(
    questions: Iterable[Question],
    search: Search,
    measure: SpanMeasure,
    counter: TokenCounter,
) -> Points:
    """Whether both facts are given, and how much of them, of every question."""
    found: Points = {}
    for question in questions:
        chunks = [hit.chunk for hit in search(question)]
        sizes = [counter(chunk.text) for chunk in chunks]
        for budget in BUDGETS:
            value = recall_at_budget(
                question.gold,
                spans_of(chunks),
                budget,
                measure,
                sizes=sizes,
                mode=question.mode,
            )
            share = value or 0.0
            found.setdefault(f"both {budget}", []).append(float(share > 1 - 1e-9))
            found.setdefault(f"recall {budget}", []).append(share)
    return found


def retrievers(
    dataset: Dataset, encoder: Any, counter: TokenCounter
) -> dict[str, Retriever]:
    """What searches once; each gives at least the largest budget."""
    index = Index(
        embedder=encoder, splitter=FixedSplitter(200), views=("raw",), batch_size=256
    )
    index.add(dataset.documents)
    reading = ReadOptions(counter=counter)
    return {
        FIXED: MultiViewRetriever(index, routes=("dense", "bm25"), k=30),
        EVIDENCE: EvidenceRetriever.from_documents(
            dataset.documents, encoder, read_options=reading, max_tokens=max(BUDGETS)
        ),
    }


def measured(
    dataset: Dataset, searching: Mapping[str, Retriever], counter: TokenCounter
) -> dict[str, dict[str, Points]]:
    """Retriever -> bridge, "" for one search -> points."""
    measure = SpanMeasure(dataset.texts)
    values: dict[str, dict[str, Points]] = {}
    for name, retriever in searching.items():
        hops = {
            bridge: TwoHop(retriever, **options) for bridge, options in BRIDGES.items()
        }
        for bridge, system in {"": retriever, **hops}.items():
            search = _asking(system)
            found = points(dataset.questions, search, measure, counter)
            values.setdefault(name, {})[bridge] = found
            both = [
                f"{100 * float(np.mean(found[f'both {budget}'])):.0f}"
                for budget in BUDGETS
            ]
            print(
                f"{name}, {bridge or 'one search'}: {' '.join(both)}", file=sys.stderr
            )
    return values


def add_chosen(values: dict[str, dict[str, Points]]) -> str:
    """Add a row of what was chosen on the other half to each retriever; says what that was."""
    ways = list(next(iter(values.values())))
    chosen = []
    for half in (0, 1):

        def mean(way: str, half: int = half) -> float:
            rows = [
                found[way][f"both {n}"][half::2]
                for found in values.values()
                for n in BUDGETS
            ]
            return float(np.mean(rows))

        chosen.append(max(ways, key=mean))
    for found in values.values():
        row: Points = {}
        for name, some in found[""].items():
            row[name] = [found[chosen[1 - i % 2]][name][i] for i in range(len(some))]
        found[CHOSEN] = row
    return " and ".join(f"by {way}" if way else "once" for way in chosen)


def _asking(system: Retriever) -> Search:
    return lambda question: system.search(question.question)


def table(values: Mapping[str, Mapping[str, Points]]) -> str:
    """A row a retriever and bridge."""
    names = [f"{kind} {budget}" for budget in BUDGETS for kind in ("both", "recall")]
    rows = []
    for retriever, by_bridge in values.items():
        for bridge, found in by_bridge.items():
            searches = f"two, by {bridge}" if bridge else "one"
            cells = [str(mean_of_sets([found[name]])) for name in names]
            for budget in BUDGETS:
                cells.append(
                    _gain(found, by_bridge[""], f"both {budget}") if bridge else ""
                )
            rows.append([retriever, searches, *cells])
    heads = [f"{kind}, {budget:,}" for budget in BUDGETS for kind in ("both", "recall")]
    gains = [f"gain in both, {budget:,}" for budget in BUDGETS]
    return markdown_table(["", "searches", *heads, *gains], rows, labels=2)


def _gain(found: Points, base: Points, name: str) -> str:
    gap = paired_bootstrap(found[name], base[name])
    points = (100 * value for value in (gap.mean, gap.low, gap.high))
    return shown(Interval(*points))


def self_asked(
    dataset: Dataset,
    retriever: Retriever,
    questions: Sequence[Question],
    counter: TokenCounter,
) -> tuple[dict[str, dict[str, Points]], str]:
    """Self-ask with a real model over the first questions, one search beside it, and how it ended.

    Evidence is that of the hops in order of use, then that of one search, so that a model that
    asks nothing useful costs room and no more.
    """
    system = SelfAsk(retriever, chosen_model(""), max_followups=2, evidence_tokens=500)
    ends: Counter[str] = Counter()

    def search(question: Question) -> Sequence[Hit]:
        result = system.answer(question.question)
        ends[result.stopped] += 1
        hits = {
            hit.chunk.id: hit
            for hit in [*result.evidence, *retriever.search(question.question)]
        }
        return list(hits.values())

    measure = SpanMeasure(dataset.texts)
    values = {
        "": points(questions, _asking(retriever), measure, counter),
        "follow-ups of SmolLM2-135M": points(questions, search, measure, counter),
    }
    ended = ", ".join(f"{name} {count}" for name, count in sorted(ends.items()))
    return {
        EVIDENCE: values
    }, f"{len(questions)} questions; self-ask ended by: {ended}."


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--self-ask", type=int, default=0, help="so many questions")
    parser.add_argument("--output", type=Path, default=quality.RESULTS)
    options = parser.parse_args(arguments)
    dataset = load_or_exit("hotpotqa")
    _, label = quality.chosen_embedder("minilm")
    from structrag.models.bundled import minilm

    encoder = KeptTokens(minilm(), KEPT / "tokens")
    counter, counter_label = quality.reader_counter()
    searching = retrievers(dataset, encoder, counter)
    about = [
        f"structrag: {__version__}",
        f"machine: {machine_line()}",
        f"encoder: {label}",
    ]
    about += [f"reader's tokens: {counter_label}"]
    about += [
        f"{len(dataset.documents)} paragraphs, {len(dataset.questions)} questions"
    ]
    facts = "\n".join(f"- {fact}" for fact in about)
    parts = ["# Questions that take two facts", facts, READING]
    values = measured(dataset, searching, counter)
    chosen = add_chosen(values)
    parts += [table(values), f"Best on the first and on the second half: {chosen}."]
    if options.self_ask:
        questions = dataset.questions[: options.self_ask]
        asked, note = self_asked(dataset, searching[EVIDENCE], questions, counter)
        parts += ["## Self-ask with a very small language model", note, table(asked)]
    text = "\n\n".join(parts) + "\n"
    print(text)
    save(options.output / "hops.md", text, __file__)


if __name__ == "__main__":
    main()
