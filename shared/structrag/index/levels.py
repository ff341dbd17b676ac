"""Search a level of a store by vectors. Its embedder may be one that is fitted to the level's
texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from structrag._locks import Lock
from structrag.index.blocks import Column
from structrag.index.corpus import CorpusReader
from structrag.index.dense import DenseIndex, VectorPart, VectorTable
from structrag.index.ranking import RowMap
from structrag.index.snapshot import Reader, Snapshot
from structrag.index.store import Store
from structrag.model_calls.requests import Embed, Flow, ask


class SearchedLevel:
    """One level of a store, searched by the vectors of an embedder.

    An embedder with `fit` (LSA) is fitted to the level's texts when they are first searched and
    after every change. Its vectors belong to that fit, so a reader carries both.

    Args:
        store: Whose level it is.
        embedder: Of the level's vectors; None: it has none, or a host keeps them.
        level: Its name; None: the first.
    """

    def __init__(self, store: Store, embedder: Any, level: str | None = None) -> None:
        self.store = store
        self.embedder = embedder
        self.level = level
        self._fitted: Reader | None = None
        self._fitting = Lock()

    def reader(self, snapshot: Snapshot | None = None) -> Reader:
        """Return a reader of this level, now or in a snapshot. Later changes do not affect it."""
        if not hasattr(self.embedder, "fit"):
            return (snapshot or self.store.snapshot()).reader(self.level)
        changes = self.store.changes if snapshot is None else snapshot.changes
        fitted = self._fitted
        if fitted is not None and self._serves(fitted, changes, snapshot):
            return fitted
        with self._fitting:
            # Another thread may have fitted meanwhile what was there when this one asked.
            if self._fitted is None or not self._serves(
                self._fitted, changes, snapshot
            ):
                reader = (snapshot or self.store.snapshot()).reader(self.level)
                saved = self._saved(reader)
                self._fitted = self.fit(reader) if saved is None else saved
            return self._fitted

    def fit(self, reader: Reader) -> Reader:
        """A reader with vectors of the embedder fitted to all its texts."""
        return fitted_reader(reader, self.embedder)

    def keep_fit(self) -> None:
        """Have the store save the fit with its vectors, if any."""
        reader = self._fitted
        if reader is None or not hasattr(reader.fitted_embedder, "arrays"):
            return
        columns = {
            name: Column(array)
            for name, array in reader.fitted_embedder.arrays().items()
        }
        for view in reader.views if columns else ():
            parts = reader.dense(view).parts
            if not parts:  # no chunk has a text in this view
                continue
            columns[f"vectors {view}"] = parts[0].table.matrix
            columns[f"owner {view}"] = parts[0].table.owner
        if columns:
            for name, array in reader.fitted_arrays.items():
                columns[f"array {name}"] = Column(array)
        self.store.keep_fit(
            reader.changes,
            {self._saved_name(reader) + name: columns[name] for name in columns},
        )

    def _saved(self, reader: Reader) -> Reader | None:
        """The reader with the saved fit of its rows; None without one."""
        prefix = self._saved_name(reader)
        columns = {
            name.removeprefix(prefix): column
            for name, column in self.store.fitted.items()
            if name.startswith(prefix)
        }
        # Asked after the fit was taken: a document that comes between changes the count.
        if not columns or self.store.changes != reader.changes:
            return None
        of_fit = {
            name: column.all() for name, column in columns.items() if " " not in name
        }
        fitted_embedder = self.embedder.restored(of_fit)
        if fitted_embedder is None:
            return None
        place = RowMap(len(reader))
        dense = {}
        for view in reader.views:
            if f"vectors {view}" in columns:
                table = VectorTable(
                    columns[f"vectors {view}"], columns[f"owner {view}"]
                )
                dense[view] = DenseIndex([VectorPart(table, place)], view=view)
        arrays = {
            name.removeprefix("array "): column.all()
            for name, column in columns.items()
            if name.startswith("array ")
        }
        return Reader(
            reader.snapshot,
            reader.level,
            fitted=dense,
            fitted_embedder=fitted_embedder,
            fitted_arrays=arrays,
        )

    @staticmethod
    def _saved_name(reader: Reader) -> str:
        return f"{reader.level}: "

    @staticmethod
    def _serves(fitted: Reader, changes: int, snapshot: Snapshot | None) -> bool:
        """Whether a fit is up to date; a snapshot needs its own."""
        return fitted.changes == changes if snapshot else fitted.changes >= changes


def fitted_reader(reader: Reader, embedder: Any) -> Reader:
    """A reader with vectors of the embedder fitted to all its texts."""
    # View -> row -> text.
    texts: dict[str, dict[int, str]] = {view: {} for view in reader.views}
    for row in range(len(reader)):
        for view, text in reader.view_texts(row).items():
            if text:  # not every chunk is in every view
                texts[view][row] = text
    fitted = embedder.fit(
        [text for of_view in texts.values() for text in of_view.values()]
    )
    dense = {}
    for view, of_view in texts.items():
        dense[view] = DenseIndex.from_vectors(
            fitted.embed(list(of_view.values())),
            np.array(list(of_view), dtype=np.int32),
            n_rows=len(reader),
            dtype=reader.settings.dtype,
            view=view,
        )
    return Reader(reader.snapshot, reader.level, fitted=dense, fitted_embedder=fitted)


def query_vectors(reader: CorpusReader, *queries: str) -> Flow[list[Any]]:
    """The vectors of queries for searching a reader, in one call.

    The first query is not blank. None for a query of no known word (zeros); all are None for an
    empty reader and a blank query.
    """
    if not len(reader) or not queries[0].strip():
        return [None] * len(queries)
    matrix = yield from ask(Embed(queries, query=True, embedder=reader.fitted_embedder))
    return [vector if any(vector) else None for vector in matrix]
