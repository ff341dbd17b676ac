"""A store in Milvus at one moment, to be searched."""

from __future__ import annotations

import time
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from structrag.errors import ModelFailed
from structrag.index.engine import EngineReader
from structrag.index.engine_rows import (
    BLOB,
    CHUNK,
    CHUNK_BITS,
    HEAD,
    EngineFilter,
    RowCounts,
    first_id,
    number_of,
    quoted,
    read_head,
)
from structrag.index.entries import DocumentRow, StoredRow, parse_row
from structrag.index.lexical import idf
from structrag.index.milvus_client import BATCH, MOST_HITS, MilvusDatabase
from structrag.index.milvus_collections import (
    CHUNKS,
    StoreState,
    chunk_id,
    conditions,
    key_of_row,
    number_of_name,
    terms_of,
    unpacked,
    vectors_of,
    version_of,
)
from structrag.index.snapshot import Settings

K = TypeVar("K", bound=Hashable)
KEPT = 60.0  # seconds that replaced documents stay for those who still read them


class MilvusReader(EngineReader):
    """Searches the state of a `MilvusStore` at one moment.

    Args:
        database: The connection.
        settings: Of the store.
        state: At that moment.
        counts: Gives how many rows hold each term of a view, in parts.
        state_now: Reads the state of now.
    """

    def __init__(
        self,
        database: MilvusDatabase,
        settings: Settings,
        state: StoreState,
        counts: Callable[[StoreState, str], list[RowCounts]],
        state_now: Callable[[], StoreState],
    ) -> None:
        super().__init__(database.place, settings)
        self.state = state
        self.changes: int = state.changes
        self._database = database
        self._counts = counts
        self._state_now = state_now
        self._visible = state.visible()
        # Key of a document -> its version, where it is known.
        self._versions: dict[int, int] = {}
        self.is_of: float = time.monotonic()

    def __len__(self) -> int:
        return self.state.n_chunks

    # -- documents and chunks

    @property
    def document_ids(self) -> list[str]:
        return [head.record["id"] for head in self._heads()]

    def _of_document(self, doc_id: str) -> str:
        return f"version == {self._versions[self.key(doc_id)]}"

    def _of_documents(self, doc_ids: Sequence[str]) -> str:
        return f"document in {[number_of_name(quoted(doc_id)) for doc_id in doc_ids]}"

    def _heads(self, *conditions: str) -> list[DocumentRow]:
        conditions = (f"kind == {HEAD}", *conditions)
        rows = self._where(CHUNKS, conditions, ["id", "row", "part", "record"])
        for row in rows:
            self._versions[key_of_row(row["row"])] = version_of(row["id"])
        if not rows and len(conditions) == 1 and len(self):
            self._database.check([CHUNKS])
        return [
            read_head(first_id(key_of_row(row)), record)
            for row, record in sorted(_joined(rows).items())
        ]

    @property
    def next_key(self) -> int:
        return self.state.next_key

    def version(self, key: int) -> int:
        """The version of a document whose head was read."""
        return self._versions[key]

    def _n_chunks_of(self, doc_id: str) -> int:
        condition = " and ".join(
            [f"kind == {CHUNK}", self._of_document(doc_id), "part == 0"]
        )
        count = self._database.count(CHUNKS, condition)
        self._check_age()
        return count

    def row_of(self, chunk_id: str) -> int | None:
        condition = [f"kind == {CHUNK}", f"chunk == {number_of_name(quoted(chunk_id))}"]
        rows = self._where(CHUNKS, condition, ["row"])
        return min((int(row["row"]) for row in rows), default=None)

    def _lines(self, *conditions: str) -> dict[int, bytes]:
        conditions = (f"kind == {CHUNK}", *conditions)
        return _joined(self._where(CHUNKS, conditions, ["row", "part", "record"]))

    def _lines_at(self, rows: Sequence[int]) -> dict[int, bytes]:
        keys = {key_of_row(row) for row in rows} - set(self._versions)
        if keys:  # not of a search of this reader
            heads = [key << CHUNK_BITS for key in keys]
            condition = [f"kind == {HEAD}", f"row in {heads}"]
            for row in self._where(CHUNKS, condition, ["id", "row"]):
                self._versions[key_of_row(row["row"])] = version_of(row["id"])
        ids = [
            chunk_id(self._versions[key_of_row(row)], row)
            for row in rows
            if key_of_row(row) in self._versions
        ]
        columns = ["row", "part", "n_parts", "kind", "record", "version"]
        records = self._database.get(CHUNKS, ids, columns)
        self._check_age()
        if len(records) < len(rows):
            self._database.check([CHUNKS])
        records = [record for record in records if record["kind"] == CHUNK]
        for record in [record for record in records if record["n_parts"] > 1]:
            condition = [
                f"version == {record['version']}",
                f"row == {record['row']}",
                "part > 0",
            ]
            records += self._where(CHUNKS, condition, ["row", "part", "record"])
        return _joined(records)

    def stored_rows(
        self, rows: Iterable[int], names: Sequence[str]
    ) -> dict[int, StoredRow]:
        numbers, records = list(rows), []
        columns = ["row", "kind", "chunk", "part", "record"]
        for start in range(0, len(numbers), BATCH):
            some = numbers[start : start + BATCH]
            condition = [f"kind in {[CHUNK, BLOB]}", f"row in {some}"]
            records += self._where(CHUNKS, condition, columns)
        lines = _joined(record for record in records if record["kind"] == CHUNK)
        digests = [*map(number_of_name, names)]
        blobs = _texts(
            (record for record in records if record["kind"] == BLOB),
            lambda record: (record["row"], record["chunk"]),
        )
        return {
            row: StoredRow(
                parse_row(line),
                [b64decode(blobs.get((row, name), "")) for name in digests],
            )
            for row, line in lines.items()
        }

    def frequencies(self, view: str, terms: Sequence[str]) -> tuple[int, list[int]]:
        parts = self._counts(self.state, view)
        numbers = map(number_of, terms)
        counted = [sum(part.frequency(one) for part in parts) for one in numbers]
        return self.state.n_rows.get(view, 0), counted

    # -- searches

    def _has_tag(self, tag: str) -> bool:
        condition = (
            f"kind == {HEAD} and array_contains_any(tags, {[number_of_name(tag)]})"
        )
        rows = self._database.call(
            "query",
            CHUNKS,
            filter=f"{condition} and {self._visible}",
            output_fields=["id"],
            limit=1,
        )
        return bool(rows)

    def _rows_of(self, selection: Any) -> NDArray[np.int64]:
        parts = conditions(self.select(selection))
        rows = self._where(CHUNKS, [f"kind == {CHUNK}", "part == 0", *parts], ["row"])
        return np.sort(np.array([row["row"] for row in rows], dtype=np.int64))

    def _width(self, view: str) -> int | None:
        return self.state.widths.get(view)

    def _nearest(
        self, view: str, query: NDArray[np.float32], n: int, chosen: EngineFilter | None
    ) -> list[tuple[int, float]]:
        return self._search(vectors_of(view), "vector", query, n, chosen)

    def _matching(
        self, view: str, terms: Sequence[str], n: int, chosen: EngineFilter | None
    ) -> list[tuple[int, float]]:
        counts = Counter(terms)
        n_rows, frequencies = self.frequencies(view, [*counts])
        weights: dict[int, float] = {}
        for (term, times), frequency in zip(counts.items(), frequencies, strict=True):
            if frequency:
                weight = times * float(idf(n_rows, frequency))
                number = number_of(term)
                weights[number] = weights.get(number, 0.0) + weight
        if not weights:
            return []
        ranking = self._search(terms_of(view), "terms", weights, n, chosen)
        return [(row, score) for row, score in ranking if score > 0]

    def _search(
        self,
        collection: str,
        field: str,
        query: Any,
        n: int,
        chosen: EngineFilter | None,
    ) -> list[tuple[int, float]]:
        (hits,) = self._database.call(
            "search",
            collection,
            [query],
            anns_field=field,
            limit=min(n, MOST_HITS),
            filter=" and ".join([self._visible, *conditions(chosen)]),
            output_fields=["row"],
        )
        self._check_age()
        if not hits and chosen is None:  # who searches knows that there is something
            self._database.check([collection])
        ranking = []
        for hit in hits:
            row = int(hit["entity"]["row"])
            self._versions[key_of_row(row)] = version_of(hit["id"])
            ranking.append((row, float(hit["distance"])))
        return ranking

    def _where(
        self, collection: str, parts: Sequence[str], columns: Sequence[str]
    ) -> list[Any]:
        rows = self._database.query(
            collection, " and ".join([*parts, self._visible]), columns
        )
        self._check_age()
        return rows

    def _check_age(self) -> None:
        """Raise ModelFailed where documents of this reader may be gone."""
        if time.monotonic() - self.is_of < KEPT / 2:
            return
        if self._state_now().removed != self.state.removed:
            raise ModelFailed(
                f"The store at {self.place!r} has changed since this reader was made, and its "
                f"data was removed: replaced documents stay for {KEPT:g} seconds. Search again "
                "with a new reader."
            )


def _joined(rows: Iterable[Any]) -> dict[int, bytes]:
    """Row -> what is kept there, whose parts are put together."""
    texts = _texts(rows, lambda row: int(row["row"]))
    return {row: unpacked(text) for row, text in texts.items()}


def _texts(rows: Iterable[Any], key: Callable[[Any], K]) -> dict[K, str]:
    """The texts of rows by a key, their parts put together."""
    parts: defaultdict[K, list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: int(row["part"])):
        parts[key(row)].append(row["record"])
    return {place: "".join(texts) for place, texts in parts.items()}
