"""The documents that a question searches, as one row of atoms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.index.lexical import idf
from structrag.retrieval.evidence.quantised import (
    Quantised,
    Quantiser,
    products,
    unit_rows,
)
from structrag.retrieval.evidence.record import Record, section_runs
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
from structrag.text.stems import Keys

# Reader tokens between documents, so that no window holds two.
_APART = 10 * MAX_WIDTHS[-1]
_TOKENS = 8192  # tokens multiplied at once
_NO_MATCH = -1.0  # the least cosine, for atoms without a token
_ROWS = 8192  # atoms whose vectors are widened at once
_SUMS_BYTES = 256 << 20  # of atoms' sums in float32 that a pool keeps


class Corpus:
    """Records put together.

    Units, blocks and sections are numbered through all documents, in the order of `records`. What
    does not depend on the question is worked out once.

    Args:
        records: Of the documents.
        before: A pool that begins with the same records. What it has worked out for these is taken
            over, so that only the others are put in.

    Attributes:
        shared: How many records were taken over.
    """

    def __init__(self, records: Sequence[Record], before: Corpus | None = None) -> None:
        self.records: tuple[Record, ...] = tuple(records)
        sizes = [len(record) for record in records]
        # The first atom of each record.
        self.firsts: IntArray = running_totals(sizes)
        self.tokens: IntArray = self._column("tokens", np.int64)
        self.blocks: IntArray = _numbered(
            [record.blocks for record in records],
            [len(record.block_tokens) for record in records],
        )
        self.block_tokens: IntArray = self._column("block_tokens", np.int64)
        spans = [int(record.sections.max(initial=-1)) + 1 for record in records]
        self.sections: IntArray = _numbered(
            [record.sections for record in records], spans
        )
        self.section_offsets: IntArray = running_totals(spans)
        self.shared: int = before.begins_like(records) if before is not None else 0
        if before is not None and self.shared:
            self._take_over(before)

    def begins_like(self, records: Sequence[Record]) -> int:
        """How many records at the beginning are like these.

        They are of the same atoms and stems.
        """
        pairs = enumerate(zip(self.records, records, strict=False))
        most = min(len(self.records), len(records))
        return next((i for i, (one, other) in pairs if not _is_same(one, other)), most)

    def _take_over(self, before: Corpus) -> None:
        """Join an earlier pool's results with the other records'."""
        rest = Corpus(self.records[self.shared :])
        units = int(self.firsts[self.shared])
        sections = int(self.section_offsets[self.shared])
        if "windows" in vars(before):
            self.windows = {
                width: _windows_behind(old, rest.windows[width], units)
                for width, old in before.windows.items()
            }
        if "stem_lengths" in vars(before):
            both = zip(before.stem_lengths, rest.stem_lengths, strict=True)
            self.stem_lengths = [
                np.concatenate([old[:units], new]) for old, new in both
            ]
        if "_postings" in vars(before):
            self._postings = _merged(before._postings, rest._postings, units)
        if "_titles" in vars(before):
            self._titles = _merged(before._titles, rest._titles, sections)

    def _column(self, name: str, dtype: Any) -> NDArray[Any]:
        return _joined([getattr(record, name) for record in self.records], dtype)

    def __len__(self) -> int:
        """The number of atoms."""
        return int(self.firsts[-1])

    def place(self, atom: int) -> tuple[int, int]:
        """Which record an atom is of, and its number there."""
        record = int(np.searchsorted(self.firsts, atom, "right")) - 1
        return record, atom - int(self.firsts[record])

    # -- windows

    @cached_property
    def windows(self) -> dict[int, Windows]:
        """Width in reader tokens -> the windows of all atoms."""
        middles, offset = [], 0.0
        for record in self.records:
            middles.append(middles_of(record.tokens) + offset)
            offset += float(record.tokens.sum()) + _APART
        all_middles = _joined(middles, np.float64)
        return {width: windows(all_middles, width) for width in MAX_WIDTHS}

    @cached_property
    def section_windows(self) -> Windows:
        """For each atom those of its section."""
        return section_runs(self.sections)

    @property
    def summed(self) -> list[Windows]:
        """Windows that are summed over, and the sections."""
        return [*(self.windows[width] for width in SUM_WIDTHS), self.section_windows]

    # -- vectors

    @cached_property
    def lengths(self) -> Array:
        """Of the sums over `summed`: shape (atoms, windows + 1)."""
        return self._column("lengths", np.float32)

    @cached_property
    def dimension(self) -> int:
        """The length of the atoms' vectors; 0 where there are none."""
        widths = (record.sums.shape[1] for record in self.records if len(record))
        return next(filter(None, widths), 0)

    def cosines(self, vector: Array) -> list[FloatArray]:
        """A vector's cosines with the windows' sums of vectors. One array for each of `summed`.
        Zeros where there are no vectors."""
        unit = vector / (float(np.linalg.norm(vector)) or 1.0)
        dots = self._dots(unit.astype(np.float32)) * self.lengths[:, 0]
        cosines = []
        for column, of in enumerate(self.summed):
            lengths = self.lengths[:, column].astype(np.float64)
            sums = window_sums(dots, of)
            cosines.append(
                np.divide(sums, lengths, out=np.zeros(len(sums)), where=lengths > 0)
            )
        return cosines

    def _dots(self, unit: Array) -> FloatArray:
        """The products of a vector with the atoms' kept sums."""
        if self._sums is not None:
            whole = self._sums.shape[1] == len(unit)
            return (
                (self._sums @ unit).astype(np.float64) if whole else np.zeros(len(self))
            )
        dots = np.zeros(len(self))
        for record, first in zip(self.records, self.firsts, strict=False):
            for start in range(0, len(record), _ROWS):
                rows = unit_rows(record.sums[start : start + _ROWS].astype(np.float32))
                if rows.shape[1] == len(unit):
                    dots[first + start : first + start + len(rows)] = rows @ unit
        return dots

    @cached_property
    def _sums(self) -> Array | None:
        """The atoms' sums in float32, as widening takes longer than multiplying. None where they
        would take too much memory, or differ in width."""
        sums = [record.sums for record in self.records if len(record)]
        widths = {one.shape[1] for one in sums}
        if len(widths) != 1 or len(self) * widths.pop() * 4 > _SUMS_BYTES:
            return None
        return unit_rows(_joined(sums, np.float32))

    # -- tokens

    @property
    def has_tokens(self) -> bool:
        """Whether there are vectors of tokens."""
        return any(len(record.token_rows) for record in self.records)

    def token_weights(self, ids: Int32Array) -> FloatArray:
        """The idf of a question's tokens, by the pieces that hold them."""
        n = sum(int(record.encoder_spans[0]) for record in self.records)
        held, counts = self._piece_counts
        df = np.zeros(len(ids))
        if len(held):
            at = np.minimum(np.searchsorted(held, ids), len(held) - 1)
            df = np.where(held[at] == ids, counts[at], 0.0)
        weights: FloatArray = idf(n, df)
        return weights

    def has(self, ids: Int32Array) -> BoolArray:
        """Which tokens of a question stand in any of the documents."""
        return np.isin(ids, self._piece_counts[0])

    @cached_property
    def _piece_counts(self) -> tuple[Int32Array, FloatArray]:
        """Tokens, ascending, and how many pieces hold each."""
        ids = self._column("piece_ids", np.int32)
        held, places = np.unique(ids, return_inverse=True)
        counts = self._column("piece_counts", np.float64)
        df: FloatArray = np.zeros(len(held))
        np.add.at(df, places, counts)
        return held, df

    def matches(self, units: IntArray, queries: Array, quantiser: Quantiser) -> Array:
        """The best cosine of each query token within each atom. `units` ascend. `queries` (k, d)
        are unit vectors. Gives (len(atoms), k). An atom without a token matches nothing: -1."""
        turned = queries @ quantiser.axes
        best = np.full((len(units), len(queries)), _NO_MATCH, dtype=np.float32)
        for places, parts, counts in self._token_batches(units):
            scores = products(parts, turned, quantiser.bits)
            starts = running_totals(counts[:-1])
            best[places] = np.maximum.reduceat(scores, starts, axis=0)
        return best

    def _token_batches(
        self, units: IntArray
    ) -> Iterator[tuple[IntArray, list[Quantised], IntArray]]:
        """The atoms that have tokens, in batches. Gives their places in `units`, the kept vectors
        and each atom's number of tokens."""
        places: list[IntArray] = []
        parts: list[Quantised] = []
        counts: list[IntArray] = []
        waiting = 0
        for place, part, count in self._token_runs(units):
            places.append(place)
            parts.append(part)
            counts.append(count)
            waiting += len(part.rows)
            if waiting >= _TOKENS:
                yield np.concatenate(places), parts, np.concatenate(counts)
                places, parts, counts, waiting = [], [], [], 0
        if waiting:
            yield np.concatenate(places), parts, np.concatenate(counts)

    def _token_runs(
        self, units: IntArray
    ) -> Iterator[tuple[IntArray, Quantised, IntArray]]:
        """Runs of adjacent atoms of a document, hardly longer than a batch."""
        breaks = np.flatnonzero(np.diff(units) != 1) + 1
        bounds = np.concatenate([[0], breaks, [len(units)]])
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            while low < high:
                number, first = self.place(int(units[low]))
                record = self.records[number]
                last = min(first + high - low, len(record))
                limit = record.token_firsts[first] + _TOKENS
                by_limit = int(np.searchsorted(record.token_firsts, limit, "right")) - 1
                last = max(first + 1, min(last, by_limit))
                firsts = record.token_firsts[first : last + 1].astype(np.int64)
                counts = np.diff(firsts)
                filled = np.flatnonzero(counts)
                if len(filled):
                    tokens = slice(int(firsts[0]), int(firsts[-1]))
                    part = Quantised(
                        record.token_rows[tokens], record.token_scales[tokens]
                    )
                    yield low + filled, part, counts[filled]
                low += last - first

    # -- stems

    @cached_property
    def _postings(self) -> tuple[Keys, IntArray, Int32Array]:
        """Stems, their atoms and how often, ordered by stem and atom."""
        keys = self._column("stem_keys", np.uint64)
        units = _joined(
            [
                record.stem_atoms + np.int64(first)
                for record, first in zip(self.records, self.firsts, strict=False)
            ],
            np.int64,
        )
        counts = self._column("stem_counts", np.int32)
        order = np.argsort(keys, kind="stable")
        return keys[order], units[order], counts[order]

    def stem_counts(self, key: np.uint64) -> Int32Array:
        """How often each atom holds a stem."""
        keys, units, counts = self._postings
        held = _of_key(keys, key)
        of_atoms = np.zeros(len(self), dtype=np.int32)
        of_atoms[units[held]] = counts[held]
        return of_atoms

    @cached_property
    def stem_lengths(self) -> list[FloatArray]:
        """Stems in each atom's window, for each of `summed`."""
        lengths = self._column("stem_lengths", np.float64)
        return [window_sums(lengths, of) for of in self.summed]

    @cached_property
    def _titles(self) -> tuple[Keys, IntArray]:
        """Stems of titles and the sections below these, ordered by stem."""
        keys = self._column("title_keys", np.uint64)
        sections = [
            np.where(
                record.title_sections < next_offset - offset,
                record.title_sections + offset,
                -1,  # a section behind the last one that has an atom
            )
            for record, offset, next_offset in zip(
                self.records,
                self.section_offsets[:-1],
                self.section_offsets[1:],
                strict=True,
            )
        ]
        numbers = _joined(sections, np.int64)
        held = numbers >= 0
        keys, numbers = keys[held], numbers[held]
        order = np.argsort(keys, kind="stable")
        return keys[order], numbers[order]

    def titled(self, key: np.uint64) -> BoolArray:
        """Which atoms have a stem in the titles above them."""
        keys, sections = self._titles
        has = np.zeros(int(self.section_offsets[-1]), dtype=bool)
        has[sections[_of_key(keys, key)]] = True
        return has[self.sections]


