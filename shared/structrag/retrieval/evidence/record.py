"""What is kept to find evidence in a document. Plain arrays, made by pure functions, cut into
pieces and packed as bytes. A piece is what an encoder reads at once: a row of the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.chunks.fixed import FixedSplitter
from structrag.errors import IndexDamaged
from structrag.model_calls.requests import TokenVectors
from structrag.reading.outline import Outline
from structrag.reading.settings import ReadOptions
from structrag.records import Document
from structrag.retrieval.evidence.quantised import (
    Quantiser,
    byte_rows,
    quantise,
    unit_rows,
)
from structrag.retrieval.evidence.units import Units, find_units
from structrag.retrieval.evidence.windows import (
    SUM_WIDTHS,
    middles_of,
    window_sums,
    windows,
)
from structrag.text.arrays import (
    Array,
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    running_totals,
)
from structrag.text.stems import Keys, StemCounts, count_stems

PIECE = 200  # estimated tokens that the encoder is given at once
FORMAT = 1  # of packed records
LIGHT, CODES = "light", "codes"  # the blobs of a row

EncoderSpans = Sequence[tuple[int, int]]  # spans in characters
Span = tuple[int, int]
Blob = bytes | NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Record:
    """The arrays of some atoms: of a document, of a piece, or of several pieces.

    Without an encoder of tokens there are no rows of tokens, and without any encoder no vectors.
    """

    # by atom: see `Units`
    starts: Int32Array
    ends: Int32Array
    tokens: Int32Array
    blocks: Int32Array
    sections: Int32Array
    block_tokens: Int32Array  # of its block
    # by atom: its stems, repeats counted, and those in its windows as the document has them
    stem_lengths: Int32Array
    window_stems: Int32Array  # (atoms, windows)
    # by atom: how many different stems there are, and tokens that are kept
    stem_sizes: Int32Array
    token_sizes: Int32Array
    # by atom: sums of vectors; directions, and their lengths over the document's windows
    sums: NDArray[np.int8]  # (atoms, d)
    lengths: Array  # (atoms, windows)
    # by stem: a hash, how often the atom holds it
    stem_keys: Keys
    stem_counts: Int32Array
    # by run of atoms of one section: how many stems its titles have; by stem: a hash
    title_sizes: Int32Array
    title_keys: Keys
    # by token of the encoder: see `Quantised`
    token_scales: Array
    token_rows: NDArray[np.uint8]

    def __len__(self) -> int:
        """The number of atoms."""
        return len(self.starts)


_BY_ATOM = {
    "starts",
    "ends",
    "tokens",
    "blocks",
    "sections",
    "block_tokens",
    "stem_lengths",
    "window_stems",
    "stem_sizes",
    "token_sizes",
    "sums",
    "lengths",
}
_TYPES: Mapping[str, Any] = {
    "stem_keys": np.uint64,
    "title_keys": np.uint64,
    "lengths": np.float32,
    "token_scales": np.float32,
    "sums": np.int8,
    "token_rows": np.uint8,
}
_NAMES = {
    CODES: ("token_scales", "token_rows"),
    LIGHT: tuple(
        field.name
        for field in fields(Record)
        if field.name not in {"token_scales", "token_rows"}
    ),
}
_ROWS = {"window_stems", "sums", "lengths", "token_rows"}  # with a second axis


def read_units(outline: Outline, read_options: ReadOptions) -> Record:
    """A document's record without any vectors."""
    units = find_units(outline, read_options)
    n_units, language = len(units), read_options.language
    stems = count_stems(texts_of_atoms(outline.document.text, units), language=language)
    # The title leads: of a page whose headings all have one level it says what the page is about.
    paths = [
        " ".join((outline.document.title, *section.path))
        for section in outline.sections
    ]
    titles = _titles(units.sections, count_stems(paths, language=language))
    around = windows_of_units(units.tokens)
    summed = [window_sums(stems.lengths, of) for of in around]
    return Record(
        starts=units.starts,
        ends=units.ends,
        tokens=units.tokens,
        blocks=units.blocks,
        sections=units.sections,
        block_tokens=units.block_tokens[units.blocks],
        stem_lengths=stems.lengths,
        window_stems=np.stack(summed, axis=1).astype(np.int32),
        stem_sizes=np.bincount(stems.texts, minlength=n_units).astype(np.int32),
        token_sizes=np.zeros(n_units, dtype=np.int32),
        sums=np.zeros((n_units, 0), dtype=np.int8),
        lengths=np.zeros((n_units, len(SUM_WIDTHS)), dtype=np.float32),
        stem_keys=stems.keys,
        stem_counts=stems.counts,
        title_sizes=titles[0],
        title_keys=titles[1],
        token_scales=np.zeros(0, dtype=np.float32),
        token_rows=np.zeros((0, 0), dtype=np.uint8),
    )


