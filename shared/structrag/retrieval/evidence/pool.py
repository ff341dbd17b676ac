"""The pieces that are searched for a question, as one pool of atoms with everything that scores
need."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag._locks import cached_property
from structrag.index.entries import StoredRow
from structrag.retrieval.evidence.atom_arrays import (
    AtomArrays,
    number_runs,
    section_starts,
    unpack,
    vectors_of,
)
from structrag.retrieval.evidence.pieces import TOKENS, StoredDocument, documents_of
from structrag.retrieval.evidence.quantised import Quantised, Quantiser, products
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
