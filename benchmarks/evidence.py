"""`EvidenceRetriever` on the samples of all question sets, beside chunks searched as others do.

    python benchmarks/evidence.py [--sample large|small] [--sets qasper,cuad,...]
        [--rows WORD,WORD] [--again]

Prints the tables and writes benchmarks/results/evidence.md. The small sample is that of methods.py;
its tables are in evidence_small.md. The encoder's token vectors, and the recall of every question,
are kept in benchmarks/results/cache/evidence, so that a run that was stopped goes on where it was;
--again measures the chosen rows anew. Without the evaluation data (STRUCTRAG_DATA) or the encoder
it says so and stops.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import hiqa_boards, quality
from benchmarks.datasets import Dataset, load_or_exit, visible
from benchmarks.datasets import Question as Asked
from benchmarks.freshness import save
from benchmarks.machine import machine_line
from benchmarks.methods import BUDGETS, POOLED, SAMPLES, Sample, remembered, sample
from benchmarks.methods_tables import Interval, mean_of_sets
from benchmarks.placing import placed
from benchmarks.quality_tables import markdown_table
from structrag import (
    EvidenceRetriever,
    FixedSplitter,
    Index,
    MultiViewRetriever,
    __version__,
)
from structrag.chunks.given import GivenChunks
from structrag.evaluation import (
    SpanMeasure,
    paired_bootstrap,
    recall_at_budget,
    span_recall,
)
from structrag.evaluation.measure import Span, spans_of
from structrag.model_calls.requests import Flow, TokenVectors
from structrag.reading.settings import ReadOptions
from structrag.records import Chunk
from structrag.retrieval.evidence.quantised import unit_rows
from structrag.retrieval.evidence.scores import Question
from structrag.text.tokens import TokenCounter

# Documents of the large sample; None: all
LARGE: Mapping[str, int | None] = {
    "qasper": None,
    "nq": None,
    "cuad": 40,
    "covid_qa": None,
    "qmsum": None,
    "chroma": None,
    "boards": 120,
}
KEPT = quality.RESULTS / "cache" / "evidence"
BASE, EVIDENCE = "fixed 200, vectors and BM25", "**EvidenceRetriever**"
FIVE = "EvidenceRetriever, in at most five passages"
USERS = "recursive 1,000 characters, overlap 200, vectors, top 4"
LLAMA_INDEX = "LlamaIndex's defaults: 1,024 tokens, overlap 200, vectors, top 2"
UNMATCHED = "EvidenceRetriever, tokens not matched"
READING = (
    "Recall is the share of the gold text that the reader is given within so many tokens (of the "
    "best single occurrence where any one answers), in percent. Each question is searched inside "
    "its own document, in boards in all manuals at once. Chunks are handed over in rank order, the "
    "last one cut where the budget ends; `EvidenceRetriever` is given the budget and ends with a "
    f'whole sentence. "{USERS}" is LangChain\'s RecursiveCharacterTextSplitter as its tutorials '
    f'use it, with this encoder, and has no more to give than four chunks. "{LLAMA_INDEX}" is its '
    "SentenceSplitter and index as they come; the encoder reads the first 256 word pieces of a "
    f'chunk. "{BASE}" was the best '
    'of all chunks in methods.md. "Tokens not matched" is the first stage alone: windows of '
    "vectors and of BM25 over stems, sections and titles. Headers of tables and lead-ins that "
    "stand in front of a passage count, but are no recall. "
    "Intervals hold the central 95 % of 1,000 "
    "bootstrap samples of the questions, drawn within each set; those of differences are paired. "
    "The design was chosen on samples of these sets, so the figures flatter it somewhat."
)
SHOWN = 1000  # tokens within which passages are counted
SENTENCE = 12  # tokens below which a passage is less than a sentence
Search = Callable[[Asked], dict[int, float]]  # recall in [0, 1] by budget


class KeptTokens:
    """An encoder whose token vectors are kept in files, as float16."""

    def __init__(self, encoder: Any, folder: Path) -> None:
        self.encoder = encoder
        self.folder = folder
        self.name = encoder.name
        self.max_tokens = encoder.max_tokens
        folder.mkdir(parents=True, exist_ok=True)

    def count_tokens(self, text: str) -> int:
        return int(self.encoder.count_tokens(text))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """Of texts that the encoder reads whole their vector is that of the same pass."""
        return np.stack(
            [tokens.vector for tokens in self.embed_tokens(texts, query=query)]
        )

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        missing = [
            text for text in dict.fromkeys(texts) if not self._path(text).is_file()
        ]
        for text, tokens in zip(
            missing, self.encoder.embed_tokens(missing), strict=True
        ):
            np.savez(
                self._path(text),
                ids=tokens.ids,
                spans=tokens.spans,
                vectors=tokens.vectors.astype(np.float16),
                vector=tokens.vector,
            )
        return [self._read(text) for text in texts]

    def _read(self, text: str) -> TokenVectors:
        with np.load(self._path(text)) as kept:
            vectors = kept["vectors"].astype(np.float32)
            return TokenVectors(kept["ids"], kept["spans"], vectors, kept["vector"])

    def _path(self, text: str) -> Path:
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self.folder / f"{digest}.npz"


@dataclass(frozen=True)
class Setting:
    """What all rows share on one set."""

    dataset: Dataset
    encoder: KeptTokens
    counter: TokenCounter
    measure: SpanMeasure
    # Tokens of each passage that a question was given within 1,000, and whether it is a fragment.
    given: list[list[tuple[int, bool]]] = field(default_factory=list)

    def where(self, question: Asked) -> dict[str, str] | None:
        """The document that a question is about; None where that is the question."""
        return None if self.dataset.name in POOLED else {"doc_id": question.gold[0][0]}

    def at_budgets(self, question: Asked, ranking: Sequence[Span]) -> dict[int, float]:
        """Recall of ranked chunks, cut where each budget ends."""
        texts = self.dataset.texts
        sizes = [
            self.counter(texts[doc_id][start:end]) for doc_id, start, end in ranking
        ]
        recall = {}
        for budget in BUDGETS:
            value = recall_at_budget(
                question.gold,
                ranking,
                budget,
                self.measure,
                sizes=sizes,
                mode=question.mode,
            )
            recall[budget] = value or 0.0
        return recall


def fixed(setting: Setting) -> Search:
    """Sentences packed to 200 tokens, by vectors and BM25."""
    return _searched(setting, FixedSplitter(200), ("dense", "bm25"), 100)


def recursive(setting: Setting) -> Search:
    """What LangChain's users have: 1,000 characters, overlap 200, the four nearest vectors."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    split = RecursiveCharacterTextSplitter(
        chunk_size=1000, chunk_overlap=200
    ).split_text
    documents = setting.dataset.documents
    chunks = {
        document.id: placed(document, split(document.text)) for document in documents
    }
    return _searched(setting, GivenChunks(chunks), ("dense",), 4)


