"""Where IDMS cuts by vectors, by mutual information of neighbours, and by both, where headings were
taken out or texts were joined; and whether what is found then differs.

    python benchmarks/boundaries_information.py [--documents 8] [--joined 8] [--papers 4]

Prints the tables and writes benchmarks/results/boundaries_information.md. The likelihoods are those
of a real, very small language model (that of real_llm.py), on one thread: about a minute a document
of 150 sentences. Without the evaluation data (STRUCTRAG_DATA), the encoder or the model it says so
and stops.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.datasets import Dataset, Question, load_or_exit
from benchmarks.machine import machine_line
from benchmarks.methods_tables import mean_of_sets
from benchmarks.quality_scores import gold_questions
from benchmarks.quality_tables import markdown_table
from benchmarks.real_llm import chosen_model
from benchmarks.unheaded import (
    Unheaded,
    joined_documents,
    segmentation,
    unheaded,
    unheaded_documents,
)
from structrag import IDMSSplitter, Index, MultiViewRetriever, __version__
from structrag.asking.cache import Cache, cache_key
from structrag.evaluation import (
    SpanMeasure,
    boundary_f1,
    pk,
    recall_at_budget,
    window_diff,
)
from structrag.evaluation.measure import spans_of
from structrag.models import InformationMargin
from structrag.records import Document
from structrag.text.tokens import count_tokens

Scores = Mapping[str, list[float]]  # of every document, or of every question
VECTORS, INFORMATION, BOTH = "vectors", "mutual information", "both"
BORDERS = ("Pk", "WindowDiff", "F1")
BUDGETS = (500, 1000)
SENTENCES_TIMED = 20
READING = (
    "IDMS with its default settings, the margins made in three ways: the cosine of the four "
    "sentences on each side, how much likelier those before make those behind, and the mean of "
    "both (`with_vectors=True`). Pk and WindowDiff: lower is better; F1 of boundaries within one "
    "sentence: higher is better. In percent, means over the documents; intervals hold the central "
    "95 % of 1,000 bootstrap samples of the documents, those of differences paired; bold where 0 "
    "is not inside. Likelihoods are kept in results/cache."
)
FINDING = (
    "Whether other borders find more: the same papers and chunks of at most 300 tokens, the raw "
    "view by vectors and BM25, each question inside its own paper. Recall is the share of the "
    "evidence within so many tokens; intervals are of bootstrap samples of the questions."
)


@dataclass
class Remembered:
    """A model's likelihoods, each asked once and kept in a cache."""

    model: Any
    cache: Cache

    @property
    def name(self) -> str:
        return str(self.model.name)

    def count_tokens(self, text: str) -> int:
        return int(self.model.count_tokens(text))

    def score(
        self, prompt: str, continuations: Sequence[str], *, chat: bool
    ) -> list[float]:
        """The log-likelihood of each continuation; `chat` is the same in all calls."""
        keys = [
            cache_key("likelihood", self.name, prompt, text) for text in continuations
        ]
        new = [
            text
            for key, text in zip(keys, continuations, strict=True)
            if not self._kept(key)
        ]
        values = self.model.score(prompt, new, chat=chat)
        kept = {
            cache_key("likelihood", self.name, prompt, text): value
            for text, value in zip(new, values, strict=True)
        }
        self.cache.put_all(kept)
        return [float(self.cache.get(key)) for key in keys]

    def _kept(self, key: str) -> bool:
        return isinstance(self.cache.get(key), float)


def splitters(model: Any, cache: Cache) -> dict[str, IDMSSplitter]:
    """A splitter for each way of making margins."""
    kept = Remembered(model, cache)
    return {
        VECTORS: IDMSSplitter(margin="similarity"),
        INFORMATION: IDMSSplitter(margin=InformationMargin(kept)),
        BOTH: IDMSSplitter(margin=InformationMargin(kept, with_vectors=True)),
    }


def measured(
    documents: Sequence[Unheaded], splitter: IDMSSplitter, embedder: Any
) -> dict[str, list[float]]:
    """How well borders are found, and how many segments there are."""
    scores: dict[str, list[float]] = {name: [] for name in (*BORDERS, "segments")}
    for one in documents:
        starts = [
            chunk.start for chunk in splitter.split(one.document, embedder=embedder)
        ]
        gaps = segmentation(one.sentences, starts)
        scores["Pk"].append(pk(one.reference, gaps))
        scores["WindowDiff"].append(window_diff(one.reference, gaps))
        scores["F1"].append(boundary_f1(one.reference, gaps, tolerance=1))
        scores["segments"].append(float(sum(gaps) + 1))
    return scores


def moved_gold(
    papers: Sequence[Unheaded], dataset: Dataset
) -> dict[Question, list[tuple[str, int, int]]]:
    """The questions whose evidence is in the papers without headings, with its places there."""
    texts = {paper.document.id: paper.document.text for paper in papers}
    moved = {}
    for question in gold_questions(dataset):
        places = []
        for doc_id, start, end in question.gold:
            evidence = dataset.texts[doc_id][start:end].strip()
            place = texts.get(doc_id, "").find(evidence)
            if place >= 0:
                places.append((doc_id, place, place + len(evidence)))
        if len(places) == len(question.gold):
            moved[question] = places
    return moved


