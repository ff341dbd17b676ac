"""The pieces of documents as rows of a store, and what a question needs of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, groupby, islice
from typing import Any

import numpy as np

from structrag.errors import IndexDamaged
from structrag.index.corpus import CorpusStore
from structrag.index.dense import DenseIndex
from structrag.index.entries import Entry, StoredRow, Vectors
from structrag.index.levels import SearchedLevel
from structrag.index.snapshot import Reader
from structrag.index.store import Store
from structrag.reading.outline import Outline
from structrag.records import Chunk, Document, SourceMap
from structrag.retrieval.evidence.corpus import Corpus
from structrag.retrieval.evidence.quantised import Quantiser
from structrag.retrieval.evidence.record import (
    BLOBS,
    EncoderSpans,
    Packed,
    Record,
    Span,
    cut_pieces,
    pack,
    unpack,
    vectors_of,
    with_vectors_of_all,
)
from structrag.retrieval.evidence.required_context import RequiredContext
from structrag.text.arrays import running_totals

KIND = "evidence"
AXES, BITS = "token_axes", "token_bits"  # of the quantiser
VIEW, TOKENS = "raw", "tokens"  # stems of a piece, and the encoder's tokens in it
FOUND = 100  # pieces in which a question is answered, and those beside them
SAMPLED = 16  # pieces that show what is usual
_SAMPLES = 64  # conditions whose samples are remembered
_MISSING = "\0"  # stands for each character that was not read


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as far as its pieces were read.

    Its text has zero characters where nothing was.
    """

    id: str
    title: str
    text: str
    paths: Mapping[int, tuple[str, ...]]  # of its sections, by ordinal
    body_starts: Mapping[int, int]  # of its sections, by ordinal
    encoder_spans: tuple[Span, ...]  # spans that an encoder reads at once
    required: tuple[RequiredContext, ...] = ()  # of its tables and lists
    source: SourceMap | None = None  # where its text stands in markup


# -- documents as entries


def entry_of(
    outline: Outline,
    required: Sequence[RequiredContext],
    record: Record,
    encoder_spans: EncoderSpans,
    token_ids: Sequence[Any] | None,
    fingerprint: str,
) -> Entry:
    """A document as the store takes it in: a chunk for each piece.

    `token_ids` are those of each span of the encoder; None: it gives no tokens.
    """
    document = outline.document
    pieces = list(cut_pieces(record, encoder_spans))
    chunks = tuple(
        _chunk(outline, required, piece, (number, len(pieces)))
        for number, (_, piece) in enumerate(pieces)
    )
    views: dict[str, tuple[str | None, ...]] = {VIEW: tuple(c.text for c in chunks)}
    if token_ids is not None:
        views[TOKENS] = tuple(
            " ".join(map(str, np.unique(token_ids[span]).tolist()))
            for span, _ in pieces
        )
    vectors = {}
    if chunks and record.sums.shape[1]:
        sums = np.stack([vectors_of(piece).sum(axis=0) for _, piece in pieces])
        vectors[VIEW] = Vectors(sums, np.arange(len(chunks), dtype=np.int32))
    packed = [pack(piece) for _, piece in pieces]
    blobs = dict(zip(BLOBS, zip(*packed, strict=True), strict=True)) if packed else {}
    bare = Document(
        "",
        id=document.id,
        title=document.title,
        format=document.format,
        meta=document.meta,
    )
    return Entry(bare, fingerprint, chunks, views, vectors, blobs=blobs)


def _chunk(
    outline: Outline,
    required: Iterable[RequiredContext],
    piece: Record,
    place: tuple[int, int],
) -> Chunk:
    """A piece with what is to be known of its document where only this is read."""
    document = outline.document
    start, end = int(piece.starts[0]), int(piece.ends[-1])
    ordinals = np.unique(piece.sections).tolist()
    sections = [outline.sections[ordinal] for ordinal in ordinals]
    extras: dict[str, Any] = {
        "piece": place,
        "title": document.title,
        "sections": [[one.ordinal, one.body_start, one.path] for one in sections],
        "required": [
            [*one, document.text[one.start : one.end]]
            for one in required
            if one.first < end and start < one.stop
        ],
    }
    if document.layout is not None:
        extras["source"] = _runs(document.layout.source_map, start, end)
    return Chunk(
        id=f"{document.id}:{start}-{end}",
        doc_id=document.id,
        section_id=f"{document.id}#{ordinals[0]}",
        start=start,
        end=end,
        text=document.text[start:end],
        n_tokens=int(piece.tokens.sum()),
        path=sections[0].path,
        extras=extras,
    )


def _runs(source: SourceMap, start: int, end: int) -> list[tuple[int, int, bool]]:
    """The runs of a source map that a span touches."""
    first, stop = np.searchsorted(source.text_starts, (start, end), "right").tolist()
    runs = slice(max(0, first - 1), stop)
    return list(
        zip(
            source.text_starts[runs],
            source.source_starts[runs],
            source.exact[runs],
            strict=True,
        )
    )


