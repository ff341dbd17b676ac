"""How long `EvidenceRetriever` takes for a question, its encoder's pass aside; prints a table.

    python benchmarks/evidence_speed.py

The documents are real, the vectors of tokens are random, one for each word: what they are is of no
matter for the time. Seconds are those of one processor (`time.process_time`), so that other work on
the machine counts little.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.datasets import Dataset, load_or_exit
from benchmarks.machine import machine_line
from benchmarks.quality_tables import markdown_table
from structrag import EvidenceRetriever
from structrag.asking.requests import TokenVectors
from structrag.records import Document

DIMENSIONS, QUESTIONS = 384, 40
_TOKEN = re.compile(r"\w{1,6}|[^\w\s]")  # about as many as word pieces


class RandomTokens:
    """An encoder of random vectors, one for each token."""

    name = "random tokens"
    max_tokens = 256

    def __init__(self) -> None:
        self._table = np.random.default_rng(0).normal(size=(30_000, DIMENSIONS)).astype(np.float32)
        self.seconds = 0.0  # spent here

    def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        return np.stack([tokens.vector for tokens in self.embed_tokens(texts)])

    def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> list[TokenVectors]:
        began = process_time()
        tokens = [self._tokens(text) for text in texts]
        self.seconds += process_time() - began
        return tokens

    def _tokens(self, text: str) -> TokenVectors:
        matches = list(_TOKEN.finditer(text))
        ids = np.array([_number(match.group()) for match in matches], dtype=np.int32)
        spans = np.array([match.span() for match in matches], dtype=np.int32).reshape(-1, 2)
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
    pool = retriever.store.shelf().select(None)[1]
    tokens = sum(len(record.token_rows) for record in pool.records)
    values = [f"{tokens:,}", f"{len(pool):,}", f"{indexing:.1f}", f"{1000 * first:.0f}"]
    return [*values, *(f"{np.quantile(times, q):.0f}" for q in (0.5, 0.9))]


def main() -> None:
    """Print the table."""
    boards, contracts = load_or_exit("boards"), load_or_exit("cuad")
    longest = max(contracts.documents, key=lambda document: len(document.text))
    pages = [longest]
    rows = [
        ["the longest contract of cuad", *measured(pages, _asked(contracts))],
        [f"{len(boards.documents):,} manuals", *measured(boards.documents, _asked(boards))],
    ]
    heads = ["", "tokens", "sentences", "indexing, s", "first question, ms"]
    print(f"- machine: {machine_line()}\n")
    print(markdown_table([*heads, "a question, ms", "90 of 100 below, ms"], rows, labels=1))


def _asked(dataset: Dataset) -> list[str]:
    step = max(1, len(dataset.questions) // QUESTIONS)
    return [question.question for question in dataset.questions[::step]][:QUESTIONS]


if __name__ == "__main__":
    main()
