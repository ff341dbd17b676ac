"""The pieces of documents as rows of a store, and those that are searched for a question as one
pool of atoms with everything that scores need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag._locks import cached_property
from structrag.citations import text_digest
from structrag.index.entries import Entry, StoredRow, Vectors
from structrag.reading.outline import Outline
from structrag.records import Chunk, Document, SourceMap, chunk_id
from structrag.retrieval.evidence.atom_arrays import (
    BLOBS,
    MAX_WIDTHS,
    SUM_WIDTHS,
    AtomArrays,
    EncoderSpans,
    Windows,
    cut_pieces,
    middles_of,
    number_runs,
    pack,
    part_of,
    section_starts,
    unpack,
    vectors_of,
    window_sums,
    windows,
)
from structrag.retrieval.evidence.atoms import RequiredContext
from structrag.retrieval.evidence.quantised import Quantised, Quantiser, products
from structrag.text.arrays import (
    Array,
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    running_totals,
)

# Reader tokens between runs, so that no window spans two.
_APART = 10 * MAX_WIDTHS[-1]
_NO_MATCH = -1.0  # the least cosine, for atoms without a token


class Pool:
    """Atoms of pieces. Those that follow each other in a document are a run.

    Blocks and sections are numbered through all runs, in the order given.

    Args:
        pieces: By row, ascending; at least one.
        found: Rows of the pieces whose atoms may be found.
        usual: Rows of the pieces whose atoms show what is usual.
        fitted: Arrays of the atoms of all rows of the store that take the place of the pieces' own.
        is_all: Whether these are all pieces that may be found.
    """

    def __init__(
        self,
        pieces: Mapping[int, StoredRow],
        found: Collection[int],
        usual: Collection[int],
        fitted: Mapping[str, NDArray[Any]] | None = None,
        *,
        is_all: bool = False,
    ) -> None:
        atoms, sizes = unpack([stored.blobs for stored in pieces.values()])
        rows = [*pieces]
        if fitted:
            firsts = fitted["firsts"]
            of_rows = [np.arange(firsts[row], firsts[row + 1]) for row in rows]
            places = np.concatenate(of_rows)
            sums, lengths = (fitted[name][places] for name in ("sums", "lengths"))
            atoms = replace(atoms, sums=sums, lengths=lengths)
        self.atoms: AtomArrays = atoms
        chunks = [stored.row.chunk for stored in pieces.values()]
        by_id = documents_of(chunks)
        numbers = {doc_id: number for number, doc_id in enumerate(by_id)}
        begins = np.diff([numbers[chunk.doc_id] for chunk in chunks], prepend=-1) != 0
        begins |= np.diff(rows, prepend=rows[0]) > 1
        # By run.
        self.documents: list[StoredDocument] = [
            by_id[chunk.doc_id] for chunk in compress(chunks, begins)
        ]
        self.is_all = is_all
        # The texts of the candidate pieces, by view.
        self.texts = [pieces[row].row.texts for row in rows if row in found]
        # The first atom of each piece and of each run, with the end of the last.
        self.piece_firsts: IntArray = running_totals(sizes)
        self.firsts: IntArray = np.append(
            self.piece_firsts[:-1][begins], self.piece_firsts[-1]
        )
        self.piece_of: IntArray = np.repeat(np.arange(len(pieces)), sizes)
        self.run_of: IntArray = (np.cumsum(begins) - 1)[self.piece_of]
        # Which atoms may be found, and which show what is usual.
        self.candidates, self.sampled = (
            np.flatnonzero(np.isin(rows, [*some])[self.piece_of])
            for some in (found, usual)
        )
        # Numbers of documents, made different from those of the runs before.
        self.blocks: IntArray = number_runs(atoms.blocks, self.firsts[:-1])
        self.sections: IntArray = number_runs(atoms.sections, self.firsts[:-1])

    def token_frequencies(self, ids: Iterable[int]) -> list[int]:
        """Count the candidate pieces that contain each of some tokens."""
        held = [set((of_piece.get(TOKENS) or "").split()) for of_piece in self.texts]
        return [sum(str(number) in of_piece for of_piece in held) for number in ids]

    def __len__(self) -> int:
        """The number of atoms."""
        return len(self.atoms)

    # -- windows

    @cached_property
    def windows(self) -> dict[int, Windows]:
        """Width in reader tokens -> the windows of all atoms."""
        middles = middles_of(self.atoms.tokens) + _APART * self.run_of
        return {width: windows(middles, width) for width in MAX_WIDTHS}

    @cached_property
    def section_windows(self) -> Windows:
        """For each atom those of its section."""
        bounds = np.append(section_starts(self.sections), len(self))
        return Windows(bounds[self.sections], bounds[self.sections + 1])

    @property
    def summed(self) -> list[Windows]:
        """Windows that are summed over, and the sections."""
        return [*(self.windows[width] for width in SUM_WIDTHS), self.section_windows]

    # -- vectors

    def cosines(self, vector: Array) -> list[FloatArray]:
        """Return the cosines of a vector with the windows' sums of vectors: one array for each of
        `summed`. Zeros if there are no vectors."""
        if self.atoms.sums.shape[1] != len(vector):
            return [np.zeros(len(self)) for _ in self.summed]
        unit = vector / (float(np.linalg.norm(vector)) or 1.0)
        sums = vectors_of(self.atoms)
        dots = (sums @ unit.astype(np.float32)).astype(np.float64)
        lengths = [
            # A window of which a part is missing is about as much shorter.
            of_width * np.divide(now, whole, out=np.ones(len(self)), where=whole > 0)
            for of_width, now, whole in zip(
                self.atoms.lengths.T.astype(np.float64),
                self.stem_lengths,
                self.atoms.window_stems.T,
                strict=False,
            )
        ]
        of_sections = np.add.reduceat(sums, section_starts(self.sections), axis=0)
        lengths.append(np.linalg.norm(of_sections, axis=1)[self.sections])
        return [
            np.divide(dot, length, out=np.zeros(len(self)), where=length > 0)
            for dot, length in zip(window_sums(dots, self.summed), lengths, strict=True)
        ]

    # -- tokens

    def matches(self, units: IntArray, queries: Array, quantiser: Quantiser) -> Array:
        """The best cosine of each query token within each atom. `units` ascend. `queries` (k, d)
        are unit vectors. Gives (len(atoms), k). An atom without a token matches nothing: -1."""
        atoms, sizes = self.atoms, self.atoms.token_sizes[units]
        kept = Quantised(atoms.token_rows, atoms.token_scales)
        if len(units) < len(self):
            is_needed = np.zeros(len(self), dtype=bool)
            is_needed[units] = True
            tokens = np.repeat(is_needed, atoms.token_sizes)
            kept = Quantised(kept.rows[tokens], kept.scales[tokens])
        best = np.full((len(units), len(queries)), _NO_MATCH, dtype=np.float32)
        filled = np.flatnonzero(sizes)
        if len(filled):
            scores = products(kept, queries, quantiser)
            starts = running_totals(sizes[filled])[:-1]
            best[filled] = np.maximum.reduceat(scores, starts, axis=0)
        return best

    # -- stems

    @cached_property
    def _stem_atoms(self) -> IntArray:
        return np.repeat(np.arange(len(self)), self.atoms.stem_sizes)

    def stem_counts(self, key: np.uint64) -> Int32Array:
        """Count a stem in each atom."""
        held = np.flatnonzero(self.atoms.stem_keys == key)
        of_atoms = np.zeros(len(self), dtype=np.int32)
        of_atoms[self._stem_atoms[held]] = self.atoms.stem_counts[held]
        return of_atoms

    @cached_property
    def stem_lengths(self) -> list[FloatArray]:
        """The stems in each atom's window, for each of `summed`, as far as the window was read."""
        lengths = self.atoms.stem_lengths.astype(np.float64)
        return window_sums(lengths, self.summed)

    @cached_property
    def mean_stem_lengths(self) -> list[float]:
        """The stems of a usual window, for each of `summed`."""
        usual = self.atoms.window_stems[self.sampled].mean(axis=0).tolist()
        of_sections = self.stem_lengths[-1][section_starts(self.sections)]
        return [*usual, float(of_sections.mean())]

    @cached_property
    def _titled_atoms(self) -> IntArray:
        """For each atom, the number of its run of atoms of one section in a piece."""
        return number_runs(self.sections, self.piece_firsts[:-1])

    def titled(self, key: np.uint64) -> BoolArray:
        """Return which atoms have a stem in the titles above them."""
        sizes = self.atoms.title_sizes
        has = np.zeros(len(sizes), dtype=bool)
        held = np.flatnonzero(self.atoms.title_keys == key)
        if len(held):
            has[np.searchsorted(np.cumsum(sizes), held, "right")] = True
        return has[self._titled_atoms]


