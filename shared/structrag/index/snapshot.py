"""The state of a store at one moment: its segments, which of their documents are live, and the
order of all rows. A snapshot is immutable, so documents that are added or deleted meanwhile do not
disturb a search."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag._locks import cached_property
from structrag.errors import (
    IndexDamaged,
    InvalidParameter,
    UnknownDocument,
    check_at_least,
    check_choice,
)
from structrag.index.dense import DenseIndex, VectorPart
from structrag.index.entries import ChunkRow, DocumentRow, StoredRow, parse_row
from structrag.index.lexical import METHODS, LexicalIndex, LexicalPart
from structrag.index.ranking import IntArray, RowMap
from structrag.index.segments import (
    Levels,
    LevelTable,
    Runs,
    Segment,
    blobs_of,
    row_runs,
    runs_of,
)
from structrag.index.selection import (
    Condition,
    Selection,
    check_selection,
    row_numbers,
    select_rows,
)
from structrag.records import Chunk, Document
from structrag.text.arrays import evenly
from structrag.text.terms import RULE, Tokenizer

Where = Condition | Selection | None  # what `Reader.select` takes, or what it gave
Live = NDArray[np.bool_] | None  # which documents of a segment live; None: all


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a store, fixed for its life."""

    levels: Levels
    dtype: str  # of the vectors: "float32" or "float16"
    lexical: str  # the method of BM25
    tokenizer: Tokenizer

    def __post_init__(self) -> None:
        check_choice("lexical", self.lexical, METHODS)

    def to_json(self) -> dict[str, Any]:
        """The settings as they are saved."""
        return {
            "levels": {name: list(views) for name, views in self.levels.items()},
            "dtype": self.dtype,
            "bm25": {"method": self.lexical},
            "tokenizer": self.tokenizer.to_json(),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Settings:
        """The settings that `to_json` described."""
        return cls(
            levels={name: tuple(views) for name, views in saved["levels"].items()},
            dtype=saved["dtype"],
            lexical=saved["bm25"]["method"],
            tokenizer=Tokenizer.from_json(saved["tokenizer"]),
        )


def check_rule(store: str, saved: Mapping[str, Any]) -> None:
    """Raise IndexDamaged unless a store's terms, by its saved settings, were cut by the rule of
    this release."""
    rule = saved["tokenizer"].get("rule", 1)
    if rule != RULE:
        remedy = "Update structrag, or rebuild" if rule > RULE else "Rebuild"
        raise IndexDamaged(
            f"{store} was tokenised by rule {rule}; this release tokenises questions by rule "
            f"{RULE}, which would not match. {remedy} it."
        )


def check_settings(place: str, saved: Settings, given: Settings) -> None:
    """Raise InvalidParameter unless a store's settings are those given."""
    if saved.to_json() != given.to_json():
        raise InvalidParameter(
            f"views, dtype, lexical, language and stems must match the store at {place!r}, which "
            f"was made with {_shown(saved)}; got {_shown(given)}. Leave them out, or name a new "
            "store."
        )


def _shown(settings: Settings) -> str:
    """Settings for a message, without all stop words."""
    saved = settings.to_json()
    del saved["tokenizer"]["stopwords"]
    return json.dumps(saved)


class Snapshot:
    """All levels of a store at one moment.

    Args:
        settings: Of the store.
        segments: Whose documents are there.
        live: Of each segment, which documents live.
        changes: `Store.changes` at that moment.
    """

    def __init__(
        self,
        settings: Settings,
        segments: Sequence[Segment],
        live: Sequence[Live],
        changes: int,
    ) -> None:
        self.settings = settings
        self.segments: tuple[Segment, ...] = tuple(segments)
        self.live: tuple[Live, ...] = tuple(live)
        self.changes = changes
        self._readers: dict[str, Reader] = {}

    def reader(self, level: str | None = None) -> Reader:
        """One level, by default the first. Raises InvalidParameter for an unknown one."""
        name = next(iter(self.settings.levels)) if level is None else level
        check_choice("level", name, self.settings.levels)
        if name not in self._readers:
            self._readers[name] = Reader(self, name)
        return self._readers[name]

    @cached_property
    def runs(self) -> Runs:
        """The living documents in their order, as runs of one segment each."""
        return runs_of(self.segments, self.live)

    def find(self, doc_id: str) -> tuple[int, int] | None:
        """The segment that holds a document, and the document's number there."""
        # The newest first: an id may also be that of an earlier version, which lives no more.
        for i in range(len(self.segments) - 1, -1, -1):
            number = self.segments[i].number_of.get(doc_id)
            alive = self.live[i]
            if number is not None and (alive is None or alive[number]):
                return i, number
        return None

    @cached_property
    def document_ids(self) -> tuple[str, ...]:
        """The ids of the documents, in the order in which they were first added."""
        return tuple(
            self.segments[i].document(number).record["id"]
            for i, first, last in self.runs.tolist()
            for number in range(first, last)
        )


class Reader:
    """One level of a store at one moment, to be searched. Rows number the chunks: documents in the
    order they were first put (a replaced one keeps its place), then chunk start."""

    def __init__(
        self,
        snapshot: Snapshot,
        level: str,
        *,
        fitted: Mapping[str, DenseIndex] | None = None,
        fitted_embedder: Any = None,
        fitted_arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """`fitted` replaces the stored vectors; `fitted_embedder` is the embedder that made it, and
        `fitted_arrays` what else it made of all rows."""
        self.snapshot = snapshot
        self.level = level
        self.settings: Settings = snapshot.settings
        self.views: tuple[str, ...] = tuple(snapshot.settings.levels[level])
        self.changes: int = snapshot.changes
        self.fitted_embedder = fitted_embedder
        self.fitted_arrays: Mapping[str, NDArray[Any]] = fitted_arrays or {}
        self._dense: dict[str, DenseIndex] = dict(fitted or {})
        self._lexical: dict[str, LexicalIndex] = {}

    # -- the order of rows

    @cached_property
    def _tables(self) -> list[LevelTable]:
        return [segment.levels[self.level] for segment in self.snapshot.segments]

    @cached_property
    def _runs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the first position, the segment and the first row in it of each run. The positions
        have one more item: the end of the last run."""
        rows = row_runs(self.snapshot.runs, [table.bounds for table in self._tables])
        rows = rows[rows[:, 1] < rows[:, 2]]
        starts = np.concatenate([[0], np.cumsum(rows[:, 2] - rows[:, 1])])
        return starts, rows[:, 0], rows[:, 1]

    @cached_property
    def places(self) -> list[RowMap]:
        """The positions of each segment's rows."""
        starts, owners, firsts = self._runs
        sizes = np.diff(starts)
        places = []
        for i, table in enumerate(self._tables):
            runs = np.flatnonzero(owners == i)
            if sizes[runs].tolist() == [table.n_rows]:  # all rows, as one run
                places.append(RowMap(table.n_rows, int(starts[runs[0]])))
                continue
            positions = np.full(table.n_rows, -1, dtype=np.int64)
            rows = _ranges(firsts[runs], sizes[runs])
            positions[rows] = _ranges(starts[:-1][runs], sizes[runs])
            places.append(RowMap(table.n_rows, positions=positions))
        return places

    def __len__(self) -> int:
        """The number of chunks."""
        return int(self._runs[0][-1])

    def _row(self, row: int) -> ChunkRow:
        table, at = self._place(row)
        return table.row(at)

    def _place(self, row: int) -> tuple[LevelTable, int]:
        """The table of a row, and its number there."""
        if not 0 <= row < len(self):
            raise InvalidParameter(
                f"row must be from 0 to {len(self) - 1}; got {row!r}."
            )
        starts, owners, firsts = self._runs
        run = bisect_right(starts, row) - 1
        return self._tables[int(owners[run])], int(firsts[run] + row - starts[run])

    # -- documents and chunks

    @property
    def row_numbers(self) -> None:
        """All rows, ascending; None where they count without gaps, as here."""

    @property
    def document_ids(self) -> list[str]:
        """In row order."""
        return list(self.snapshot.document_ids)

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and self.snapshot.find(doc_id) is not None

    def stored(self, doc_id: str) -> DocumentRow:
        """Return the stored facts of a document. Raises UnknownDocument if unknown."""
        i, number = self._find(doc_id)
        return self.snapshot.segments[i].document(number)

    def document(self, doc_id: str) -> Document:
        """The document's id, title, format and meta; its `text` is empty. Raises UnknownDocument if
        unknown."""
        return Document(text="", **self.stored(doc_id).record)

    def fingerprints(self) -> dict[str, str | None]:
        """Document id -> fingerprint, in row order; None if a model failed on the document."""
        stored = {doc_id: self.stored(doc_id) for doc_id in self.document_ids}
        return {
            id: None if held.degraded else held.fingerprint
            for id, held in stored.items()
        }

    def with_chunks(
        self, doc_ids: Sequence[str]
    ) -> Iterator[tuple[Document, list[Chunk]]]:
        """Some documents without their text, each with its chunks."""
        return ((self.document(doc_id), self.chunks(doc_id)) for doc_id in doc_ids)

    def _find(self, doc_id: str) -> tuple[int, int]:
        place = self.snapshot.find(doc_id)
        if place is None:
            raise UnknownDocument.named(doc_id)
        return place

    def first_rows(self, selection: Selection | None, n: int) -> list[int]:
        """The first `n` rows of a selection, where None is all. Fewer if there are fewer."""
        return list(row_numbers(selection, len(self))[:n])

    def sampled_rows(
        self, selection: Selection | None, n: int
    ) -> tuple[int, list[int]]:
        """How many rows a selection has, and at most `n` of them at even distances."""
        rows = row_numbers(selection, len(self))
        return len(rows), [rows[at] for at in evenly(np.arange(len(rows)), n).tolist()]

    def rows_of(self, doc_id: str) -> range:
        """The rows of a document. Raises UnknownDocument if unknown."""
        return self._span(*self._find(doc_id))

    def records(self) -> Iterator[tuple[Mapping[str, Any], range]]:
        """Every document's record and rows, in row order. A record has "id" and "meta"."""
        start = 0
        for i, first, last in self.snapshot.runs.tolist():
            segment, bounds = self.snapshot.segments[i], self._tables[i].bounds
            sizes = np.diff(bounds[first : last + 1]).tolist()
            for number, size in zip(range(first, last), sizes, strict=True):
                yield segment.document(number).record, range(start, start + size)
                start += size

    def _span(self, segment: int, number: int) -> range:
        rows = self._tables[segment].rows_of(number)
        if not rows:
            return range(0)
        place = self.places[segment]
        first = place.offset + rows.start
        if place.positions is not None:
            first = int(place.positions[rows.start])
        return range(first, first + len(rows))

    def chunk(self, row: int) -> Chunk:
        """The chunk at a row, as JSON keeps it. Tuples in `extras` have become lists. It is the
        store's own: do not change its `extras`."""
        return self._row(row).chunk

    def chunks_at(self, rows: Sequence[int]) -> list[Chunk]:
        """The chunks at some rows, in their order."""
        return [self.chunk(row) for row in rows]

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        """The chunks of a document, or all, in row order. Raises InvalidParameter for a document
        that is not there."""
        rows = range(len(self)) if doc_id is None else self.rows_of(doc_id)
        return [self.chunk(row) for row in rows]

    def view_texts(self, row: int) -> Mapping[str, str | None]:
        """The index texts of a chunk by view."""
        return self._row(row).texts

    def view_text(self, row: int, view: str) -> str | None:
        """The index text of a chunk in a view; None without one."""
        return self.view_texts(row)[check_choice("view", view, self.views)]

    def view_texts_at(self, rows: Sequence[int], view: str) -> list[str | None]:
        """The index texts of some chunks in a view; None without one."""
        return [self.view_text(row, view) for row in rows]

    def stored_rows(
        self, rows: Iterable[int], names: Sequence[str]
    ) -> dict[int, StoredRow]:
        """Return the rows that exist, with their blobs of these names."""
        here = np.array([row for row in rows if 0 <= row < len(self)], dtype=np.int64)
        starts, owners, firsts = self._runs
        runs = np.searchsorted(starts, here, "right") - 1
        rows_of_tables, tables = firsts[runs] + here - starts[runs], owners[runs]
        stored: dict[int, StoredRow] = {}
        for number in np.unique(tables).tolist():
            table, places = self._tables[number], np.flatnonzero(tables == number)
            at = rows_of_tables[places]
            lines = table.rows.raw_lines(at)
            blobs = [blobs_of(table, name).raw_lines(at) for name in names]
            for row, line, *of_row in zip(
                here[places].tolist(), lines, *blobs, strict=True
            ):
                stored[row] = StoredRow(parse_row(line.tobytes()), of_row)
        return {row: stored[row] for row in here.tolist()}

    def frequencies(self, view: str, terms: Sequence[str]) -> tuple[int, list[int]]:
        """How many rows a view has, and how many of them hold each of some terms."""
        return self.lexical(view).frequencies(terms)

    def row_of(self, chunk_id: str) -> int | None:
        """Return the row of a chunk, the first if several documents have the id; None if none
        has."""
        rows = []
        for table, place in zip(self._tables, self.places, strict=True):
            for row in table.ids.candidates(chunk_id):
                position = int(place.positions_of(np.array([row]))[0])
                if position >= 0 and table.row(row).chunk.id == chunk_id:
                    rows.append(position)
        return min(rows, default=None)

    # -- searches

    def select(self, where: Where) -> Selection | None:
        """The rows that a condition allows; None for all.

        `where` is None, a dict of conditions such as `{"doc_id": "report"}` or `{"year": [2020,
        2021]}` on the documents' ids and metadata (`select_rows` has the rules), or a callable that
        is given a document's metadata and "doc_id" as one dict. Raises InvalidParameter for a key
        that no document has.
        """
        if where is None:
            return None
        if isinstance(where, slice | np.ndarray):
            return check_selection(where, len(self))
        return select_rows(self, where)

    def among(self, rows: IntArray) -> NDArray[np.bool_]:
        """Some rows as what `where` takes."""
        mask = np.zeros(len(self), dtype=bool)
        mask[rows] = True
        return mask

    def dense(self, view: str) -> DenseIndex:
        """The vectors of a view."""
        if view not in self._dense:
            parts = []
            for table, place in zip(self._tables, self.places, strict=True):
                vectors = table.vectors[view]
                # Vectors of deleted rows alone do not count, nor does their dimension.
                if place.positions is None or len(vectors.groups(place.live)):
                    parts.append(VectorPart(vectors, place))
            self._dense[view] = DenseIndex(parts, view=view)
        return self._dense[view]

    def lexical(self, view: str) -> LexicalIndex:
        """The term counts of a view."""
        if view not in self._lexical:
            parts = [
                LexicalPart(table.postings[view], segment.vocabulary, place)
                for segment, table, place in zip(
                    self.snapshot.segments, self._tables, self.places, strict=True
                )
            ]
            self._lexical[view] = LexicalIndex(
                parts, method=self.settings.lexical, tokenizer=self.settings.tokenizer
            )
        return self._lexical[view]

    def search_dense(
        self, view: str, vector: ArrayLike, n: int, where: Where = None
    ) -> list[tuple[int, float]]:
        """The best rows of a view by cosine, as (row, score) pairs.

        Equal scores are ordered by row; chunks without a vector are not found. Raises InvalidAnswer
        for a query vector of another dimension or with NaN or infinity.
        """
        check_search(view, n, self.views)
        return self.dense(view).search(vector, n, self.select(where))

    def search_lexical(
        self, view: str, query: str, n: int, where: Where = None
    ) -> list[tuple[int, float]]:
        """The best rows of a view by BM25, as (row, score) pairs.

        Equal scores are ordered by row. Only scores above 0 are found; with `lexical="okapi"` every
        chunk that has the view is ranked.
        """
        check_search(view, n, self.views)
        return self.lexical(view).search(query, n, self.select(where))


def check_search(view: str, n: int, views: Sequence[str]) -> None:
    """Raise InvalidParameter for a view that is not there, and for a number below 0."""
    check_choice("view", view, views)
    check_at_least("n", n, 0)


def _ranges(firsts: IntArray, sizes: IntArray) -> IntArray:
    """The numbers of ranges in a row, each from its first."""
    shifts = firsts - (np.cumsum(sizes) - sizes)
    return np.repeat(shifts, sizes) + np.arange(int(sizes.sum()))
