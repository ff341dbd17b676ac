"""Pools of small documents, their tokens hashed words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from doubles import HashTokens

from structrag.index.entries import ChunkRow, StoredRow
from structrag.reading.settings import ReadOptions
from structrag.records import Document
from structrag.retrieval.evidence.corpus import Pool
from structrag.retrieval.evidence.pieces import entry_of
from structrag.retrieval.evidence.quantised import fit_quantiser
from structrag.retrieval.evidence.record import (
    EncoderSpans,
    Record,
    find_encoder_spans,
    read_units,
    with_tokens,
)
from structrag.retrieval.evidence.required_context import find_required_context
from structrag.retrieval.evidence.scores import Frequencies, Question, frequencies_in
from structrag.text.terms import stems

QUANTISER = fit_quantiser(
    np.random.default_rng(0).normal(size=(99, 32)).astype(np.float32)
)
WORDS = ReadOptions(counter=lambda text: len(text.split()))


def record(
    document: Document, read_options: ReadOptions = WORDS
) -> tuple[Record, EncoderSpans]:
    """The record of a document, with hashed words as tokens, and its pieces."""
    pieces = find_encoder_spans(document, read_options)
    tokens = HashTokens().embed_tokens(
        [document.text[start:end] for start, end in pieces]
    )
    made = read_units(read_options.outline(document), read_options)
    if tokens and len(made):
        made = with_tokens(made, pieces, tokens, QUANTISER)
    return made, pieces


def rows(
    documents: Sequence[Document], read_options: ReadOptions = WORDS
) -> dict[int, StoredRow]:
    """The pieces of documents as a store gives them, by row."""
    stored: list[StoredRow] = []
    for document in documents:
        outline = read_options.outline(document)
        required = find_required_context(outline, read_options)
        made = record(document, read_options)
        entry = entry_of(outline, required, *made, None, "print")
        stored += [
            StoredRow(ChunkRow(chunk, {"raw": chunk.text}), [light, codes])
            for chunk, light, codes in zip(
                entry.chunks, *entry.blobs.values(), strict=True
            )
        ]
    return dict(enumerate(stored))


def pool(documents: Sequence[Document], read_options: ReadOptions = WORDS) -> Pool:
    """The pool of documents."""
    pieces = rows(documents, read_options)
    return Pool(pieces, pieces, pieces)


def question(text: str) -> Question:
    """A question as the same encoder sees it."""
    (tokens,) = HashTokens().embed_tokens([text], query=True)
    return Question(
        text, Counter(stems(text)), tokens.vector, tokens.vectors, tokens.ids
    )


def plain(text: str) -> Question:
    """A question that no encoder has seen."""
    return Question(text, Counter(stems(text)))


def frequencies(corpus: Pool, asked: Question) -> Frequencies:
    """The frequencies in a pool, each token in one piece."""
    n_tokens = 0 if asked.tokens is None else len(asked.tokens)
    return frequencies_in(corpus, asked, [1.0] * n_tokens)
