"""TF-IDF: how often a text has each term, weighed by how few texts have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from structrag.text.arrays import FloatArray, IntArray, running_totals


@dataclass(frozen=True, slots=True)
class TfIdf:
    """Texts as the rows of a sparse matrix, each of length 1; term frequency is sublinear."""

    terms: list[str]  # sorted; the columns
    weights: FloatArray  # inverse document frequency of each term
    # (texts + 1,) text i has the entries from ends[i] to ends[i + 1]
    ends: IntArray
    columns: IntArray
    values: FloatArray

    @classmethod
    def of(cls, texts: Sequence[str], tokenizer: Callable[[str], list[str]]) -> TfIdf:
        """The TF-IDF of texts among themselves."""
        counts = [Counter(tokenizer(text)) for text in texts]
        terms = sorted(set().union(*counts))
        numbers = {term: number for number, term in enumerate(terms)}
        ends = running_totals([len(row) for row in counts])
        n = int(ends[-1])
        columns = np.fromiter((numbers[t] for row in counts for t in row), np.int64, n)
        times = np.fromiter((c for row in counts for c in row.values()), np.float64, n)
        frequencies = np.bincount(columns, minlength=len(terms))
        weights = np.log((1 + len(texts)) / (1 + frequencies)) + 1
        values = (1 + np.log(times)) * weights[columns]
        rows = np.repeat(np.arange(len(texts)), np.diff(ends))
        values /= np.sqrt(np.bincount(rows, values**2))[rows]
        return cls(terms, weights, ends, columns, values)

    def turned(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The entries term by term: their ends, texts and values."""
        order = np.argsort(self.columns, kind="stable")
        rows = np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))
        sizes = np.bincount(self.columns, minlength=len(self.terms))
        return running_totals(sizes), rows[order], self.values[order]
