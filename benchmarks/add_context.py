"""Whether the heading path in front of a chunk finds more, by LangChain's own store and retriever.

    python benchmarks/add_context.py [--sets qasper,nq] [--questions 100] [--cache FOLDER]

Documents are split by `ContentAwareTextSplitter` without and with `add_context`; the chunks go into
`InMemoryVectorStore` with MiniLM, and its retriever is asked the questions. Prints recall of the
gold text within 500 and 1,000 tokens and the paired differences with 95 % intervals; writes
benchmarks/results/add_context.md. Without the evaluation data (STRUCTRAG_DATA) or the encoder it
says so and stops.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from benchmarks import quality
from benchmarks.evidence import shown
from benchmarks.freshness import save
from benchmarks.machine import machine_line
from benchmarks.methods import POOLED, SAMPLES, sample
from benchmarks.methods_tables import mean_of_sets
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Dataset, Question, load_or_exit
from langchain_structrag import ContentAwareTextSplitter, StructragEmbeddings
from structrag import __version__
from structrag.evaluation import SpanMeasure, recall_at_budget
from structrag.text.tokens import TokenCounter

BUDGETS = (500, 1000)
CHUNK_SIZE = 1000  # characters, as in LangChain's tutorials
MOST = 40  # chunks that the retriever gives
PLAIN, WITH_PATH = "text alone", "heading path in front"
ROWS: Mapping[str, bool] = {PLAIN: False, WITH_PATH: True}
SCOPES = ("in its own document", "in all documents of its set")
READING = (
    f"Chunks of {CHUNK_SIZE:,} characters, as in LangChain's tutorials. "
    "Recall is the share of the gold text that the reader is given within so many tokens (of the "
    "best single occurrence where any one answers), in percent. Each question is searched inside "
    "its own document, in boards in all manuals at once. Chunks are handed over as the retriever "
    "ranks them, `page_content` whole, so a heading path in front costs its tokens; the last one "
    "is cut where the budget ends. Intervals hold the central 95 % of 1,000 bootstrap samples of "
    "the questions, drawn within each set; those of differences are paired."
)
Cell = tuple[str, int]  # scope and budget
Recalls = dict[Cell, list[float]]  # recall of every question


@dataclass(frozen=True)
class Setting:
    """What all rows share on one set."""

    dataset: Dataset  # HTML as its visible text
    sources: Mapping[str, str]  # id -> the document as stored
    measure: SpanMeasure
    counter: TokenCounter

    def documents(self) -> list[Document]:
        """The documents as LangChain's loaders give them."""
        return [
            Document(
                self.sources[one.id],
                metadata={"source": one.id, "text_format": one.format},
            )
            for one in self.dataset.documents
        ]


def setting(name: str, n_questions: int, counter: TokenCounter) -> Setting:
    """A set with so many of its questions, evenly drawn, and their documents."""
    whole = sample(name, False).dataset
    numbers = np.linspace(0, len(whole.questions) - 1, n_questions).astype(int)
    asked = tuple(whole.questions[i] for i in sorted(set(numbers.tolist())))
    gold = {doc_id for question in asked for doc_id, *_ in question.gold}
    kept = [one for one in whole.documents if one.id in gold or name in POOLED]
    sources = {one.id: one.text for one in load_or_exit(name).documents}
    dataset = Dataset(name, tuple(kept), asked)
    return Setting(dataset, sources, SpanMeasure(dataset.texts), counter)


