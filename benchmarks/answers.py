"""What a reader gets: whole answers, under the right heading, without holes.

    python benchmarks/answers.py

Fifty questions on documents of many formats (answers.json), each with short facts that the answer
must hold and the title of the section that it stands in, put to one index of all documents. Prints
the table and writes benchmarks/results/answers.md. Without the evaluation data (STRUCTRAG_DATA) or
the encoder it says so and stops.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import evidence, quality
from benchmarks.freshness import ROOT, save
from benchmarks.methods_peers import Peer, each_text, sentence_splitter
from benchmarks.methods_systems import BOTH, DENSE, Indexed, Models, given, own
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import DataMissing, Dataset, data_root
from structrag import EvidenceRetriever, FixedSplitter, read_file
from structrag.model_calls.cache import Cache
from structrag.reading.sections import parse
from structrag.reading.settings import ReadOptions
from structrag.records import Block, Chunk, Document
from structrag.retrieval.evidence.passages import LEFT_OUT
from structrag.retrieval.packing import reader_text

BUDGET = 1000  # tokens that the reader is given
WHOLE, PARTIAL, NONE = "whole", "partial", "none"
RIGHT, OTHER = "right path", "another path"
LEFT, GAPS, INSIDE = "facts left out", "unmarked gaps", "begin inside an item"
COLUMNS = (WHOLE, PARTIAL, NONE, RIGHT, OTHER, LEFT, GAPS, INSIDE, "passages")
READING = """What is handed over within 1,000 tokens; one index of all documents. An answer is whole
if all its facts are there (white space and case aside). The path is that of the passage with most
facts; it is right if it has the title of the section that the answer stands in. "Facts left out"
are those between two that are there. A gap is unmarked if two passages are of one paragraph, list,
table or listing, text between them is left out, and nothing says so. The last columns count
passages: those that begin inside an item of a list or a row of a table, and all. Chunks are in rank
order, the last one cut where the budget ends. The chunks have no path; the encoder reads
LlamaIndex's in windows here, which is more than its users have."""
Search = Callable[[str], Sequence[Chunk]]


@dataclass(frozen=True)
class Case:
    """A question and what its answer must hold."""

    file: str  # docs/... in the repository, others in the evaluation data
    section: str  # the title of the smallest section
    question: str
    facts: list[str]  # in the order of the document


@dataclass
class Read:
    """A document and its blocks."""

    document: Document
    blocks: list[Block]

    def at(self, place: int) -> Block | None:
        """The block of a character; None in a heading."""
        inside = (block for block in self.blocks if block.start <= place < block.end)
        return next(inside, None)

    def begins_inside(self, passage: Chunk) -> bool:
        """Whether a passage begins inside an item of a list or a row of a table."""
        text = self.document.text
        first = passage.end - len(text[passage.start : passage.end].lstrip())
        block = self.at(first)
        if block is None or not text[block.text_start : first].strip():
            return False
        line = text.rfind("\n", 0, first) + 1
        is_in_line = bool(text[line:first].strip())
        return block.kind in ("list", "table") and (
            is_in_line or not {line, first} & {*block.cuts}
        )

    def is_gap(self, before: Chunk, passage: Chunk) -> bool:
        """Whether a part of a block is left out between two passages, and nothing says so."""
        block = self.at(passage.start)
        if block is None or block != self.at(before.end - 1):
            return False
        is_marked = passage.context and block.kind == "table"
        left_out = self.document.text[before.end : passage.start].strip()
        return bool(left_out) and not is_marked and LEFT_OUT not in passage.context


def cases() -> list[Case]:
    """All questions."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    return [Case(**row) for row in json.loads(text)]


def read(file: str) -> Read:
    """One of the documents."""
    root = ROOT if file.startswith("docs/") else data_root()
    outline = parse(read_file(root / file, id=file))
    blocks = chain.from_iterable(map(outline.blocks, outline.sections))
    return Read(outline.document, list(blocks))


def plain(text: str) -> str:
    """A text as facts are compared."""
    return " ".join(text.casefold().split())


def judged(
    case: Case, passages: Sequence[Chunk], documents: Mapping[str, Read]
) -> Counter[str]:
    """Counts of what the reader was handed, by COLUMNS."""
    texts = [plain(reader_text(one)) * (one.doc_id == case.file) for one in passages]
    there = [any(plain(fact) in text for text in texts) for fact in case.facts]
    counts = Counter([WHOLE if all(there) else PARTIAL if any(there) else NONE])
    if any(there):
        held = [sum(plain(fact) in text for fact in case.facts) for text in texts]
        best = passages[held.index(max(held))]
        if best.path:
            counts[RIGHT if case.section in best.path else OTHER] += 1
        last = len(there) - there[::-1].index(True)
        counts[LEFT] += there[there.index(True) : last].count(False)
    ordered = sorted(passages, key=lambda one: (one.doc_id, one.start))
    for one in ordered:
        counts[INSIDE] += documents[one.doc_id].begins_inside(one)
    for before, one in pairwise(ordered):
        if before.doc_id == one.doc_id:
            counts[GAPS] += documents[one.doc_id].is_gap(before, one)
    return counts + Counter(passages=len(passages))


def evidence_of(dataset: Dataset, models: Models) -> Search:
    """`EvidenceRetriever` with the encoder's token vectors."""
    options = ReadOptions(counter=quality.reader_counter()[0])
    search = EvidenceRetriever.from_documents(
        dataset.documents, models.embedder, read_options=options
    ).search
    return lambda text: [hit.chunk for hit in search(text, max_tokens=BUDGET)]


def chunks(
    index: Callable[[Dataset, Models], Indexed],
    route: str,
    dataset: Dataset,
    models: Models,
) -> Search:
    """Chunks in rank order, the last one cut where the budget ends."""
    ranked = index(dataset, models).searches[route]
    counter = quality.reader_counter()[0]

    def search(question: str) -> list[Chunk]:
        passages = []
        left = BUDGET
        for chunk in ranked(question, None):
            size = counter(chunk.text)
            text = chunk.text[: len(chunk.text) * max(0, left) // size]
            end = min(chunk.end, chunk.start + len(text))
            passages.append(replace(chunk, context="", text=text, end=end))
            left -= size
        return [passage for passage in passages if passage.text]

    return search


def main() -> None:
    """Run the benchmark."""
    asked = cases()
    try:
        documents = {case.file: read(case.file) for case in asked}
    except DataMissing as error:
        raise SystemExit(str(error)) from None
    dataset = Dataset("answers", tuple(one.document for one in documents.values()), ())
    models = Models(evidence.ENCODERS["minilm"]()[0], Cache(":memory:"))
    fixed = partial(own, FixedSplitter(200))
    sentences = Peer(partial(each_text, sentence_splitter(512, 200)))
    searches = {
        "**EvidenceRetriever**": evidence_of(dataset, models),
        evidence.BASE: chunks(fixed, BOTH, dataset, models),
        "LlamaIndex's SentenceSplitter(512), top 2": chunks(
            partial(given, sentences), DENSE, dataset, models
        ),
    }
    rows = []
    for name, search in searches.items():
        counts = Counter[str]()
        for case in asked:
            counts += judged(case, search(case.question), documents)
        rows.append([name, *(str(counts[column]) for column in COLUMNS)])
    about = f"{len(asked)} questions, {len(documents)} documents, all-MiniLM-L6-v2."
    table = markdown_table(["", *COLUMNS], rows, labels=1)
    page = f"# Answers\n\n{about} {READING}\n\n{table}\n"
    print(page)
    save(quality.RESULTS / "answers.md", page, __file__)


if __name__ == "__main__":
    main()