def _of_key(keys: Keys, key: np.uint64) -> slice:
    first = np.searchsorted(keys, key, "left")
    return slice(int(first), int(np.searchsorted(keys, key, "right")))


def _is_same(one: Record, other: Record) -> bool:
    """Whether two records have the same atoms and stems, whatever their vectors."""
    return one.tokens is other.tokens and one.stem_keys is other.stem_keys


def _windows_behind(old: Windows, new: Windows, first: int) -> Windows:
    """The windows of the old atoms below `first`, then the new ones. The atoms of the new ones
    count from there."""
    return Windows(
        np.concatenate([old.firsts[:first], new.firsts + first]),
        np.concatenate([old.stops[:first], new.stops + first]),
    )


def _merged(old: Any, new: Any, first: int) -> Any:
    """Arrays ordered by key. Those of `new` come behind the equal ones of `old`. The second are
    numbers: the old ones below `first` stay, the new ones count from there."""
    if len(old[1]) and old[1].max() >= first:
        stays = old[1] < first
        old = [array[stays] for array in old]
    keys, numbers, *others = new
    at = np.searchsorted(old[0], keys, "right")
    new = keys, numbers + first, *others
    return tuple(
        np.insert(left, at, right) for left, right in zip(old, new, strict=True)
    )


def _joined(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """The arrays behind each other, those of rows of equal width."""
    if not arrays:
        return np.zeros(0, dtype=dtype)
    return np.concatenate(arrays).astype(dtype, copy=False)


def _numbered(numbers: Sequence[NDArray[Any]], counts: Sequence[int]) -> IntArray:
    """Numbers of each record, made different from those of the records before."""
    pairs = zip(numbers, running_totals(counts), strict=False)
    return _joined([of + offset for of, offset in pairs], np.int64)
