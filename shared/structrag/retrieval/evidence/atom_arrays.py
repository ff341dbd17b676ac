"""The atoms of documents as plain arrays, cut into pieces and packed as bytes; windows around
atoms, and sums and maxima over them.

A piece is the text that an encoder reads at once, and a row of the store. A window w(i, W)
contains the atoms of the same document whose middle is within W / 2 reader tokens of atom i's. It
is a run of atoms, given by its first atom and the one after its last.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from structrag.errors import IndexDamaged
from structrag.model_calls.requests import TokenVectors
from structrag.reading.outline import Outline
from structrag.reading.settings import ReadOptions
from structrag.retrieval.evidence.atoms import PIECE, find_atoms
from structrag.retrieval.evidence.quantised import (
    Quantiser,
    byte_rows,
    quantise,
    unit_rows,
)
from structrag.text.arrays import (
    Array,
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    running_totals,
)
from structrag.text.terms import Keys, StemCounts, count_stems
from structrag.text.tokens import TokenCounter, count_tokens

FORMAT = 1  # of packed atoms
BLOBS = ("light", "codes")  # of a row

EncoderSpans = Sequence[tuple[int, int]]  # spans in characters
Packed = Sequence[bytes | NDArray[np.uint8]]  # the blobs of a piece


@dataclass(frozen=True, slots=True)
class AtomArrays:
    """The atoms of a document, of a piece, or of several pieces, in reading order.

    Without an encoder of tokens there are no rows of tokens, and without any encoder no vectors.

    Example:
        >>> from structrag import parse, read_text
        >>> document = read_text("# Pumps\\n\\nThey move water. They leak.")
        >>> atoms = read_atoms(parse(document), ReadOptions())
        >>> texts_of_atoms(document.text, atoms)
        ['# Pumps\\n', '\\nThey move water. ', 'They leak.']
        >>> atoms.blocks.tolist(), atoms.sections.tolist()
        ([0, 1, 1], [1, 1, 1])
    """

    # by atom, in characters
    starts: Int32Array
    ends: Int32Array
    # by atom: tokens of the reader (at least 1), the number of its block (from 0, without gaps; a
    # heading is its own), the ordinal of its section, tokens of its whole block
    tokens: Int32Array
    blocks: Int32Array
    sections: Int32Array
    block_tokens: Int32Array

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

    def span(self, first: int, stop: int) -> tuple[int, int]:
        """The characters from the start of atom `first` to the end of atom `stop - 1`."""
        return int(self.starts[first]), int(self.ends[stop - 1])


_FIELDS = tuple(field.name for field in fields(AtomArrays))
_BY_ATOM = _FIELDS[: _FIELDS.index("stem_keys")]
_TYPES: Mapping[str, Any] = {
    "stem_keys": np.uint64,
    "title_keys": np.uint64,
    "lengths": np.float32,
    "token_scales": np.float32,
    "sums": np.int8,
    "token_rows": np.uint8,
}
_CODES = ("token_scales", "token_rows")
# The arrays of each blob.
_NAMES = tuple(name for name in _FIELDS if name not in _CODES), _CODES


def read_atoms(outline: Outline, read_options: ReadOptions) -> AtomArrays:
    """A document's atoms without any vectors."""
    columns, language = find_atoms(outline, read_options), read_options.language
    n_atoms = len(columns["starts"])
    spans = zip(columns["starts"], columns["ends"], strict=True)
    text = outline.document.text
    stems = count_stems([text[start:end] for start, end in spans], language=language)
    # The title leads: of a page whose headings all have one level it says what the page is about.
    paths = [
        " ".join((outline.document.title, *section.path))
        for section in outline.sections
    ]
    titles = _titles(columns["sections"], count_stems(paths, language=language))
    return AtomArrays(
        **columns,
        stem_lengths=stems.lengths,
        window_stems=_window_stems(stems.lengths, columns["tokens"]),
        stem_sizes=np.bincount(stems.texts, minlength=n_atoms).astype(np.int32),
        token_sizes=np.zeros(n_atoms, dtype=np.int32),
        sums=np.zeros((n_atoms, 0), dtype=np.int8),
        lengths=np.zeros((n_atoms, len(SUM_WIDTHS)), dtype=np.float32),
        stem_keys=stems.keys,
        stem_counts=stems.counts,
        title_sizes=titles[0],
        title_keys=titles[1],
        token_scales=np.zeros(0, dtype=np.float32),
        token_rows=np.zeros((0, 0), dtype=np.uint8),
    )


