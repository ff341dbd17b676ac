"""The searchable form of a store: two indexes for each view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.index.dense import DenseIndex
from structrag.index.entries import Row
from structrag.index.lexical import Bm25, LexicalIndex, TermRows, join_rows, to_postings, to_rows
from structrag.index.ranking import concatenated
from structrag.text.terms import Tokenizer


@dataclass(frozen=True, slots=True)
class Settings:
    """What a store is made with; fixed for its life."""

    views: tuple[str, ...]
    dtype: str  # of the vectors: "float32" or "float16"
    bm25: Bm25
    tokenizer: Tokenizer


@dataclass(frozen=True, slots=True)
class Content:
    """Term counts and vectors of some rows, by view. Owners count from the first of these rows."""

    terms: Mapping[str, TermRows]
    vectors: Mapping[str, tuple[NDArray[Any], NDArray[np.int32]]]


@dataclass(frozen=True, slots=True)
class Member:
    """One document of a store."""

    record: Mapping[str, Any]  # id, title, format, meta
    fingerprint: str
    degraded: int
    widths: Mapping[str, int]  # view -> dimension of the vectors it has there
    rows: Sequence[Row]  # row i of this document is rows[first + i]
    first: int
    n_rows: int
    start: int  # its first row in the tables
    # What the tables do not hold yet; `start` is meaningless until they do.
    pending: Content | None = None

    @property
    def stop(self) -> int:
        return self.start + self.n_rows


@dataclass(frozen=True, slots=True)
class Tables:
    """The indexes of all views over rows 0 to n_rows - 1."""

    n_rows: int
    dense: Mapping[str, DenseIndex]
    lexical: Mapping[str, LexicalIndex]


def empty_tables(settings: Settings, vocabulary: Mapping[str, int]) -> Tables:
    """Tables without rows."""
    return assemble({}, None, settings, vocabulary)[1]


def assemble(
    members: Mapping[str, Member],
    old: Tables | None,
    settings: Settings,
    vocabulary: Mapping[str, int],
) -> tuple[dict[str, Member], Tables]:
    """Number the rows of members in their order and index them.

    What the old tables hold already is taken from there.
    """
    placed: dict[str, Member] = {}
    pieces: list[Content | tuple[int, int]] = []  # new content, or a run of rows of the old tables
    n_rows = 0
    for name, member in members.items():
        last = pieces[-1] if pieces else None
        if member.pending is not None:
            pieces.append(member.pending)
        elif isinstance(last, tuple) and last[1] == member.start:
            pieces[-1] = (last[0], member.stop)
        else:
            pieces.append((member.start, member.stop))
        placed[name] = replace(member, start=n_rows, pending=None)
        n_rows += member.n_rows
    dense = {view: _join_dense(view, pieces, old, settings.dtype) for view in settings.views}
    lexical = {}
    for view in settings.views:
        rows = join_rows(list(_term_rows(view, pieces, old)))
        postings = to_postings(rows, len(vocabulary))
        lexical[view] = LexicalIndex(
            postings, vocabulary, bm25=settings.bm25, tokenizer=settings.tokenizer
        )
    return placed, Tables(n_rows, dense, lexical)


def _term_rows(
    view: str, pieces: Iterable[Content | tuple[int, int]], old: Tables | None
) -> Iterable[TermRows]:
    old_rows: TermRows | None = None
    for piece in pieces:
        if isinstance(piece, Content):
            yield piece.terms[view]
        elif old is not None:
            if old_rows is None:
                old_rows = to_rows(old.lexical[view].postings)
            yield old_rows.slice(*piece)


def _join_dense(
    view: str, pieces: Iterable[Content | tuple[int, int]], old: Tables | None, dtype: str
) -> DenseIndex:
    matrices: list[NDArray[Any]] = []
    owners: list[NDArray[Any]] = []
    row = 0
    for piece in pieces:
        if isinstance(piece, Content):
            n_rows = len(piece.terms[view].lengths)
            matrix, owner = piece.vectors.get(view, (np.empty((0, 0)), np.empty(0, dtype=np.int32)))
        elif old is not None:
            n_rows = piece[1] - piece[0]
            low, high = np.searchsorted(old.dense[view].owner, piece)
            matrix, owner = (
                old.dense[view].matrix[low:high],
                old.dense[view].owner[low:high] - piece[0],
            )
        if len(matrix):
            matrices.append(matrix)
            owners.append(owner + row)
        row += n_rows
    joined = concatenated(matrices, dtype) if matrices else np.empty((0, 0), dtype=dtype)
    return DenseIndex(joined, concatenated(owners, np.int32), view=view)


def canonical_vocabulary(
    tables: Tables, vocabulary: Mapping[str, int]
) -> tuple[list[str], dict[str, Any]]:
    """The terms in use, sorted, and postings renumbered to match.

    Terms that only deleted documents had are gone, and equal content gives equal files whatever its
    history.
    """
    n_terms = max((len(index.postings.indptr) - 1 for index in tables.lexical.values()), default=0)
    used = np.zeros(n_terms, dtype=bool)
    for index in tables.lexical.values():
        used[: len(index.postings.indptr) - 1] |= np.diff(index.postings.indptr) > 0
    terms = sorted(term for term, number in vocabulary.items() if number < n_terms and used[number])
    numbers = np.array([vocabulary[term] for term in terms], dtype=np.int64)
    return terms, {view: index.postings.select(numbers) for view, index in tables.lexical.items()}
