"""The pieces of documents in a store: how they are added, and which of them a question reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, islice, pairwise
from typing import Any

import numpy as np

from structrag.errors import IndexDamaged, UnknownDocument
from structrag.index.add_batch import AddBatch, PreparedGroup
from structrag.index.corpus import CorpusStore
from structrag.index.dense import DenseIndex
from structrag.index.entries import Entry, StoredRow
from structrag.index.levels import SearchedLevel
from structrag.index.snapshot import Reader
from structrag.index.store import Store
from structrag.model_calls.requests import (
    Embed,
    Embedder,
    EmbedTokens,
    Flow,
    TokenEncoder,
    TokenVectors,
    ask,
)
from structrag.reading.outline import Outline
from structrag.reading.settings import ReadOptions
from structrag.records import Document
from structrag.retrieval.evidence.atom_arrays import (
    BLOBS,
    AtomArrays,
    EncoderSpans,
    find_encoder_spans,
    is_word,
    read_atoms,
    texts_of_atoms,
    unpack,
    vectors_of,
    with_tokens,
    with_vectors_of_all,
)
from structrag.retrieval.evidence.atoms import (
    RequiredContext,
    find_required_context,
)
from structrag.retrieval.evidence.pool import (
    TOKENS,
    VIEW,
    Pool,
    documents_of,
    entry_of,
    entry_of_part,
)
from structrag.retrieval.evidence.quantised import Quantiser, check_width, fit_quantiser
from structrag.text.arrays import Array, running_totals

KIND = "evidence"
AXES, BITS, MEAN = "token_axes", "token_bits", "token_mean"  # of the quantiser
FOUND = 100  # pieces in which a question is answered, and those beside them
SAMPLED = 16  # pieces that show what is usual
_SAMPLES = 64  # conditions whose samples are remembered


class EvidenceLevel(SearchedLevel):
    """Pieces of documents as evidence is searched in them.

    With an embedder that is fitted (LSA) the vectors of atoms and pieces belong to the fit.
    """

    def __init__(self, store: CorpusStore, embedder: Any = None) -> None:
        super().__init__(store, embedder)  # type: ignore[arg-type]
        # For one reader: condition -> its sample.
        self._samples: tuple[Any, dict[str, _Sample]] = None, {}

    @property
    def quantiser(self) -> Quantiser | None:
        """The quantiser of token vectors. It is fitted to the first ones, and saved."""
        shared = self.store.shared
        if AXES not in shared:
            return None
        return Quantiser(shared[AXES], shared[BITS], shared[MEAN])

    @quantiser.setter
    def quantiser(self, quantiser: Quantiser) -> None:
        self.store.shared.update(
            {BITS: quantiser.bits, MEAN: quantiser.mean, AXES: quantiser.axes}
        )

    def reader(self, snapshot: Any = None) -> Any:
        """Return a reader of the pieces. Later changes do not affect it."""
        if isinstance(self.store, Store):
            return super().reader(snapshot)
        return self.store.reader()

    def fit(self, reader: Reader) -> Reader:
        """Return the reader with vectors of the embedder, fitted to all its pieces."""
        pieces = reader.stored_rows(range(len(reader)), BLOBS).values()
        whole: list[AtomArrays] = []
        sizes: list[int] = []
        texts: list[str] = []
        # Windows go over the pieces of a document.
        for _, of_one in groupby(pieces, key=lambda piece: piece.row.chunk.doc_id):
            rows = list(of_one)
            atoms, of_rows = unpack([row.blobs for row in rows])
            whole.append(atoms)
            sizes += of_rows.tolist()
            places = zip(atoms.starts.tolist(), atoms.ends.tolist(), strict=True)
            for row, size in zip(rows, of_rows.tolist(), strict=True):
                chunk = row.row.chunk
                for start, end in islice(places, size):
                    texts.append(chunk.text[start - chunk.start : end - chunk.start])
        fitted = self.embedder.fit([piece.row.chunk.text for piece in pieces])
        vectors = np.asarray(fitted.embed(texts), dtype=np.float32)
        whole = with_vectors_of_all(whole, vectors)
        dense = {}
        by_name: dict[str, Any] = {"firsts": running_totals(sizes)}
        if whole:
            by_name["sums"] = np.concatenate([one.sums for one in whole])
            by_name["lengths"] = np.concatenate([one.lengths for one in whole])
            summed = np.add.reduceat(
                np.concatenate([*map(vectors_of, whole)]),
                by_name["firsts"][:-1],
                axis=0,
            )
            dense[VIEW] = DenseIndex.from_vectors(
                summed, dtype=reader.settings.dtype, view=VIEW
            )
        return Reader(
            reader.snapshot,
            reader.level,
            fitted=dense,
            fitted_embedder=fitted,
            fitted_arrays=by_name,
        )

    def whole(self, reader: Any, doc_id: str) -> Pool | None:
        """Return all pieces of a document; None if it has none. Raises UnknownDocument."""
        return _pool_of(reader, _with_beside(reader, reader.rows_of(doc_id)), None)

    def part(
        self, name: str, doc_id: str, start: int, end: int, text: str
    ) -> Entry | None:
        """Return a span of a document as a document of its own; None unless it consists of whole
        atoms and has this text."""
        reader = self.store.reader()
        try:
            rows = reader.rows_of(doc_id)
        except UnknownDocument:
            return None
        stored = reader.stored_rows(rows, ())
        touched = [
            row
            for row, of_row in stored.items()
            if of_row.row.chunk.start < end and start < of_row.row.chunk.end
        ]
        if not touched:
            return None
        found = [*_with_beside(reader, touched).values()]
        whole = documents_of(of_row.row.chunk for of_row in found)[doc_id]
        if whole.text[start:end] != text:
            return None
        return entry_of_part(name, whole, found, start, end)

    def all_of(self, reader: Any, where: Any) -> Pool | None:
        """Return all pieces that meet a condition; None if there are none."""
        sample = self._sample(reader, where)
        rows = reader.first_rows(reader.select(where), sample.n_rows)
        return _pool_of(reader, _with_beside(reader, rows), sample)

    def near(
        self, reader: Any, rows: Iterable[int], where: Any, n_pieces: int = FOUND
    ) -> Pool | None:
        """Some pieces that meet a condition, those beside them, and a sample of all."""
        sample, chosen = self._sample(reader, where), dict.fromkeys(rows)
        if len(chosen) < min(n_pieces, sample.n_rows):
            # Rows that no search finds may fill the pool.
            chosen |= dict.fromkeys(reader.first_rows(reader.select(where), n_pieces))
        return _pool_of(reader, _with_beside(reader, [*chosen][:n_pieces]), sample)

    def _sample(self, reader: Any, where: Any) -> _Sample:
        """Pieces at even distances among those that meet a condition."""
        key = repr(where) if where is None or isinstance(where, Mapping) else ""
        if self._samples[0] is not reader:
            self._samples = reader, {}
        samples = self._samples[1]
        sample = samples.get(key)
        if sample is None:
            n_rows, chosen = reader.sampled_rows(reader.select(where), SAMPLED)
            pieces = _with_beside(reader, chosen)
            sample = _Sample(n_rows, frozenset(chosen), pieces)
            if key:
                samples[key] = sample
            if len(samples) > _SAMPLES:
                samples.pop(next(iter(samples)), None)
        return sample


@dataclass(frozen=True, slots=True)
class _Sample:
    """A sample of the pieces that meet a condition; it shows what is usual."""

    n_rows: int  # that meet it
    rows: frozenset[int]
    pieces: Mapping[int, StoredRow]  # by row, with those beside


def _with_beside(reader: Any, rows: Iterable[int]) -> dict[int, StoredRow]:
    """The pieces at some rows, and those before and behind each in its document, by row.

    Raises IndexDamaged where one is missing that must be there.
    """
    chosen = set(rows)
    beside = {row + step for row in chosen for step in (-1, 1)} - chosen
    found = reader.stored_rows(sorted(chosen | beside), BLOBS)
    pieces: dict[int, StoredRow] = {}
    for row in chosen:
        number, count = found[row].row.chunk.extras["piece"] if row in found else (1, 0)
        expected = range(row - (number > 0), row + (number + 1 < count) + 1)
        if not all(one in found for one in expected):
            near = (found[one].row.chunk.doc_id for one in expected if one in found)
            raise IndexDamaged(
                f"The store has lost a row of an index, {row}, or one beside it: another program "
                "has removed it. Restore the store from a copy, or delete the document and add it "
                f"again{''.join(f': {doc_id!r}' for doc_id in dict.fromkeys(near))}."
            )
        pieces |= {one: found[one] for one in expected}
    return dict(sorted(pieces.items()))


def _pool_of(
    reader: Any, pieces: Mapping[int, StoredRow], sample: _Sample | None
) -> Pool | None:
    """Pieces that may be found, as a pool with those of the sample; None without any."""
    if not pieces:
        return None
    if sample is None:
        return Pool(pieces, pieces, pieces)
    return Pool(
        dict(sorted({**sample.pieces, **pieces}.items())),
        pieces,
        sample.rows,
        getattr(reader, "fitted_arrays", {}),
        is_all=len(pieces) == sample.n_rows,
    )


# -- documents on their way into the store


@dataclass(frozen=True, slots=True)
class _Outlined:
    """A document read, before anything is asked of a model."""

    outline: Outline
    required: Sequence[RequiredContext]
    atoms: AtomArrays  # without vectors
    encoder_spans: EncoderSpans

    @property
    def text(self) -> str:
        return self.outline.document.text

    @property
    def piece_texts(self) -> list[str]:
        return [self.text[start:end] for start, end in self.encoder_spans]

    def reusable(self, stored: Mapping[str, _StoredPiece]) -> list[_StoredPiece | None]:
        """Of each piece the stored one that has the same text, cut into the same atoms."""
        starts = [start for start, _ in self.encoder_spans]
        firsts = np.searchsorted(self.atoms.starts, starts).tolist()
        pieces = [stored.get(text.rstrip()) for text in self.piece_texts]
        bounds = pairwise([*firsts, len(self.atoms)])
        return [
            piece if piece is not None and piece.is_cut_as(self.atoms, *of) else None
            for piece, of in zip(pieces, bounds, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class _StoredPiece:
    """A piece as the store has it: its atoms, and the encoder's tokens as words."""

    atoms: AtomArrays
    tokens: str

    @classmethod
    def of(cls, stored: StoredRow) -> _StoredPiece:
        atoms, _ = unpack([stored.blobs])
        return cls(atoms, stored.row.texts.get(TOKENS) or "")

    def is_cut_as(self, atoms: AtomArrays, first: int, stop: int) -> bool:
        moved = atoms.starts[first] - self.atoms.starts[0]
        return np.array_equal(
            self.atoms.starts + moved, atoms.starts[first:stop]
        ) and np.array_equal(self.atoms.ends + moved, atoms.ends[first:stop])

    def vectors(self, text: str) -> Iterator[tuple[str, Array]]:
        """The texts of its atoms with their vectors."""
        start = int(self.atoms.starts[0])
        moved = replace(
            self.atoms, starts=self.atoms.starts - start, ends=self.atoms.ends - start
        )
        return zip(texts_of_atoms(text, moved), vectors_of(moved), strict=True)


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
        atoms = read_atoms(outline, self.read_options)
        spans = find_encoder_spans(document.text, atoms, self.read_options.counter)
        required = find_required_context(outline, self.read_options)
        self._read[document.id] = _Outlined(outline, required, atoms, spans)
        return len(spans)

    def rows(self, entry: Entry) -> int:
        """Count the sentences, rows and headings of an entry."""
        return self._n_units.pop(entry.document.id)

    def flow(self, group: list[tuple[Document, str]]) -> Flow[PreparedGroup]:
        read = [self._read.pop(document.id) for document, _ in group]
        stored = self._stored(read)
        by_document = [one.atoms for one in read]
        token_texts: Sequence[Sequence[str] | None] = [None for _ in read]
        if self.token_encoder is not None:
            by_document, token_texts = yield from self._tokens_flow(
                read, stored, self.token_encoder
            )
        if self._embeds:
            by_document = yield from self._vectors_flow(read, by_document, stored)
        entries = []
        for one, atoms, of_pieces, (_, fingerprint) in zip(
            read, by_document, token_texts, group, strict=True
        ):
            spans = one.encoder_spans
            entries.append(
                entry_of(
                    one.outline, one.required, atoms, spans, of_pieces, fingerprint
                )
            )
            self._n_units[one.outline.document.id] = len(atoms)
        return PreparedGroup(entries, Counter(), {})

    @property
    def _embeds(self) -> bool:
        return self.embedder is not None and not hasattr(self.embedder, "fit")

    def _stored(self, group: Sequence[_Outlined]) -> list[dict[str, _StoredPiece]]:
        """The pieces that the store has of documents, by text: no model is asked for them again."""
        asks = self._embeds or self.token_encoder is not None
        reader: Any = self.store.reader() if asks and self.alike else None
        stored = []
        for one in group:
            doc_id = one.outline.document.id
            pieces: Iterable[StoredRow] = ()
            if reader is not None and doc_id in self.alike:
                # Workers of an ingestion know of documents that another process stores.
                with suppress(UnknownDocument):
                    rows = reader.rows_of(doc_id)
                    pieces = reader.stored_rows(rows, BLOBS).values()
            stored.append(
                {of.row.chunk.text.rstrip(): _StoredPiece.of(of) for of in pieces}
            )
        return stored

    def _tokens_flow(
        self,
        group: Sequence[_Outlined],
        stored: Sequence[dict[str, _StoredPiece]],
        encoder: TokenEncoder,
    ) -> Flow[tuple[list[AtomArrays], list[list[str]]]]:
        """The atoms of documents with token vectors, and the tokens of each piece as words."""
        reusable = [one.reusable(of) for one, of in zip(group, stored, strict=True)]
        texts = tuple(
            text
            for one, pieces in zip(group, reusable, strict=True)
            for text, piece in zip(one.piece_texts, pieces, strict=True)
            if piece is None
        )
        answer = yield from ask(EmbedTokens(texts, encoder))
        self.reused += sum(map(len, reusable)) - len(texts)
        words = [
            is_word(text, of.spans) for text, of in zip(texts, answer, strict=True)
        ]
        quantiser = self._fitted(answer)
        by_document, token_texts = [], []
        new = zip(answer, words, strict=True)
        for one, pieces in zip(group, reusable, strict=True):
            read: list[TokenVectors | AtomArrays] = []
            counted, names = [], []
            for piece in pieces:
                if piece is not None:
                    read.append(piece.atoms)
                    names.append(piece.tokens)
                    continue
                tokens, of_words = next(new)
                read.append(tokens)
                counted.append(of_words)
                names.append(" ".join(map(str, np.unique(tokens.ids[of_words]))))
            token_texts.append(names)
            by_document.append(
                with_tokens(one.atoms, one.encoder_spans, read, quantiser, counted)
                if read and quantiser is not None
                else one.atoms
            )
        return by_document, token_texts

    def _fitted(self, tokens: Sequence[TokenVectors]) -> Quantiser | None:
        """The quantiser. It is fitted to the first token vectors; others must be as wide."""
        full = [of.vectors for of in tokens if len(of.ids)]
        quantiser = self.level.quantiser
        if quantiser is None and full:
            quantiser = self.level.quantiser = fit_quantiser(np.concatenate(full))
        if quantiser is not None:
            for vectors in full:
                check_width("token vectors", vectors.shape[1], len(quantiser.axes))
        return quantiser

    def _vectors_flow(
        self,
        group: Sequence[_Outlined],
        by_document: Sequence[AtomArrays],
        stored: Sequence[dict[str, _StoredPiece]],
    ) -> Flow[list[AtomArrays]]:
        """The atoms of documents with one vector each."""
        units = [text for one in group for text in texts_of_atoms(one.text, one.atoms)]
        vectors = {
            unit: vector
            for pieces in stored
            for text, piece in pieces.items()
            for unit, vector in piece.vectors(text)
        }
        new = [unit for unit in dict.fromkeys(units) if unit not in vectors]
        answer = yield from ask(Embed(tuple(new), of="sentences"))
        self.reused += len({*units}) - len(new)
        for other in [*vectors.values()][: len(new)]:
            check_width("sentence vectors", len(answer[0]), len(other))
        vectors |= zip(new, answer, strict=True)
        if not units:
            return list(by_document)
        return with_vectors_of_all(
            by_document, np.stack([vectors[unit] for unit in units])
        )