def _window_stems(lengths: Int32Array, tokens: Int32Array) -> Int32Array:
    summed = window_sums(lengths, _windows(tokens))
    return np.stack(summed, axis=1).astype(np.int32)


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


def number_runs(numbers: NDArray[Any], starts: IntArray | slice = slice(0)) -> IntArray:
    """The runs of equal numbers counted from 0, by place. An atom at `starts` begins a run too."""
    begins = np.diff(numbers, prepend=-1) != 0
    begins[starts] = True
    runs: IntArray = np.cumsum(begins) - 1
    return runs


def _windows(tokens: Int32Array) -> list[Windows]:
    """The windows of a document's atoms over which is summed."""
    middles = middles_of(tokens)
    return [windows(middles, width) for width in SUM_WIDTHS]


def find_encoder_spans(
    text: str, atoms: AtomArrays, counter: TokenCounter
) -> list[tuple[int, int]]:
    """The pieces of a document, as the spans that an encoder is given.

    A piece is a run of whole atoms. It has at most 200 tokens, and at least 133 unless what follows
    does not fit or is not searched. In between it ends before the atom with the highest digest. So
    borders depend on the text around them alone, and an edit moves few of them.
    """
    spans = list(zip(atoms.starts.tolist(), atoms.ends.tolist(), strict=True))
    tokens = atoms.tokens.tolist()
    if counter is not count_tokens:
        tokens = [count_tokens(text[start:end]) for start, end in spans]
    totals = running_totals(tokens).tolist()

    def strength(i: int) -> int:
        return crc32(text[slice(*spans[i])].encode("utf-8", "surrogatepass"))

    def is_apart(i: int) -> bool:
        return bool(text[spans[i - 1][1] : spans[i][0]].strip())

    pieces = []
    first = 0
    while first < len(spans):
        least, most = totals[first] + PIECE * 2 // 3, totals[first] + PIECE
        stop = max(first + 1, bisect_right(totals, most) - 1)
        low = bisect_left(totals, least, first + 1)
        if stop < len(spans) and low < stop:
            stop = max(range(low, stop + 1), key=strength)
        stop = next(filter(is_apart, range(first + 1, stop)), stop)
        pieces.append(atoms.span(first, stop))
        first = stop
    return pieces


# -- vectors


def with_tokens(
    atoms: AtomArrays,
    encoder_spans: EncoderSpans,
    read: Sequence[TokenVectors | AtomArrays],
    quantiser: Quantiser,
    counted: Sequence[BoolArray],
) -> AtomArrays:
    """The atoms with the token vectors of their pieces, and the sums of these.

    Of each piece `read` has the token vectors, or the same piece as a store has it. `counted` says
    of the tokens of each of the former which are kept to be matched. The sums, by atom, are always
    those of all.
    """
    fresh = [of for of in read if isinstance(of, TokenVectors)]
    matched = [of.vectors[kept] for of, kept in zip(fresh, counted, strict=True)]
    width = len(quantiser.axes)
    quantised = quantise(
        np.concatenate([np.zeros((0, width), np.float32), *matched]), quantiser
    )
    bounds = running_totals([*map(len, matched)])
    firsts = np.searchsorted(atoms.starts, [start for start, _ in encoder_spans])
    sums = np.zeros((len(atoms), width))
    sizes = np.zeros(len(atoms), dtype=np.int32)
    rows, scales = [], []
    number = 0
    for first, (start, _), of in zip(firsts.tolist(), encoder_spans, read, strict=True):
        if isinstance(of, AtomArrays):
            of_piece = slice(first, first + len(of))
            sums[of_piece], sizes[of_piece] = vectors_of(of), of.token_sizes
            rows.append(of.token_rows)
            scales.append(of.token_scales)
            continue
        places = np.searchsorted(atoms.starts, of.spans[:, 0] + start, "right") - 1
        changes = np.flatnonzero(np.diff(places, prepend=-1))
        if len(changes):
            sums[places[changes]] = np.add.reduceat(of.vectors, changes, axis=0)
        of_atoms = np.bincount(places[counted[number]] - first)
        sizes[first : first + len(of_atoms)] = of_atoms
        of_tokens = slice(bounds[number], bounds[number + 1])
        rows.append(quantised.rows[of_tokens])
        scales.append(quantised.scales[of_tokens])
        number += 1
    return replace(
        with_sums(atoms, sums),
        token_rows=np.concatenate(rows),
        token_scales=np.concatenate(scales),
        token_sizes=sizes,
    )


