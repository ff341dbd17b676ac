"""Records and pools of small documents, their tokens hashed words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from doubles import HashTokens

from structrag.reading.settings import ReadOptions
from structrag.records import Document
from structrag.retrieval.evidence.corpus import Corpus
from structrag.retrieval.evidence.quantised import fit_quantiser
from structrag.retrieval.evidence.record import (
    Record,
    find_encoder_spans,
    read_units,
    with_tokens,
)
from structrag.retrieval.evidence.scores import Question

QUANTISER = fit_quantiser(
    np.random.default_rng(0).normal(size=(99, 32)).astype(np.float32)
)
WORDS = ReadOptions(counter=lambda text: len(text.split()))


def record(document: Document, read_options: ReadOptions = WORDS) -> Record:
    """The record of a document, with hashed words as tokens."""
    pieces = find_encoder_spans(document, read_options)
    tokens = HashTokens().embed_tokens(
        [document.text[start:end] for start, end in pieces]
    )
    made = read_units(read_options.outline(document), read_options)
    return (
        with_tokens(made, pieces, tokens, QUANTISER) if tokens and len(made) else made
    )


def pool(documents: Sequence[Document]) -> Corpus:
    """The pool of documents."""
    return Corpus([record(document) for document in documents])


def question(text: str) -> Question:
    """A question as the same encoder sees it."""
    (tokens,) = HashTokens().embed_tokens([text], query=True)
    return Question(text, tokens.vector, tokens.vectors, tokens.ids)
