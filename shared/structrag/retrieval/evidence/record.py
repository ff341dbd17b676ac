"""What is kept of a document to find evidence in it. These are plain arrays, made by a pure
function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.chunks.fixed import FixedSplitter
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
    Windows,
    middles_of,
    window_sums,
    windows,
)
from structrag.text.arrays import Array, BoolArray, FloatArray, Int32Array
from structrag.text.stems import count_stems

PIECE = 200  # estimated tokens that the encoder is given at once

EncoderSpans = Sequence[tuple[int, int]]  # spans in characters


@dataclass(frozen=True, slots=True)
class Record:
    """The arrays of one document.

    They say where its atoms are, which stems they hold, and which vectors. Units are numbered from
    0, sections by their ordinals. Without an encoder of tokens there are no rows of tokens, and
    without any encoder no vectors.
    """

    # atoms: see `Units`
    starts: Int32Array
    ends: Int32Array
    tokens: Int32Array
    blocks: Int32Array
    sections: Int32Array
    block_tokens: Int32Array
    # stems: which (a hash), in which atom, how often; how many an atom holds
    stem_keys: NDArray[np.uint64]
    stem_atoms: Int32Array
    stem_counts: Int32Array
    stem_lengths: Int32Array
    # stems of the document's title and the headings above each section
    title_keys: NDArray[np.uint64]
    title_sections: Int32Array
    # tokens of the encoder: kept vectors, the first of each atom, which are in how many pieces
    token_rows: NDArray[np.uint8]  # (t, bytes): see `Quantised`
    token_scales: Array  # (t,)
    token_firsts: Int32Array  # (atoms + 1,)
    piece_ids: Int32Array
    piece_counts: Int32Array
    encoder_spans: Int32Array  # (1,) how many there are
    # sums of vectors by atom: directions, and their lengths over each window and the section
    sums: NDArray[np.int8]  # (atoms, d)
    lengths: Array  # (atoms, windows + 1)

    def __len__(self) -> int:
        """The number of atoms."""
        return len(self.starts)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _empty(dtype: Any, width: int | None = None) -> NDArray[Any]:
    return np.zeros(0 if width is None else (0, width), dtype=dtype)


_NO_INTS, _ONE_ZERO = _empty(np.int32), np.zeros(1, dtype=np.int32)
# Of a document without text
NO_ATOMS = Record(
    starts=_NO_INTS,
    ends=_NO_INTS,
    tokens=_NO_INTS,
    blocks=_NO_INTS,
    sections=_NO_INTS,
    block_tokens=_NO_INTS,
    stem_keys=_empty(np.uint64),
    stem_atoms=_NO_INTS,
    stem_counts=_NO_INTS,
    stem_lengths=_NO_INTS,
    title_keys=_empty(np.uint64),
    title_sections=_NO_INTS,
    token_rows=_empty(np.uint8, 0),
    token_scales=_empty(np.float32),
    token_firsts=_ONE_ZERO,
    piece_ids=_NO_INTS,
    piece_counts=_NO_INTS,
    encoder_spans=_ONE_ZERO,
    sums=_empty(np.int8, 0),
    lengths=_empty(np.float32, len(SUM_WIDTHS) + 1),
)


def read_units(outline: Outline, read_options: ReadOptions) -> Record:
    """A document's record without any vectors."""
    units = find_units(outline, read_options)
    stems = count_stems(
        texts_of_atoms(outline.document.text, units), language=read_options.language
    )
    # The title leads: of a page whose headings all have one level it says what the page is about.
    paths = [
        " ".join((outline.document.title, *section.path))
        for section in outline.sections
    ]
    titles = count_stems(paths, language=read_options.language)
    return replace(
        NO_ATOMS,
        starts=units.starts,
        ends=units.ends,
        tokens=units.tokens,
        blocks=units.blocks,
        sections=units.sections,
        block_tokens=units.block_tokens,
        stem_keys=stems.keys,
        stem_atoms=stems.texts,
        stem_counts=stems.counts,
        stem_lengths=stems.lengths,
        title_keys=titles.keys,
        title_sections=titles.texts,
        token_firsts=np.zeros(len(units) + 1, dtype=np.int32),
        lengths=np.zeros((len(units), len(SUM_WIDTHS) + 1), dtype=np.float32),
    )


def find_encoder_spans(document: Document, read_options: ReadOptions) -> EncoderSpans:
    """The spans for the encoder: tiles of at most 200 tokens."""
    splitter = FixedSplitter(
        PIECE,
        language=read_options.language,
        sentence_splitter=read_options.sentence_splitter,
    )
    return [(chunk.start, chunk.end) for chunk in splitter.split(document)]


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
    kept = [np.ones(len(of.ids), bool) for of in tokens] if counted is None else counted
    matched = np.concatenate(kept)[inside]
    places, vectors = places[inside], vectors[inside]
    rows = quantise(vectors[matched], quantiser)
    ids, counts = np.unique(
        np.concatenate(
            [np.unique(of.ids[mask]) for of, mask in zip(tokens, kept, strict=True)]
        ),
        return_counts=True,
    )
    firsts = np.searchsorted(places, np.arange(len(record) + 1))
    filled = np.flatnonzero(np.diff(firsts))
    sums = np.zeros((len(record), vectors.shape[1]))
    if len(filled):
        sums[filled] = np.add.reduceat(vectors, firsts[filled], axis=0)
    row_firsts = np.searchsorted(places[matched], np.arange(len(record) + 1))
    return replace(
        with_sums(record, sums),
        token_rows=rows.rows,
        token_scales=rows.scales,
        token_firsts=row_firsts.astype(np.int32),
        piece_ids=ids.astype(np.int32),
        piece_counts=counts.astype(np.int32),
        encoder_spans=np.array([len(encoder_spans)], dtype=np.int32),
    )


def with_vectors(record: Record, vectors: Array) -> Record:
    """The record with one vector an atom, weighted by its length."""
    return with_sums(
        record, unit_rows(vectors.astype(np.float64)) * record.tokens[:, None]
    )


def with_vectors_of_all(records: Sequence[Record], vectors: Array) -> list[Record]:
    """Records with one vector an atom; `vectors` has those of all, one behind the other."""
    bounds = np.cumsum([0, *map(len, records)])
    return [
        with_vectors(record, vectors[first : first + len(record)])
        if len(record)
        else record
        for record, first in zip(records, bounds, strict=False)
    ]


def texts_of_atoms(text: str, record: Record | Units) -> list[str]:
    """The texts of a document's atoms."""
    return [
        text[start:end] for start, end in zip(record.starts, record.ends, strict=True)
    ]


def with_sums(record: Record, sums: FloatArray) -> Record:
    """The record with these sums of vectors by atom, shape (atoms, d)."""
    columns = [
        _lengths(sums, windows(middles_of(record.tokens), width))
        for width in SUM_WIDTHS
    ]
    columns.append(_lengths(sums, section_runs(record.sections)))
    return replace(
        record,
        sums=byte_rows(sums),
        lengths=np.stack(columns, axis=1).astype(np.float32),
    )


def section_runs(sections: NDArray[Any]) -> Windows:
    """The atoms of the same section around each atom, as windows."""
    changes = np.flatnonzero(np.diff(sections)) + 1
    bounds = np.concatenate([[0], changes, [len(sections)]])
    run = np.searchsorted(changes, np.arange(len(sections)), "right")
    return Windows(bounds[run], bounds[run + 1])


def _lengths(sums: FloatArray, of: Windows) -> NDArray[Any]:
    lengths: NDArray[Any] = np.linalg.norm(window_sums(sums, of), axis=1)
    return lengths
