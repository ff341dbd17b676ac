"""A store in Milvus: a server, or a file of Milvus Lite.

Every change is one commit: rows of new versions are written, which nobody sees, then one row that
says which versions are there is replaced. What was replaced is removed a minute later, by the next
change. BM25 is ours: rows have vectors of the weights of their terms, and exact counts are kept.
"""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from typing import Any
from uuid import uuid4

from numpy.typing import NDArray

from structrag._locks import Lock
from structrag.errors import ModelFailed
from structrag.index.engine import EngineStore, no_index, tenant_of
from structrag.index.engine_rows import (
    CHUNK,
    EngineRow,
    RowCounts,
    counts_of,
    summed,
    views_of,
    weights_of,
    widths_of,
)
from structrag.index.entries import DocumentRow, plain_json
from structrag.index.milvus_client import LONGEST, MilvusDatabase, check_file
from structrag.index.milvus_collections import (
    CHUNKS,
    PART_BITS,
    STATE,
    STATE_ROW,
    StoreState,
    create,
    create_vectors,
    read_settings,
    read_shared,
    records_of,
    state_record,
    terms_of,
    vectors_of,
    write_settings,
    write_shared,
)
from structrag.index.milvus_reader import KEPT, MilvusReader
from structrag.index.snapshot import Settings, check_settings
from structrag.model_calls.calling import raised_by

STALE = 0.02  # by which the mean length may differ from that of the weights
FLUSHED = 5_000  # rows after which Milvus Lite writes a segment
# Characters of the state, from which on a writer waits until it may remove.
CROWDED = 50_000
_PAUSE = 1.0  # seconds
_APART = 65_536  # among so many versions a writer begins, that no two take the same
_locks: defaultdict[str, Lock] = defaultdict(Lock)  # by place