def llama_index_defaults(setting: Setting) -> Search:
    """What LlamaIndex's users have: its node parser as it comes, the two nearest vectors. The
    encoder reads the beginning of each chunk, as it does where nobody cuts for it."""
    from llama_index.core.node_parser import SentenceSplitter

    split = SentenceSplitter(chunk_size=1024, chunk_overlap=200).split_text
    documents = setting.dataset.documents
    chunks = {
        document.id: placed(document, split(document.text)) for document in documents
    }
    spans = [span for of_document in chunks.values() for span in spans_of(of_document)]
    texts = [setting.dataset.texts[doc_id][start:end] for doc_id, start, end in spans]
    vectors = unit_rows(setting.encoder.encoder.embed(texts))

    def search(question: Asked) -> dict[int, float]:
        where = setting.where(question)
        own = [where is None or doc_id == where["doc_id"] for doc_id, _, _ in spans]
        (vector,) = setting.encoder.encoder.embed([question.question], query=True)
        scores = np.where(own, vectors @ vector, -np.inf)
        best = np.argsort(-scores, kind="stable")[:2]
        return setting.at_budgets(question, [spans[i] for i in best if own[i]])

    return search


def _searched(setting: Setting, splitter: Any, routes: Sequence[str], k: int) -> Search:
    index = Index(
        embedder=setting.encoder, splitter=splitter, views=("raw",), batch_size=256
    )
    index.add(setting.dataset.documents)
    retriever = MultiViewRetriever(index, routes=routes)

    def search(question: Asked) -> dict[int, float]:
        hits = retriever.search(question.question, k, where=setting.where(question))
        return setting.at_budgets(question, spans_of([hit.chunk for hit in hits]))

    return search


class Unmatched(EvidenceRetriever):
    """The first stage alone: the question's tokens are not matched."""

    def _question_flow(self, query: str, basis: Any) -> Flow[Question]:
        question = yield from super()._question_flow(query, basis)
        return replace(question, tokens=None)


def evidence(
    setting: Setting,
    kind: type[EvidenceRetriever] = EvidenceRetriever,
    k: int | None = None,
    **options: Any,
) -> Search:
    """`EvidenceRetriever` with the encoder's token vectors; `k` passages, or any number."""
    read_options = ReadOptions(counter=setting.counter)
    documents = setting.dataset.documents
    retriever = kind.from_documents(
        documents, setting.encoder, read_options=read_options, **options
    )

    def search(asked: Asked) -> dict[int, float]:
        recall = {}
        for budget in BUDGETS:
            where = setting.where(asked)
            hits = retriever.search(asked.question, k, where=where, max_tokens=budget)
            if budget == SHOWN:
                setting.given.append([passage(hit.chunk) for hit in hits])
            spans = spans_of([hit.chunk for hit in hits])
            value = span_recall(asked.gold, spans, setting.measure, mode=asked.mode)
            recall[budget] = value or 0.0
        return recall

    return search


