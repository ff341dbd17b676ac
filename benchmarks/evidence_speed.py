"""How long `EvidenceRetriever` takes for a question, its encoder's pass aside; prints a table.

    python benchmarks/evidence_speed.py [--indexing 12]

The documents are real, the vectors of tokens are random, one for each word. Their axes are about as
unequal as those of all-MiniLM-L6-v2, as that decides how many bits are kept. Seconds are those of
one processor (`time.process_time`), so that other work on the machine counts little. With
--indexing so many documents of qasper, nq and cuad are indexed with all-MiniLM-L6-v2 instead, and
beside that their chunks of 200 tokens are embedded once, in turns; prints what indexing costs in
percent of that and writes benchmarks/results/evidence_indexing.md.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.freshness import save
from benchmarks.machine import machine_line
from benchmarks.methods_tables import mean_of_sets
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Dataset, load_or_exit, visible
from structrag import EvidenceRetriever, FixedSplitter, __version__
from structrag.model_calls.requests import TokenVectors
from structrag.records import Document

DIMENSIONS, QUESTIONS = 384, 40
SETS = ("qasper", "nq", "cuad")
INDEXING = (
    "Embedding: the chunks of 200 tokens of `FixedSplitter` by the encoder's `encode`, already "
    "split. Indexing: all that `EvidenceRetriever.add` does, splitting, token vectors, stems and "
    "storing among it. Seconds of the processor, of the same run, in turns. The last column is "
    "the mean of the documents' percentages, with the central 95 % of 1,000 bootstrap samples of "
    "the documents."
)
_TOKEN = re.compile(r"\w{1,6}|[^\w\s]")  # about as many as word pieces


class RandomTokens:
    """An encoder of random vectors, one for each token; half their energy is in 62 axes."""

    name = "random tokens"
    max_tokens = 256

    def __init__(self) -> None:
        vectors = np.random.default_rng(0).normal(size=(30_000, DIMENSIONS))
        self._table = (vectors * np.exp(-np.arange(DIMENSIONS) / 180)).astype(
            np.float32
        )
        self.seconds = 0.0  # spent here

    def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        return np.stack([tokens.vector for tokens in self.embed_tokens(texts)])

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        began = process_time()
        tokens = [self._tokens(text) for text in texts]
        self.seconds += process_time() - began
        return tokens

    def _tokens(self, text: str) -> TokenVectors:
        matches = list(_TOKEN.finditer(text))
        ids = np.array([_number(match.group()) for match in matches], dtype=np.int32)
        spans = np.array([match.span() for match in matches], dtype=np.int32).reshape(
            -1, 2
        )
        vectors = self._table[ids]
        return TokenVectors(ids, spans, vectors, vectors.sum(axis=0))


def _number(word: str) -> int:
    digest = blake2b(word.casefold().encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") % 30_000


def measured(documents: Sequence[Document], questions: Sequence[str]) -> list[str]:
    """Tokens, sentences, seconds of indexing, and milliseconds of a question."""
    encoder = RandomTokens()
    began = process_time()
    retriever = EvidenceRetriever.from_documents(documents, encoder)
    indexing = process_time() - began - encoder.seconds
    began, encoder.seconds = process_time(), 0.0
    retriever.search(questions[0])
    first = process_time() - began - encoder.seconds
    times = []
    for question in questions[1:]:
        began, encoder.seconds = process_time(), 0.0
        retriever.search(question)
        times.append(1000 * (process_time() - began - encoder.seconds))
    level = retriever.level
    pool = level.all_of(level.reader(), None)
    atoms = pool.atoms if pool is not None else None
    sizes = (0, 0) if atoms is None else (len(atoms.token_scales), len(atoms))
    values = [f"{size:,}" for size in sizes]
    values += [f"{indexing:.1f}", f"{1000 * first:.0f}"]
    return [*values, *(f"{np.quantile(times, q):.0f}" for q in (0.5, 0.9))]


# Seconds of embedding a document's chunks, and of indexing it.
Cost = tuple[float, float]


def costs(documents: Iterable[Document], encoder: Any) -> list[Cost]:
    """What each document costs; which of the two comes first changes from one to the next."""
    encoder.embed(["Both are warm."])
    encoder.embed_tokens(["Both are warm."])
    retriever = EvidenceRetriever(encoder)
    found = []
    for number, document in enumerate(documents):
        texts = [chunk.text for chunk in FixedSplitter(200).split(document)]
        works = {0: lambda texts=texts: encoder.embed(texts)}
        works[1] = lambda document=document: retriever.add([document])
        seconds = [0.0, 0.0]
        for which in (0, 1) if number % 2 else (1, 0):
            began = process_time()
            works[which]()
            seconds[which] = process_time() - began
        found.append((seconds[0], seconds[1]))
    return found


def indexing_table(found: Sequence[tuple[str, Sequence[Cost]]]) -> str:
    """A row a set: seconds of both, and the mean of the documents' percentages."""
    rows = []
    for name, of_set in found:
        embedding, indexing = (sum(column) for column in zip(*of_set, strict=True))
        percent = mean_of_sets([[cost / of_embedding for of_embedding, cost in of_set]])
        rows.append([name, f"{embedding:.1f}", f"{indexing:.1f}", str(percent)])
    heads = ["", "embedding the chunks once, s", "indexing, s", "indexing, % of that"]
    return markdown_table(heads, rows, labels=1)


def write_indexing(count: int) -> None:
    """What indexing costs beside embedding once."""
    quality.chosen_embedder("minilm")
    import torch

    from structrag.models.bundled import minilm

    torch.set_num_threads(1)
    encoder, found = minilm(), []
    for name in SETS:
        own = quality.sampled(
            visible(load_or_exit(name)), -(-count // len(SETS)), None
        ).documents
        found.append((f"{name}, {len(own)} documents", costs(own, encoder)))
        print(found[-1], file=sys.stderr, flush=True)
    found.append(("all", [cost for _, of_set in found for cost in of_set]))
    page = [
        "# What indexing costs",
        f"- structrag {__version__}, all-MiniLM-L6-v2, one thread; {machine_line()}",
        INDEXING,
        indexing_table(found),
    ]
    text = "\n\n".join(page) + "\n"
    print(text)
    save(quality.RESULTS / "evidence_indexing.md", text, __file__)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--indexing", type=int, default=0, help="documents, of three sets together"
    )
    options = parser.parse_args()
    if options.indexing:
        return write_indexing(options.indexing)
    write_questions()


def write_questions() -> None:
    """What a question costs."""
    boards, contracts = load_or_exit("boards"), load_or_exit("cuad")
    longest = max(contracts.documents, key=lambda document: len(document.text))
    pages = [longest]
    rows = [
        ["the longest contract of cuad", *measured(pages, _asked(contracts))],
        [
            f"{len(boards.documents):,} manuals",
            *measured(boards.documents, _asked(boards)),
        ],
    ]
    heads = ["", "tokens", "sentences", "indexing, s", "first question, ms"]
    print(f"- machine: {machine_line()}\n")
    print(
        markdown_table(
            [*heads, "a question, ms", "90 of 100 below, ms"], rows, labels=1
        )
    )


def _asked(dataset: Dataset) -> list[str]:
    step = max(1, len(dataset.questions) // QUESTIONS)
    return [question.question for question in dataset.questions[::step]][:QUESTIONS]


if __name__ == "__main__":
    main()