def _titles(sections: Int32Array, stems: StemCounts) -> tuple[Int32Array, Keys]:
    """The stems of the titles above each run of atoms of one section."""
    bounds = np.searchsorted(stems.texts, np.arange(len(stems.lengths) + 1))
    of_runs = sections[section_starts(sections)]
    keys = [stems.keys[bounds[one] : bounds[one + 1]] for one in of_runs.tolist()]
    sizes = np.array([len(of_run) for of_run in keys], dtype=np.int32)
    return sizes, np.concatenate([np.zeros(0, dtype=np.uint64), *keys])


def section_starts(sections: NDArray[Any]) -> IntArray:
    """The first atom of each run of one section."""
    return np.flatnonzero(np.diff(sections, prepend=-1))


def windows_of_units(tokens: Int32Array) -> list[Any]:
    """The windows of a document's atoms over which is summed."""
    middles = middles_of(tokens)
    return [windows(middles, width) for width in SUM_WIDTHS]


def find_encoder_spans(document: Document, read_options: ReadOptions) -> EncoderSpans:
    """The spans for the encoder: tiles of at most 200 tokens."""
    splitter = FixedSplitter(
        PIECE,
        language=read_options.language,
        sentence_splitter=read_options.sentence_splitter,
    )
    return [(chunk.start, chunk.end) for chunk in splitter.split(document)]


# -- vectors


def with_tokens(
    record: Record,
    encoder_spans: EncoderSpans,
    tokens: Sequence[TokenVectors],
    quantiser: Quantiser,
    counted: Sequence[BoolArray] | None = None,
) -> Record:
    """The record with the token vectors of its pieces, and their sums.

    `counted` says of each piece's tokens which are kept to be matched; None: all. The sums, by
    atom, are always those of all.
    """
    offsets = np.concatenate(
        [
            of.spans[:, 0] + start
            for (start, _), of in zip(encoder_spans, tokens, strict=True)
        ]
    )
    vectors = np.concatenate([of.vectors for of in tokens])
    places = np.searchsorted(record.starts, offsets, "right") - 1
    # tokens of excluded sections and front matter belong to no atom
    inside = places >= 0
    inside[inside] &= offsets[inside] < record.ends[places[inside]]
    matched = np.ones(len(inside), bool) if counted is None else np.concatenate(counted)
    matched = matched[inside]
    places, vectors = places[inside], vectors[inside]
    rows = quantise(vectors[matched], quantiser)
    firsts = np.searchsorted(places, np.arange(len(record) + 1))
    filled = np.flatnonzero(np.diff(firsts))
    sums = np.zeros((len(record), vectors.shape[1]))
    if len(filled):
        sums[filled] = np.add.reduceat(vectors, firsts[filled], axis=0)
    sizes = np.bincount(places[matched], minlength=len(record))
    return replace(
        with_sums(record, sums),
        token_rows=rows.rows,
        token_scales=rows.scales,
        token_sizes=sizes.astype(np.int32),
    )


def with_vectors_of_all(records: Sequence[Record], vectors: Array) -> list[Record]:
    """Records with one vector an atom, weighted by its length. `vectors` has those of all, one
    behind the other."""
    bounds = running_totals([*map(len, records)])
    weighted = unit_rows(vectors.astype(np.float64))
    return [
        with_sums(
            record, weighted[first : first + len(record)] * record.tokens[:, None]
        )
        if len(record)
        else record
        for record, first in zip(records, bounds, strict=False)
    ]


def with_sums(record: Record, sums: FloatArray) -> Record:
    """The record with these sums of vectors by atom, shape (atoms, d)."""
    columns = [
        np.linalg.norm(window_sums(sums, of), axis=1)
        for of in windows_of_units(record.tokens)
    ]
    lengths = np.stack(columns, axis=1).astype(np.float32)
    return replace(record, sums=byte_rows(sums), lengths=lengths)