class MilvusStore(EngineStore):
    """Documents in Milvus.

    Made by `MilvusStore.open`. Threads take turns to write; of processes one writes at a time, and
    one that another has overtaken raises ModelFailed.

    Args:
        database: The connection.
        settings: Of the store.
        config: Of the index.
    """

    scheme = "milvus"

    def __init__(
        self, database: MilvusDatabase, settings: Settings, config: Mapping[str, Any]
    ) -> None:
        super().__init__(database.place, settings, config)
        self._database = database
        place = os.path.abspath(database.place) if database.is_file else database.place
        self._turn = _locks[place]
        self._reader: MilvusReader | None = None
        self._segments: dict[int, RowCounts] = {}
        self._not_flushed = 0
        self._made: str | None = None  # that of the state which was read first

    @classmethod
    def open(
        cls,
        place: str,
        settings: Settings | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> MilvusStore:
        """The store at a place, or a new one with these settings.

        Raises:
            NoIndex: none is there, and no settings were given.
            IndexDamaged: it is incomplete, of another release's format or another program's.
            InvalidParameter: its settings differ, or the address is invalid.
            ModelFailed: Milvus raised; its error is the cause. TimedOut where it gave no answer.
            MissingExtra: pymilvus is not installed.
        """
        whole, _ = tenant_of(place)
        if "://" not in whole and not check_file(whole) and settings is None:
            raise no_index(place)
        database = MilvusDatabase(place)
        saved = read_settings(database)
        if saved is None:
            if settings is None:
                raise no_index(place)
            _create(database, settings, config or {})
            saved = read_settings(database) or (settings, {})
        saved_settings, saved_config = saved
        if settings is not None:
            check_settings(place, saved_settings, settings)
        store = cls(database, saved_settings, saved_config)
        store._load()
        return store

    def _load(self) -> None:
        """Make the collections ready. Raises IndexDamaged where one is missing."""
        names = [STATE, *self._collections(self._state())]
        self._database.check(names)
        for name in names:
            self._database.call("load_collection", name)

    # -- what is there

    def _state(self) -> StoreState:
        rows = self._database.get(STATE, [STATE_ROW], ["content"])
        if not rows:
            raise self._database.altered("state is missing")
        state = StoreState.from_text(rows[0]["content"])
        if self._made not in {None, state.made}:
            raise self._database.altered("state was recreated")
        self._made = state.made
        return state

    def _write_state(self, state: StoreState) -> None:
        self._database.insert(STATE, [state_record(STATE_ROW, state.to_text())])

    @property
    def changes(self) -> int:
        return self._state().changes

    def reader(self) -> MilvusReader:
        """Return a reader of the current state."""
        asked = time.monotonic()
        state = self._state()
        reader = self._reader
        if reader is None or reader.state != state:
            reader = MilvusReader(
                self._database, self.settings, state, self._counts, self._state
            )
            self._reader = reader
            self._database.remember(self._collections(state))
        reader.is_of = asked
        return reader

    def _counts(self, state: StoreState, view: str) -> list[RowCounts]:
        """How many rows hold each term, in segments that are added up."""
        segments = state.counts.get(view, [])
        for number, n_parts, _ in segments:
            if number not in self._segments:
                ids = [number << PART_BITS | part for part in range(n_parts)]
                records = self._database.get(STATE, ids, ["content"])
                rows = {record["id"]: record["content"] for record in records}
                if len(rows) < n_parts:
                    raise ModelFailed(
                        f"The store at {self.place!r} has changed since this reader was made. "
                        "Search again with a new reader."
                    )
                self._segments[number] = RowCounts.from_parts([rows[i] for i in ids])
        return [self._segments[number] for number, _, _ in segments]

    # -- changes

    def _writing(self) -> AbstractContextManager[object]:
        return self._turn

    def _write(
        self,
        reader: MilvusReader,
        documents: Sequence[Sequence[EngineRow]],
        replaced: Mapping[str, DocumentRow],
    ) -> None:
        rows = list(chain(*documents))
        widths = widths_of(rows, reader.state.widths)
        versions = [reader.version(head.key) for head in replaced.values()]
        with self._commit(len(documents)) as (state, first):
            state.next_key = reader.next_key + len(documents) - len(replaced)
            changed = self._forget(state, versions)
            self._begin_averages(state, rows)
            self._make_room_for_vectors(state, widths)
            written: defaultdict[str, list[Any]] = defaultdict(list)
            for version, of_document in enumerate(documents, start=first):
                records = records_of(
                    of_document, version, self.settings, state.averages
                )
                for collection, of_collection in records.items():
                    written[collection] += of_collection
            state.n_chunks += sum(row.kind == CHUNK for row in rows)
            for collection, of_group in written.items():
                self._insert(collection, of_group)
            for view in self.views:
                with_terms = written[terms_of(view)]
                _count(state, view, with_terms, 1)
                changed[view].append(RowCounts.of(row["terms"] for row in with_terms))
            self._add_counts(state, changed, first)

    def _remove(self, reader: MilvusReader, head: DocumentRow) -> None:
        # The commit takes a version too, so that no two have the same.
        with self._commit(1) as (state, first):
            self._add_counts(
                state, self._forget(state, [reader.version(head.key)]), first
            )

    @contextmanager
    def _commit(self, n_versions: int) -> Iterator[tuple[StoreState, int]]:
        """Take versions, let rows be written, and switch to them.

        Gives the state, to be changed, and the first version. If anything raises, what was written
        is seen by nobody, and removed by a later commit.
        """
        with raised_by(f"store {self.place!r}"):
            state = self._state()
            self._database.check([STATE, *self._collections(state)])
            self._remove_hidden(state)
            while len(state.to_text()) > CROWDED:  # it must fit into a row
                time.sleep(_PAUSE)
                self._remove_hidden(state)
            if state.writer:  # it was interrupted, or is overtaken
                state.hide(time.time(), *state.writing)
            apart = 0 if self._database.is_file else random.randrange(_APART)
            first = state.next + apart
            state.writer, state.writing = uuid4().hex, (first, first + n_versions - 1)
            state.next = first + n_versions
            self._write_state(state)
            self._check_turn(state.writer)
            writer = state.writer
            yield state, first
            self._check_turn(writer)
            state.writer, state.last = "", state.writing[1]
            state.changes += 1
            self._write_state(state)

    def _check_turn(self, writer: str) -> None:
        """Raise ModelFailed if another process has started to write."""
        if not self._database.is_file and self._state().writer != writer:
            raise ModelFailed(
                f"Another process is writing to the store at {self.place!r}, which allows one "
                "writer at a time. This change was not stored. Wait for the other process to "
                "finish, then call again."
            )

    def _insert(self, collection: str, records: Sequence[Any]) -> None:
        self._database.insert(collection, records)
        self._not_flushed += len(records)
        if self._not_flushed > FLUSHED:
            self._flush()

    def _flush(self) -> None:
        """Let Milvus Lite index what was written. A server does so by itself."""
        if self._database.is_lite and self._not_flushed:
            for name in self._collections(self._state()):
                self._database.call("flush", name)
            self._not_flushed = 0

    def _collections(self, state: StoreState) -> list[str]:
        """The collections whose rows have versions."""
        return [CHUNKS, *map(terms_of, self.views), *map(vectors_of, state.widths)]

    def _forget(
        self, state: StoreState, versions: Sequence[int]
    ) -> dict[str, list[RowCounts]]:
        """Hide documents. Gives what that changes of each view's counts."""
        changed: dict[str, list[RowCounts]] = {view: [] for view in self.views}
        if not versions:
            return changed
        condition = f"version in {list(versions)}"
        is_chunk = f"kind == {CHUNK} and part == 0"
        state.n_chunks -= self._database.count(CHUNKS, f"{condition} and {is_chunk}")
        for view in self.views:
            rows = self._database.query(terms_of(view), condition, ["length", "terms"])
            _count(state, view, rows, -1)
            changed[view].append(-RowCounts.of(row["terms"] for row in rows))
        now = time.time()
        for version in sorted(versions):
            state.hide(now, version, version)
        return changed

    def _begin_averages(self, state: StoreState, rows: Sequence[EngineRow]) -> None:
        """Take the first rows of a view for its mean length."""
        for view in self.views:
            terms = [row.terms.get(view) for row in rows]
            lengths = [len(text.split()) for text in terms if text is not None]
            if lengths and view not in state.averages:
                state.averages[view] = sum(lengths) / len(lengths)

    def _make_room_for_vectors(
        self, state: StoreState, widths: Mapping[str, int]
    ) -> None:
        for view, width in widths.items():
            if view in state.widths:
                continue
            # An interrupted commit has left it.
            if vectors_of(view) in self._database.collections():
                self._database.call("drop_collection", vectors_of(view))
            create_vectors(self._database, view, width)
            state.widths[view] = width

    def _add_counts(
        self, state: StoreState, changed: Mapping[str, Sequence[RowCounts]], first: int
    ) -> None:
        """Write a segment of counts for each view. It takes in the last ones that are not twice as
        large, so that there are few."""
        for place, (view, parts) in enumerate(changed.items()):
            segments = state.counts.setdefault(view, [])
            counts = summed(parts)
            while segments and segments[-1][2] < 2 * len(counts):
                counts = summed([self._counts(state, view)[-1], counts])
                state.outdated.append((time.time(), segments.pop()[0]))
            if not len(counts):
                continue
            number = first * len(self.views) + place
            texts = counts.to_parts(LONGEST)
            records = [
                state_record(number << PART_BITS | part, text)
                for part, text in enumerate(texts)
            ]
            self._database.insert(STATE, records)
            segments.append((number, len(texts), len(counts)))
            self._segments[number] = counts

    def _remove_hidden(self, state: StoreState) -> None:
        """Remove for good what has been hidden for long enough."""
        before = time.time() - KEPT
        hidden = [item for item in state.hidden if item[0] < before]
        outdated = [item for item in state.outdated if item[0] < before]
        for _, first, last in hidden:
            condition = f"version >= {first} and version <= {last}"
            for collection in self._collections(state):
                self._database.call("delete", collection, filter=condition)
        for _, number in outdated:
            condition = (
                f"id >= {number << PART_BITS} and id < {number + 1 << PART_BITS}"
            )
            self._database.call("delete", STATE, filter=condition)
            self._segments.pop(number, None)
        if hidden or outdated:
            state.hidden = [item for item in state.hidden if item not in hidden]
            state.outdated = [item for item in state.outdated if item not in outdated]
            state.removed += 1

    def _read_shared(self) -> dict[str, NDArray[Any]]:
        return read_shared(self._database)

    def _write_shared(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        write_shared(self._database, arrays)

    def _write_settings(self) -> None:
        write_settings(self._database, self.settings, self.config)

    def _catch_up(self) -> None:
        for view in self.views:
            self._weigh_again(view)
        self._flush()

    # -- upkeep

    def _weigh_again(self, view: str) -> None:
        """Recompute the weights of a view's rows if their mean length has changed."""
        state = self._state()
        n_rows, collection = state.n_rows.get(view, 0), terms_of(view)
        average = state.n_terms.get(view, 0) / n_rows if n_rows else 0.0
        if not average or abs(state.averages[view] / average - 1) <= STALE:
            return
        columns = ["version", "row", "document", "tags", "length", "average", "terms"]
        rows = self._database.query(collection, state.visible(), ["id", *columns])
        for row in rows:
            counts = counts_of(row["terms"], row["length"], row["average"])
            row |= {"terms": weights_of(counts, average), "average": average}
        self._insert(collection, rows)
        # Last: what is interrupted is begun again.
        state.averages[view] = average
        self._write_state(state)

    def optimize(self) -> None:
        """Remove what was replaced a minute ago or earlier. Small segments are joined. Searches and
        changes go on meanwhile."""
        with self._turn:
            state = self._state()
            self._remove_hidden(state)
            self._write_state(state)
            self._flush()
        for name in self._collections(state):
            self._database.call("compact", name)


def _count(state: StoreState, view: str, rows: Sequence[Any], sign: int) -> None:
    """Add rows to the sums of a view, or take them away."""
    n_terms = sum(int(row["length"]) for row in rows)
    state.n_rows[view] = state.n_rows.get(view, 0) + sign * len(rows)
    state.n_terms[view] = state.n_terms.get(view, 0) + sign * n_terms


def _create(
    database: MilvusDatabase, settings: Settings, config: Mapping[str, Any]
) -> None:
    """Make a store. The settings come last, so that they are there if all is."""
    views = views_of(settings)
    for name in (STATE, CHUNKS, *map(terms_of, views), *map(vectors_of, views)):
        if name in database.collections():  # an interrupted creation has left it
            database.call("drop_collection", name)
    create(database, views)
    database.insert(STATE, [state_record(STATE_ROW, StoreState(uuid4().hex).to_text())])
    write_settings(database, settings, plain_json(dict(config), "config"))