def documents_of(chunks: Iterable[Chunk]) -> dict[str, StoredDocument]:
    """What pieces say of their documents, by id."""
    by_id: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_id.setdefault(chunk.doc_id, []).append(chunk)
    return {doc_id: _document(pieces) for doc_id, pieces in by_id.items()}


def _document(pieces: Sequence[Chunk]) -> StoredDocument:
    spans = [(chunk.start, chunk.text) for chunk in pieces]
    sections: dict[int, tuple[int, tuple[str, ...]]] = {}
    required: dict[RequiredContext, None] = {}
    runs: dict[tuple[int, int, bool], None] = {}
    for chunk in pieces:
        for ordinal, body_start, path in chunk.extras["sections"]:
            sections[ordinal] = body_start, tuple(path)
        for *context, text in chunk.extras["required"]:
            required[RequiredContext(*context)] = None
            spans.append((required_start(context), text))
        runs |= dict.fromkeys(map(tuple, chunk.extras.get("source", ())))
    source = None
    if runs:
        source = SourceMap(*map(tuple, zip(*sorted(runs), strict=True)))
    return StoredDocument(
        id=pieces[0].doc_id,
        title=pieces[0].extras["title"],
        text=_text_of(spans),
        paths={ordinal: path for ordinal, (_, path) in sections.items()},
        body_starts={ordinal: start for ordinal, (start, _) in sections.items()},
        encoder_spans=tuple((chunk.start, chunk.end) for chunk in pieces),
        required=tuple(required),
        source=source,
    )


def required_start(context: Sequence[int]) -> int:
    """Where the text of a required context begins."""
    return RequiredContext(*context).start


def _text_of(spans: Iterable[tuple[int, str]]) -> str:
    """A text of which some slices are known, up to the last of them."""
    parts, end = [], 0
    for start, text in sorted(spans):
        if start > end:
            parts.append(_MISSING * (start - end))
            end = start
        parts.append(text[end - start :])
        end = max(end, start + len(text))
    return "".join(parts)


# -- what a question reads


@dataclass(frozen=True, slots=True)
class Pool:
    """Pieces that were read for a question, with their documents by run."""

    corpus: Corpus
    documents: Sequence[StoredDocument]  # of each run
    is_all: bool  # whether these are all pieces that may be found
    texts: Sequence[
        Mapping[str, str | None]
    ]  # of the pieces that may be found, by view

    def token_frequencies(self, ids: Iterable[int]) -> list[int]:
        """How many of the pieces hold each of some tokens."""
        held = [set((of_piece.get(TOKENS) or "").split()) for of_piece in self.texts]
        return [sum(str(number) in of_piece for of_piece in held) for number in ids]