def recalls(
    papers: Sequence[Unheaded],
    questions: Mapping[Question, list[tuple[str, int, int]]],
    splitter: IDMSSplitter,
    embedder: Any,
) -> dict[str, list[float]]:
    """The recall of every question at each budget."""
    index = Index(splitter=splitter, embedder=embedder, views=("raw",))
    index.add([paper.document for paper in papers])
    retriever = MultiViewRetriever(index)
    measure = SpanMeasure({paper.document.id: paper.document.text for paper in papers})
    shares: dict[str, list[float]] = {f"{budget:,} tokens": [] for budget in BUDGETS}
    for question, gold in questions.items():
        hits = retriever.search(question.question, 100, where={"doc_id": gold[0][0]})
        chunks = [hit.chunk for hit in hits]
        sizes = [count_tokens(chunk.text) for chunk in chunks]
        for budget in BUDGETS:
            share = recall_at_budget(
                gold, spans_of(chunks), budget, measure, sizes=sizes, mode=question.mode
            )
            shares[f"{budget:,} tokens"].append(share or 0.0)
    return shares


def table(
    values: Mapping[str, Scores], names: Sequence[str], extra: Sequence[str] = ()
) -> str:
    """A row a way of making margins: scores, differences to vectors, plain means."""
    base = values[VECTORS]
    rows = []
    for way, scores in values.items():
        cells = [str(mean_of_sets([scores[name]])) for name in names]
        for name in names:
            gaps = np.subtract(scores[name], base[name]).tolist()
            cells.append("" if way == VECTORS else _difference(gaps))
        rows.append([way, *cells, *(f"{np.mean(scores[name]):.1f}" for name in extra)])
    heads = ["margins", *names, *(f"{name}: difference" for name in names), *extra]
    return markdown_table(heads, rows, labels=1)


def costs(model: Any, embedder: Any, one: Unheaded) -> str:
    """What the gaps of a text's first sentences cost, nothing kept from before."""
    timed = one.sentences[:SENTENCES_TIMED]
    text = Document(one.document.text[: timed[-1][1]], id="timed")
    seconds = []
    for splitter in (
        IDMSSplitter(margin="similarity"),
        IDMSSplitter(margin=InformationMargin(model)),
    ):
        started = time.process_time()
        list(splitter.split(text, embedder=embedder))
        seconds.append((time.process_time() - started) / (len(timed) - 1))
    return (
        f"Processor seconds a gap, of {len(timed)} sentences, the whole split counted: "
        f"{seconds[0]:.3f} by vectors, {seconds[1]:.2f} by mutual information."
    )


def _length(one: Unheaded) -> int:
    return len(one.sentences)


def _difference(gaps: Sequence[float]) -> str:
    gap = mean_of_sets([gaps])
    text = f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]"
    return f"**{text}**" if gap.low > 0 or gap.high < 0 else text


def section(
    name: str,
    documents: Sequence[Unheaded],
    ways: Mapping[str, IDMSSplitter],
    embedder: Any,
) -> str:
    """The part of the page for some documents."""
    values = {}
    for way, splitter in ways.items():
        values[way] = measured(documents, splitter, embedder)
        print(
            f"{name}, {way}: {np.mean(values[way]['F1']):.3f}",
            file=sys.stderr,
            flush=True,
        )
    sentences = sum(len(one.sentences) for one in documents)
    borders = sum(sum(one.reference) for one in documents)
    size = f"{len(documents)} documents, {sentences} sentences, {borders} borders"
    return f"## {name}: {size}\n\n{table(values, BORDERS, ('segments',))}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--documents", type=int, default=8, help="Markdown files of parsing"
    )
    parser.add_argument(
        "--joined", type=int, default=8, help="texts joined from six of these each"
    )
    parser.add_argument(
        "--papers", type=int, default=4, help="of qasper, also searched"
    )
    parser.add_argument("--output", type=Path, default=quality.RESULTS)
    options = parser.parse_args(arguments)
    dataset = load_or_exit("qasper")
    papers = [made for made in map(unheaded, dataset.documents) if made is not None]
    papers = papers[: options.papers]
    sets = {
        "Markdown of parsing, headings taken out": unheaded_documents(
            options.documents
        ),
        "Passages of different documents, joined": joined_documents(options.joined),
        "Papers of qasper, headings taken out": papers,
    }
    embedder, _ = quality.chosen_embedder("minilm")
    model = chosen_model("")
    ways = splitters(model, Cache(quality.CACHE))
    page = [
        "# Boundaries by vectors and by mutual information",
        f"- structrag {__version__}, all-MiniLM-L6-v2, SmolLM2-135M-Instruct; {machine_line()}\n"
        f"- python benchmarks/boundaries_information.py --documents {options.documents} --joined "
        f"{options.joined} --papers {options.papers}",
        READING,
    ]
    longest = max((one for found in sets.values() for one in found), key=_length)
    page.append(costs(model, embedder, longest))
    page += [
        section(name, found, ways, embedder) for name, found in sets.items() if found
    ]
    if papers:
        questions = moved_gold(papers, dataset)
        shares = {
            way: recalls(papers, questions, one, embedder) for way, one in ways.items()
        }
        names = [f"{budget:,} tokens" for budget in BUDGETS]
        page += [
            f"## Evidence found: {len(questions)} questions",
            FINDING,
            table(shares, names),
        ]
    text = "\n\n".join(page) + "\n"
    print(text)
    (options.output / "boundaries_information.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