def with_vectors_of_all(
    by_document: Sequence[AtomArrays], vectors: Array
) -> list[AtomArrays]:
    """Records with one vector an atom, weighted by its length. `vectors` has those of all, one
    behind the other."""
    bounds = running_totals([*map(len, by_document)])
    weighted = unit_rows(vectors.astype(np.float64))
    return [
        with_sums(atoms, weighted[first : first + len(atoms)] * atoms.tokens[:, None])
        if len(atoms)
        else atoms
        for atoms, first in zip(by_document, bounds, strict=False)
    ]


def with_sums(atoms: AtomArrays, sums: NDArray[Any]) -> AtomArrays:
    """The atoms with these sums of vectors by atom, shape (atoms, d). The lengths over wider
    windows are of the sums as they are kept, so that pieces out of a store give the same ones."""
    _, *wider = _windows(atoms.tokens)
    directions, own = byte_rows(sums), np.linalg.norm(sums, axis=1)
    kept = _scaled(directions, own)
    lengths = [np.linalg.norm(sums, axis=1) for sums in window_sums(kept, wider)]
    columns = np.stack([own, *lengths], axis=1).astype(np.float32)
    return replace(atoms, sums=directions, lengths=columns)


def vectors_of(atoms: AtomArrays) -> Array:
    """The sums of vectors by atom, shape (atoms, d)."""
    return _scaled(atoms.sums, atoms.lengths[:, 0])


def _scaled(directions: NDArray[np.int8], lengths: NDArray[Any]) -> Array:
    rows = directions.astype(np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    scales = np.divide(
        lengths, norms, out=np.zeros_like(norms), where=norms > 0, casting="same_kind"
    )
    vectors: Array = rows * scales[:, None]
    return vectors


def texts_of_atoms(text: str, atoms: AtomArrays) -> list[str]:
    """The texts of a document's atoms."""
    return [
        text[start:end] for start, end in zip(atoms.starts, atoms.ends, strict=True)
    ]


# -- pieces


def cut_pieces(
    atoms: AtomArrays, encoder_spans: EncoderSpans
) -> Iterator[tuple[int, AtomArrays]]:
    """The pieces of a document: which span of the encoder, and the atoms that begin in it. Spans
    without any are left out."""
    firsts = np.searchsorted(atoms.starts, [start for start, _ in encoder_spans])
    bounds = [*firsts.tolist(), len(atoms)]
    # Blanks before the first span belong to it.
    bounds[0] = 0
    stems, tokens, titles = map(
        running_totals, (atoms.stem_sizes, atoms.token_sizes, atoms.title_sizes)
    )
    run_of_atom = number_runs(atoms.sections)
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
            AtomArrays(
                **{name: getattr(atoms, name)[part] for name, part in parts.items()}
            ),
        )


def part_of(atoms: AtomArrays, sizes: IntArray, first: int, stop: int) -> AtomArrays:
    """Some atoms of pieces as a document of their own. `sizes` are the numbers of atoms of the
    pieces."""
    # A section that goes over several pieces has its titles in each; one is enough.
    begins_section = np.diff(atoms.sections, prepend=-1) != 0
    begins_run = begins_section.copy()
    begins_run[running_totals(sizes)[:-1]] = True
    kept = begins_section[begins_run]
    atoms = replace(
        atoms,
        title_sizes=atoms.title_sizes[kept],
        title_keys=atoms.title_keys[np.repeat(kept, atoms.title_sizes)],
    )
    cuts = [0, *atoms.span(first, stop)]
    part = dict(cut_pieces(atoms, [(cut, cut) for cut in cuts]))[1]
    blocks = part.blocks - part.blocks[0]
    sums = np.bincount(blocks, part.tokens).astype(np.int32)
    part = replace(
        part,
        block_tokens=np.minimum(part.block_tokens, sums[blocks]),
        window_stems=_window_stems(part.stem_lengths, part.tokens),
    )
    return with_sums(part, vectors_of(part))


