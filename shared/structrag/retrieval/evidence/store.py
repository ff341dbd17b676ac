"""The documents of an `EvidenceRetriever` in a `Store`.

Each is an entry of arrays, without chunks.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from threading import RLock
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.index.blocks import Column
from structrag.index.entries import Entry
from structrag.index.selection import Condition, select_rows
from structrag.index.snapshot import Reader
from structrag.index.store import Store
from structrag.reading.outline import Outline
from structrag.records import Document, SourceMap
from structrag.retrieval.evidence.corpus import Corpus
from structrag.retrieval.evidence.quantised import Quantiser
from structrag.retrieval.evidence.record import (
    NO_ATOMS,
    EncoderSpans,
    Record,
    texts_of_atoms,
    with_vectors_of_all,
)
from structrag.retrieval.evidence.required_context import RequiredContext
from structrag.text.arrays import Int32Array, bytes_text, text_bytes

KIND = "evidence"
AXES, BITS = "token_axes", "token_bits"  # of the quantiser
VIEW = "raw"  # a store has a view; there are no chunks in it
_POOLS = 16  # sets of documents whose pools are remembered


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it is kept.

    Example:
        >>> from structrag import parse, read_text
        >>> outline = parse(read_text("# Pumps\\n\\nThey leak.", id="d"))
        >>> stored_document(outline, [(0, 19)]).paths
        ((), ('Pumps',))
    """

    id: str
    title: str
    format: str
    meta: Mapping[str, Any]
    text: str
    paths: tuple[tuple[str, ...], ...]  # of its sections, by ordinal
    body_starts: tuple[int, ...]  # of its sections
    encoder_spans: tuple[tuple[int, int], ...]  # spans that an encoder reads at once
    required: tuple[RequiredContext, ...] = ()  # of its tables and lists
    source: SourceMap | None = None  # where its text stands in markup

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a store keeps of it as arrays."""
        return {
            "text": text_bytes(self.text),
            "paths": text_bytes(json.dumps(self.paths)),
            "body_starts": np.array(self.body_starts, dtype=np.int32),
            "piece_spans": np.array(self.encoder_spans, dtype=np.int32).reshape(-1, 2),
            "leads": np.array(self.required, dtype=np.int32).reshape(
                -1, len(RequiredContext._fields)
            ),
            "source_runs": _runs(self.source),
        }


def stored_document(
    outline: Outline,
    encoder_spans: EncoderSpans,
    required: Iterable[RequiredContext] = (),
) -> StoredDocument:
    """What is kept of a document beside its record."""
    document = outline.document
    return StoredDocument(
        id=document.id,
        title=document.title,
        format=document.format,
        meta=document.meta,
        text=document.text,
        paths=tuple(section.path for section in outline.sections),
        body_starts=tuple(section.body_start for section in outline.sections),
        encoder_spans=tuple(encoder_spans),
        required=tuple(required),
        source=None if document.layout is None else document.layout.source_map,
    )


def entry_of(stored: StoredDocument, record: Record, fingerprint: str) -> Entry:
    """A document as the store takes it in: its text and record as arrays, no chunks."""
    document = Document(
        "", id=stored.id, title=stored.title, format=stored.format, meta=stored.meta
    )
    arrays = {**stored.arrays(), **record.arrays()}
    filled = {name: array for name, array in arrays.items() if array.size}
    return Entry(document, fingerprint, (), {VIEW: ()}, {}, arrays=filled)


class EvidenceSnapshot:
    """All documents and records at one moment.

    Attributes:
        changes: Of the store at that moment.
        documents, records: By the document's id.
        prints: What they were made from, by the document's id.
        basis: The embedder fitted to these documents that made the records' vectors; None: no such
            embedder did.
    """

    def __init__(
        self,
        changes: int,
        documents: Mapping[str, StoredDocument],
        records: Mapping[str, Record],
        fitted_embedder: Any = None,
        earlier: Iterable[Corpus] = (),
        prints: Mapping[str, str | None] = MappingProxyType({}),
    ) -> None:
        self.changes = changes
        self.documents = documents
        self.records = records
        self.fitted_embedder = fitted_embedder
        self.prints = prints
        self._earlier = tuple(earlier)  # pools of documents that may still be the same
        self._pools: OrderedDict[tuple[str, ...], Corpus] = OrderedDict()
        self._lock = RLock()

    @property
    def pools(self) -> tuple[Corpus, ...]:
        """Those that were made, else those that it may grow from."""
        with self._lock:
            return tuple(self._pools.values()) or self._earlier

    def with_records(
        self, records: Mapping[str, Record], fitted_embedder: Any
    ) -> EvidenceSnapshot:
        """The same documents with other vectors, made by `fitted_embedder`. They are not saved."""
        return EvidenceSnapshot(
            self.changes,
            self.documents,
            records,
            fitted_embedder,
            self.pools,
            self.prints,
        )

    def select(self, where: Condition | None) -> tuple[list[StoredDocument], Corpus]:
        """The documents that meet a condition, and their atoms. Raises InvalidParameter for a key
        that no document has, and for a function that raises."""
        ids = list(self.documents)
        if where is not None:
            rows = select_rows(_DocumentTable(self.documents), where)
            ids = [str(doc_id) for doc_id in np.array(ids, dtype=object)[rows]]
        key = tuple(ids)
        with self._lock:
            pool = self._pools.pop(key, None)
            if pool is None:
                pool = self._grown([self.records[doc_id] for doc_id in ids])
            self._pools[key] = pool
            while len(self._pools) > _POOLS:
                self._pools.popitem(last=False)
        return [self.documents[doc_id] for doc_id in ids], pool

    def _grown(self, records: list[Record]) -> Corpus:
        """The pool of some records, grown from what begins most like it."""
        pools = (*self._earlier, *self._pools.values())
        before = max(pools, key=lambda pool: pool.begins_like(records), default=None)
        # one is enough: what else is asked grows from the new one
        self._earlier = tuple(pool for pool in self._earlier if pool is not before)
        return Corpus(records, before)


class EvidenceLevel:
    """Documents of a store as evidence is searched in them, in the order of their first adding.

    A search reads an `EvidenceSnapshot`, which later changes do not touch. An embedder with `fit`
    (LSA) is fitted to the documents when they are first searched and after every change.
    """

    def __init__(self, store: Store, embedder: Any = None) -> None:
        self.store = store
        self.embedder = embedder
        self._shelf: EvidenceSnapshot | None = None
        self._lock = RLock()
        self._fitting = RLock()
        # The documents as they were last read, and how many have changed since all were read.
        self._last: EvidenceSnapshot | None = None
        self._changed = 0

    @property
    def quantiser(self) -> Quantiser | None:
        """Of the token vectors; fitted when the first came, and saved."""
        shared = self.store.shared
        return Quantiser(shared[AXES], shared[BITS]) if AXES in shared else None

    @quantiser.setter
    def quantiser(self, quantiser: Quantiser) -> None:
        self.store.shared.update({BITS: quantiser.bits, AXES: quantiser.axes})

    def reader(self) -> EvidenceSnapshot:
        """What is there now, with vectors that depend on all documents."""
        if not hasattr(self.embedder, "fit"):
            return self.shelf()
        with self._fitting:
            shelf = self.shelf()
            if shelf.fitted_embedder is None:
                shelf = self.saved_fit(shelf) or self._fitted(shelf)
                self.keep(shelf)
            return shelf

    def shelf(self) -> EvidenceSnapshot:
        """What is there now; only documents that have changed are read again."""
        with self._lock:
            reader = self.store.reader()
            if self._shelf is None or self._shelf.changes != reader.changes:
                self._shelf = self._last = self._read(reader)
            return self._shelf

    def _read(self, reader: Reader) -> EvidenceSnapshot:
        prints = reader.fingerprints()
        last = self._last or EvidenceSnapshot(0, {}, {})
        same = {
            doc_id
            for doc_id, of_it in prints.items()
            if last.prints.get(doc_id) == of_it
        }
        self._changed += len(prints.keys() | last.prints.keys()) - len(same)
        # What was read keeps its segments in memory, deleted documents included. So all are read
        # again when as many have changed as there are.
        if self._last is None or self._changed > len(prints):
            same, self._changed = set(), 0
        documents, records = {}, {}
        for doc_id in prints:
            is_same = doc_id in same
            documents[doc_id] = (
                last.documents[doc_id] if is_same else _stored(reader, doc_id)
            )
            records[doc_id] = (
                last.records[doc_id] if is_same else _record(reader, doc_id)
            )
        pools = self._shelf.pools if self._shelf is not None else ()
        return EvidenceSnapshot(
            reader.changes, documents, records, prints=prints, earlier=pools
        )

    def _fitted(self, shelf: EvidenceSnapshot) -> EvidenceSnapshot:
        """The shelf with vectors of the embedder fitted to all its documents."""
        passages: list[str] = []
        texts: list[str] = []
        for doc_id, stored in shelf.documents.items():
            passages += [stored.text[start:end] for start, end in stored.encoder_spans]
            texts += texts_of_atoms(stored.text, shelf.records[doc_id])
        fitted_embedder = self.embedder.fit(passages)
        vectors = np.asarray(fitted_embedder.embed(texts), dtype=np.float32)
        records = with_vectors_of_all([*shelf.records.values()], vectors)
        return shelf.with_records(
            dict(zip(shelf.records, records, strict=True)), fitted_embedder
        )

    def keep(self, shelf: EvidenceSnapshot) -> None:
        """Give this shelf as long as no document changes."""
        with self._lock:
            if shelf.changes == self.store.changes:
                self._shelf = shelf

    def keep_fit(self) -> None:
        """Have fitted vectors saved with their embedder, if there are any."""
        shelf = self._shelf
        if shelf is None or not hasattr(shelf.fitted_embedder, "arrays"):
            return
        arrays = dict(shelf.fitted_embedder.arrays())
        records = [record for record in shelf.records.values() if len(record)]
        if arrays and records:
            arrays["sums"] = np.concatenate([record.sums for record in records])
            arrays["lengths"] = np.concatenate([record.lengths for record in records])
            columns = {name: Column(array) for name, array in arrays.items()}
            self.store.keep_fit(shelf.changes, columns)

    def saved_fit(self, shelf: EvidenceSnapshot) -> EvidenceSnapshot | None:
        """The shelf with the vectors saved for it; None without any."""
        columns = self.store.fitted
        # Asked after the fit was taken: a document that comes between changes the count.
        if not columns or self.store.changes != shelf.changes:
            return None
        arrays = {name: column.all() for name, column in columns.items()}
        fitted_embedder = self.embedder.restored(arrays)
        if fitted_embedder is None:
            return None
        records, first = {}, 0
        for doc_id, record in shelf.records.items():
            units = slice(first, first + len(record))
            if len(record):
                sums, lengths = arrays["sums"][units], arrays["lengths"][units]
                record = replace(record, sums=sums, lengths=lengths)
            records[doc_id] = record
            first = units.stop
        return shelf.with_records(records, fitted_embedder)


class _DocumentTable:
    """Documents as `select_rows` asks for them: a row each."""

    def __init__(self, documents: Mapping[str, StoredDocument]) -> None:
        self.documents = documents
        self.numbers = {doc_id: number for number, doc_id in enumerate(documents)}

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self.numbers

    def rows_of(self, doc_id: str) -> range:
        number = self.numbers[doc_id]
        return range(number, number + 1)

    def records(self) -> Iterable[tuple[Mapping[str, Any], range]]:
        return list(self._records())

    def _records(self) -> Iterator[tuple[Mapping[str, Any], range]]:
        for doc_id, stored in self.documents.items():
            yield {"id": doc_id, "meta": stored.meta}, self.rows_of(doc_id)


def _stored(reader: Reader, doc_id: str) -> StoredDocument:
    record = reader.stored(doc_id).record

    def rows(name: str) -> list[Any]:
        array = reader.array(doc_id, name)
        return [] if array is None else array.tolist()

    def text(name: str) -> str:
        array = reader.array(doc_id, name)
        return "" if array is None else bytes_text(array)

    return StoredDocument(
        id=record["id"],
        title=record["title"],
        format=record["format"],
        meta=record["meta"],
        text=text("text"),
        paths=tuple(map(tuple, json.loads(text("paths") or "[]"))),
        body_starts=tuple(rows("body_starts")),
        encoder_spans=tuple(map(tuple, rows("piece_spans"))),
        required=tuple(RequiredContext(*row) for row in rows("leads")),
        source=_source_map(reader.array(doc_id, "source_runs")),
    )


def _runs(source: SourceMap | None) -> Int32Array:
    """A source map as an array, a row for each run."""
    if source is None:
        return np.zeros((0, 3), dtype=np.int32)
    rows = list(
        zip(source.text_starts, source.source_starts, source.exact, strict=True)
    )
    return np.array(rows, dtype=np.int32).reshape(-1, 3)


def _source_map(runs: Int32Array | None) -> SourceMap | None:
    """The source map of an array; None where there is none."""
    if runs is None:
        return None
    text_starts, source_starts, exact = runs.T.tolist()
    return SourceMap(tuple(text_starts), tuple(source_starts), tuple(map(bool, exact)))


def _record(reader: Reader, doc_id: str) -> Record:
    """The record as it was put. Arrays that were empty are those of a document without atoms."""
    arrays = {}
    for name, nothing in NO_ATOMS.arrays().items():
        array = reader.array(doc_id, name)
        arrays[name] = nothing if array is None else array
    return Record(**arrays)
