"""One vector for each unit of text, however long."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from structrag.chunks.runs import Run
from structrag.chunks.units import Unit
from structrag.model_calls.flow import ask
from structrag.model_calls.requests import Embed, Flow
from structrag.records import Chunk
from structrag.text.arrays import FloatArray, unit_vectors

# Encoders of 256 tokens and more read such a text whole.
WINDOW_WORDS, WINDOW_CHARACTERS = 150, 1500


def unit_text(text: str, unit: Unit) -> str:
    """A unit's own words, without the heading that travels with it. Rows of a cut table follow its
    header."""
    words = text[unit.text_start : unit.end].strip()
    if not words:  # a heading alone
        words = text[unit.start : unit.end].strip()
    first, last = unit.header
    header = text[first:last].strip()
    return f"{header}\n{words}" if header else words


def windows_of(text: str) -> list[str]:
    """Windows of at most 150 words and about 1,500 characters. They are of about even size. A text
    that is not longer is one window, a blank one has none."""
    words = text.split()
    if not words:
        return []
    by_words = ceil(len(words) / WINDOW_WORDS)
    by_characters = ceil(len(text) / WINDOW_CHARACTERS)
    count = max(by_words, by_characters)
    if count == 1:
        return [text]
    if count > len(words):  # too little white space to cut at
        size = ceil(len(text) / count)
        parts = [text[i : i + size] for i in range(0, len(text), size)]
        return [part for part in parts if part.strip()]
    size = ceil(len(words) / count)
    return [" ".join(words[i : i + size]) for i in range(0, len(words), size)]


def pooled(rows: ArrayLike, counts: Sequence[int]) -> FloatArray:
    """Unit vectors, each the mean of the next `counts[i]` rows. They are zeros where that is 0.
    Shape (len(counts), dimension)."""
    vectors = unit_vectors(rows)
    if all(count == 1 for count in counts):
        return vectors
    sums = np.zeros((len(counts), max(1, vectors.shape[1])))
    lengths = np.asarray(counts)
    filled = np.flatnonzero(lengths)  # `reduceat` knows no empty runs
    if len(filled):
        starts = np.cumsum(lengths[filled]) - lengths[filled]
        sums[filled] = np.add.reduceat(vectors, starts, axis=0)
    return unit_vectors(sums)


def run_vectors(
    vectors: ArrayLike, weights: Sequence[int], runs: Sequence[Run]
) -> FloatArray:
    """For each run of rows their weighted mean, scaled to length 1. A weight below 1 counts as 1.
    Shape (len(runs), dimension)."""
    positive = np.maximum(1, np.asarray(weights))
    weighted = np.asarray(vectors, dtype=np.float64) * positive[:, None]
    sums = [weighted[first:last].sum(axis=0) for first, last in runs]
    return unit_vectors(np.stack(sums)) if sums else np.zeros((0, weighted.shape[1]))


def mean_vectors_flow(
    text: str, units: Sequence[Unit], chunks: Sequence[Chunk]
) -> Flow[FloatArray]:
    """Each chunk's mean of its units' vectors, weighted by their tokens.

    It is scaled to length 1. Units and chunks are in the order of the text. A unit that was cut
    belongs to each chunk that has a part of it. Shape (len(chunks), dimension).
    """
    windows: list[str] = []
    counts: list[int] = []
    for unit in units:
        of_unit = windows_of(unit_text(text, unit))
        windows += of_unit
        counts.append(len(of_unit))
    rows = yield from ask(Embed(tuple(windows), of="sentences"))
    vectors = pooled(rows, counts)
    tokens = [unit.tokens for unit in units]
    starts = [unit.start for unit in units]
    ends = [unit.end for unit in units]
    runs = []
    for chunk in chunks:
        first = bisect_right(ends, chunk.start)
        last = bisect_left(starts, chunk.end)
        runs.append((first, last))
    return run_vectors(vectors, tokens, runs)