def passage(chunk: Chunk) -> tuple[int, bool]:
    """Its tokens, and whether it is a fragment: below a sentence, or ending with a colon."""
    is_lead = chunk.text.rstrip().rstrip("*_").endswith((":", "："))
    return chunk.n_tokens, chunk.n_tokens < SENTENCE or is_lead


ROWS: Mapping[str, Callable[[Setting], Search]] = {
    USERS: recursive,
    LLAMA_INDEX: llama_index_defaults,
    BASE: fixed,
    UNMATCHED: lambda setting: evidence(setting, Unmatched),
    FIVE: lambda setting: evidence(setting, k=5),
    EVIDENCE: evidence,
}


def measured(
    name: str, one: Sample, encoder: KeptTokens, counter: TokenCounter
) -> dict[str, Any]:
    """Recall of every question by budget, and the seconds of indexing and of a question."""
    setting = Setting(one.dataset, encoder, counter, SpanMeasure(one.dataset.texts))
    began = perf_counter()
    search = ROWS[name](setting)
    indexing, began_searching = perf_counter() - began, process_time()
    recall: dict[str, list[float]] = {str(budget): [] for budget in BUDGETS}
    for question in one.dataset.questions:
        for budget, value in search(question).items():
            recall[str(budget)].append(round(value, 6))
    searching = (process_time() - began_searching) / len(one.dataset.questions)
    return {
        "recall": recall,
        "given": setting.given,
        "indexing": round(indexing, 1),
        "searching": round(searching, 4),
    }


def cell(
    name: str, one: Sample, encoder: KeptTokens, counter: TokenCounter, again: bool
) -> dict[str, Any]:
    """What `measured` gives, from an earlier run where there was one."""
    measure = partial(measured, name, one, encoder, counter)
    values, is_new = remembered(KEPT, one, name, again, measure)
    if is_new:
        means = [float(np.mean(values["recall"][str(budget)])) for budget in BUDGETS]
        points = " ".join(f"{100 * mean:.1f}" for mean in means)
        print(f"{one.dataset.name}: {name}: {points}", file=sys.stderr, flush=True)
    return values


def sampled(name: str, size: str) -> Sample:
    """A set's documents and questions, in the large sample or in that of methods.py."""
    if size == "small":
        return sample(name, False)
    whole = visible(load_or_exit(name))
    count = len(whole.documents), len(whole.questions)
    take = hiqa_boards.sample(whole, LARGE[name]) if name in POOLED else None
    return Sample(take or quality.sampled(whole, LARGE[name], None), *count)


Values = Mapping[str, Mapping[str, Mapping[str, Any]]]  # set -> row -> what `cell` gave


def page(about: Mapping[str, str], values: Values) -> str:
    """All tables."""
    facts = "\n".join(f"- {key}: {value}" for key, value in about.items())
    parts = ["# Evidence within a token budget", facts, READING]
    parts += ["## Mean over the sets", means(values)]
    for budget in BUDGETS:
        parts += [f"## Within {budget:,} tokens", by_set(values, budget)]
    parts += [
        f"## Against {BASE}, within 1,000 tokens, set by set",
        against_base(values),
    ]
    parts += [
        "## Passages within 1,000 tokens",
        "How many a question is given, the tokens of the median one, and the share that is a "
        f"fragment: below {SENTENCE} tokens, or ending with a colon.",
        passages(values),
    ]
    if {UNMATCHED, EVIDENCE} <= set(_rows(values)):
        parts += ["## What matching tokens adds to the first stage", added(values)]
    return "\n\n".join(parts) + "\n"


def added(values: Values) -> str:
    """Paired differences of `EvidenceRetriever` to its first stage, set by set and in the mean."""
    rows = []
    for budget in BUDGETS:
        pairs = zip(
            _groups(values, EVIDENCE, budget),
            _groups(values, UNMATCHED, budget),
            strict=True,
        )
        groups = [np.subtract(own, base).tolist() for own, base in pairs]
        cells = [shown(mean_of_sets([group])) for group in groups]
        rows.append([f"{budget:,}", *cells, shown(mean_of_sets(groups))])
    return markdown_table(["", *values, "mean"], rows, labels=1)


def passages(values: Values) -> str:
    """How many passages a question is given, how long they are, and how many are fragments."""
    rows = []
    for name in _rows(values):
        cells = []
        for of_set in values.values():
            given = of_set[name].get("given") or []
            flat = [one for of_question in given for one in of_question]
            if flat:
                tokens, are_fragments = zip(*flat, strict=True)
                cells.append(
                    f"{len(flat) / len(given):.1f} of {np.median(tokens):.0f}, "
                    f"{100 * np.mean(are_fragments):.1f} %"
                )
        if cells:
            rows.append([name, *cells])
    return markdown_table(["", *values], rows, labels=1)