def measured(one: Setting, add_context: bool, embeddings: Embeddings) -> Recalls:
    """Recall of every question by scope and budget, in [0, 1]."""
    splitter = ContentAwareTextSplitter(chunk_size=CHUNK_SIZE, add_context=add_context)
    store = InMemoryVectorStore(embeddings)
    store.add_documents(splitter.split_documents(one.documents()))
    recall: Recalls = {cell: [] for cell in product(SCOPES, BUDGETS)}
    asked = product(SCOPES, one.dataset.questions)
    for scope, question in asked:
        is_pooled = scope is SCOPES[1] or one.dataset.name in POOLED
        found = retrieved(store, question, is_pooled)
        places = ("source", "start_index", "end_index")
        spans: list[Any] = [
            tuple(chunk.metadata[key] for key in places) for chunk in found
        ]
        sizes = [one.counter(chunk.page_content) for chunk in found]
        for budget in BUDGETS:
            value = recall_at_budget(
                question.gold,
                spans,
                budget,
                one.measure,
                sizes=sizes,
                mode=question.mode,
            )
            recall[scope, budget].append(value or 0.0)
    return recall


def retrieved(
    store: InMemoryVectorStore, question: Question, pooled: bool
) -> list[Document]:
    """What the store's own retriever finds, in the question's document or in all."""
    doc_id = question.gold[0][0]

    def is_of_document(chunk: Document) -> bool:
        return pooled or chunk.metadata["source"] == doc_id

    retriever = store.as_retriever(search_kwargs={"k": MOST, "filter": is_of_document})
    return retriever.invoke(question.question)


def table(
    sets: Sequence[str], values: Mapping[str, Sequence[Recalls]], cell: Cell
) -> str:
    """A row a splitter, and what the path adds, set by set and as the mean of the sets."""
    groups = {name: [one[cell] for one in of] for name, of in values.items()}
    rows = [
        [
            name,
            *(f"{100 * float(np.mean(one)):.1f}" for one in of),
            f"{mean_of_sets(of)}",
        ]
        for name, of in groups.items()
    ]
    pairs = zip(groups[WITH_PATH], groups[PLAIN], strict=True)
    gaps = [np.subtract(first, second).tolist() for first, second in pairs]
    rows.append(["difference", *(_gap([one]) for one in gaps), _gap(gaps)])
    return markdown_table(["", *sets, "mean"], rows, labels=1)


def _gap(groups: Sequence[Sequence[float]]) -> str:
    return shown(mean_of_sets(groups))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SAMPLES))
    parser.add_argument(
        "--questions", type=int, default=120, help="Of each set, evenly drawn."
    )
    parser.add_argument(
        "--cache", type=Path, default=quality.RESULTS / "cache" / "add_context"
    )
    parser.add_argument("--output", type=Path, default=quality.RESULTS)
    options = parser.parse_args(arguments)
    quality.chosen_embedder("minilm")
    from structrag.models.bundled import minilm

    options.cache.mkdir(parents=True, exist_ok=True)
    embeddings = StructragEmbeddings(minilm(), cache=options.cache / "vectors")
    counter, label = quality.reader_counter()
    values: dict[str, list[Recalls]] = {name: [] for name in ROWS}
    sets, asked = options.sets.split(","), []
    for name in sets:
        one = setting(name, options.questions, counter)
        size = f"{len(one.dataset.questions)} questions"
        asked.append(f"{name} {size}, {len(one.dataset.documents)} documents")
        for title, add_context in ROWS.items():
            values[title].append(measured(one, add_context, embeddings))
            mean = 100 * float(np.mean(values[title][-1][SCOPES[1], 1000]))
            print(f"{name}: {title}: {mean:.1f}", file=sys.stderr, flush=True)
    facts = [f"structrag: {__version__}", f"machine: {machine_line()}"]
    facts += ["encoder: minilm", f"reader's tokens: {label}"]
    facts.append(f"samples: {'; '.join(asked)}")
    parts = ["# The heading path in front of chunks, in LangChain's own store"]
    parts += ["\n".join(f"- {fact}" for fact in facts), READING]
    for scope, budget in product(SCOPES, BUDGETS):
        title = f"## Searched {scope}, within {budget:,} tokens"
        parts += [title, table(sets, values, (scope, budget))]
    text = "\n\n".join(parts) + "\n"
    print(text)
    save(options.output / "add_context.md", text, __file__)


if __name__ == "__main__":
    main()
