"""One version of a store in LanceDB, to be searched."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag._locks import cached_property
from structrag.errors import IndexDamaged, ModelFailed, require
from structrag.index.engine import EngineReader
from structrag.index.engine_rows import (
    CHUNK,
    HEAD,
    WINDOW,
    WINDOW_BITS,
    EngineFilter,
    RowCounts,
    first_id,
    id_of_row,
    key_of,
    nested_parts,
    number_of,
    quoted,
    read_head,
    row_of_id,
)
from structrag.index.entries import DocumentRow, StoredRow, parse_row
from structrag.index.lexical import K1, LUCENE
from structrag.index.snapshot import Settings
from structrag.model_calls.calling import raised_by

# In a list of near vectors. LanceDB joins lists of less than half as many when rows are added.
LIST_ROWS = 2_000
BITS = "IvfRq"  # LanceDB's name of an index of bits
EXACT_ROWS = 100_000  # of a table up to which a vector index is searched as a whole
ROWS_OF_VIEW = 2**32 - 1  # the number of what all rows of a view hold; no term has it
# In errors of LanceDB and the system.
_GONE = ("Not found", "was not found", "No such file")
PROBES = 0.1  # the share of a larger one that is searched, if that is not less
COMPARED = 1_000  # vectors of a larger one that are compared again, as they are


class LanceReader(EngineReader):
    """One version of a `LanceStore`.

    Args:
        place: That of the store.
        table: Of its rows, at this version.
        settings: Of the store.
        counts: Gives how many rows hold each term, by view.
        exact: Whether all vectors are compared in a table of any size.
    """

    def __init__(
        self,
        place: str,
        table: Any,
        settings: Settings,
        counts: Callable[[], dict[str, RowCounts]],
        *,
        exact: bool,
    ) -> None:
        super().__init__(place, settings)
        self.exact = exact
        self._read_counts = counts
        self._table = table
        self.changes: int = int(table.version)

    @cached_property
    def _n_chunks(self) -> int:
        with raised_by_lance(self.place):
            return int(self._table.count_rows(f"kind = {CHUNK}"))

    def __len__(self) -> int:
        return self._n_chunks

    # -- documents and chunks

    @property
    def document_ids(self) -> list[str]:
        columns = self._where(f"kind = {HEAD}", ["id", "document"])
        return [json.loads(name) for _, name in sorted(zip(*columns, strict=True))]

    def _heads(self, *conditions: str) -> list[DocumentRow]:
        condition = " AND ".join([f"kind = {HEAD}", *conditions])
        pairs = zip(*self._where(condition, ["id", "record"]), strict=True)
        return [read_head(row_id, record) for row_id, record in sorted(pairs)]

    @property
    def next_key(self) -> int:
        (ids,) = self._where(f"kind = {HEAD}", ["id"])
        return key_of(max(ids, default=-1)) + 1

    def ids_of(self, doc_ids: Sequence[str]) -> list[int]:
        """The ids of all rows of some documents."""
        (ids,) = self._where(self._of_documents(doc_ids), ["id"])
        return sorted(ids)

    def _of_document(self, doc_id: str) -> str:
        key = self.key(doc_id)
        return f"id > {first_id(key)} AND id < {first_id(key + 1)}"

    def _of_documents(self, doc_ids: Sequence[str]) -> str:
        return f"document IN ({literals(map(quoted, doc_ids))})"

    def _n_chunks_of(self, doc_id: str) -> int:
        with raised_by_lance(self.place):
            return int(
                self._table.count_rows(
                    f"kind = {CHUNK} AND {self._of_document(doc_id)}"
                )
            )

    def row_of(self, chunk_id: str) -> int | None:
        condition = f"kind = {CHUNK} AND chunk = {literal(quoted(chunk_id))}"
        (ids,) = self._where(condition, ["id"])
        return row_of_id(min(ids)) if ids else None

    def _lines(self, *conditions: str) -> dict[int, bytes]:
        condition = " AND ".join([f"kind = {CHUNK}", *conditions])
        pairs = zip(*self._where(condition, ["id", "record"]), strict=True)
        return {row_of_id(row_id): line for row_id, line in pairs}

    def _lines_at(self, rows: Sequence[int]) -> dict[int, bytes]:
        return self._lines(f"id IN ({', '.join(str(id_of_row(row)) for row in rows)})")

    def stored_rows(
        self, rows: Iterable[int], names: Sequence[str]
    ) -> dict[int, StoredRow]:
        ids = ", ".join(str(id_of_row(row)) for row in rows)
        if not ids:
            return {}
        columns = ["id", "kind", "record", *(f"blob_{name}" for name in names)]
        with raised_by_lance(self.place):
            missing = set(columns) - set(self._table.schema.names)
        if missing:
            raise IndexDamaged(
                f"The store at {self.place!r} was changed by another program: its rows have no "
                f"{', '.join(sorted(missing))}. Restore it from a copy, or rebuild it."
            )
        # The kind is looked at here: as a condition it takes as long as the blobs.
        matches = self._where(f"id IN ({ids})", columns)
        return {
            row_of_id(row_id): StoredRow(parse_row(record), blobs)
            for row_id, kind, record, *blobs in zip(*matches, strict=True)
            if kind == CHUNK
        }

    def frequencies(self, view: str, terms: Sequence[str]) -> tuple[int, list[int]]:
        """Counts as of the last build of the indexes, as BM25 uses them."""
        counts = self._counts[view]
        n_rows = counts.frequency(ROWS_OF_VIEW)
        return n_rows, [counts.frequency(number_of(term)) for term in terms]

    @cached_property
    def _counts(self) -> dict[str, RowCounts]:
        counts = self._read_counts()
        if set(counts) == set(self.views):
            return counts
        # They were not written yet, or the writing was broken off.
        with raised_by_lance(self.place):
            return counts_of_terms(self._table, self.views)

    # -- searches

    def _has_tag(self, tag: str) -> bool:
        (ids,) = self._where(
            f"kind = {HEAD} AND array_has(tags, {literal(tag)})", ["id"], 1
        )
        return bool(ids)

    def _rows_of(self, selection: Any) -> NDArray[np.int64]:
        conditions = [f"kind = {CHUNK}", *sql_parts(self.select(selection))]
        search = self._table.search().where(" AND ".join(conditions)).select(["id"])
        with raised_by_lance(self.place):
            ids = search.to_arrow()["id"].to_numpy()
        return np.sort(ids) >> WINDOW_BITS

    def _width(self, view: str) -> int | None:
        return self._widths.get(f"vector_{view}")

    @cached_property
    def _widths(self) -> dict[str, int]:
        """The dimensions of each column of vectors."""
        with raised_by_lance(self.place):
            schema = self._table.schema
            return {
                name: int(schema.field(name).type.list_size)
                for name in vector_columns(schema)
            }

    def _nearest(
        self, view: str, query: NDArray[np.float32], n: int, chosen: EngineFilter | None
    ) -> list[tuple[int, float]]:
        # Rows may have several windows each.
        few = chosen is not None and chosen.rows is not None
        probes = self._n_rows if few else self._probes
        nearest = self._in_lists(view, query, n, chosen, probes)
        # Rows that meet a rare condition are in other lists.
        if len(nearest) < n and probes < self._n_rows:
            nearest = self._in_lists(view, query, n, chosen, self._n_rows)
        return nearest

    def _in_lists(
        self,
        view: str,
        query: NDArray[np.float32],
        n: int,
        chosen: EngineFilter | None,
        probes: int,
    ) -> list[tuple[int, float]]:
        """The best windows of so many lists of a vector index.

        Of all windows where there is none.
        """
        search = self._table.search(query, vector_column_name=f"vector_{view}")
        search = search.distance_type("dot").nprobes(probes).limit(n)
        if self.exact:
            search = search.bypass_vector_index()
        elif view in self._of_bits:
            search = search.refine_factor(max(2, -(-COMPARED // n)))
        pairs = self._matches(search, "_distance", chosen)
        return [(row_of_id(i), 1.0 - distance) for i, distance in pairs]

    @cached_property
    def _of_bits(self) -> set[str]:
        """The views whose vector indexes hold bits."""
        with raised_by_lance(self.place):
            return {
                view for view in self.views if has_bits(self._table, f"vector_{view}")
            }

    @cached_property
    def _n_rows(self) -> int:
        with raised_by_lance(self.place):
            return int(self._table.count_rows())

    @cached_property
    def _has_windows(self) -> bool:
        (ids,) = self._where(f"kind = {WINDOW}", ["id"], 1)
        return bool(ids)

    @cached_property
    def _probes(self) -> int:
        """How many lists of a vector index to search; the number of rows searches all."""
        if self.exact or self._n_rows <= EXACT_ROWS:
            return self._n_rows
        return int(max(EXACT_ROWS, PROBES * self._n_rows)) // LIST_ROWS

    def _matching(
        self, view: str, terms: Sequence[str], n: int, chosen: EngineFilter | None
    ) -> list[tuple[int, float]]:
        queries = require("lancedb.query", extra="lancedb")
        counts, column = Counter(terms), f"terms_{view}"
        match: Any = queries.MatchQuery(" ".join(terms), column)
        if len(counts) < len(terms):
            # Each term once, weighed: added up one by one, single precision loses a digit.
            match = queries.BooleanQuery(
                [
                    (
                        queries.Occur.SHOULD,
                        queries.MatchQuery(term, column, boost=times),
                    )
                    for term, times in counts.items()
                ]
            )
        search = self._table.search(match, query_type="fts").limit(n)
        pairs = self._matches(search, "_score", chosen)
        # LanceDB, whose k1 and b are the same, multiplies each score by k1 + 1.
        return [(row_of_id(i), score / (K1[LUCENE] + 1)) for i, score in pairs]

    def _matches(
        self, search: Any, score: str, chosen: EngineFilter | None
    ) -> Iterator[tuple[int, float]]:
        by_row = chosen is not None and chosen.rows is not None
        condition = sql_parts(chosen, with_windows=by_row and self._has_windows)
        if condition:
            search = search.where(" AND ".join(condition), prefilter=True)
        with raised_by_lance(self.place):
            table = search.select(["id", score]).to_arrow()
        return zip(table["id"].to_pylist(), table[score].to_pylist(), strict=True)

    def _where(
        self, condition: str, columns: list[str], n: int | None = None
    ) -> list[list[Any]]:
        """Columns of the rows that meet a condition."""
        search = self._table.search().where(condition).select(columns)
        with raised_by_lance(self.place):
            table = (search if n is None else search.limit(n)).to_arrow()
        return [table[column].to_pylist() for column in columns]


@contextmanager
def raised_by_lance(place: str) -> Iterator[None]:
    """Name the store where LanceDB raises; IndexDamaged where its files are gone."""
    try:
        with raised_by(f"store {place!r}"):
            yield
    except ModelFailed as error:
        if not any(words in str(error) for words in _GONE):
            raise
        raise IndexDamaged(
            f"Files of the store at {place!r} are missing: another program removed them or "
            "recreated the store. Open the store again; if that fails, restore it from a copy or "
            "rebuild it."
        ) from error


def counts_of_terms(table: Any, views: Sequence[str]) -> dict[str, RowCounts]:
    """View -> how many rows of a table hold each term; None of them: all rows of the view."""
    counts: dict[str, Counter[str]] = {view: Counter() for view in views}
    n_rows = Counter[str]()
    search = table.search().select([f"terms_{view}" for view in views])
    for batch in search.to_batches():
        for view in views:
            column = batch.column(f"terms_{view}").drop_null().to_pylist()
            n_rows[view] += len(column)
            for text in column:
                counts[view].update(set(text.split()))
    return {
        view: RowCounts.of_terms(of_view, {ROWS_OF_VIEW: n_rows[view]})
        for view, of_view in counts.items()
    }


def vector_columns(schema: Any) -> list[str]:
    return [name for name in schema.names if name.startswith("vector_")]


def has_bits(table: Any, column: str) -> bool:
    """Whether a column's vector index holds bits."""
    return any(
        index.name == f"{column}_index" and index.index_type == BITS
        for index in table.list_indices()
    )


