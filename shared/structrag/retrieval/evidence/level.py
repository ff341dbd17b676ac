"""The pieces of documents in a store: how they are added, and which of them a question reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
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
    Request,
    TokenEncoder,
    TokenVectors,
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
from structrag.retrieval.evidence.pieces import (
    VIEW,
    documents_of,
    entry_of,
    entry_of_part,
)
from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.quantised import Quantiser, check_width, fit_quantiser
from structrag.retrieval.evidence.required_context import (
    RequiredContext,
    find_required_context,
)
from structrag.text.arrays import BoolArray, running_totals

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

    def near(self, reader: Any, rows: Iterable[int], where: Any) -> Pool | None:
        """Some pieces that meet a condition, those beside them, and a sample of all."""
        sample, chosen = self._sample(reader, where), dict.fromkeys(rows)
        if len(chosen) < min(FOUND, sample.n_rows):
            # Rows that no search finds may fill the pool.
            chosen |= dict.fromkeys(reader.first_rows(reader.select(where), FOUND))
        return _pool_of(reader, _with_beside(reader, [*chosen][:FOUND]), sample)

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
        by_document, token_ids = yield from self._atoms_flow(read)
        entries = []
        first = 0
        for one, atoms, (_, fingerprint) in zip(read, by_document, group, strict=True):
            stop = first + len(one.encoder_spans)
            ids = None if token_ids is None else token_ids[first:stop]
            entries.append(
                entry_of(
                    one.outline,
                    one.required,
                    atoms,
                    one.encoder_spans,
                    ids,
                    fingerprint,
                )
            )
            self._n_units[one.outline.document.id] = len(atoms)
            first = stop
        return PreparedGroup(entries, Counter(), {})

    def _atoms_flow(
        self, group: Sequence[_Outlined]
    ) -> Flow[tuple[list[AtomArrays], list[Any] | None]]:
        """The by_document of documents, their texts embedded together, and the encoder's tokens."""
        by_document = [one.atoms for one in group]
        requests: list[Request] = []
        if self.token_encoder is not None:
            texts_read = tuple(text for one in group for text in one.piece_texts)
            requests.append(EmbedTokens(texts_read, self.token_encoder))
        embeds = self.embedder is not None and not hasattr(self.embedder, "fit")
        if embeds:
            texts: list[str] = []
            for one, atoms in zip(group, by_document, strict=True):
                texts += texts_of_atoms(one.text, atoms)
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
            by_document = self._with_tokens(group, by_document, tokens, counted)
        if embeds:
            by_document = with_vectors_of_all(by_document, answers.pop(0))
        return by_document, token_ids

    def _with_tokens(
        self,
        group: Sequence[_Outlined],
        by_document: Sequence[AtomArrays],
        tokens: Sequence[TokenVectors],
        counted: Sequence[BoolArray],
    ) -> list[AtomArrays]:
        if self.level.quantiser is None and any(len(of.ids) for of in tokens):
            vectors = np.concatenate([of.vectors for of in tokens])
            self.level.quantiser = fit_quantiser(vectors)
        quantiser = self.level.quantiser
        if quantiser is None:
            return list(by_document)
        for of in tokens:
            if len(of.ids):
                check_width("token vectors", of.vectors.shape[1], len(quantiser.axes))
        changed = []
        first = 0
        for one, atoms in zip(group, by_document, strict=True):
            of_document = slice(first, first + len(one.encoder_spans))
            first = of_document.stop
            if one.encoder_spans and len(atoms):
                atoms = with_tokens(
                    atoms,
                    one.encoder_spans,
                    tokens[of_document],
                    quantiser,
                    counted[of_document],
                )
            changed.append(atoms)
        return changed
