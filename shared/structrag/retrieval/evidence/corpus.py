"""The pieces that a question is asked of, as one pool of atoms, and what scores need of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.index.selection import even_places
from structrag.retrieval.evidence.quantised import Quantised, Quantiser, products
from structrag.retrieval.evidence.record import (
    Packed,
    Record,
    cut_pieces,
    pack,
    scales_of,
    section_starts,
    unpack,
)
from structrag.retrieval.evidence.units import Units
from structrag.retrieval.evidence.windows import (
    MAX_WIDTHS,
    SUM_WIDTHS,
    Windows,
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

# Reader tokens between runs, so that no window holds two.
_APART = 10 * MAX_WIDTHS[-1]
_NO_MATCH = -1.0  # the least cosine, for atoms without a token


class Corpus:
    """Atoms of pieces. Those that follow each other in a document are a run.

    Units, blocks and sections are numbered through all runs, in the order given.

    Args:
        pieces: At least one.
        begins_run: Of each piece, whether it does not follow the one before it.
        is_candidate: Of each piece, whether its atoms may be found.
        is_sampled: Of each piece, whether its atoms show what is usual.
        fitted: Arrays of all atoms in place of the pieces' own.
    """

    def __init__(
        self,
        pieces: Sequence[Packed],
        begins_run: Sequence[bool],
        is_candidate: Sequence[bool],
        is_sampled: Sequence[bool],
        fitted: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        atoms, sizes = unpack(pieces)
        self.atoms: Record = replace(atoms, **(fitted or {}))
        # The first atom of each piece and of each run, with the end of the last.
        self.piece_firsts: IntArray = running_totals(sizes)
        begins = np.array(begins_run)
        self.firsts: IntArray = np.append(
            self.piece_firsts[:-1][begins], self.piece_firsts[-1]
        )
        self.piece_of: IntArray = np.repeat(np.arange(len(pieces)), sizes)
        self.run_of: IntArray = (np.cumsum(begins) - 1)[self.piece_of]
        # Which atoms may be found, and which show what is usual.
        self.candidates: IntArray = np.flatnonzero(
            np.array(is_candidate)[self.piece_of]
        )
        self.sampled: IntArray = np.flatnonzero(np.array(is_sampled)[self.piece_of])
        self.tokens: Int32Array = self.atoms.tokens
        self.blocks: IntArray = self._numbered(self.atoms.blocks)
        self.sections: IntArray = self._numbered(self.atoms.sections)
        starts = np.flatnonzero(np.diff(self.blocks, prepend=-1))
        self.block_tokens: Int32Array = self.atoms.block_tokens[starts]

    @classmethod
    def of_documents(
        cls, records: Sequence[Record], encoder_spans: Sequence[Any]
    ) -> Corpus:
        """All pieces of whole documents."""
        pieces: list[Packed] = []
        begins: list[bool] = []
        for record, spans in zip(records, encoder_spans, strict=True):
            of_document = [pack(piece) for _, piece in cut_pieces(record, spans)]
            pieces += of_document
            begins += [not number for number in range(len(of_document))]
        everything = [True] * len(pieces)
        return cls(pieces, begins, everything, everything)

    def _numbered(self, numbers: Int32Array) -> IntArray:
        """Numbers of documents, made different from those of the runs before."""
        changes = np.diff(numbers, prepend=-1) != 0
        changes[self.firsts[:-1]] = True
        counted: IntArray = np.cumsum(changes) - 1
        return counted

    def __len__(self) -> int:
        """The number of atoms."""
        return len(self.atoms)

    def place(self, atom: int) -> tuple[int, int]:
        """Which run an atom is of, and its number there."""
        run = int(self.run_of[atom])
        return run, atom - int(self.firsts[run])

    @cached_property
    def records(self) -> list[Units]:
        """The atoms of each run, as their document numbers blocks and sections."""
        atoms = self.atoms
        units = []
        for first, stop in zip(self.firsts, self.firsts[1:], strict=False):
            run = slice(int(first), int(stop))
            blocks = self.blocks[run]
            units.append(
                Units(
                    atoms.starts[run],
                    atoms.ends[run],
                    atoms.tokens[run],
                    (blocks - blocks[0]).astype(np.int32),
                    atoms.sections[run],
                    self.block_tokens[int(blocks[0]) : int(blocks[-1]) + 1],
                )
            )
        return units

    # -- windows

    @cached_property
    def windows(self) -> dict[int, Windows]:
        """Width in reader tokens -> the windows of all atoms."""
        middles = middles_of(self.tokens) + _APART * self.run_of
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
        """A vector's cosines with the windows' sums of vectors. One array for each of `summed`.
        Zeros where there are no vectors."""
        from scipy.sparse import csr_matrix

        if self.atoms.sums.shape[1] != len(vector):
            return [np.zeros(len(self)) for _ in self.summed]
        unit = vector / (float(np.linalg.norm(vector)) or 1.0)
        sums = self.atoms.sums.astype(np.float32)
        scales = scales_of(self.atoms, sums)
        dots = (scales * (sums @ unit.astype(np.float32))).astype(np.float64)
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
        bounds = np.append(section_starts(self.sections), len(self))
        adding = csr_matrix((scales, np.arange(len(self)), bounds))
        lengths.append(np.linalg.norm(adding @ sums, axis=1)[self.sections])
        return [
            np.divide(
                window_sums(dots, of), length, out=np.zeros(len(self)), where=length > 0
            )
            for of, length in zip(self.summed, lengths, strict=True)
        ]

    # -- tokens

    @property
    def has_tokens(self) -> bool:
        """Whether there are vectors of tokens."""
        return len(self.atoms.token_scales) > 0

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
            scores = products([kept], queries @ quantiser.axes, quantiser.bits)
            starts = running_totals(sizes[filled])[:-1]
            best[filled] = np.maximum.reduceat(scores, starts, axis=0)
        return best

    # -- stems

    @cached_property
    def _stem_atoms(self) -> IntArray:
        return np.repeat(np.arange(len(self)), self.atoms.stem_sizes)

    def stem_counts(self, key: np.uint64) -> Int32Array:
        """How often each atom holds a stem."""
        held = np.flatnonzero(self.atoms.stem_keys == key)
        of_atoms = np.zeros(len(self), dtype=np.int32)
        of_atoms[self._stem_atoms[held]] = self.atoms.stem_counts[held]
        return of_atoms

    def n_pieces_with(self, counts: Int32Array) -> int:
        """How many pieces hold what the atoms hold so often."""
        return len(np.unique(self.piece_of[np.flatnonzero(counts)]))

    @cached_property
    def stem_lengths(self) -> list[FloatArray]:
        """Stems in each atom's window, for each of `summed`, as far as it is there."""
        lengths = self.atoms.stem_lengths.astype(np.float64)
        return [window_sums(lengths, of) for of in self.summed]

    @cached_property
    def mean_stem_lengths(self) -> list[float]:
        """The stems of a usual window, for each of `summed`."""
        usual = self.atoms.window_stems[self.sampled].mean(axis=0).tolist()
        of_sections = self.stem_lengths[-1][section_starts(self.sections)]
        return [*usual, float(of_sections.mean())]

    @cached_property
    def _titled_atoms(self) -> IntArray:
        """Of each run of atoms of one section in a piece, its number at each atom."""
        changes = np.diff(self.sections, prepend=-1) != 0
        changes[self.piece_firsts[:-1]] = True
        numbers: IntArray = np.cumsum(changes) - 1
        return numbers

    def titled(self, key: np.uint64) -> BoolArray:
        """Which atoms have a stem in the titles above them."""
        sizes = self.atoms.title_sizes
        has = np.zeros(len(sizes), dtype=bool)
        held = np.flatnonzero(self.atoms.title_keys == key)
        if len(held):
            has[np.searchsorted(np.cumsum(sizes), held, "right")] = True
        return has[self._titled_atoms]


def best_of_sample(sampled: NDArray[Any], n: int) -> IntArray:
    """At most `n` of some atoms, at even distances."""
    chosen: IntArray = sampled[even_places(len(sampled), n)]
    return chosen