class EvidenceLevel(SearchedLevel):
    """Pieces of documents as evidence is searched in them.

    With an embedder that is fitted (LSA) the vectors of atoms and pieces belong to the fit.
    """

    def __init__(self, store: CorpusStore, embedder: Any = None) -> None:
        super().__init__(store, embedder)  # type: ignore[arg-type]
        # Of one reader: by condition, how many rows meet it and the pieces of the sample.
        self._samples: tuple[Any, OrderedDict[str, _Sample]] = None, OrderedDict()

    @property
    def quantiser(self) -> Quantiser | None:
        """Of the token vectors; fitted when the first came, and saved."""
        shared = self.store.shared
        return Quantiser(shared[AXES], shared[BITS]) if AXES in shared else None

    @quantiser.setter
    def quantiser(self, quantiser: Quantiser) -> None:
        self.store.shared.update({BITS: quantiser.bits, AXES: quantiser.axes})

    def reader(self, snapshot: Any = None) -> Any:
        """The pieces as they are now, untouched by later changes."""
        if isinstance(self.store, Store):
            return super().reader(snapshot)
        return self.store.reader()

    def fit(self, reader: Reader) -> Reader:
        """The reader with vectors of the embedder fitted to all its pieces."""
        pieces = reader.stored_rows(range(len(reader)), BLOBS).values()
        whole: list[Record] = []
        sizes: list[int] = []
        texts: list[str] = []
        # Windows go over the pieces of a document.
        for _, of_one in groupby(pieces, key=lambda piece: piece.row.chunk.doc_id):
            rows = list(of_one)
            record, of_rows = unpack([_packed(row) for row in rows])
            whole.append(record)
            sizes += of_rows.tolist()
            places = zip(record.starts.tolist(), record.ends.tolist(), strict=True)
            for row, size in zip(rows, of_rows.tolist(), strict=True):
                chunk = row.row.chunk
                for start, end in islice(places, size):
                    texts.append(chunk.text[start - chunk.start : end - chunk.start])
        fitted = self.embedder.fit([piece.row.chunk.text for piece in pieces])
        vectors = np.asarray(fitted.embed(texts), dtype=np.float32)
        whole = with_vectors_of_all(whole, vectors)
        dense = {}
        arrays: dict[str, Any] = {"firsts": running_totals(sizes)}
        if whole:
            arrays["sums"] = np.concatenate([one.sums for one in whole])
            arrays["lengths"] = np.concatenate([one.lengths for one in whole])
            summed = np.add.reduceat(
                np.concatenate([*map(vectors_of, whole)]), arrays["firsts"][:-1], axis=0
            )
            dense[VIEW] = DenseIndex.from_vectors(
                summed, dtype=reader.settings.dtype, view=VIEW
            )
        return Reader(
            reader.snapshot,
            reader.level,
            fitted=dense,
            fitted_embedder=fitted,
            fitted_arrays=arrays,
        )

    def whole(self, reader: Any, doc_id: str) -> Pool | None:
        """All pieces of a document; None without any. Raises UnknownDocument if unknown."""
        return _pool_of(reader, _with_beside(reader, reader.rows_of(doc_id)), None)

    def all_of(self, reader: Any, where: Any) -> Pool | None:
        """All pieces that meet a condition; None without any."""
        sample = self._sample(reader, where)
        rows = reader.first_rows(reader.select(where), sample.n_rows)
        return _pool_of(reader, _with_beside(reader, rows), sample)

    def near(self, reader: Any, rows: Iterable[int], where: Any) -> Pool | None:
        """Some pieces that meet a condition, those beside them, and a sample of all."""
        sample, chosen = self._sample(reader, where), dict.fromkeys(rows)
        if len(chosen) < min(FOUND, sample.n_rows):
            # What no search finds: there is room for it.
            chosen |= dict.fromkeys(reader.first_rows(reader.select(where), FOUND))
        return _pool_of(reader, _with_beside(reader, [*chosen][:FOUND]), sample)

    def _sample(self, reader: Any, where: Any) -> _Sample:
        """Pieces at even distances among those that meet a condition."""
        key = repr(where) if where is None or isinstance(where, Mapping) else ""
        if self._samples[0] is not reader:
            self._samples = reader, OrderedDict()
        samples = self._samples[1]
        if key not in samples:
            n_rows, chosen = reader.sampled_rows(reader.select(where), SAMPLED)
            pieces = _with_beside(reader, chosen)
            samples[key] = _Sample(n_rows, frozenset(chosen), pieces)
        sample = samples[key] if key else samples.pop(key)
        while len(samples) > _SAMPLES:
            samples.popitem(last=False)
        return sample


@dataclass(frozen=True, slots=True)
class _Sample:
    """What is usual among the pieces that meet a condition."""

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
            raise IndexDamaged(
                f"The store has lost a row of an index, {row}, or one beside it: another program "
                "has removed it. Restore the store from a copy, or index the documents again."
            )
        pieces |= {one: found[one] for one in expected}
    return dict(sorted(pieces.items()))


def _packed(stored: StoredRow) -> Packed:
    light, codes = stored.blobs
    return light, codes


def _pool_of(
    reader: Any, pieces: Mapping[int, StoredRow], sample: _Sample | None
) -> Pool | None:
    """Pieces that may be found, as a pool with those of the sample; None without any."""
    if not pieces:
        return None
    usual = pieces.keys() if sample is None else sample.rows
    rows = dict(sorted({**(sample.pieces if sample else {}), **pieces}.items()))
    chunks = [stored.row.chunk for stored in rows.values()]
    before = [
        (-1, ""),
        *((row, one.doc_id) for row, one in zip(rows, chunks, strict=True)),
    ]
    begins = [
        (row - 1, chunk.doc_id) != last
        for row, chunk, last in zip(rows, chunks, before, strict=False)
    ]
    documents = documents_of(chunks)
    return Pool(
        Corpus(
            [*map(_packed, rows.values())],
            begins,
            [row in pieces for row in rows],
            [row in usual for row in rows],
            _fitted(getattr(reader, "fitted_arrays", {}), [*rows]),
        ),
        [documents[chunk.doc_id] for chunk in compress(chunks, begins)],
        sample is not None and len(pieces) == sample.n_rows,
        [stored.row.texts for stored in pieces.values()],
    )


def _fitted(arrays: Mapping[str, Any], rows: Sequence[int]) -> dict[str, Any]:
    """The vectors of the atoms of some rows that an embedder gave which was fitted to all."""
    if not arrays:
        return {}
    firsts = arrays["firsts"]
    atoms = [
        np.arange(*bounds)
        for bounds in zip(firsts[rows], firsts[1:][rows], strict=True)
    ]
    places = np.concatenate(atoms)
    return {name: arrays[name][places] for name in ("sums", "lengths")}