def pack(atoms: AtomArrays) -> Packed:
    """The arrays as bytes: of each blob how many items each has, then these."""
    blobs = []
    for names in _NAMES:
        arrays = [getattr(atoms, name) for name in names]
        head = np.array([FORMAT, *(array.size for array in arrays)], dtype=np.int32)
        blobs.append(b"".join([head.tobytes(), *(array.tobytes() for array in arrays)]))
    return blobs


def unpack(pieces: Sequence[Packed]) -> tuple[AtomArrays, IntArray]:
    """The atoms of several pieces, one behind the other, and how many each has. At least one piece.

    Raises IndexDamaged for those of another release or of vectors of other dimensions.
    """
    columns: dict[str, NDArray[Any]] = {}
    sizes: dict[str, IntArray] = {}
    for names, blobs in zip(_NAMES, zip(*pieces, strict=True), strict=True):
        views = [memoryview(blob) for blob in blobs]
        heads = np.frombuffer(
            b"".join([view[: 4 * (len(names) + 1)] for view in views]), np.int32
        )
        if (
            heads.size != len(views) * (len(names) + 1)
            or (heads[:: len(names) + 1] != FORMAT).any()
        ):
            raise _damaged()
        counts = heads.reshape(len(views), -1)[:, 1:].astype(np.int64)
        kinds = [np.dtype(_TYPES.get(name, np.int32)) for name in names]
        ends = np.cumsum(counts * [kind.itemsize for kind in kinds], axis=1)
        ends += 4 * (len(names) + 1)
        if ends[:, -1].tolist() != [len(view) for view in views]:
            raise _damaged()
        starts = np.full(len(views), 4 * (len(names) + 1))
        for name, kind, of_name, stops in zip(
            names, kinds, counts.T, ends.T, strict=True
        ):
            places = zip(views, starts.tolist(), stops.tolist(), strict=True)
            content = b"".join([view[start:stop] for view, start, stop in places])
            columns[name], sizes[name] = np.frombuffer(content, kind), of_name
            starts = stops
    rows = dict.fromkeys(("window_stems", "sums", "lengths"), sizes["starts"])
    rows["token_rows"] = sizes["token_scales"]
    for name, of_pieces in rows.items():
        columns[name] = _as_rows(columns[name], sizes[name], of_pieces)
    return AtomArrays(**columns), sizes["starts"]