VIEW, TOKENS = "raw", "tokens"  # stems of a piece, and the encoder's tokens in it
MISSING = "\0"  # for each character that was not read
_BLANKS = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as far as its pieces were read.

    Its text has zero characters where nothing was.
    """

    id: str
    title: str
    digest: str  # of its whole text, for citations
    text: str
    # Its sections by ordinal: where the body begins, and the path.
    sections: Mapping[int, tuple[int, tuple[str, ...]]]
    encoder_spans: Sequence[tuple[int, int]]  # spans that an encoder reads at once
    required: NDArray[np.int64]  # (n, 4) of its tables and lists: see `RequiredContext`
    source: SourceMap | None  # places of its text in markup


# -- documents as entries


def entry_of(
    outline: Outline,
    required: Sequence[RequiredContext],
    atoms: AtomArrays,
    encoder_spans: EncoderSpans,
    token_texts: Sequence[str] | None,
    fingerprint: str,
) -> Entry:
    """A document as the store takes it in: a chunk for each piece.

    `token_texts` are the tokens of each piece as words; None: there is no encoder of tokens.
    """
    pieces = dict(cut_pieces(atoms, encoder_spans))
    equal: Counter[str] = Counter()
    digest = text_digest(outline.document.text)
    chunks = []
    for number, piece in enumerate(pieces.values()):
        chunk = _chunk(outline, required, piece, (number, len(pieces)), digest)
        equal[chunk.id] += 1
        name = chunk_id(chunk.doc_id, chunk.path, chunk.text, equal[chunk.id])
        chunks.append(replace(chunk, id=name))
    views: dict[str, Any] = {}
    if token_texts is not None:
        views[TOKENS] = tuple(token_texts)
    bare = replace(outline.document, text="", layout=None)
    return _entry(bare, fingerprint, chunks, views, [*pieces.values()])


def entry_of_part(
    name: str, whole: StoredDocument, rows: Sequence[StoredRow], start: int, end: int
) -> Entry | None:
    """Make a document of its own from a span of another; None if the span cuts an atom. `rows` are
    the pieces of `whole`."""
    atoms, sizes = unpack([stored.blobs for stored in rows])
    first = int(np.searchsorted(atoms.ends, start, "right"))
    stop = int(np.searchsorted(atoms.starts, end, "left"))
    if first >= stop:
        return None
    outside = slice(atoms.starts[first], start), slice(end, atoms.ends[stop - 1])
    if any(whole.text[of].strip() for of in outside):
        return None
    pieces = dict(cut_pieces(part_of(atoms, sizes, first, stop), whole.encoder_spans))
    chunk_rows = [rows[number].row for number in pieces]
    chunks = []
    for number, (row, piece) in enumerate(
        zip(chunk_rows, pieces.values(), strict=True)
    ):
        first, stop = _span(piece, whole.text)
        chunks.append(
            replace(
                row.chunk,
                id=f"{name}:{first}-{stop}",
                doc_id=name,
                start=first,
                end=stop,
                text=whole.text[first:stop],
                extras={**row.chunk.extras, "piece": (number, len(pieces))},
            )
        )
    views = {
        view: tuple(row.texts[view] for row in chunk_rows)
        for view in chunk_rows[0].texts
    }
    document = Document("", id=name, title=whole.title)
    return _entry(document, "", chunks, views, [*pieces.values()])


def _entry(
    document: Document,
    fingerprint: str,
    chunks: Sequence[Chunk],
    views: Mapping[str, Any],
    pieces: Sequence[AtomArrays],
) -> Entry:
    vectors = {}
    if chunks and pieces[0].sums.shape[1]:
        sums = np.stack([vectors_of(piece).sum(axis=0) for piece in pieces])
        vectors[VIEW] = Vectors(sums, np.arange(len(chunks), dtype=np.int32))
    return Entry(
        document,
        fingerprint,
        tuple(chunks),
        {**views, VIEW: tuple(chunk.text for chunk in chunks)},
        vectors,
        blobs=dict(zip(BLOBS, zip(*map(pack, pieces), strict=True), strict=False)),
    )


def _span(piece: AtomArrays, text: str) -> tuple[int, int]:
    """The span of a piece, with the blanks behind it, which are in no atom."""
    start, end = piece.span(0, len(piece))
    blanks = _BLANKS.match(text, end)
    return start, blanks.end() if blanks else end


def _chunk(
    outline: Outline,
    required: Iterable[RequiredContext],
    piece: AtomArrays,
    place: tuple[int, int],
    digest: str,
) -> Chunk:
    """A piece with what is to be known of its document where only this is read."""
    document = outline.document
    start, end = _span(piece, document.text)
    ordinals = np.unique(piece.sections).tolist()
    sections = [outline.sections[ordinal] for ordinal in ordinals]
    extras: dict[str, Any] = {
        "piece": place,
        "title": document.title,
        "digest": digest,
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
        id=chunk_id(document.id, sections[0].path, document.text[start:end]),
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
    """Put together the documents of some pieces, by id."""
    by_id: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_id.setdefault(chunk.doc_id, []).append(chunk)
    return {doc_id: _document(pieces) for doc_id, pieces in by_id.items()}


def _document(pieces: Sequence[Chunk]) -> StoredDocument:
    texts = [(chunk.start, chunk.text) for chunk in pieces]
    sections: dict[int, tuple[int, tuple[str, ...]]] = {}
    required: dict[tuple[int, ...], None] = {}
    runs: dict[tuple[int, int, bool], None] = {}
    for chunk in pieces:
        for ordinal, body_start, path in chunk.extras["sections"]:
            sections[ordinal] = body_start, tuple(path)
        for *context, text in chunk.extras["required"]:
            required[tuple(context)] = None
            texts.append((context[2], text))
        runs |= dict.fromkeys(map(tuple, chunk.extras.get("source", ())))
    return StoredDocument(
        pieces[0].doc_id,
        pieces[0].extras["title"],
        pieces[0].extras["digest"],
        _text_of(texts),
        sections,
        [(chunk.start, chunk.end) for chunk in pieces],
        np.array([*required], dtype=np.int64).reshape(-1, 4),
        SourceMap(*zip(*sorted(runs), strict=True)) if runs else None,
    )


def _text_of(spans: Iterable[tuple[int, str]]) -> str:
    """A text of which some slices are known, up to the last of them."""
    parts, end = [], 0
    for start, text in sorted(spans):
        if start > end:
            parts.append(MISSING * (start - end))
            end = start
        parts.append(text[end - start :])
        end = max(end, start + len(text))
    return "".join(parts)
