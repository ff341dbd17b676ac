"""Pools of small documents, their tokens hashed words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from doubles import HashTokens

from structrag.reading.settings import ReadOptions
from structrag.records import Document
from structrag.retrieval.evidence.corpus import Corpus
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
from structrag.retrieval.evidence.store import StoredDocument, documents_of, entry_of

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


def pool(documents: Sequence[Document]) -> Corpus:
    """The pool of documents."""
    return Corpus.of_documents(*zip(*map(record, documents), strict=True))


def stored(document: Document, read_options: ReadOptions = WORDS) -> StoredDocument:
    """A document as its pieces have it."""
    outline = read_options.outline(document)
    required = find_required_context(outline, read_options)
    entry = entry_of(outline, required, *record(document, read_options), None, "print")
    return documents_of(entry.chunks)[document.id]


def question(text: str) -> Question:
    """A question as the same encoder sees it."""
    (tokens,) = HashTokens().embed_tokens([text], query=True)
    return Question(text, tokens.vector, tokens.vectors, tokens.ids)


def frequencies(corpus: Corpus, asked: Question) -> Frequencies:
    """The frequencies in a pool, each token in one piece."""
    n_tokens = 0 if asked.tokens is None else len(asked.tokens)
    return frequencies_in(corpus, asked.text, "english", np.ones(n_tokens))
