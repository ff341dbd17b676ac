"""A store in LanceDB, in a folder or a bucket.

It is for many processes, and for more than fits in memory. Two tables: `structrag_chunks` has the
rows of `engine_rows`, `structrag_settings` what they were made with. A change is one commit, so
that a document is there whole or not at all. BM25 is LanceDB's, over our own terms. Its statistics
are those of the last `save`, which rebuilds the indexes when more than one row in fifty has
changed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag._locks import Lock
from structrag.errors import IndexDamaged, InvalidParameter, require
from structrag.index.engine import (
    EngineStore,
    no_index,
    parse_settings,
    settings_line,
    tenant_of,
)
from structrag.index.engine_rows import (
    DEAD,
    EngineRow,
    RowCounts,
    arrays_of_bytes,
    bytes_of_arrays,
    quoted,
    views_of,
    widths_of,
)
from structrag.index.entries import DocumentRow, plain_json
from structrag.index.lance_reader import (
    EXACT_ROWS,
    LIST_ROWS,
    LanceReader,
    counts_of_terms,
    has_bits,
    literal,
    raised_by_lance,
    vector_columns,
)
from structrag.index.snapshot import Settings, check_settings
from structrag.index.storage import one_saver

FORMAT = "structrag-lancedb"
CHUNKS, SETTINGS = "structrag_chunks", "structrag_settings"
# Tables that belong to all documents: arrays, and the number of rows per term.
SHARED, COUNTS = "structrag_shared", "structrag_counts"
STALE = 0.02  # the share of changed rows from which on the indexes are made anew
MOST_FRAGMENTS = 100  # parts of the table, above which they are joined
# Bytes of indexes, and of what is known of files, that are kept in memory.
INDEX_CACHE, METADATA_CACHE = 512 << 20, 128 << 20
# Versions of the table that are younger, for those who still read them.
KEPT = timedelta(hours=1)
INDEXED_ROWS = 10_000  # from which on vectors have an index, and that it may lack


class LanceStore(EngineStore):
    """Documents in a LanceDB database.

    Made by `LanceStore.open`. Processes on one machine that write take turns; a reader keeps what
    it has opened.

    Args:
        place: A folder, or an address such as "s3://bucket/folder".
        database: The connection to it.
        settings: Of the store.
        config: Of the index.

    Attributes:
        exact: Whether searches compare all vectors in a table of any size. From 100,000 rows on
            they else compare a part, at least as many. Set it at any time.
    """

    scheme = "lancedb"

    def __init__(
        self, place: str, database: Any, settings: Settings, config: Mapping[str, Any]
    ) -> None:
        super().__init__(place, settings, config)
        self._database = database
        self._table = database.open_table(CHUNKS)
        self._lock = Lock()  # of the reader
        self._turn = Lock()  # of writers; searches go on
        self._reader: LanceReader | None = None
        self._added: list[Any] = []  # columns of vectors and blobs that were there
        self._changed = 0  # rows since the indexes were made
        # LanceDB refuses to join parts that are being joined.
        self._upkeep = Lock()
        self._joining: threading.Thread | None = None
        self.exact = False

    @classmethod
    def place_of(cls, address: str) -> str:
        """The folder or bucket, or the tenant's own in it."""
        place, tenant = tenant_of(address)
        return f"{place.rstrip('/')}/{tenant}" if tenant else place

    @classmethod
    def open(
        cls,
        place: str,
        settings: Settings | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> LanceStore:
        """The store at a place, or a new one with these settings.

        Raises:
            NoIndex: none is there, and no settings were given.
            IndexDamaged: it is incomplete, of another release's format or another program's.
            InvalidParameter: its settings are others.
            ModelFailed: LanceDB raised; its error is the cause.
            SaveFailed: another process has been writing for ten minutes, as one that hangs.
            MissingExtra: LanceDB is not installed.
        """
        lancedb = require("lancedb", extra="lancedb")
        with raised_by_lance(place):
            if settings is None and _is_local(place) and not Path(place).is_dir():
                raise no_index(place)
            session = lancedb.Session(INDEX_CACHE, METADATA_CACHE)
            database = lancedb.connect(
                place, read_consistency_interval=timedelta(0), session=session
            )
            tables = set(database.list_tables().tables)
            if SETTINGS not in tables:
                if settings is None:
                    raise no_index(place)
                _check_place(place)
                with _one_writer(place):
                    if SETTINGS not in set(database.list_tables().tables):
                        create_tables(database, settings, config or {})
            saved, saved_config = read_settings(place, database)
            if settings is not None:
                check_settings(place, saved, settings)
            store = cls(place, database, saved, saved_config)
            store._check_columns()
            return store

    def _check_columns(self) -> None:
        """Raise IndexDamaged where another program has changed what the table has."""
        actual = self._table.schema
        columns = [*schema_of(self.settings), *self._added]
        expected = {column.name: column.type for column in columns}
        for name, kind in expected.items():
            if name not in actual.names or actual.field(name).type != kind:
                raise self._altered(f"must have the column {name!r} of type {kind}")
        for name in set(actual.names) - set(expected):
            role, _, view = name.partition("_")
            if role != "blob" and (role != "vector" or view not in self.views):
                raise self._altered(
                    f"has the column {name!r}, which structrag does not write"
                )
        added = set(actual.names) - set(schema_of(self.settings).names)
        self._added = [actual.field(name) for name in sorted(added)]

    def _altered(self, how: str) -> IndexDamaged:
        return IndexDamaged(
            f"The store at {self.place!r} was changed by another program: its table {CHUNKS} "
            f"{how}. Restore it from a copy, or rebuild it."
        )

    # -- what is there

    @property
    def changes(self) -> int:
        """The version of the table."""
        with raised_by_lance(self.place):
            return int(self._table.version)

    def reader(self) -> LanceReader:
        """The version that is there now."""
        with self._lock, raised_by_lance(self.place):
            version = int(self._table.version)
            current = self._reader
            if current is None or (current.changes, current.exact) != (
                version,
                self.exact,
            ):
                self._check_columns()
                table = self._database.open_table(CHUNKS)
                table.checkout(version)
                current = LanceReader(
                    self.place, table, self.settings, self._counts, exact=self.exact
                )
                self._reader = current
            return current

    # -- changes

    def _write(
        self,
        reader: LanceReader,
        documents: Sequence[Sequence[EngineRow]],
        replaced: Mapping[str, DocumentRow],
    ) -> None:
        rows = list(chain(*documents))
        self._make_room(rows)
        outdated = reader.ids_of(list(replaced)) if replaced else []
        self._commit(rows, outdated)

    def _commit(self, rows: list[EngineRow], outdated: Sequence[int]) -> None:
        """Write rows in place of outdated ones, in one step."""
        schema = self._table.schema
        if not outdated:
            self._table.add(arrow_of(rows, schema))
            self._changed += len(rows)
            return
        # An earlier version with more rows leaves some over. They become rows that nothing finds,
        # in the same commit, and are removed afterwards.
        current = {row.id for row in rows}
        rows = rows + [EngineRow(i, DEAD, '""') for i in outdated if i not in current]
        merge = self._table.merge_insert("id").when_matched_update_all()
        merge.when_not_matched_insert_all().execute(
            arrow_of(rows, schema), on_bad_vectors="null"
        )
        self._changed += len(rows) + len(outdated)
        if len(rows) > len(current):
            self._table.delete(f"kind = {DEAD}")

    def _make_room(self, rows: Sequence[EngineRow]) -> None:
        """Check the vectors' dimensions; a view's first vectors make its column, and the first
        blobs theirs."""
        pa = require("pyarrow", extra="lancedb")
        schema = self._table.schema
        vector_widths = {
            view: schema.field(f"vector_{view}").type.list_size
            for view in self.views
            if f"vector_{view}" in schema.names
        }
        value = pa.float16() if self.settings.dtype == "float16" else pa.float32()
        new = [
            pa.field(f"vector_{view}", pa.list_(value, width))
            for view, width in widths_of(rows, vector_widths).items()
            if view not in vector_widths
        ]
        blobs = {f"blob_{name}" for row in rows for name in row.blobs}
        for column in sorted(blobs - set(schema.names)):
            new.append(pa.field(column, pa.large_binary()))
        if new:
            self._table.add_columns(pa.schema(new))
            self._check_columns()

    def _remove(self, reader: LanceReader, head: DocumentRow) -> None:
        name = quoted(head.record["id"])
        deleted = self._table.delete(f"document = {literal(name)}")
        self._changed += int(deleted.num_deleted_rows)

    def save(
        self, path: str | os.PathLike[str], *, config: Mapping[str, Any] | None = None
    ) -> None:
        super().save(path, config=config)
        if self._joining is not None and self._joining.is_alive():
            return
        coverage = self._vector_coverage().values()
        # With many vectors that are not indexed, searches are slow.
        if self._is_in_parts() or any(n >= INDEXED_ROWS for _, n in coverage):
            self._joining = threading.Thread(target=self._try_to_keep_up)
            self._joining.start()

    def _read_shared(self) -> dict[str, NDArray[Any]]:
        with raised_by_lance(self.place):
            table = read_table(self._database, SHARED)
        return {} if table is None else arrays_of_bytes(table["content"][0].as_py())

    def _write_shared(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        content = bytes_of_arrays(arrays)
        write_table(self._database, SHARED, {"content": [content]})

    def _counts(self) -> dict[str, RowCounts]:
        """How many rows hold each term, by view, as of the last making of the indexes."""
        with raised_by_lance(self.place):
            table = read_table(self._database, COUNTS)
        if table is None:
            return {}
        columns = (table[name].to_pylist() for name in ("view", "content"))
        pairs = zip(*columns, strict=True)
        return {view: RowCounts.from_parts([content]) for view, content in pairs}

    def _write_settings(self) -> None:
        write_settings(self._database, self.settings, self.config)

    def _catch_up(self) -> None:
        self._check_columns()
        n_rows = self._table.count_rows()
        of_index = self._table.index_stats("id_index")
        unindexed = n_rows if of_index is None else of_index.num_unindexed_rows
        if max(self._changed, unindexed) > STALE * n_rows:
            make_indexes(self._table, self.views)
            if any(name.startswith("blob_") for name in self._table.schema.names):
                counts = counts_of_terms(self._table, self.views)
                content = ["".join(one.to_parts(1 << 30)) for one in counts.values()]
                columns = {"view": [*counts], "content": content}
                write_table(self._database, COUNTS, columns)
            self._changed = 0

    # -- upkeep

    def optimize(self) -> None:
        """Join the table's parts, index new rows, and drop old versions. Searches and changes go on
        meanwhile. A table of a million chunks takes some minutes."""
        with self._upkeep, raised_by_lance(self.place):
            outdated = self._outdated()
            self._table.optimize(cleanup_older_than=KEPT)
            self._index_vectors(outdated)

    def _outdated(self) -> list[str]:
        """The columns whose vectors are to be indexed anew. Lists that few rows have chosen are
        poor for many others, and those of a smaller table hold vectors, which fill the memory."""
        table = self._table
        return [
            column
            for column, (indexed, lacking) in self._vector_coverage().items()
            if indexed + lacking >= INDEXED_ROWS
            and (
                lacking > indexed
                or has_bits(table, column) != wants_bits(table, column)
            )
        ]

    def _index_vectors(self, columns: Sequence[str]) -> None:
        """Sort the vectors of columns again into lists of close ones. In a large table they have
        one bit per number, a thirtieth of the size, and the best are compared again."""
        kinds = require("lancedb.index", extra="lancedb")
        for column in columns:
            kind = kinds.IvfRq if wants_bits(self._table, column) else kinds.IvfFlat
            lists = max(1, self._table.count_rows() // LIST_ROWS)
            index = kind(distance_type="dot", num_partitions=lists)
            self._table.create_index(
                column, config=index, name=f"{column}_index", replace=True
            )

    def _is_in_parts(self) -> bool:
        """Whether the table has so many small parts that they are to be joined."""
        with raised_by_lance(self.place):
            parts = self._table.stats()["fragment_stats"]
            return int(parts["num_small_fragments"]) > MOST_FRAGMENTS

    def _vector_coverage(self) -> dict[str, tuple[int, int]]:
        columns = vector_columns(self._table.schema)
        return {column: coverage(self._table, column) for column in columns}

    def _try_to_keep_up(self) -> None:
        # A change that came first wins, and it is done another time.
        with suppress(Exception):
            outdated = self._outdated()
            if self._is_in_parts() or not outdated:
                self.optimize()
                return
            # Joining would write all rows anew for the sake of their vectors.
            with self._upkeep:
                self._index_vectors(outdated)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Let writers take turns, so that no two give documents one key."""
        with self._turn, raised_by_lance(self.place), _one_writer(self.place):
            yield


def _is_local(place: str) -> bool:
    return "://" not in place


def _check_place(place: str) -> None:
    """Refuse a folder of something else; make one that is not there."""
    if not _is_local(place):
        return
    folder = Path(place)
    # An interrupted creation leaves these.
    ours = {".lock", f"{CHUNKS}.lance"}
    if folder.exists() and (
        not folder.is_dir() or not {path.name for path in folder.iterdir()} <= ours
    ):
        raise InvalidParameter(
            f"store must be new, an empty folder or a structrag store; {place!r} holds something "
            "else, and nothing in it was changed. Choose another folder."
        )
    folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def _one_writer(place: str) -> Iterator[None]:
    """Let the writers of a folder take turns. A bucket may have only one writer."""
    if not _is_local(place):
        yield
        return
    with one_saver(Path(place)):
        yield


def schema_of(settings: Settings) -> Any:
    pa = require("pyarrow", extra="lancedb")
    return pa.schema(
        [
            ("id", pa.int64()),
            ("kind", pa.int8()),
            ("document", pa.string()),
            ("chunk", pa.string()),
            ("tags", pa.list_(pa.string())),
            ("record", pa.binary()),
            *((f"terms_{view}", pa.string()) for view in views_of(settings)),
        ]
    )


def arrow_of(rows: Sequence[EngineRow], schema: Any) -> Any:
    """Rows as an Arrow table with all columns of the store's."""
    pa = require("pyarrow", extra="lancedb")
    columns = []
    for column in schema:
        name, _, view = column.name.partition("_")
        if name == "terms":
            columns.append(pa.array([row.terms.get(view) for row in rows], column.type))
        elif name == "vector":
            columns.append(
                _vector_column([row.vectors.get(view) for row in rows], column.type)
            )
        elif name == "blob":
            columns.append(pa.array([row.blobs.get(view) for row in rows], column.type))
        else:
            columns.append(pa.array([getattr(row, name) for row in rows], column.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _vector_column(vectors: Sequence[NDArray[Any] | None], kind: Any) -> Any:
    pa = require("pyarrow", extra="lancedb")
    there = [vector for vector in vectors if vector is not None]
    zeros = np.zeros(kind.list_size, dtype=kind.value_type.to_pandas_dtype())
    values = np.concatenate([zeros if vector is None else vector for vector in vectors])
    missing = pa.array([vector is None for vector in vectors])
    mask = missing if len(there) < len(vectors) else None
    return pa.FixedSizeListArray.from_arrays(
        pa.array(values.astype(zeros.dtype)), kind.list_size, mask=mask
    ).cast(kind)


def create_tables(database: Any, settings: Settings, config: Mapping[str, Any]) -> None:
    """Make both tables. The settings come last, so that they are there if all is."""
    if CHUNKS in database.list_tables().tables:  # an interrupted creation has left it
        database.drop_table(CHUNKS)
    table = database.create_table(CHUNKS, schema=schema_of(settings))
    make_indexes(table, views_of(settings))
    write_settings(database, settings, plain_json(dict(config), "config"))


def write_settings(
    database: Any, settings: Settings, config: Mapping[str, Any]
) -> None:
    write_table(
        database, SETTINGS, {"content": [settings_line(FORMAT, settings, config)]}
    )


def write_table(database: Any, name: str, columns: Mapping[str, Any]) -> None:
    """Put columns in place of a small table."""
    pa = require("pyarrow", extra="lancedb")
    is_there = name in database.list_tables().tables
    table = pa.table(columns)
    database.create_table(name, table, mode="overwrite" if is_there else "create")


def read_table(database: Any, name: str) -> Any:
    """A small table; None where there is none."""
    if name not in database.list_tables().tables:
        return None
    return database.open_table(name).to_arrow()


def read_settings(place: str, database: Any) -> tuple[Settings, dict[str, Any]]:
    def line() -> bytes:
        (only,) = database.open_table(SETTINGS).to_arrow()["content"].to_pylist()
        content: bytes = only
        return content

    return parse_settings(place, FORMAT, line)


def make_indexes(table: Any, views: Sequence[str]) -> None:
    """Make the indexes that tables of any size have. They replace earlier ones."""
    kinds = require("lancedb.index", extra="lancedb")
    terms = kinds.FTS(
        base_tokenizer="whitespace",  # the terms are ours, and done
        lower_case=False,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
        max_token_length=None,
        with_position=False,
    )
    indexes = {
        "id": kinds.BTree(),
        "document": kinds.BTree(),
        "tags": kinds.LabelList(),
    }
    indexes |= {f"terms_{view}": terms for view in views}
    for column, index in indexes.items():
        table.create_index(column, config=index, name=f"{column}_index", replace=True)


def wants_bits(table: Any, column: str) -> bool:
    """Whether a vector index of a table of this size holds bits. They must fill bytes."""
    width = table.schema.field(column).type.list_size
    return bool(table.count_rows() > EXACT_ROWS and not width % 8)


def coverage(table: Any, column: str) -> tuple[int, int]:
    """How many vectors of a column its index has, and lacks."""
    name = f"{column}_index"
    if all(index.name != name for index in table.list_indices()):
        return 0, int(table.count_rows())
    statistics = table.index_stats(name)
    return int(statistics.num_indexed_rows), int(statistics.num_unindexed_rows)