def vectors_of(record: Record) -> Array:
    """The sums of vectors by atom, shape (atoms, d)."""
    sums = record.sums.astype(np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    of_one = record.lengths[:, 0]
    scales = np.divide(of_one, norms, out=np.zeros_like(norms), where=norms > 0)
    vectors: Array = sums * scales[:, None]
    return vectors


def texts_of_atoms(text: str, record: Record | Units) -> list[str]:
    """The texts of a document's atoms."""
    return [
        text[start:end] for start, end in zip(record.starts, record.ends, strict=True)
    ]


# -- pieces


def cut_pieces(
    record: Record, encoder_spans: EncoderSpans
) -> Iterator[tuple[int, Record]]:
    """The pieces of a document: which span of the encoder, and the atoms that begin in it. Spans
    without any are left out."""
    firsts = np.searchsorted(record.starts, [start for start, _ in encoder_spans])
    bounds = [*firsts.tolist(), len(record)]
    # Blanks before the first span belong to it.
    bounds[0] = 0
    stems, tokens = (
        running_totals(record.stem_sizes),
        running_totals(record.token_sizes),
    )
    titles = running_totals(record.title_sizes)
    run_of_atom = np.cumsum(np.diff(record.sections, prepend=-1) != 0) - 1
    for number, (first, stop) in enumerate(pairwise(bounds)):
        if first == stop:
            continue
        runs = slice(int(run_of_atom[first]), int(run_of_atom[stop - 1]) + 1)
        parts = {
            "title_sizes": runs,
            "title_keys": slice(int(titles[runs.start]), int(titles[runs.stop])),
            "stem_keys": slice(int(stems[first]), int(stems[stop])),
            "token_rows": slice(int(tokens[first]), int(tokens[stop])),
        }
        parts |= {
            "stem_counts": parts["stem_keys"],
            "token_scales": parts["token_rows"],
        }
        parts |= dict.fromkeys(_BY_ATOM, slice(first, stop))
        yield (
            number,
            Record(
                **{name: getattr(record, name)[part] for name, part in parts.items()}
            ),
        )


def joined(pieces: Sequence[Record]) -> Record:
    """The atoms of several pieces, one behind the other. Raises IndexDamaged where their vectors
    have different dimensions."""
    columns = {}
    for field in fields(Record):
        arrays = [getattr(piece, field.name) for piece in pieces]
        if field.name in _ROWS:
            arrays = _equally_wide(arrays)
        columns[field.name] = np.concatenate(arrays)
    return Record(**columns)


def _equally_wide(arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Arrays with as many columns each; those without any have zeros."""
    widths = {array.shape[1] for array in arrays}
    if len(widths) == 1:
        return list(arrays)
    if len(widths - {0}) > 1:
        raise IndexDamaged(
            "The vectors of the index have different dimensions: "
            f"{', '.join(map(str, sorted(widths)))}. Index the documents again."
        )
    shape = max(widths)
    return [
        array if array.shape[1] else np.zeros((len(array), shape), dtype=array.dtype)
        for array in arrays
    ]


def pack(record: Record, blob: str) -> bytes:
    """The arrays of a blob as bytes: how many items each has, then these."""
    arrays = [getattr(record, name) for name in _NAMES[blob]]
    head = np.array([FORMAT, *(array.size for array in arrays)], dtype=np.int32)
    return b"".join([head.tobytes(), *(array.tobytes() for array in arrays)])


def unpack(light: Blob, codes: Blob) -> Record:
    """The record of both blobs. Raises IndexDamaged for those of another release."""
    columns: dict[str, NDArray[Any]] = {}
    for blob, names in ((light, _NAMES[LIGHT]), (codes, _NAMES[CODES])):
        n_names = len(names)
        _check_format(blob, n_names)
        _, *sizes = np.frombuffer(blob, np.int32, n_names + 1).tolist()
        place = 4 * (n_names + 1)
        for name, size in zip(names, sizes, strict=True):
            kind = np.dtype(_TYPES.get(name, np.int32))
            columns[name] = np.frombuffer(blob, kind, size, place)
            place += size * kind.itemsize
        if place != len(blob):
            raise _damaged()
    n_atoms, n_tokens = len(columns["starts"]), len(columns["token_scales"])
    for name in _ROWS:
        rows = n_tokens if name == "token_rows" else n_atoms
        columns[name] = columns[name].reshape(rows, -1 if rows else 0)
    return Record(**columns)


def _check_format(blob: Blob, n_names: int) -> None:
    if len(blob) < 4 * (n_names + 1) or np.frombuffer(blob, np.int32, 1)[0] != FORMAT:
        raise _damaged()


def _damaged() -> IndexDamaged:
    return IndexDamaged(
        "The index has rows that this release cannot read: another release or another program has "
        "written them. Index the documents again."
    )
