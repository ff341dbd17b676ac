"""TF-IDF, and latent semantic analysis: vectors of the documents' own words, without a model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag._locks import Lock, cached_property
from structrag.text.arrays import (
    Array,
    FloatArray,
    IntArray,
    bytes_text,
    running_totals,
    text_bytes,
)
from structrag.text.terms import Tokenizer

_ONE_AT_A_TIME = Lock()  # the number of threads is changed for a moment
_SPARE = 10  # dimensions beside those that are kept


class LsaFit:
    """A latent semantic analysis fitted to a corpus.

    Example:
        >>> LsaFit(["pump"], np.ones(1, dtype=np.float32)).vector({"pump": 1}).tolist()
        [1.0]

    Args:
        terms: Of the corpus, in the order of the weights.
        weights: Inverse document frequency of each term, float32.
        term_vectors: Shape (terms, rank), float32; None: each term is a dimension of its own.
    """

    def __init__(
        self,
        terms: Sequence[str],
        weights: Array,
        term_vectors: Array | None = None,
    ) -> None:
        self.terms = terms
        self.weights = weights
        self.term_vectors = term_vectors

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {term: number for number, term in enumerate(self.terms)}

    @property
    def dimensions(self) -> int:
        return (
            len(self.terms) if self.term_vectors is None else self.term_vectors.shape[1]
        )

    def vector(self, counts: Mapping[str, int]) -> Array:
        """The unit vector of a text's terms; zeros without a known term."""
        numbers = self._numbers
        by_number = {
            numbers[term]: count for term, count in counts.items() if term in numbers
        }
        total = np.zeros(self.dimensions, dtype=np.float32)
        if not by_number:
            return total
        columns = np.fromiter(by_number, dtype=np.int64, count=len(by_number))
        times = np.fromiter(by_number.values(), dtype=np.float32, count=len(by_number))
        scale = (1 + np.log(times)) * self.weights[columns]
        # of length one, so that what is left of a text is measured alike for short and long ones
        scale /= np.linalg.norm(scale)
        if self.term_vectors is None:
            total[columns] = scale
        else:
            total = scale @ self.term_vectors[columns]
        length = float(np.linalg.norm(total))
        return total / np.float32(length) if length > 1e-12 else np.zeros_like(total)


def _term_vectors(table: TfIdf, rank: int) -> Array:
    """The leading right singular vectors of a table, as columns whose largest number is positive.

    By a random start that the table sharpens once (Halko, Martinsson and Tropp 2011, algorithm
    4.4). More rounds come nearer to the exact vectors, which find no more.
    """
    by_text = table.ends, table.columns, table.values.astype(np.float32)
    ends, texts, values = table.turned()
    by_term = ends, texts, values.astype(np.float32)
    has_more_terms = len(table.terms) >= len(table.ends) - 1
    tall, wide = (by_term, by_text) if has_more_terms else (by_text, by_term)
    shape = len(wide[0]) - 1, min(rank + _SPARE, len(wide[0]) - 1)
    basis = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    basis, _ = np.linalg.qr(_product(wide, _product(tall, basis)))
    image = _product(tall, basis)
    squares, turn = np.linalg.eigh((image.T @ image).astype(np.float64))
    squares, turn = squares[: -rank - 1 : -1], turn[:, : -rank - 1 : -1]
    is_there = squares > 1e-6 * squares[0]  # not all are, as among equal texts
    turn = np.where(is_there, turn, 0)
    if has_more_terms:
        turn /= np.sqrt(np.where(is_there, squares, 1))
    vectors: Array = (image if has_more_terms else basis) @ turn.astype(np.float32)
    largest = np.abs(vectors).argmax(axis=0)
    vectors *= np.sign(vectors[largest, np.arange(rank)])
    return vectors


def _product(matrix: tuple[IntArray, IntArray, Array], dense: Array) -> Array:
    """The product of a sparse matrix with a dense one."""
    ends, columns, values = matrix
    product = np.empty((len(ends) - 1, dense.shape[1]), dtype=np.float32)
    for row, (first, last) in enumerate(pairwise(ends.tolist())):
        np.dot(values[first:last], dense[columns[first:last]], out=product[row])
    return product


@dataclass(frozen=True)
class LsaEmbedder:
    """Latent semantic analysis: TF-IDF vectors reduced by a singular value decomposition.

    Example:
        >>> texts = ["pumps move water", "valves hold water", "cats eat fish", "cats eat"]
        >>> LsaEmbedder(dimensions=2).fit(texts).embed(texts).shape
        (4, 2)

    It needs no model and no download. The vectors depend on the corpus it was fitted on. It relates
    words only through the documents given, so expect less than from a trained encoder. Texts
    without a known word get the zero vector.
    """

    dimensions: int = 256
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    fitted: LsaFit | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return f"LSA({self.dimensions}, {self.tokenizer.language})"

    def fit(self, texts: Sequence[str]) -> LsaEmbedder:
        """An embedder fitted on the texts. Fewer than three texts or terms, or one dimension: plain
        TF-IDF, no reduction."""
        from threadpoolctl import threadpool_limits

        table = TfIdf.of(texts, self.tokenizer)
        if not table.terms:
            return replace(self, fitted=None)
        weights = table.weights.astype(np.float32)
        rank = min(self.dimensions, len(texts) - 1, len(table.terms) - 1)
        if rank < 2:
            return replace(self, fitted=LsaFit(table.terms, weights))
        # Threads of BLAS wait for each other more than they work on matrices as narrow as these,
        # and round otherwise than one.
        with _ONE_AT_A_TIME, threadpool_limits(1, user_api="blas"):
            term_vectors = _term_vectors(table, rank)
        return replace(self, fitted=LsaFit(table.terms, weights, term_vectors))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Array:
        """Unit vectors, a row for each text. Zeros for texts without a known word, and for all
        while nothing with a term was fitted."""
        if self.fitted is None or not len(texts):
            return np.zeros((len(texts), 1), dtype=np.float32)
        vectors = np.zeros((len(texts), self.fitted.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self.fitted.vector(Counter(self.tokenizer(text)))
        return vectors

    # -- as arrays, to be saved

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays from which `restored` makes the same embedder; none before a fit."""
        if self.fitted is None:
            return {}
        arrays: dict[str, NDArray[Any]] = {
            "tokenizer": text_bytes(self._tokenizer_name()),
            "terms": text_bytes("\n".join(self.fitted.terms)),
            "weights": self.fitted.weights,
        }
        if self.fitted.term_vectors is not None:
            arrays["term_vectors"] = self.fitted.term_vectors
        return arrays

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> LsaEmbedder | None:
        """The embedder that gave these arrays; None for other settings."""
        needed = {"tokenizer", "terms", "weights"}
        if (
            not needed <= arrays.keys()
            or bytes_text(arrays["tokenizer"]) != self._tokenizer_name()
        ):
            return None
        terms = bytes_text(arrays["terms"]).split("\n")
        return replace(
            self, fitted=LsaFit(terms, arrays["weights"], arrays.get("term_vectors"))
        )

    def _tokenizer_name(self) -> str:
        return json.dumps([self.dimensions, self.tokenizer.to_json()])


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
