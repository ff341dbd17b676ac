"""The store behind every retriever: documents, chunks, two indexes per view.

It knows no models.

New documents are buffered. The buffer is flushed to an immutable segment when it is full or when a
search needs it. A deleted or replaced document is marked in its segment. Searches read a snapshot.
Small segments are merged at once, large ones by a background thread. Large segments are mapped
files, so memory stays bounded while documents are added.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from structrag._locks import Lock
from structrag.errors import (
    IndexDamaged,
    InvalidParameter,
    UnknownDocument,
    check_choice,
)
from structrag.index.blocks import Column
from structrag.index.dense import DTYPES, check_width
from structrag.index.entries import (
    CheckedEntry,
    ChunkRow,
    DocumentRow,
    Entry,
    LevelRows,
    plain_json,
    prepare,
)
from structrag.index.lexical import count_terms
from structrag.index.segments import (
    Merge,
    PendingDocument,
    Segment,
    segment_of,
)
from structrag.index.snapshot import Live, Reader, Settings, Snapshot
from structrag.index.storage import (
    Saved,
    Seen,
    TemporaryFolder,
    load_index,
    save_index,
)
from structrag.records import Chunk, Document
from structrag.text.terms import Tokenizer

FIRST_LEVEL = "chunks"
BUFFER_BYTES = 64 << 20  # of documents that wait; then they become a segment in a file
FAN = 8  # so many segments of about one size are joined
INLINE_ROWS = 8192  # joined segments of up to so many rows are made at once, in memory
LARGEST_ROWS = 1 << 20  # segments are not joined beyond this


class Store:
    """Chunks of documents, searchable by vectors and BM25 in several views. Every document has the
    same levels and views. Searches may run in several threads; changes and saving take turns."""

    def __init__(
        self,
        views: Sequence[str] | Mapping[str, Sequence[str]],
        *,
        dtype: str = "float32",
        lexical: str = "lucene",
        tokenizer: Tokenizer | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """An empty store.

        `views` are those of the chunks, or of each level of chunks by its name, the first level
        first. `dtype` is how vectors are kept, "float32" or "float16" (half the memory, scores to
        about three decimals); `lexical` is "lucene" or "okapi" (see `structrag.index.lexical`);
        `config` is saved with the index and given back by `load`.
        """
        levels = views if isinstance(views, Mapping) else {FIRST_LEVEL: views}
        for names in levels.values():
            if isinstance(names, str) or not names or len(set(names)) != len(names):
                raise InvalidParameter(
                    f"views must be one or more different names, such as ('raw',); got {names!r}."
                )
        self.settings: Settings = Settings(
            {name: tuple(of_level) for name, of_level in levels.items()},
            check_choice("dtype", dtype, DTYPES),
            lexical,
            tokenizer or Tokenizer(),
        )
        self.config: dict[str, Any] = plain_json(dict(config or {}), "config")
        # Arrays that belong to all documents, such as what their vectors were made with; saved.
        self.shared: dict[str, NDArray[Any]] = {}
        # Arrays made of just the documents that are there, such as LSA's vectors; saved.
        self.fitted: dict[str, Column] = {}
        self.changes: int = 0  # documents added or deleted so far
        self.seen: Seen = Seen()  # of what is saved
        # The folder that it was opened from or last saved in, and `changes` then.
        self.saved_at: tuple[Path, int] | None = None
        self._lock = Lock(awaited=True)
        self._saving = Lock()
        self._segments: list[Segment] = []
        self._live: list[Live] = []  # of each segment, which documents live
        self._next_key = 0
        self._pending: dict[str, PendingDocument] = {}
        self._pending_bytes = 0
        self._vocabulary: dict[str, int] = {}  # of the pending documents
        self._snapshot: Snapshot | None = Snapshot(self.settings, [], [], 0)
        self._folder: TemporaryFolder | None = None  # of files that are not saved yet
        self._merging: threading.Thread | None = None

    # -- documents

    @property
    def document_ids(self) -> list[str]:
        """In row order."""
        return self.reader().document_ids

    def __len__(self) -> int:
        """The number of chunks of the first level."""
        return len(self.reader())

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and self.stored(doc_id) is not None

    def document(self, doc_id: str) -> Document:
        """The document's id, title, format and meta; its `text` is empty. Raises UnknownDocument
        if unknown."""
        stored = self.stored(doc_id)
        if stored is None:
            raise UnknownDocument.named(doc_id)
        return Document(text="", **stored.record)

    def fingerprints(self, doc_ids: Sequence[str]) -> dict[str, str]:
        """The fingerprints of those documents that are there with all their views."""
        stored = {doc_id: self.stored(doc_id) for doc_id in doc_ids}
        return {
            doc_id: document.fingerprint
            for doc_id, document in stored.items()
            if document is not None and not document.degraded
        }

    def stored(self, doc_id: str) -> DocumentRow | None:
        """Return the stored facts of a document; None if it does not exist."""
        with self._lock:
            pending = self._pending.get(doc_id)
            if pending is not None:
                return pending.entry.document
            place = self._find(doc_id)
            return (
                None if place is None else self._segments[place[0]].document(place[1])
            )

    def _find(self, doc_id: str) -> tuple[int, int] | None:
        """The segment of a document, and its number there. A document that waits has none."""
        return Snapshot(self.settings, self._segments, self._live, self.changes).find(
            doc_id
        )

    def _rows(self, doc_id: str, level: str) -> Sequence[ChunkRow]:
        """The rows of a document that is there."""
        pending = self._pending.get(doc_id)
        if pending is not None:
            return pending.entry.levels[level].rows
        place = self._find(doc_id)
        if place is None:
            return []
        table = self._segments[place[0]].levels[level]
        return [table.row(row) for row in table.rows_of(place[1])]

    def level_rows(self, doc_id: str, level: str) -> LevelRows | None:
        """Return the rows and vectors of a document; None if it does not exist."""
        with self._lock:
            pending = self._pending.get(doc_id)
            if pending is not None:
                return pending.entry.levels[level]
            place = self._find(doc_id)
            if place is None:
                return None
            table = self._segments[place[0]].levels[level]
            rows = table.rows_of(place[1])
            return LevelRows(
                [table.row(row) for row in rows],
                {
                    view: vectors.of_rows(rows)
                    for view, vectors in table.vectors.items()
                },
            )

    def known(self, doc_ids: Iterable[str]) -> set[str]:
        """Return the ids that are stored."""
        return {doc_id for doc_id in doc_ids if doc_id in self}

    def unchanged_ids(self, entries: Sequence[Entry]) -> set[str]:
        """The ids of the entries that `holds` finds there."""
        return {entry.document.id for entry in entries if self.holds(entry)}

    def holds(self, entry: Entry) -> bool:
        """Whether the document is there as the entry has it. Its fingerprint, chunks and texts are
        the same, and as many views are to be made again. Vectors and blobs are not compared."""
        with self._lock:
            doc_id = entry.document.id
            stored = self.stored(doc_id)
            if stored is None or stored.fingerprint != entry.fingerprint:
                return False
            if stored.degraded != entry.degraded:
                return False
            prepared = prepare(entry, self.settings.levels, self.settings.dtype)
            return all(
                level.rows == list(self._rows(doc_id, name))
                for name, level in prepared.levels.items()
            )

    # -- changes

    def put(self, entry: Entry) -> None:
        """Add a document, or replace the one with its id in place.

        Everything is checked before anything changes. Raises InvalidParameter for chunks, texts or
        metadata that cannot be kept, InvalidAnswer for unusable vectors or vectors of another
        dimension than the store's.
        """
        prepared = prepare(entry, self.settings.levels, self.settings.dtype)
        doc_id = entry.document.id
        with self._lock:
            self._check_widths(prepared)
            terms = {
                name: {
                    view: count_terms(
                        [row.texts[view] for row in prepared.levels[name].rows],
                        self.settings.tokenizer,
                        self._vocabulary,
                    )
                    for view in views
                }
                for name, views in self.settings.levels.items()
            }
            key = self._take_out(doc_id)
            if key is None:
                key, self._next_key = self._next_key, self._next_key + 1
            pending = PendingDocument(key, prepared, terms)
            self._pending[doc_id] = pending
            self._pending_bytes += pending.n_bytes
            self._changed()
            if self._pending_bytes > BUFFER_BYTES:
                self._flush()
                if self._crowd():
                    self._merge_in_background()

    def put_all(self, entries: Sequence[Entry]) -> None:
        """`put` for several, one after the other."""
        for entry in entries:
            self.put(entry)

    def delete(self, doc_id: str) -> bool:
        """Remove a document; no view finds it any more. False if no document has this id."""
        with self._lock:
            if self._take_out(doc_id) is None:
                return False
            self._changed()
            return True

    def _changed(self) -> None:
        self.changes += 1
        self._snapshot = None
        self.fitted = {}

    def keep_fit(self, changes: int, arrays: Mapping[str, Column]) -> None:
        """Save what was fitted to all documents, if none has changed since. `changes` are those of
        the reader that it was fitted to."""
        with self._lock:
            if changes == self.changes:
                self.fitted = {**self.fitted, **arrays}

    def _take_out(self, doc_id: str) -> int | None:
        """Remove a document and return its key; None without one."""
        pending = self._pending.pop(doc_id, None)
        if pending is not None:
            self._pending_bytes -= pending.n_bytes
            return pending.key
        place = self._find(doc_id)
        if place is None:
            return None
        i, number = place
        old = self._live[i]
        alive = (
            np.ones(len(self._segments[i]), dtype=bool) if old is None else old.copy()
        )
        alive[number] = False
        self._live[i] = alive
        return int(self._segments[i].keys[number])

    def _check_widths(self, prepared: CheckedEntry) -> None:
        """Raise InvalidAnswer for vectors of another dimension than those of other documents."""
        name = prepared.document.record["id"]
        for level, of_level in prepared.levels.items():
            for view, (matrix, _) in of_level.vectors.items():
                if not len(matrix):
                    continue
                width = int(matrix.shape[1])
                check_width(view, width, self._width(level, view, width, name), name)

    def _width(self, level: str, view: str, width: int, doc_id: str) -> int:
        """The dimension of a view's vectors in other documents, or `width`."""
        for name, pending in self._pending.items():
            matrix, _ = pending.entry.levels[level].vectors.get(
                view, (np.empty((0, 0)), None)
            )
            if len(matrix) and name != doc_id:
                return int(matrix.shape[1])
        for segment, live in zip(self._segments, self._live, strict=True):
            table = segment.levels[level].vectors[view]
            if not len(table.matrix) or table.dimension == width:
                continue
            # Vectors of this document's own earlier version, or of deleted ones, do not count.
            for number in (
                range(len(segment)) if live is None else np.flatnonzero(live).tolist()
            ):
                is_other = segment.document(number).record["id"] != doc_id
                if is_other and segment.has_vectors(level, view, number):
                    return table.dimension
        return width

    # -- segments

    def snapshot(self) -> Snapshot:
        """Return the current state. Later changes do not affect it."""
        snapshot = self._snapshot
        if snapshot is None:
            with self._lock:
                if self._snapshot is None:
                    self._flush()
                    # Who only reads an index leaves its segments as they were saved.
                    if self.changes:
                        self._tidy()
                    self._snapshot = Snapshot(
                        self.settings, self._segments, self._live, self.changes
                    )
                snapshot = self._snapshot
        return snapshot

    def _flush(self) -> None:
        """Make a segment of the waiting documents, a large one as file."""
        if not self._pending:
            return
        segment = segment_of(
            self._pending.values(),
            self.settings.levels,
            self._vocabulary,
            self.settings.dtype,
        )
        if self._pending_bytes > BUFFER_BYTES // 2:
            segment = self._in_file(Merge([segment], [None]))
        self._segments.append(segment)
        self._live.append(None)
        self._pending, self._pending_bytes, self._vocabulary = {}, 0, {}

    def _in_file(self, merge: Merge) -> Segment:
        """A merged segment in a file of its own.

        It stays in memory where the system has no room.
        """
        try:
            folder = self._folder or self._keep_folder(TemporaryFolder())
            segment = merge.write(folder.path)
        except OSError:
            return merge.in_memory()
        if segment.file is not None:
            unlink = partial(segment.file.path.unlink, missing_ok=True)
            weakref.finalize(segment, _in_this_process, os.getpid(), unlink)
        return segment

    def _keep_folder(self, folder: TemporaryFolder) -> TemporaryFolder:
        """Use a folder for files that are not saved yet, as long as the store is there."""
        self._folder = folder
        weakref.finalize(self, _in_this_process, os.getpid(), folder.close)
        return folder

    def _tidy(self) -> None:
        """Drop dead segments, and join small ones of about one size."""
        self._drop_dead()
        while True:
            crowd = self._crowd()
            if not crowd:
                return
            n_rows = sum(self._segments[i].n_rows for i in crowd)
            if n_rows > INLINE_ROWS:
                self._merge_in_background()
                return
            segments = [self._segments[i] for i in crowd]
            live = [self._live[i] for i in crowd]
            self._install(segments, live, Merge(segments, live).in_memory())

    def _drop_dead(self) -> None:
        """Drop segments without a living document."""
        self._keep(
            [i for i, alive in enumerate(self._live) if alive is None or alive.any()]
        )

    def _keep(self, numbers: Sequence[int]) -> None:
        self._segments = [self._segments[i] for i in numbers]
        self._live = [self._live[i] for i in numbers]

    def _crowd(self) -> list[int]:
        """The segments to be joined next, if any, the smallest first."""
        by_size: dict[int, list[int]] = {}
        for i, segment in enumerate(self._segments):
            if segment.n_rows <= LARGEST_ROWS // 2:
                size = (segment.n_rows * FAN).bit_length() // (FAN.bit_length() - 1)
                by_size.setdefault(size, []).append(i)
        for size in sorted(by_size):
            if len(by_size[size]) >= FAN:
                return by_size[size][:FAN]
        # A segment of which most is deleted is made anew without it.
        for i, alive in enumerate(self._live):
            if alive is not None and 2 * np.count_nonzero(alive) < len(alive):
                return [i]
        return []

    def _install(
        self, segments: Sequence[Segment], live: Sequence[Live], merged: Segment
    ) -> bool:
        """Put a merged segment in place of its parts. Documents that were deleted since are
        marked in it. False, and nothing changes, where one of the segments is gone."""
        with self._lock:
            try:
                places = [self._place(segment) for segment in segments]
            except ValueError:
                return False
            alive: Live = None
            for i, before in zip(places, live, strict=True):
                now = self._live[i]
                if now is None or now is before:
                    continue
                gone = ~now if before is None else before & ~now
                alive = np.ones(len(merged), dtype=bool) if alive is None else alive
                alive[np.isin(merged.keys, self._segments[i].keys[gone])] = False
            self._segments.append(merged)
            self._live.append(alive)
            self._keep([i for i in range(len(self._segments)) if i not in places])
            self._snapshot = None  # the same rows, read from fewer places
            return True

    def _place(self, segment: Segment) -> int:
        for i, other in enumerate(self._segments):
            if other is segment:
                return i
        raise ValueError(segment.name)

    def _merge_in_background(self) -> None:
        if self._merging is None or not self._merging.is_alive():
            self._merging = threading.Thread(
                target=_merge_crowds, args=(weakref.ref(self),), daemon=True
            )
            self._merging.start()

    def _merge_crowd(self) -> bool:
        """Join one crowd of segments; False if there is none."""
        with self._lock:
            crowd = self._crowd()
            segments = [self._segments[i] for i in crowd]
            live = [self._live[i] for i in crowd]
        if not segments:
            return False
        return self._install(segments, live, self._in_file(Merge(segments, live)))

    def compact(self) -> None:
        """Join all segments into one, without what is deleted. Rows, rankings and scores stay as
        they are. Equal content then makes an equal saved index, whatever its history."""
        with self._lock:
            self._flush()
            self._drop_dead()
            if not self._segments:
                self._snapshot = None
                return
            segments, live = list(self._segments), list(self._live)
            count = sum(
                len(segment) if alive is None else int(np.count_nonzero(alive))
                for segment, alive in zip(segments, live, strict=True)
            )
            merged = self._in_file(Merge(segments, live, keys=np.arange(count)))
            self._segments, self._live, self._next_key = [merged], [None], count
            self._snapshot = None

    # -- what a snapshot answers

    def reader(self, level: str | None = None) -> Reader:
        """A level (the first) as it is now, untouched by later changes."""
        return self.snapshot().reader(level)

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        return self.reader().chunks(doc_id)

    # -- files

    def save(
        self, path: str | os.PathLike[str], *, config: Mapping[str, Any] | None = None
    ) -> None:
        """Write the store to a folder.

        Only what is not there yet is written. An index that is there is replaced when the new one
        is complete. Searches and changes go on meanwhile.

        `config` (JSON values) replaces the store's own. Raises InvalidParameter if `path` holds
        something else, SaveFailed where another has saved there since this store was opened or
        made, or the system refuses to write.
        """
        with self._saving:
            if config is not None:
                self.config = plain_json(dict(config), "config")
            saved, changes = self._saved()
            written = save_index(path, saved, self.seen)
            self.saved_at = Path(path).absolute(), changes
            if written is not None:
                segments, live = saved.segments, saved.live
                new = [i for i, segment in enumerate(segments) if segment.file is None]
                self._install(
                    [segments[i] for i in new], [live[i] for i in new], written
                )

    def _saved(self) -> tuple[Saved, int]:
        """Return the current state to save, and the number of changes so far."""
        with self._lock:
            self.snapshot()
            saved = Saved(
                self.settings,
                list(self._segments),
                list(self._live),
                self.config,
                dict(self.shared),
                dict(self.fitted),
                uuid4().hex,
            )
            return saved, self.changes

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: the files that `save` writes, and what was seen of saved indexes."""
        folder = TemporaryFolder()
        try:
            place = folder.path / "index"
            save_index(place, self._saved()[0], Seen())
            files = {
                path.relative_to(place): path.read_bytes()
                for path in place.rglob("*")
                if path.is_file()
            }
        finally:
            folder.close()
        return {"files": files, "seen": self.seen}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        folder = TemporaryFolder()
        for name, content in state["files"].items():
            path = folder.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        store = Store.load(folder.path)
        vars(self).update(vars(store), seen=state["seen"], saved_at=None)
        self._keep_folder(folder)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False) -> Store:
        """Open a saved store, which can be changed and saved again.

        Files are mapped, nothing is rebuilt. Every block of them is checked when it is first read,
        or with `verify` at once. Raises IndexDamaged if there is no index, or if it is from another
        program, incomplete, altered or in another format; an altered block, when it is read.
        """
        saved = load_index(path, verify=verify)
        store = cls(saved.settings.levels, config=saved.config)
        store.settings, store.shared = saved.settings, dict(saved.shared)
        store.fitted = dict(saved.fitted)
        store.seen.add(path, saved.save)
        store.saved_at = Path(path).absolute(), store.changes
        store._segments, store._live = list(saved.segments), list(saved.live)
        keys = [int(segment.keys[-1]) for segment in saved.segments if len(segment)]
        store._next_key = max(keys, default=-1) + 1
        store._snapshot = None
        return store


def _merge_crowds(reference: weakref.ref[Store]) -> None:
    """Join a store's segments until all is well or it is gone."""
    try:
        while True:
            store = reference()
            if store is None or not store._merge_crowd():
                return
            del store
    except (IndexDamaged, MemoryError):
        # The segments stay apart; whoever reads the damaged block is told.
        return


def _in_this_process(pid: int, clean_up: Callable[[], object]) -> None:
    """Clean up what this process has made, not a forked child."""
    if os.getpid() == pid:
        clean_up()
