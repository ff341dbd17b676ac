"""One version of a store in LanceDB, to be searched."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.asking.failures import raised_by
from structrag.errors import InvalidAnswer, InvalidParameter, check_at_least, check_choice, require
from structrag.index.dense import unit_vectors
from structrag.index.engine_rows import (
    CHUNK,
    HEAD,
    EngineFilter,
    Head,
    filter_of,
    first_id,
    id_of_row,
    key_of,
    key_tag,
    quoted,
    read_head,
    row_of_id,
)
from structrag.index.entries import row_of
from structrag.index.lance_tables import literal, literals, partitions_of, sql_parts, views_of
from structrag.index.snapshot import Settings
from structrag.records import Chunk

_ASKED = 512  # documents that one condition names
PROBES = 0.1  # the share of a vector index's partitions that is searched
SCORE_DIGITS = 6  # float32 products agree to so many
_K1_FACTOR = 2.2  # LanceDB multiplies each score by k1 + 1


class LanceReader:
    """One version of a `LanceStore`.

    Its rows number the chunks, with gaps: documents in the order they were first put, then chunk
    start.
    """

    basis: Any = None

    def __init__(self, place: str, table: Any, settings: Settings) -> None:
        self.place = place
        self.settings = settings
        self.views = views_of(settings)
        self._table = table
        self.changes = int(table.version)
        self._heads: dict[str, Head | None] = {}

    @cached_property
    def _n_chunks(self) -> int:
        with self._reading():
            return int(self._table.count_rows(f"kind = {CHUNK}"))

    def __len__(self) -> int:
        return self._n_chunks

    # -- documents and chunks

    @property
    def document_ids(self) -> list[str]:
        columns = self._where(f"kind = {HEAD}", ["id", "document"])
        return [json.loads(name) for _, name in sorted(zip(*columns, strict=True))]

    def heads(self, doc_ids: Sequence[str]) -> dict[str, Head]:
        """What is kept of those documents that are there."""
        unknown = [doc_id for doc_id in doc_ids if doc_id not in self._heads]
        for start in range(0, len(unknown), _ASKED):
            asked = unknown[start : start + _ASKED]
            condition = f"kind = {HEAD} AND document IN ({literals(map(quoted, asked))})"
            heads: dict[str, Head | None] = dict.fromkeys(asked)
            for row_id, record in zip(*self._where(condition, ["id", "record"]), strict=True):
                head = read_head(row_id, record)
                heads[head.record["id"]] = head
            self._heads |= heads
        pairs = ((doc_id, self._heads[doc_id]) for doc_id in doc_ids)
        return {doc_id: head for doc_id, head in pairs if head is not None}

    def head(self, doc_id: str) -> Head | None:
        """What is kept of a document. None for one that is not there."""
        return self.heads([doc_id]).get(doc_id)

    def last_key(self) -> int:
        """The highest key of a document; -1 without one."""
        (ids,) = self._where(f"kind = {HEAD}", ["id"])
        return key_of(max(ids, default=-1))

    def ids_of(self, doc_ids: Sequence[str]) -> list[int]:
        """The ids of all rows of some documents."""
        (ids,) = self._where(f"document IN ({literals(map(quoted, doc_ids))})", ["id"])
        return sorted(ids)

    def _key(self, doc_id: str) -> int:
        head = self.head(doc_id)
        if head is None:
            raise InvalidParameter(
                f"doc_id must be the id of a document that is in the index; got {doc_id!r}. "
                "`document_ids` lists them."
            )
        return head.key

    def _of_document(self, doc_id: str) -> str:
        key = self._key(doc_id)
        return f"kind = {CHUNK} AND id > {first_id(key)} AND id < {first_id(key + 1)}"

    def rows_of(self, doc_id: str) -> range:
        first = row_of_id(first_id(self._key(doc_id))) + 1
        with self._reading():
            return range(first, first + self._table.count_rows(self._of_document(doc_id)))

    def row_of(self, chunk_id: str) -> int | None:
        condition = f"kind = {CHUNK} AND chunk = {literal(quoted(chunk_id))}"
        (ids,) = self._where(condition, ["id"])
        return row_of_id(min(ids)) if ids else None

    def lines_of(self, doc_id: str) -> list[bytes]:
        """The chunks of a document as they are kept, in row order."""
        columns = self._where(self._of_document(doc_id), ["id", "record"])
        return [line for _, line in sorted(zip(*columns, strict=True))]

    def chunk(self, row: int) -> Chunk:
        (chunk,) = self.chunks_at([row])
        return chunk

    def chunks_at(self, rows: Sequence[int]) -> list[Chunk]:
        if not rows:
            return []
        ids = ", ".join(str(id_of_row(row)) for row in rows)
        columns = self._where(f"kind = {CHUNK} AND id IN ({ids})", ["id", "record"])
        chunks = {row_of_id(i): row_of(line).chunk for i, line in zip(*columns, strict=True)}
        missing = [row for row in rows if row not in chunks]
        if missing:
            raise InvalidParameter(f"row must be that of a chunk in the store; got {missing[0]!r}.")
        return [chunks[row] for row in rows]

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        if doc_id is not None:
            return [row_of(line).chunk for line in self.lines_of(doc_id)]
        columns = self._where(f"kind = {CHUNK}", ["id", "record"])
        return [row_of(line).chunk for _, line in sorted(zip(*columns, strict=True))]

    # -- searches

    def select(self, where: Any) -> EngineFilter | None:
        """A condition as LanceDB's filter.

        Raises InvalidParameter for a function, and for a key that no document has.
        """
        chosen = filter_of(where)
        if chosen is not None and chosen is not where:
            self._check_keys(key for key in where if key != "doc_id")
        return chosen

    def _check_keys(self, keys: Iterable[str]) -> None:
        for key in keys:
            tag = literal(key_tag(key))
            (ids,) = self._where(f"kind = {HEAD} AND array_has(tags, {tag})", ["id"], 1)
            if not ids and self.document_ids:
                records = (self.heads([name])[name].record for name in self.document_ids)
                allowed = sorted({name for record in records for name in record["meta"]})
                raise InvalidParameter(
                    "where must use keys of the documents' metadata: "
                    f"{', '.join(map(repr, ['doc_id', *allowed]))}; got {key!r}."
                )

    def first_rows(self, selection: Any, n: int) -> list[int]:
        condition = sql_parts(self.select(selection))
        (ids,) = self._where(" AND ".join([f"kind = {CHUNK}", *condition]), ["id"])
        return [row_of_id(i) for i in sorted(ids)[:n]]

    def search_dense(
        self, view: str, vector: ArrayLike, n: int, where: Any = None
    ) -> list[tuple[int, float]]:
        """The best rows by cosine, to six decimals; equal ones by row.

        A row's score is the best of its windows. Raises InvalidAnswer for a vector of another
        dimension, or with NaN or infinity.
        """
        self._check_search(view, n)
        chosen = self.select(where)
        column = f"vector_{view}"
        if n <= 0 or column not in self._table.schema.names or (chosen and chosen.is_empty):
            return []
        query = self._query(column, vector, view)
        asked = n
        while True:
            search = self._table.search(query, vector_column_name=column).distance_type("dot")
            search = search.nprobes(self._probes).limit(asked)
            ids, distances = self._matches(search, "_distance", chosen)
            scores: dict[int, float] = {}
            for i, distance in zip(ids, distances, strict=True):
                row = row_of_id(i)
                scores[row] = max(scores.get(row, -2.0), round(1.0 - distance, SCORE_DIGITS))
            # Several windows of one chunk may be among the nearest.
            if len(scores) >= n or len(ids) < asked:
                return _ranked(scores, n)
            asked *= 2

    @cached_property
    def _probes(self) -> int:
        """How many partitions of a vector index are searched."""
        with self._reading():
            return max(20, round(PROBES * partitions_of(self._table.count_rows())))

    def _query(self, column: str, vector: ArrayLike, view: str) -> NDArray[np.float32]:
        query = np.asarray(vector)
        width = self._table.schema.field(column).type.list_size
        if query.shape != (width,):
            raise InvalidAnswer(
                f"The query vector for the index of view {view!r} must have shape ({width},); got "
                f"{query.shape}. Use the embedder that the index was built with."
            )
        unit: NDArray[np.float32] = unit_vectors(query[None, :], view=view)[0]
        return unit

    def search_lexical(
        self, view: str, query: str, n: int, where: Any = None
    ) -> list[tuple[int, float]]:
        """The best rows by BM25, to six decimals; equal ones by row."""
        self._check_search(view, n)
        chosen = self.select(where)
        terms = self.settings.tokenizer(query)
        if n <= 0 or not terms or (chosen and chosen.is_empty):
            return []
        queries = require("lancedb.query", extra="lancedb")
        match = queries.MatchQuery(" ".join(terms), f"terms_{view}")
        search = self._table.search(match, query_type="fts").limit(n)
        ids, scores = self._matches(search, "_score", chosen)
        pairs = zip(ids, scores, strict=True)
        return _ranked(
            {row_of_id(i): round(score / _K1_FACTOR, SCORE_DIGITS) for i, score in pairs}, n
        )

    def _check_search(self, view: str, n: int) -> None:
        check_choice("view", view, self.views)
        check_at_least("n", n, 0)

    def _matches(
        self, search: Any, score: str, chosen: EngineFilter | None
    ) -> tuple[list[int], list[float]]:
        condition = sql_parts(chosen)
        if condition:
            search = search.where(" AND ".join(condition), prefilter=True)
        with self._reading():
            table = search.select(["id", score]).to_arrow()
        return table["id"].to_pylist(), table[score].to_pylist()

    def _where(self, condition: str, columns: list[str], n: int | None = None) -> list[list[Any]]:
        """Columns of the rows that meet a condition."""
        search = self._table.search().where(condition).select(columns)
        with self._reading():
            table = (search if n is None else search.limit(n)).to_arrow()
        return [table[column].to_pylist() for column in columns]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with raised_by(f"store {self.place!r}"):
            yield


def _ranked(scores: Mapping[int, float], n: int) -> list[tuple[int, float]]:
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:n]
