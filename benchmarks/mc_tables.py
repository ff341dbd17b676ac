"""Tables of the MC-indexing paper without a language model, with the paper's figures beside ours.

    python benchmarks/mc_tables.py

Table 6: how often a chunk border cuts the evidence. Tables 2, 4 and 8: kinds of chunks, views on
chunks of fixed length, and RAPTOR's tree. Table 9: what each view is worth. By sparse retrieval and
preset `paper` with extracted views. Prints the tables and writes benchmarks/results/mc_tables.md;
some minutes. Without the evaluation data (STRUCTRAG_DATA) it says so and stops.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import quality
from benchmarks.freshness import save
from benchmarks.hiqa_scores import Sizes
from benchmarks.mc_raptor import Tree, build
from benchmarks.methods_systems import Models
from benchmarks.methods_tables import mean_of_sets
from benchmarks.paper_metrics import (
    paper_recall,
)
from benchmarks.quality_scores import TOP, gold_questions
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Dataset, Question, load_or_exit, visible
from structrag import (
    ContentAwareSplitter,
    FixedSplitter,
    Index,
    MultiViewRetriever,
    __version__,
)
from structrag.evaluation import (
    SpanMeasure,
    chunking_error,
    recall_at_budget,
    span_recall,
    spans_of,
)
from structrag.index.views import VIEWS
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import Embed, Flow
from structrag.records import Chunk, Document

SETS = ("nq", "qasper", "cuad")
SIZES = (100, 200, 300)
CUAD = 12  # documents of cuad
# Table 6 on Wiki-NQ and Wiki-2M: chunks of so many tokens -> in the document, within sections.
PAPER_ERRORS = {
    100: ("66.4 / 75.3", "50.8 / 60.9"),
    200: ("41.4 / 46.6", "23.2 / 28.7"),
}
PAPER_ERRORS[300] = ("26.4 / 32.2", "13.5 / 15.0")
# Table 9, on NQ: recall of the answer's span at 1.5, 3, 5 and 10 chunks.
PAPER_VIEWS = {
    "TF-IDF": {
        "MC-indexing": "40.9 / 54.1 / 67.6 / 85.7",
        "without raw": "32.4 / 49.5 / 63.5 / 83.8",
        "without keywords": "34.5 / 51.2 / 64.5 / 84.3",
        "without summary": "32.4 / 47.6 / 60.1 / 82.6",
    },
    "BM25": {
        "MC-indexing": "36.9 / 47.6 / 60.1 / 78.2",
        "without raw": "25.9 / 41.6 / 52.0 / 72.9",
        "without keywords": "30.4 / 43.2 / 55.1 / 74.2",
        "without summary": "27.6 / 41.6 / 54.4 / 72.7",
    },
}
ROUTES = {"TF-IDF": "tfidf", "BM25": "bm25"}
LEFT_OUT = {
    "MC-indexing": VIEWS,
    "without raw": ("summary", "keywords"),
    "without keywords": ("raw", "summary"),
    "without summary": ("raw", "keywords"),
    "raw view alone": ("raw",),
}
RAW = ("raw",)
SECTIONS = {"splitter": ContentAwareSplitter.paper()}
# Name -> options of `Index`, views, what the paper says of its two sets.
KINDS: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "FLC-100": ({"splitter": FixedSplitter(100)}, RAW, ""),
    "FLC-200": ({"splitter": FixedSplitter(200)}, RAW, ""),
    "FLC-300": ({"splitter": FixedSplitter(300)}, RAW, "FLC-100 + 10 to 15"),
    "FLC-300 within sections": (
        {"splitter": FixedSplitter(300, within_sections=True)},
        RAW,
        "FLC-300 + 3 to 8",
    ),
    "views on FLC-200": ({"splitter": FixedSplitter(200)}, VIEWS, ""),
    "views on FLC-300": ({"splitter": FixedSplitter(300)}, VIEWS, "FLC-300 + 3 to 7"),
    "sections": (SECTIONS, RAW, ""),
    "MC-indexing": (SECTIONS, VIEWS, "best"),
}
RAPTOR = "RAPTOR's tree over FLC-300"
BUDGET = 1000  # tokens
WIDE = 30  # chunks asked for where a ranking is cut at the budget
Search = Callable[[Question, float, int], Sequence[Chunk]]  # k, number of the question
READING = (
    "The paper's sets are other questions over Wikipedia, its evidence whole passages of 50 to 500 "
    "tokens where nq's is the answer's words, and its views were written by a language model; so "
    "what can be compared is the order of rows, not the numbers."
)
ERRORS = (
    "The share of evidence spans that no single chunk holds, in percent. Whole sections cut none "
    "where the evidence lies in one section; qasper's and cuad's may reach over several."
)
RECALLS = (
    "Recall in percent at k = 1.5 / 3 / 5 / 10, inside the question's own document, whose chunks "
    "alone are counted; preset `paper`, extracted views; the paper's recall (qasper), or the best "
    "single occurrence of the answer (nq). Several views are joined as a set, so that rows hand "
    'over different numbers of chunks at the same k: "chunks" are those at the four k. Compare '
    f"rows at {BUDGET:,} tokens, where chunks come in order and the last one is cut. Intervals, at "
    f"k = 5 and at {BUDGET:,} tokens, hold the central 95 % of 1,000 bootstrap samples of the "
    "questions."
)
TREES = (
    "RAPTOR as in the paper's appendix C.2: clusters of Gaussian mixtures (scikit-learn's, of "
    "all-MiniLM-L6-v2's vectors in ten dimensions), summaries by extraction, the tree gone through "
    "from its root by k nodes a layer. For its tokens k is 10, elsewhere "
    f"{WIDE}."
)


def errors(datasets: Sequence[Dataset]) -> str:
    """Table 6."""
    splitters: dict[str, Any] = {}
    papers: dict[str, str] = {}
    for size in SIZES:
        for label, within in (
            (f"fixed {size}", False),
            (f"fixed {size} within sections", True),
        ):
            splitters[label] = FixedSplitter(size, within_sections=within)
            papers[label] = PAPER_ERRORS[size][within]
    splitters["whole sections"] = ContentAwareSplitter(max_tokens=None, context=False)
    papers["whole sections"] = "0.0 / 0.0"
    splitters["structrag's default, 300"] = ContentAwareSplitter()
    rows = []
    for label, splitter in splitters.items():
        cells = [label, papers.get(label, "")]
        for dataset in datasets:
            spans = [
                span
                for one in dataset.documents
                for span in spans_of(splitter.split(one))
            ]
            gold = [
                span for question in gold_questions(dataset) for span in question.gold
            ]
            error = chunking_error(gold, spans, dataset.texts) or 0.0
            cells.append(f"{100 * error:.1f}")
        rows.append(cells)
    heads = [
        "chunks",
        "paper: Wiki-NQ / Wiki-2M",
        *(dataset.name for dataset in datasets),
    ]
    return markdown_table(heads, rows, labels=1)


def searches(index: Index, views: Sequence[str]) -> dict[str, Search]:
    """An index searched by each route, inside the question's own document."""

    def search(
        retriever: MultiViewRetriever, question: Question, k: float, number: int
    ) -> Sequence[Chunk]:
        where = {"doc_id": question.gold[0][0]}
        return [
            hit.chunk for hit in retriever.search(question.question, k, where=where)
        ]

    make = partial(MultiViewRetriever, index, preset="paper", views=views)
    return {
        name: partial(search, make(routes=(route,))) for name, route in ROUTES.items()
    }