def sql_parts(chosen: EngineFilter | None, *, with_windows: bool = True) -> list[str]:
    """The parts of a filter in SQL, to be joined by AND. Without windows it is quicker, and right
    for a table where each chunk has one."""
    if chosen is None:
        return []
    if chosen.is_empty:
        return ["id < 0"]
    parts = [f"array_has_any(tags, [{literals(tags)}])" for tags in chosen.tags]
    if chosen.documents is not None:
        parts.append(f"document IN ({literals(chosen.documents)})")
    if chosen.rows is not None:
        parts.append(_among(chosen.rows, with_windows))
    inner = partial(sql_parts, with_windows=with_windows)
    return [*parts, *nested_parts(chosen, inner, "id >= 0")]


def _among(rows: Iterable[int], with_windows: bool) -> str:
    if not with_windows:
        return f"id IN ({', '.join(str(id_of_row(row)) for row in rows)})"
    # A row's further windows have the ids after it.
    ranges = (f"id >= {id_of_row(row)} AND id < {id_of_row(row + 1)}" for row in rows)
    return f"({' OR '.join(ranges)})"


def literals(strings: Iterable[str]) -> str:
    return ", ".join(map(literal, strings))


def literal(string: str) -> str:
    quotes_doubled = string.replace("'", "''")
    return f"'{quotes_doubled}'"
