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
from structrag.retrieval.evidence.pieces import entry_of
from structrag.retrieval.evidence.quantised import check_width, fit_quantiser
from structrag.retrieval.evidence.record import (
    EncoderSpans,
    Record,
    find_encoder_spans,
    read_units,
    texts_of_atoms,
    with_tokens,
    with_vectors_of_all,
)
from structrag.retrieval.evidence.required_context import (
    RequiredContext,
    find_required_context,
)
from structrag.retrieval.evidence.store import EvidenceLevel
from structrag.retrieval.evidence.words import is_word
from structrag.text.arrays import BoolArray


@dataclass(frozen=True, slots=True)
class _Outlined:
    """A document read, before anything is asked of a model."""

    outline: Outline
    required: Sequence[RequiredContext]
    encoder_spans: EncoderSpans

    @property
    def text(self) -> str:
        return self.outline.document.text

    @property
    def piece_texts(self) -> list[str]:
        return [self.text[start:end] for start, end in self.encoder_spans]


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
        self._n_units: dict[str, int] = {}  # by document

    def size(self, document: Document) -> int:
        outline = self.read_options.outline(document)
        encoder_spans = find_encoder_spans(document, self.read_options)
        required = find_required_context(outline, self.read_options)
        self._read[document.id] = _Outlined(outline, required, encoder_spans)
        return len(encoder_spans)

    def rows(self, entry: Entry) -> int:
        """How many sentences, rows and headings an entry has."""
        return self._n_units.pop(entry.document.id)

    def flow(self, group: list[tuple[Document, str]]) -> Flow[PreparedGroup]:
        read = [self._read.pop(document.id) for document, _ in group]
        records, token_ids = yield from self._record_flow(read)
        entries = []
        first = 0
        for one, record, (_, fingerprint) in zip(read, records, group, strict=True):
            stop = first + len(one.encoder_spans)
            ids = None if token_ids is None else token_ids[first:stop]
            entries.append(
                entry_of(
                    one.outline,
                    one.required,
                    record,
                    one.encoder_spans,
                    ids,
                    fingerprint,
                )
            )
            self._n_units[one.outline.document.id] = len(record)
            first = stop
        return PreparedGroup(entries, Counter(), {})

    def _record_flow(
        self, group: Sequence[_Outlined]
    ) -> Flow[tuple[list[Record], list[Any] | None]]:
        """The records of documents, their texts embedded together, and the encoder's tokens."""
        records = [read_units(one.outline, self.read_options) for one in group]
        requests: list[Request] = []
        if self.token_encoder is not None:
            texts_read = tuple(text for one in group for text in one.piece_texts)
            requests.append(EmbedTokens(texts_read, self.token_encoder))
        embeds = self.embedder is not None and not hasattr(self.embedder, "fit")
        if embeds:
            texts: list[str] = []
            for one, record in zip(group, records, strict=True):
                texts += texts_of_atoms(one.text, record)
            requests.append(Embed(tuple(texts), of="sentences"))
        answers = list((yield requests)) if requests else []
        token_ids = None
        if self.token_encoder is not None:
            tokens = answers.pop(0)
            counted = [
                is_word(text, of.spans)
                for text, of in zip(texts_read, tokens, strict=True)
            ]
            pairs = zip(tokens, counted, strict=True)
            token_ids = [of.ids[is_counted] for of, is_counted in pairs]
            records = self._with_tokens(group, records, tokens, counted)
        if embeds:
            records = with_vectors_of_all(records, answers.pop(0))
        return records, token_ids

    def _with_tokens(
        self,
        group: Sequence[_Outlined],
        records: Sequence[Record],
        tokens: Sequence[TokenVectors],
        counted: Sequence[BoolArray],
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
            of_document = slice(first, first + len(one.encoder_spans))
            first = of_document.stop
            if one.encoder_spans and len(record):
                record = with_tokens(
                    record,
                    one.encoder_spans,
                    tokens[of_document],
                    quantiser,
                    counted[of_document],
                )
            changed.append(record)
        return changed