def indexed(documents: Sequence[Document], **options: Any) -> Index:
    """The documents with preset `paper` and these options."""
    index = Index(preset="paper", **options)
    index.add(documents)
    return index


def of_views(dataset: Dataset) -> dict[tuple[str, str], Search]:
    """Table 9's searches, by route and views."""
    index = indexed(dataset.documents)
    return {
        (route, name): search
        for name, views in LEFT_OUT.items()
        for route, search in searches(index, views).items()
    }


def of_kinds(dataset: Dataset, models: Models) -> dict[tuple[str, str], Search]:
    """The searches of tables 2, 4 and 8, by route and kind of chunks."""
    found = {
        (route, name): search
        for name, (options, views, _) in KINDS.items()
        for route, search in searches(
            indexed(dataset.documents, views=views, **options), views
        ).items()
    }
    leaves = {one.id: FixedSplitter(300).split(one) for one in dataset.documents}
    trees = {
        doc_id: build(chunks, lambda texts: models.runner().run(vectors_of(texts)))
        for doc_id, chunks in leaves.items()
    }
    return found | {
        (route, RAPTOR): search for route, search in of_trees(trees).items()
    }


def vectors_of(texts: Sequence[str]) -> Flow[Any]:
    (vectors,) = yield [Embed(tuple(texts))]
    return vectors


def of_trees(trees: Mapping[str, Tree]) -> dict[str, Search]:
    """Trees gone through by each route; every node is scored among all of its tree."""
    nodes = [
        Document(text, id=f"{doc_id} {layer} {place}", meta={"tree": doc_id})
        for doc_id, tree in trees.items()
        for layer, texts in enumerate(tree.texts)
        for place, text in enumerate(texts)
    ]
    index = indexed(nodes, views=RAW, splitter=FixedSplitter(100_000))

    def search(
        retriever: MultiViewRetriever, question: Question, k: float, number: int
    ) -> Sequence[Chunk]:
        doc_id = question.gold[0][0]
        tree = trees[doc_id]
        scores = [[float("-inf")] * len(texts) for texts in tree.texts]
        every = sum(map(len, tree.texts))
        for hit in retriever.search(question.question, every, where={"tree": doc_id}):
            layer, place = hit.chunk.doc_id.rsplit(" ", 2)[1:]
            scores[int(layer)][int(place)] = -hit.rank
        # k = 1.5: one node for half of the questions, two for the others
        count = int(k) if k == int(k) else int(k) + number % 2
        return tree.traversed(scores, min(count, 10))

    make = partial(MultiViewRetriever, index, preset="paper", views=RAW)
    return {
        name: partial(search, make(routes=(route,))) for name, route in ROUTES.items()
    }


