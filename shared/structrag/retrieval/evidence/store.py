"""Where the documents and their records are kept, in memory and in a folder.

documents.jsonl     one document a line: its text and sections, and how long its arrays are
NAME.npy            an array of the records, those of all documents behind each other
rotation.npy        of the token vectors
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from threading import RLock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from structrag.asking.requests import Array
from structrag.errors import IndexDamaged
from structrag.index.entries import plain_json
from structrag.index.selection import Condition, select_rows
from structrag.index.storage import (
    Writer,
    checked_files,
    load_array,
    read_manifest,
    write_index,
)
from structrag.reading.outline import Outline
from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.record import Pieces, Record

KIND = "evidence"
_POOLS = 16  # sets of documents whose pools are remembered
_FIELDS = tuple(field.name for field in fields(Record))


@dataclass(frozen=True, slots=True)
class Stored:
    """A document as it is kept.

    Example:
        >>> from structrag import parse, read_text
        >>> stored = stored_document(parse(read_text("# Pumps\\n\\nThey leak.", id="d")), [], "")
        >>> stored.paths, stored.meta
        (((), ('Pumps',)), {})
    """

    id: str
    title: str
    format: str
    text: str
    meta: Mapping[str, Any]
    paths: tuple[tuple[str, ...], ...]  # of its sections, by ordinal
    body_starts: tuple[int, ...]  # of its sections
    pieces: tuple[tuple[int, int], ...]  # spans that an encoder reads at once
    fingerprint: str


def stored_document(outline: Outline, pieces: Pieces, fingerprint: str) -> Stored:
    """What is kept of a document beside its arrays."""
    document = outline.document
    return Stored(
        id=document.id,
        title=document.title,
        format=document.format,
        text=document.text,
        meta=plain_json(dict(document.meta), f"the metadata of document {document.id!r}"),
        paths=tuple(section.path for section in outline.sections),
        body_starts=tuple(section.body_start for section in outline.sections),
        pieces=tuple(pieces),
        fingerprint=fingerprint,
    )


class EvidenceStore:
    """Documents with their records, in the order of their first adding.

    Each change is whole: a search has all of it or nothing.
    """

    def __init__(self) -> None:
        self.documents: dict[str, Stored] = {}
        self.records: dict[str, Record] = {}
        self.rotation: Array | None = None  # of token vectors, fitted when the first came
        self.changes = 0
        self._pools: OrderedDict[tuple[str, ...], Pool] = OrderedDict()
        self._lock = RLock()

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.documents)

    def put(self, entries: Iterable[tuple[Stored, Record]]) -> None:
        """Add documents, or replace those of the same id, all at once."""
        with self._lock:
            entries = list(entries)
            self.documents = self.documents | {stored.id: stored for stored, _ in entries}
            self.records = self.records | {stored.id: record for stored, record in entries}
            self._changed()

    def delete(self, doc_id: str) -> bool:
        """Remove a document; False if there is none of this id."""
        with self._lock:
            if doc_id not in self.documents:
                return False
            self.documents = {key: of for key, of in self.documents.items() if key != doc_id}
            self.records = {key: of for key, of in self.records.items() if key != doc_id}
            self._changed()
            return True

    def entries(self) -> list[tuple[Stored, Record]]:
        """All documents with their records."""
        with self._lock:
            return [(stored, self.records[stored.id]) for stored in self.documents.values()]

    def replace_records(self, records: Mapping[str, Record], changes: int) -> bool:
        """Give documents other records, unless there were changes since so many; then False."""
        with self._lock:
            if changes != self.changes:
                return False
            self.records = self.records | dict(records)
            self._changed()
            return True

    def _changed(self) -> None:
        self.changes += 1
        self._pools.clear()

    def select(self, where: Condition | None) -> tuple[list[Stored], Pool]:
        """The documents that meet a condition, and their atoms.

        Raises InvalidParameter for a key that no document has, and for a function that raises.
        """
        with self._lock:
            documents, ids = self.documents.values(), list(self.documents)
            if where is not None:
                members = {of.id: _Row(of, number) for number, of in enumerate(documents)}
                rows = select_rows(cast(Any, members), len(ids), where)
                ids = np.array(ids, dtype=object)[rows].tolist()
            key = tuple(ids)
            pool = self._pools.pop(key, None) or Pool([self.records[one] for one in ids])
            self._pools[key] = pool
            while len(self._pools) > _POOLS:
                self._pools.popitem(last=False)
            return [self.documents[one] for one in ids], pool

    # -- in a folder

    def save(self, path: str | os.PathLike[str], config: Mapping[str, Any]) -> None:
        """Write all to a folder, moved into place when complete.

        Raises InvalidParameter if `path` holds something else than an index.
        """
        with self._lock:
            documents, records = list(self.documents.values()), list(self.records.values())
            rotation = self.rotation
        writers: dict[str, Writer] = {
            "documents.jsonl": lambda file: _write_documents(file, documents, records)
        }
        for name in _FIELDS:
            arrays = [getattr(record, name) for record in records]
            writers[f"{name}.npy"] = _array_writer(arrays)
        if rotation is not None:
            writers["rotation.npy"] = _array_writer([rotation])
        header = {"config": {**config, "kind": KIND}, "documents": len(documents)}
        write_index(path, writers, header)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, verify: bool = False
    ) -> tuple[EvidenceStore, dict[str, Any]]:
        """Open what `save` wrote, and give its configuration; arrays are memory-mapped.

        Raises IndexDamaged if there is no index, or it is incomplete, altered or another kind.
        """
        manifest = read_manifest(path)
        config = manifest.get("config", {})
        if config.get("kind") != KIND:
            raise IndexDamaged(
                f"{os.fspath(path)!r} was not saved by EvidenceRetriever.save. Open it with the "
                "class that saved it."
            )
        folder = checked_files(path, manifest, verify=verify)
        store = cls()
        lines = (folder / "documents.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        arrays = {name: _load(folder, name) for name in _FIELDS if rows}
        ends = dict.fromkeys(_FIELDS, 0)
        for row in rows:
            sizes = row.pop("sizes")
            parts: dict[str, NDArray[Any]] = {}
            for name in _FIELDS:
                start, ends[name] = ends[name], ends[name] + sizes[name]
                parts[name] = arrays[name][start : ends[name]]
            stored = _stored(row)
            store.documents[stored.id] = stored
            store.records[stored.id] = Record(**parts)
        if any(ends[name] != len(array) for name, array in arrays.items()):
            raise IndexDamaged(
                f"The index at {os.fspath(path)!r} is damaged: its files do not fit together. "
                "Build it again."
            )
        if (folder / "rotation.npy").exists():
            store.rotation = np.array(load_array(folder / "rotation.npy", dtype="float32", ndim=2))
        return store, config


class _Row:
    """A document as `select_rows` asks for it: one row each."""

    def __init__(self, stored: Stored, number: int) -> None:
        self.record = {"id": stored.id, "meta": stored.meta}
        self.start, self.stop, self.n_rows = number, number + 1, 1


def _stored(row: Mapping[str, Any]) -> Stored:
    return Stored(
        **{
            **row,
            "paths": tuple(map(tuple, row["paths"])),
            "body_starts": tuple(row["body_starts"]),
            "pieces": tuple(map(tuple, row["pieces"])),
        }
    )


def _write_documents(file: Path, documents: Sequence[Stored], records: Sequence[Record]) -> None:
    with open(file, "w", encoding="utf-8", newline="\n") as out:
        for stored, record in zip(documents, records, strict=True):
            sizes = {name: len(array) for name, array in record.arrays().items()}
            out.write(json.dumps({**asdict(stored), "sizes": sizes}) + "\n")


def _array_writer(arrays: Sequence[NDArray[Any]]) -> Writer:
    """Writes the arrays behind each other; documents without vectors have rows of no width."""
    width = max((array.shape[1] for array in arrays if array.ndim > 1), default=0)
    filled = [array for array in arrays if array.ndim == 1 or array.shape[1] == width]
    joined = np.concatenate(filled) if filled else np.zeros(0)
    return lambda file: np.save(file, joined)


def _load(folder: Path, name: str) -> NDArray[Any]:
    dtype, ndim = _FORMS[name]
    return load_array(folder / f"{name}.npy", dtype=dtype, ndim=ndim)


_FORMS = {  # dtype and dimensions of each array
    "starts": ("int32", 1),
    "ends": ("int32", 1),
    "tokens": ("int32", 1),
    "blocks": ("int32", 1),
    "sections": ("int32", 1),
    "block_tokens": ("int32", 1),
    "stem_keys": ("uint64", 1),
    "stem_atoms": ("int32", 1),
    "stem_counts": ("int32", 1),
    "stem_lengths": ("int32", 1),
    "title_keys": ("uint64", 1),
    "title_sections": ("int32", 1),
    "token_rows": ("int8", 2),
    "token_scales": ("float32", 1),
    "token_firsts": ("int32", 1),
    "piece_ids": ("int32", 1),
    "piece_counts": ("int32", 1),
    "pieces": ("int32", 1),
    "sums": ("float16", 2),
    "lengths": ("float32", 2),
}