def _as_rows(values: NDArray[Any], sizes: IntArray, rows: IntArray) -> NDArray[Any]:
    """The values of several pieces as rows; pieces without any have rows of zeros."""
    widths = np.unique(sizes[sizes > 0] // np.maximum(rows[sizes > 0], 1))
    width = int(widths.max(initial=0))
    if len(widths) > 1 or (sizes % np.maximum(rows, 1)).any():
        raise IndexDamaged(
            "The vectors of the index have different dimensions: "
            f"{', '.join(map(str, widths.tolist()))}. Index the documents again."
        )
    there = values.reshape(-1, width or 1)[:, :width]
    whole = np.zeros((int(rows.sum()), width), dtype=values.dtype)
    if len(there) == len(whole):
        return there
    whole[np.repeat(sizes > 0, rows)] = there
    return whole


def _damaged() -> IndexDamaged:
    return IndexDamaged(
        "The index has rows that this release cannot read: another release or another program has "
        "written them. Index the documents again."
    )


_MARKED_LETTER = re.compile(r"(?<![\w+#.])[^\W\d_](\+\+?|#)(?![\w+#])")


def is_word(text: str, spans: Int32Array) -> BoolArray:
    """Return which tokens are not punctuation; all of them if all are punctuation.

    In "C++" and "C#" the signs count, since the letter alone is another word.

    Example:
        >>> is_word("Pumps?", np.array([[0, 5], [5, 6]])).tolist()
        [True, False]
    """
    counts = np.fromiter(map(str.isalnum, text), dtype=bool, count=len(text))
    for match in _MARKED_LETTER.finditer(text):
        counts[match.start()] = False
        counts[slice(*match.span(1))] = True
    before = running_totals(counts)
    words: BoolArray = before[spans[:, 1]] > before[spans[:, 0]]
    return words if words.any() else np.ones(len(words), dtype=bool)


# Reader tokens. The narrowest window is the atom alone.
SUM_WIDTHS = (1, 60, 120, 240, 480)  # over which vectors and terms are summed
MAX_WIDTHS = (*SUM_WIDTHS, 960)  # over which matches of tokens are maximised
_COLUMNS = 64  # of a table of maxima that is made at once


class Windows(NamedTuple):
    """The window of each atom: the atoms `firsts[i]` to `stops[i] - 1`."""

    firsts: IntArray
    stops: IntArray

    def of(self, units: IntArray) -> Windows:
        """The windows of some atoms."""
        return Windows(self.firsts[units], self.stops[units])


def windows(middles: NDArray[Any], width: int) -> Windows:
    """The windows of all atoms, whose middles ascend, in reader tokens.

    Middles of different documents are to be further apart than `width`.

    Example:
        >>> windows(np.array([5.0, 15.0, 45.0]), 60)
        Windows(firsts=array([0, 0, 1]), stops=array([2, 3, 3]))
    """
    if width == 1:
        units = np.arange(len(middles))
        return Windows(units, units + 1)
    firsts = np.searchsorted(middles, middles - width / 2, "left")
    stops = np.searchsorted(middles, middles + width / 2, "right")
    return Windows(firsts, stops)


def middles_of(tokens: NDArray[Any]) -> FloatArray:
    """The middle of each atom in its document, in reader tokens."""
    sizes = np.asarray(tokens, dtype=np.float64)
    return np.cumsum(sizes) - sizes / 2


def window_sums(values: NDArray[Any], of: Iterable[Windows]) -> list[NDArray[Any]]:
    """The sum of the values, rows of atoms, over each window, for each kind."""
    sums = np.zeros(
        (len(values) + 1, *values.shape[1:]), dtype=np.result_type(values, np.float64)
    )
    np.cumsum(values, axis=0, out=sums[1:])
    return [sums[one.stops] - sums[one.firsts] for one in of]


def weighted_maxima(
    matches: Array, weights: FloatArray, of: Sequence[Windows]
) -> list[FloatArray]:
    """Each window's weighted sum of its columns' maxima, for each kind.

    The maxima are those over the window's rows. `matches` (atoms, k), `weights` (k,) or (k, v). No
    window is empty. Gives arrays of shape (windows,) or (windows, v).

    Example:
        >>> matches = np.array([[0.1, 0.9], [0.5, 0.2]], dtype=np.float32)
        >>> both = Windows(np.array([0]), np.array([2]))
        >>> weighted_maxima(matches, np.array([1.0, 2.0]), [both])[0].round(3).tolist()
        [2.3]
    """
    totals = [np.zeros((len(one.firsts), *weights.shape[1:])) for one in of]
    lengths = [one.stops - one.firsts for one in of]
    longest = max((int(of_kind.max(initial=1)) for of_kind in lengths), default=1)
    for start in range(0, matches.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        # level l has the maxima over runs of 2^l atoms; two of them, overlapping, fill any window
        level = np.ascontiguousarray(matches[:, columns])
        run = 1
        while True:
            for total, one, length in zip(totals, of, lengths, strict=True):
                at = np.flatnonzero((length >= run) & (length < 2 * run))
                if len(at):
                    left, right = level[one.firsts[at]], level[one.stops[at] - run]
                    total[at] += np.maximum(left, right) @ weights[columns]
            if 2 * run > longest:
                break
            level = np.maximum(level[:-run], level[run:])
            run *= 2
    return totals
