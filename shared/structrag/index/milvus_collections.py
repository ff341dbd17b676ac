"""The collections of a store in Milvus.

`structrag_state` has the settings, the state and the row counts; `structrag_chunks` what is kept of
documents and chunks; `structrag_terms_VIEW` and `structrag_vectors_VIEW` what is searched. Ids and
metadata are compared by digests of 64 bits, which need no quotes in any language. Rows carry the
version of their document. Readers see a version that is no higher than the last of the state and
not hidden, so replacing the one row of the state switches all documents of a commit at once.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh64_intdigest

from structrag.errors import InvalidParameter
from structrag.index.engine import parse_settings, settings_line
from structrag.index.engine_rows import (
    BLOB,
    CHUNK,
    CHUNK_BITS,
    WINDOW,
    EngineFilter,
    EngineRow,
    arrays_of_bytes,
    bytes_of_arrays,
    nested_parts,
    numbered,
    row_of_id,
    weights_of,
)
from structrag.index.entries import dump_json, parse_json
from structrag.index.milvus_client import LONGEST, MilvusDatabase
from structrag.index.snapshot import Settings


@dataclass(slots=True)
class StoreState:
    """A store at one moment."""

    made: str = ""  # which store it is of; made anew at the same place, it is another
    changes: int = 0  # commits
    last: int = 0  # the highest version that is there
    next: int = 1  # the lowest version that no writer has taken
    next_key: int = 0  # of a new document
    writer: str = ""  # who writes now; empty: nobody
    # The first and last version that the writer has taken.
    writing: tuple[int, int] = (0, 0)
    # Since; first, last version.
    hidden: list[tuple[float, int, int]] = field(default_factory=list)
    removed: int = 0  # how often hidden rows were removed for good
    n_chunks: int = 0
    widths: dict[str, int] = field(default_factory=dict)  # view -> dimensions
    n_rows: dict[str, int] = field(default_factory=dict)  # view -> rows that have it
    n_terms: dict[str, int] = field(default_factory=dict)  # view -> their terms
    # View -> terms a row, for weights.
    averages: dict[str, float] = field(default_factory=dict)
    # view -> segments of row counts: number, parts, terms
    counts: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    # Since; segment of counts.
    outdated: list[tuple[float, int]] = field(default_factory=list)

    def to_text(self) -> str:
        """Encode the state as one short string."""
        return packed(dump_json(asdict(self)))

    @classmethod
    def from_text(cls, text: str) -> StoreState:
        """Decode a string of `to_text`."""
        content: dict[str, Any] = parse_json(unpacked(text))
        content["writing"] = tuple(content["writing"])
        for name in ("hidden", "outdated"):
            content[name] = [tuple(item) for item in content[name]]
        content["counts"] = {
            view: [tuple(item) for item in segments]
            for view, segments in content["counts"].items()
        }
        return cls(**content)

    def hide(self, since: float, first: int, last: int) -> None:
        """Hide versions. Consecutive ones become one range."""
        if (
            self.hidden
            and self.hidden[-1][0] == since
            and self.hidden[-1][2] + 1 == first
        ):
            first = self.hidden.pop()[1]
        self.hidden.append((since, first, last))

    def visible(self) -> str:
        """The condition on rows that are there, in Milvus's language."""
        single = [first for _, first, last in self.hidden if first == last]
        ranges = [(first, last) for _, first, last in self.hidden if first < last]
        parts = [f"version <= {self.last}"]
        parts += [f"(version < {first} or version > {last})" for first, last in ranges]
        if single:
            parts.append(f"version not in {single}")
        return " and ".join(parts)


def packed(content: bytes) -> str:
    """Bytes as ASCII, which every server keeps as it is."""
    return b64encode(zlib.compress(content, 1)).decode("ascii")


def unpacked(text: str) -> bytes:
    """Return the bytes that were packed."""
    return zlib.decompress(b64decode(text))


FORMAT = "structrag-milvus"
STATE, CHUNKS = "structrag_state", "structrag_chunks"
# Ids in the collection of the state. Behind the last are the parts of arrays.
SETTINGS_ROW, STATE_ROW, SHARED_ROW = 1, 2, 3
MOST_PARTS = 4000  # so that they end before the row counts
PART_BITS = 12  # of the id of a part of row counts: the lower bits
ORDINAL_BITS = 22  # of a row's id: the lower bits number the rows of one version
MOST_TAGS = 4096  # Milvus's limit of an array

Record = dict[str, Any]
Field = tuple[str, Any, Record]  # name, type, options


def terms_of(view: str) -> str:
    return f"structrag_terms_{view}"


def vectors_of(view: str) -> str:
    return f"structrag_vectors_{view}"


def number_of_name(name: str) -> int:
    """The digest of an id or a tag, as a signed number."""
    return xxh64_intdigest(name.encode("utf-8", "surrogatepass")) - (1 << 63)


