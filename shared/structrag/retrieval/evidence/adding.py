"""Documents on their way into an `EvidenceRetriever`: read, embedded, stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrag.index.add_batch import AddBatch, PreparedGroup
from structrag.index.entries import Entry
from structrag.model_calls.requests import (
    Embed,
    Embedder,
    EmbedTokens,
    Flow,
    Request,
    TokenEncoder,
    TokenVectors,
)
from structrag.reading.outline import Outline
from structrag.reading.settings import ReadOptions
from structrag.records import Document
from structrag.retrieval.evidence.quantised import check_width, fit_quantiser
from structrag.retrieval.evidence.record import (
    Record,
    find_encoder_spans,
    read_units,
    texts_of_atoms,
    with_tokens,
    with_vectors_of_all,
)
from structrag.retrieval.evidence.required_context import find_required_context
from structrag.retrieval.evidence.store import (
    EvidenceLevel,
    StoredDocument,
    entry_of,
    stored_document,
)
from structrag.retrieval.evidence.words import is_word


@dataclass(frozen=True, slots=True)
class _Outlined:
    """A document read, before anything is asked of a model."""

    outline: Outline
    stored: StoredDocument

    @property
    def text(self) -> str:
        return self.outline.document.text

    @property
    def piece_texts(self) -> list[str]:
        return [self.text[start:end] for start, end in self.stored.encoder_spans]


class EvidenceAdding(AddBatch):
    """One call of `EvidenceRetriever.add`; documents are grouped by their pieces."""

    def __init__(
        self,
        documents: Iterable[Document],
        *,
        read_options: ReadOptions,
        token_encoder: TokenEncoder | None,
        embedder: Embedder | None,
        level: EvidenceLevel,
        **options: Any,
    ) -> None:
        super().__init__(documents, levels={}, **options)
        self.read_options = read_options
        self.token_encoder = token_encoder
        self.embedder = embedder
        self.level = level
        self._read: dict[str, _Outlined] = {}

    def size(self, document: Document) -> int:
        outline = self.read_options.outline(document)
        encoder_spans = find_encoder_spans(document, self.read_options)
        required = find_required_context(outline, self.read_options)
        stored = stored_document(outline, encoder_spans, required)
        self._read[document.id] = _Outlined(outline, stored)
        return len(encoder_spans)

    def rows(self, entry: Entry) -> int:
        """How many sentences, rows and headings an entry has."""
        return len(entry.arrays.get("starts", ()))

    def flow(self, group: list[tuple[Document, str]]) -> Flow[PreparedGroup]:
        read = [self._read.pop(document.id) for document, _ in group]
        records = yield from self._record_flow(read)
        entries = [
            entry_of(one.stored, record, of_document)
            for one, record, (_, of_document) in zip(read, records, group, strict=True)
        ]
        return PreparedGroup(entries, Counter(), {})

    def _record_flow(self, group: Sequence[_Outlined]) -> Flow[list[Record]]:
        """The records of documents, their texts embedded together."""
        records = [read_units(one.outline, self.read_options) for one in group]
        requests: list[Request] = []
        if self.token_encoder is not None:
            encoder_spans = tuple(text for one in group for text in one.piece_texts)
            requests.append(EmbedTokens(encoder_spans, self.token_encoder))
        embeds = self.embedder is not None and not hasattr(self.embedder, "fit")
        if embeds:
            texts: list[str] = []
            for one, record in zip(group, records, strict=True):
                texts += texts_of_atoms(one.text, record)
            requests.append(Embed(tuple(texts)))
        if not requests:
            return records
        answers = list((yield requests))
        if self.token_encoder is not None:
            records = self._with_tokens(group, records, answers.pop(0))
        if embeds:
            records = with_vectors_of_all(records, answers.pop(0))
        return records

    def _with_tokens(
        self,
        group: Sequence[_Outlined],
        records: Sequence[Record],
        tokens: Sequence[TokenVectors],
    ) -> list[Record]:
        if self.level.quantiser is None and any(len(of.ids) for of in tokens):
            vectors = np.concatenate([of.vectors for of in tokens])
            self.level.quantiser = fit_quantiser(vectors)
        quantiser = self.level.quantiser
        if quantiser is None:
            return list(records)
        for of in tokens:
            if len(of.ids):
                check_width("token vectors", of.vectors.shape[1], len(quantiser.axes))
        changed = []
        first = 0
        for one, record in zip(group, records, strict=True):
            encoder_spans = one.stored.encoder_spans
            of_document = tokens[first : first + len(encoder_spans)]
            first += len(encoder_spans)
            if of_document and len(record):
                counted = [
                    is_word(text, of.spans)
                    for text, of in zip(one.piece_texts, of_document, strict=True)
                ]
                record = with_tokens(
                    record, encoder_spans, of_document, quantiser, counted
                )
            changed.append(record)
        return changed