def measured(
    dataset: Dataset, found: Mapping[tuple[str, str], Search], sizes: Sizes
) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Of every search: the recall of each question at each k and at the budget, and how many chunks
    it was given at each k."""
    measure = SpanMeasure(dataset.texts)
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row, search in found.items():
        own = values.setdefault(row, {})
        for number, question in enumerate(gold_questions(dataset)):
            for k in TOP:
                chunks = search(question, k, number)
                share = recall_of(question, spans_of(chunks), measure)
                own.setdefault(f"{k:g}", []).append(share)
                own.setdefault(f"chunks {k:g}", []).append(len(chunks))
            ranking = search(question, WIDE, number)
            spent = [sizes(chunk) for chunk in ranking]
            share = recall_at_budget(
                question.gold,
                spans_of(ranking),
                BUDGET,
                measure,
                sizes=spent,
                mode=question.mode,
            )
            own.setdefault("budget", []).append(share or 0.0)
    return values


def recall_of(question: Question, spans: Any, measure: SpanMeasure) -> float:
    """The paper's recall, or that of the best occurrence where one is enough."""
    if question.any:
        return span_recall(question.gold, spans, measure, mode="any") or 0.0
    return paper_recall(question.gold, spans, measure) or 0.0


def table(
    datasets: Sequence[Dataset],
    make: Callable[[Dataset], Mapping[tuple[str, str], Search]],
    papers: Callable[[str, str], str],
    sizes: Sizes,
) -> str:
    """Searches by route, beside what the paper says of each."""
    of_sets = [measured(dataset, make(dataset), sizes) for dataset in datasets]
    rows = []
    for route in ROUTES:
        for name in (name for own, name in of_sets[0] if own == route):
            cells = [f"{route}: {name}", papers(route, name)]
            for values in (of_set[route, name] for of_set in of_sets):
                means = [f"{mean_of_sets([values[f'{k:g}']]).mean:.1f}" for k in TOP]
                at_5 = mean_of_sets([values["5"]])
                counts = [sum(values[f"chunks {k:g}"]) / len(values["5"]) for k in TOP]
                cells += [
                    f"{' / '.join(means)} [{at_5.low:.1f}, {at_5.high:.1f}]",
                    " / ".join(f"{count:.1f}" for count in counts),
                    str(mean_of_sets([values["budget"]])),
                ]
            rows.append(cells)
    heads = ["", "paper"]
    for dataset in datasets:
        count = len(gold_questions(dataset))
        heads += [
            f"{dataset.name}, {count} questions",
            "chunks",
            f"at {BUDGET:,} tokens",
        ]
    return markdown_table(heads, rows, labels=1)


def views(datasets: Sequence[Dataset], sizes: Sizes) -> str:
    """Table 9."""
    return table(
        datasets,
        of_views,
        lambda route, name: PAPER_VIEWS[route].get(name, ""),
        sizes,
    )


def kinds(datasets: Sequence[Dataset], models: Models, sizes: Sizes) -> str:
    """Tables 2, 4 and 8."""
    said = {name: paper for name, (_, _, paper) in KINDS.items()}
    return table(
        datasets,
        partial(of_kinds, models=models),
        lambda route, name: said.get(name, ""),
        sizes,
    )


def main() -> None:
    """Run the benchmark."""
    datasets = [
        quality.sampled(
            visible(load_or_exit(name)), CUAD if name == "cuad" else None, None
        )
        for name in SETS
    ]
    embedder, _ = quality.chosen_embedder("minilm")
    models = Models(embedder, Cache(quality.CACHE))
    counter, counted = quality.reader_counter()
    sizes = Sizes(counter)
    page = [
        "# Tables of the MC-indexing paper without a model",
        f"- structrag {__version__}; `python benchmarks/mc_tables.py`; tokens: {counted}",
        READING,
        "## Table 6: chunking error",
        ERRORS,
        errors(datasets),
        "## Tables 2, 4 and 8: kinds of chunks",
        f"{RECALLS} {TREES}",
        kinds(datasets[:2], models, sizes),
        "## Table 9: each view left out",
        RECALLS,
        views(datasets[:2], sizes),
    ]
    text = "\n\n".join(page) + "\n"
    print(text)
    save(quality.RESULTS / "mc_tables.md", text, __file__)


if __name__ == "__main__":
    main()
