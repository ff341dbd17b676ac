"""Records and pools of small documents, their tokens hashed words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from doubles import HashTokens

from structrag.reading.settings import Reading
from structrag.records import Document
from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.quantised import fit_quantiser
from structrag.retrieval.evidence.record import (
    Record,
    find_pieces,
    read_atoms,
    with_tokens,
)
from structrag.retrieval.evidence.scores import Question

QUANTISER = fit_quantiser(
    np.random.default_rng(0).normal(size=(99, 32)).astype(np.float32)
)
WORDS = Reading(counter=lambda text: len(text.split()))


def record(document: Document, reading: Reading = WORDS) -> Record:
    """The record of a document, with hashed words as tokens."""
    pieces = find_pieces(document, reading)
    tokens = HashTokens().embed_tokens(
        [document.text[start:end] for start, end in pieces]
    )
    made = read_atoms(reading.outline(document), reading)
    return (
        with_tokens(made, pieces, tokens, QUANTISER) if tokens and len(made) else made
    )


def pool(documents: Sequence[Document]) -> Pool:
    """The pool of documents."""
    return Pool([record(document) for document in documents])


def question(text: str) -> Question:
    """A question as the same encoder sees it."""
    (tokens,) = HashTokens().embed_tokens([text], query=True)
    return Question(text, tokens.vector, tokens.vectors, tokens.ids)
