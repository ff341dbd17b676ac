"""BM25 as products of sparse vectors. For engines that multiply but do not count. A row's vector
has what BM25 gives each of its terms but for the idf, which the query brings. How many rows hold a
term is kept beside them. A term's number is a digest of 32 bits."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh32_intdigest

from structrag.index.lexical import Bm25

NO_TERM = 0  # the number that stands in a vector which would be empty
_N_NUMBERS = 2**32 - 2


def number_of(term: str) -> int:
    """The number of a term, from 1."""
    return xxh32_intdigest(term.encode("utf-8", "surrogatepass")) % _N_NUMBERS + 1


def numbered(terms: Iterable[str]) -> Counter[int]:
    """How often each term is there, by its number."""
    return Counter(map(number_of, terms))


def weights_of(
    counts: Mapping[int, int], bm25: Bm25, average: float
) -> dict[int, float]:
    """A row's vector: term -> count / (count + norm).

    Example:
        >>> weights_of({7: 3}, Bm25(k1=1.0, b=0.0), average=3.0)
        {7: 0.75}
    """
    if not counts:
        return {NO_TERM: 1.0}
    below = bm25.norm(sum(counts.values()), average)
    return {number: count / (count + below) for number, count in counts.items()}


def counts_of(
    weights: Mapping[int, float], length: int, bm25: Bm25, average: float
) -> dict[int, int]:
    """The counts that `weights_of` was given."""
    below = bm25.norm(length, average)
    return {
        int(number): round(below * weight / (1 - weight))
        for number, weight in weights.items()
        if int(number) != NO_TERM
    }


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How many rows hold each term, or the change of that number."""

    numbers: NDArray[np.uint32]  # ascending
    frequencies: NDArray[np.int32]

    @classmethod
    def of(cls, rows: Iterable[Iterable[int]]) -> RowCounts:
        """Of rows by their terms' numbers, each once."""
        numbers = np.fromiter(
            (number for row in rows for number in row), dtype=np.uint32
        )
        numbers = numbers[numbers != NO_TERM]
        unique, frequencies = np.unique(numbers, return_counts=True)
        return cls(unique, frequencies.astype(np.int32))

    @classmethod
    def of_terms(cls, terms: Mapping[str, int], others: Mapping[int, int]) -> RowCounts:
        """Of how many rows hold each term, and each of some other numbers."""
        totals = Counter(others)
        for term, frequency in terms.items():
            totals[number_of(term)] += frequency
        pairs = np.array(sorted(totals.items()), dtype=np.int64).reshape(-1, 2)
        return cls(pairs[:, 0].astype(np.uint32), pairs[:, 1].astype(np.int32))

    def __len__(self) -> int:
        return len(self.numbers)

    def __neg__(self) -> RowCounts:
        return RowCounts(self.numbers, -self.frequencies)

    def frequency(self, number: int) -> int:
        """How many rows hold a term."""
        at = int(np.searchsorted(self.numbers, number))
        there = at < len(self.numbers) and self.numbers[at] == number
        return int(self.frequencies[at]) if there else 0

    def to_parts(self, size: int) -> list[str]:
        """The array as one or more strings of at most so many characters."""
        steps = np.diff(self.numbers, prepend=np.uint32(0))
        packed = zlib.compress(steps.tobytes() + self.frequencies.tobytes(), 1)
        text = b64encode(packed).decode("ascii")
        return [text[start : start + size] for start in range(0, len(text), size)]

    @classmethod
    def from_parts(cls, parts: Sequence[str]) -> RowCounts:
        """What `to_parts` was given."""
        both = np.frombuffer(
            zlib.decompress(b64decode("".join(parts))), dtype=np.uint32
        )
        steps, frequencies = np.split(both, 2)
        return cls(np.cumsum(steps, dtype=np.uint32), frequencies.view(np.int32))


def summed(parts: Sequence[RowCounts]) -> RowCounts:
    """The sum of counts, without terms that no row holds any more."""
    numbers = np.concatenate([part.numbers for part in parts])
    frequencies = np.concatenate([part.frequencies for part in parts])
    unique, places = np.unique(numbers, return_inverse=True)
    sums = np.zeros(len(unique), dtype=np.int32)
    np.add.at(sums, places, frequencies)
    return RowCounts(unique[sums != 0], sums[sums != 0])