def means(values: Values) -> str:
    """Each row at each budget, and its difference to the base."""
    rows = []
    for name in _rows(values):
        cells = [_mean(_groups(values, name, budget)) for budget in BUDGETS]
        gaps = [_gap_of_means(values, name, budget) for budget in BUDGETS]
        rows.append([name, *cells, *(gaps if name != BASE else [""] * len(gaps))])
    heads = [f"{budget:,}" for budget in BUDGETS]
    return markdown_table(
        ["", *heads, *(f"{head}: difference" for head in heads)], rows, labels=1
    )


def by_set(values: Values, budget: int) -> str:
    """A row's recall on each set."""
    rows = []
    for name in _rows(values):
        groups = _groups(values, name, budget)
        rows.append([name, *(f"{100 * float(np.mean(group)):.1f}" for group in groups)])
    return markdown_table(["", *values], rows, labels=1)


def against_base(values: Values) -> str:
    """Paired differences of each row to the base on each set; bold where 0 is not inside."""
    rows = []
    for name in _rows(values):
        if name == BASE:
            continue
        cells = []
        for of_set in values.values():
            gap = paired_bootstrap(
                of_set[name]["recall"]["1000"], of_set[BASE]["recall"]["1000"]
            )
            cells.append(
                shown(Interval(*(100 * x for x in (gap.difference, gap.low, gap.high))))
            )
        rows.append([name, *cells])
    return markdown_table(["", *values], rows, labels=1)


def _rows(values: Values) -> list[str]:
    """The rows that were measured on every set."""
    return [name for name in ROWS if all(name in of_set for of_set in values.values())]


def _groups(values: Values, name: str, budget: int) -> list[list[float]]:
    return [of_set[name]["recall"][str(budget)] for of_set in values.values()]


def _mean(groups: Sequence[Sequence[float]]) -> str:
    return str(mean_of_sets(groups))


def _gap_of_means(values: Values, name: str, budget: int) -> str:
    pairs = zip(
        _groups(values, name, budget), _groups(values, BASE, budget), strict=True
    )
    return shown(mean_of_sets([np.subtract(own, base).tolist() for own, base in pairs]))


def shown(interval: Interval) -> str:
    """A difference in points; bold where 0 is not inside its interval."""
    text = f"{interval.mean:+.1f} [{interval.low:+.1f}, {interval.high:+.1f}]"
    return f"**{text}**" if interval.low > 0 or interval.high < 0 else text


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = _options(arguments)
    samples = [sampled(name, options.sample) for name in options.sets]
    _, label = quality.chosen_embedder("minilm")
    from structrag.models.bundled import minilm

    encoder = KeptTokens(minilm(), KEPT / "tokens")
    counter, counter_label = quality.reader_counter()
    about = {
        "structrag": __version__,
        "machine": machine_line(),
        "encoder": label,
        "reader's tokens": counter_label,
        "samples": "; ".join(map(_sample_line, samples)),
    }
    small = "" if options.sample == "large" else "_small"
    words = [word.lower() for word in options.rows.split(",")]
    chosen = [name for name in ROWS if any(word in name.lower() for word in words)]
    values = {
        one.dataset.name: {
            name: cell(name, one, encoder, counter, options.again) for name in chosen
        }
        for one in samples
    }
    if BASE not in chosen:
        raise SystemExit(f"Nothing to compare with: --rows must include {BASE!r}.")
    text = page(about, values)
    print(text)
    save(options.output / f"evidence{small}.md", text, __file__)


def _sample_line(one: Sample) -> str:
    dataset = one.dataset
    return (
        f"{dataset.name}: {len(dataset.documents):,} of {one.of_documents:,} documents, "
        f"{len(dataset.questions):,} questions"
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sets", default=",".join(SAMPLES), help=f"some of {', '.join(SAMPLES)}"
    )
    parser.add_argument("--sample", choices=("large", "small"), default="large")
    parser.add_argument("--rows", default="", help="only those with one of these words")
    parser.add_argument(
        "--again", action="store_true", help="measure the chosen rows anew"
    )
    parser.add_argument(
        "--output", type=Path, default=quality.RESULTS, help="folder for the results"
    )
    options = parser.parse_args(arguments)
    options.sets = [name for name in options.sets.split(",") if name]
    if not options.sets or set(options.sets) - set(SAMPLES):
        parser.error(f"--sets must be some of {', '.join(SAMPLES)}.")
    options.output.mkdir(parents=True, exist_ok=True)
    return options


if __name__ == "__main__":
    main()
