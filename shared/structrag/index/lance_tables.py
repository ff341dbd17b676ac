"""The tables of a store in LanceDB. Columns, indexes, settings, and conditions in SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.errors import IndexDamaged, ModelFailed, require
from structrag.index.engine_rows import (
    EngineFilter,
    EngineRow,
    id_of_row,
    nested_parts,
    views_of,
)
from structrag.index.engine_store import parse_settings, settings_line
from structrag.index.entries import plain_json
from structrag.index.snapshot import Settings
from structrag.index.term_weights import RowCounts
from structrag.model_calls.failures import raised_by

FORMAT = "structrag-lancedb"
CHUNKS, SETTINGS = "structrag_chunks", "structrag_settings"
# Of all documents: arrays, and how many rows hold each term.
SHARED, COUNTS = "structrag_shared", "structrag_counts"
# In a list of near vectors. LanceDB joins lists of less than half as many when rows are added.
LIST_ROWS = 2_000
BITS = "IvfRq"  # LanceDB's name of an index of bits
EXACT_ROWS = 100_000  # of a table up to which a vector index is searched as a whole
ROWS_OF_VIEW = 2**32 - 1  # the number of what all rows of a view hold; no term has it
# In errors of LanceDB and the system.
_GONE = ("Not found", "was not found", "No such file")


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


def write_counts(database: Any, counts: Mapping[str, RowCounts]) -> None:
    contents = ["".join(of_view.to_parts(1 << 30)) for of_view in counts.values()]
    write_table(database, COUNTS, {"view": [*counts], "content": contents})


def read_counts(database: Any) -> dict[str, RowCounts]:
    table = read_table(database, COUNTS)
    if table is None:
        return {}
    pairs = zip(*(table[name].to_pylist() for name in ("view", "content")), strict=True)
    return {view: RowCounts.from_parts([content]) for view, content in pairs}


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


def vector_columns(schema: Any) -> list[str]:
    return [name for name in schema.names if name.startswith("vector_")]


def has_blobs(schema: Any) -> bool:
    return any(name.startswith("blob_") for name in schema.names)


def make_vector_index(table: Any, column: str) -> None:
    """Sort a column's vectors again into lists of close ones. In a large table they have one bit
    per number, a thirtieth of the size, and the best are compared again."""
    kinds = require("lancedb.index", extra="lancedb")
    kind = kinds.IvfRq if wants_bits(table, column) else kinds.IvfFlat
    lists = max(1, table.count_rows() // LIST_ROWS)
    index = kind(distance_type="dot", num_partitions=lists)
    table.create_index(column, config=index, name=f"{column}_index", replace=True)


def wants_bits(table: Any, column: str) -> bool:
    """Whether a vector index of a table of this size holds bits. They must fill bytes."""
    width = table.schema.field(column).type.list_size
    return bool(table.count_rows() > EXACT_ROWS and not width % 8)


def has_bits(table: Any, column: str) -> bool:
    """Whether a column's vector index holds bits."""
    return any(
        index.name == f"{column}_index" and index.index_type == BITS
        for index in table.list_indices()
    )


def coverage(table: Any, column: str) -> tuple[int, int]:
    """How many vectors of a column its index has, and lacks."""
    name = f"{column}_index"
    if all(index.name != name for index in table.list_indices()):
        return 0, int(table.count_rows())
    statistics = table.index_stats(name)
    return int(statistics.num_indexed_rows), int(statistics.num_unindexed_rows)


# -- conditions


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