# -- fields


def create(database: MilvusDatabase, views: Sequence[str]) -> None:
    """Make the collections but those of vectors. Their dimensions are not known yet."""
    types = database.types
    _create(database, STATE, [("content", types.VARCHAR, {"max_length": 65_535})], [])
    fields = [
        ("kind", types.INT8, {}),
        ("part", types.INT32, {}),
        ("n_parts", types.INT32, {}),
        ("chunk", types.INT64, {}),
        ("record", types.VARCHAR, {"max_length": 65_535}),
    ]
    _create(
        database, CHUNKS, [*_places(database), *fields], ["version", "row", "document"]
    )
    for view in views:
        lengths: list[Field] = [
            ("length", types.INT64, {}),
            ("average", types.DOUBLE, {}),
        ]
        vector: Field = ("terms", types.SPARSE_FLOAT_VECTOR, {})
        term_fields = [*_places(database), *lengths]
        _create(database, terms_of(view), term_fields, ["version", "document"], vector)


def create_vectors(database: MilvusDatabase, view: str, width: int) -> None:
    """Make the collection of a view's vectors. Milvus Lite has float32 alone, so that is what all
    have; float16 are its values then."""
    _create(
        database,
        vectors_of(view),
        _places(database),
        ["version", "document"],
        ("vector", database.types.FLOAT_VECTOR, {"dim": width}),
    )


def _places(database: MilvusDatabase) -> list[Field]:
    """The fields that rows of all collections have."""
    types = database.types
    tags = {"element_type": types.INT64, "max_capacity": MOST_TAGS}
    return [
        ("version", types.INT64, {}),
        ("row", types.INT64, {}),
        ("document", types.INT64, {}),
        ("tags", types.ARRAY, tags),
    ]


def _create(
    database: MilvusDatabase,
    name: str,
    fields: Iterable[Field],
    indexed: Iterable[str],
    vector: Field | None = None,
) -> None:
    types, client = database.types, database.client
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", types.INT64, is_primary=True)
    # A collection must have a vector.
    vector = vector or ("vector", types.FLOAT_VECTOR, {"dim": 2})
    for column, kind, options in (*fields, vector):
        schema.add_field(column, kind, **options)
    indexes = client.prepare_index_params()
    if vector[1] == types.SPARSE_FLOAT_VECTOR:
        indexes.add_index(
            vector[0], index_type="SPARSE_INVERTED_INDEX", metric_type="IP"
        )
    else:
        indexes.add_index(vector[0], index_type="FLAT", metric_type="IP")
    for column in indexed:
        indexes.add_index(column, index_type="INVERTED")
    # Every read sees all that was written before it: the state must not be ahead of the rows.
    database.call("create_collection", name, schema=schema, consistency_level="Strong")
    # There is nothing to index yet, so nobody waits for it.
    database.call("create_index", name, indexes, sync=False)
    database.call("load_collection", name)


# -- settings


def write_settings(
    database: MilvusDatabase, settings: Settings, config: Record
) -> None:
    text = packed(settings_line(FORMAT, settings, config))
    if len(text) > LONGEST:
        raise InvalidParameter(
            "the settings and prompts of an index must fit into one row of Milvus (65,535 bytes "
            f"compressed); these take {len(text):,}. Shorten the prompts or stop words."
        )
    database.insert(STATE, [state_record(SETTINGS_ROW, text)])


def read_settings(database: MilvusDatabase) -> tuple[Settings, Record] | None:
    """The settings and the index's configuration. None where no store is."""
    if STATE not in database.collections():
        return None
    database.call("load_collection", STATE)
    rows = database.get(STATE, [SETTINGS_ROW], ["content"])
    if not rows:
        return None
    text = rows[0]["content"]
    return parse_settings(database.place, FORMAT, lambda: unpacked(text))


def write_shared(database: MilvusDatabase, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Keep arrays that belong to all documents, the number of parts last."""
    pieces = _pieces(packed(bytes_of_arrays(arrays)))
    if len(pieces) >= MOST_PARTS:
        raise InvalidParameter(
            "embedding must return shorter vectors for a store in Milvus: their axes take "
            f"{len(pieces):,} rows, and at most {MOST_PARTS:,} are kept. Use another model or "
            "another store."
        )
    for number, piece in enumerate(pieces, start=SHARED_ROW + 1):
        database.insert(STATE, [state_record(number, piece)])
    database.insert(STATE, [state_record(SHARED_ROW, str(len(pieces)))])


def read_shared(database: MilvusDatabase) -> dict[str, NDArray[Any]]:
    """Read the arrays that `write_shared` wrote; none before."""
    rows = database.get(STATE, [SHARED_ROW], ["content"])
    if not rows:
        return {}
    first = SHARED_ROW + 1
    ids = range(first, first + int(rows[0]["content"]))
    parts = {row["id"]: row["content"] for row in database.get(STATE, ids, ["content"])}
    if len(parts) < len(ids):
        raise database.altered("arrays are missing")
    return arrays_of_bytes(unpacked("".join(parts[number] for number in ids)))


def state_record(row_id: int, content: str) -> Record:
    return {"id": row_id, "content": content, "vector": [0.0, 0.0]}


# -- rows


def records_of(
    rows: Sequence[EngineRow],
    version: int,
    settings: Settings,
    averages: Mapping[str, float],
) -> dict[str, list[Record]]:
    """A document's rows as rows of each collection."""
    records: defaultdict[str, list[Record]] = defaultdict(list)
    # Behind the head and the chunks.
    others = count(sum(row.kind == CHUNK for row in rows) + 1)

    def new_id() -> int:
        return id_of(version, next(others))

    for row in rows:
        place = {
            "version": version,
            "row": row_of_id(row.id),
            "document": number_of_name(row.document),
            "tags": _tags(row),
        }
        first = chunk_id(version, row_of_id(row.id))
        parts = []
        if row.record is not None:
            parts = _parts(row.kind, row.chunk or "", packed(row.record))
        for name, content in row.blobs.items():
            blobs = _parts(BLOB, name, b64encode(content).decode("ascii"))
            parts += [{**part, "tags": []} for part in blobs]
        for number, part in enumerate(parts):
            row_id = new_id() if number else first
            records[CHUNKS].append({"id": row_id, **place, **part})
        for view, terms in row.terms.items():
            if terms is not None:
                weighed = _weighed(terms, averages[view])
                records[terms_of(view)].append({"id": first, **place, **weighed})
        row_id = new_id() if row.kind == WINDOW else first
        for view, vector in row.vectors.items():
            values = np.asarray(vector, np.float32)
            records[vectors_of(view)].append({"id": row_id, **place, "vector": values})
    n_rows = next(others)
    if n_rows > 1 << ORDINAL_BITS:
        raise InvalidParameter(
            f"document {parse_json(rows[0].document.encode())!r} must take at most "
            f"{1 << ORDINAL_BITS:,} rows in Milvus; it takes {n_rows:,}. Split the document."
        )
    return records


def _pieces(text: str) -> list[str]:
    """A text in strings that Milvus holds."""
    return [text[start : start + LONGEST] for start in range(0, len(text), LONGEST)]


def _parts(kind: int, name: str, text: str) -> list[Record]:
    """Make the records of a head, chunk or blob, named by the chunk's id or the blob's name."""
    pieces = _pieces(text)
    of_all = {"kind": kind, "chunk": number_of_name(name), "vector": [0.0, 0.0]}
    return [
        {**of_all, "part": number, "n_parts": len(pieces), "record": piece}
        for number, piece in enumerate(pieces)
    ]


def _weighed(terms: str, average: float) -> Record:
    counts = numbered(terms.split())
    return {
        "length": sum(counts.values()),
        "average": average,
        "terms": weights_of(counts, average),
    }


def _tags(row: EngineRow) -> list[int]:
    if len(row.tags) > MOST_TAGS:
        raise InvalidParameter(
            f"document {parse_json(row.document.encode())!r} must have at most {MOST_TAGS:,} keys "
            f"and values of metadata in Milvus; it has {len(row.tags):,}. Leave out lists that no "
            "search needs."
        )
    return [number_of_name(tag) for tag in row.tags]


def id_of(version: int, ordinal: int) -> int:
    """The id of a row: 0 the head, then the chunks."""
    return version << ORDINAL_BITS | ordinal


def version_of(row_id: int) -> int:
    """The version that a row belongs to."""
    return row_id >> ORDINAL_BITS


def chunk_id(version: int, row: int) -> int:
    """The id of a chunk by its version and row."""
    return id_of(version, row & (1 << CHUNK_BITS) - 1)


def key_of_row(row: int) -> int:
    """The key of the document that a row belongs to."""
    return row >> CHUNK_BITS


# -- conditions


def conditions(chosen: EngineFilter | None) -> list[str]:
    """The parts of a filter in Milvus's language; "and" joins them."""
    if chosen is None:
        return []
    if chosen.is_empty:
        return ["version < 0"]
    parts = [
        f"array_contains_any(tags, {[number_of_name(tag) for tag in tags]})"
        for tags in chosen.tags
    ]
    if chosen.documents is not None:
        parts.append(
            f"document in {[number_of_name(name) for name in chosen.documents]}"
        )
    if chosen.rows is not None:
        parts.append(f"row in {list(chosen.rows)}")
    return [*parts, *nested_parts(chosen, conditions, "version >= 0")]
