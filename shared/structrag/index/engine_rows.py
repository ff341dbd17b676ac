"""Documents as rows of an engine's table, and conditions as filters. A document is one row of its
own (`HEAD`), one for each chunk, and one for each further window of a chunk that is longer than the
encoder reads. The first window's vectors are in the chunk's row.

An engine that multiplies but does not count gets BM25 as products of sparse vectors: a row's vector
has what BM25 gives each of its terms except for the idf, which is in the query's. How many rows
have a term is kept beside them. A term's number is a digest of 32 bits.
"""

from __future__ import annotations

import json
import math
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh32_intdigest

from structrag.errors import InvalidParameter
from structrag.index.dense import check_width
from structrag.index.entries import (
    CheckedEntry,
    DocumentRow,
    Entry,
    LevelRows,
    dump_json,
    parse_json,
    prepare,
    serialise_row,
)
from structrag.index.lexical import length_norm
from structrag.index.selection import Filter, Filters, allowed_values
from structrag.index.snapshot import Settings

HEAD, CHUNK, WINDOW, DEAD, BLOB = 0, 1, 2, 3, 4  # kinds of rows
# An id is the document's key, the chunk's number from 1 (0: the head), and the window's from 0.
WINDOW_BITS, CHUNK_BITS = 12, 20
KEY_BITS = WINDOW_BITS + CHUNK_BITS
LONGEST_TAG = 200  # characters; the digest of a longer one stands for it

Vector = NDArray[Any]


@dataclass(frozen=True, slots=True)
class EngineRow:
    """A row of an engine's table."""

    id: int
    kind: int
    document: str  # its id as JSON, in ASCII
    chunk: str | None = None  # its id as JSON
    tags: tuple[str, ...] = ()  # the document's metadata, for filters
    record: bytes | None = None  # of a head or a chunk, as JSON
    # View -> terms with blanks.
    terms: Mapping[str, str | None] = field(default_factory=dict)
    vectors: Mapping[str, Vector] = field(default_factory=dict)  # view -> unit vector
    blobs: Mapping[str, bytes] = field(default_factory=dict)  # of a chunk, by name


def views_of(settings: Settings) -> tuple[str, ...]:
    """The views of an engine's store, which has one level."""
    (views,) = settings.levels.values()
    return tuple(views)


def first_id(key: int) -> int:
    """The id of a document's head, the lowest of its rows."""
    return key << KEY_BITS


def key_of(row_id: int) -> int:
    """The key of the document that a row belongs to."""
    return row_id >> KEY_BITS


def row_of_id(row_id: int) -> int:
    """Return the number of a chunk in rankings."""
    return row_id >> WINDOW_BITS


def id_of_row(row: int) -> int:
    """The id of the row that holds a chunk."""
    return row << WINDOW_BITS


def quoted(name: str) -> str:
    """An id as the table has it. It is JSON in ASCII, which every engine can compare."""
    return json.dumps(name)


def read_head(row_id: int, record: bytes) -> DocumentRow:
    """A head as it was put."""
    return DocumentRow(**parse_json(record), key=key_of(row_id))


def prepare_for(entry: Entry, settings: Settings) -> CheckedEntry:
    """An entry checked, without the store. Raises InvalidParameter and InvalidAnswer as `prepare`
    does, and where an engine's rows cannot hold the document."""
    if len(settings.levels) > 1:
        raise InvalidParameter(
            "store must be a folder for this kind of index: an engine keeps only one level of "
            "chunks."
        )
    prepared = prepare(entry, settings.levels, settings.dtype)
    (level,) = prepared.levels.values()
    owners = [owner for _, owner in level.vectors.values() if len(owner)]
    windows = max((int(np.bincount(owner).max()) for owner in owners), default=0)
    if len(level.rows) >= 1 << CHUNK_BITS or windows > 1 << WINDOW_BITS:
        raise InvalidParameter(
            f"document {entry.document.id!r} must have fewer than {1 << CHUNK_BITS:,} chunks of "
            f"at most {1 << WINDOW_BITS:,} windows each in an engine's store; it has "
            f"{len(level.rows):,}, with up to {windows:,}. Split the document."
        )
    return prepared


def engine_rows(entry: CheckedEntry, key: int, settings: Settings) -> list[EngineRow]:
    """All rows of a document, by id."""
    record = entry.document.record
    name, tags = quoted(record["id"]), tags_of(record["meta"])
    head = {
        "record": record,
        "fingerprint": entry.document.fingerprint,
        "degraded": entry.document.degraded,
    }
    rows = [EngineRow(first_id(key), HEAD, name, tags=tags, record=dump_json(head))]
    (level,) = entry.levels.values()
    vectors = _vectors_by_window(level)
    tokenizer = settings.tokenizer
    for number, row in enumerate(level.rows):
        place = first_id(key) + (number + 1 << WINDOW_BITS)
        chunk = quoted(row.chunk.id)
        terms = {
            view: None if text is None else " ".join(tokenizer(text))
            for view, text in row.texts.items()
        }
        windows = vectors.get(number, [{}])
        line = serialise_row(row)
        blobs = {blob: contents[number] for blob, contents in level.blobs.items()}
        rows.append(
            EngineRow(place, CHUNK, name, chunk, tags, line, terms, windows[0], blobs)
        )
        for window, of_window in enumerate(windows[1:], start=1):
            rows.append(
                EngineRow(place + window, WINDOW, name, chunk, tags, vectors=of_window)
            )
    return rows


def _vectors_by_window(level: LevelRows) -> dict[int, list[dict[str, Vector]]]:
    """Number of a chunk -> for each window, its vectors by view."""
    windows: dict[int, list[dict[str, Vector]]] = {}
    for view, (matrix, owner) in level.vectors.items():
        numbers: dict[int, Iterator[int]] = {}
        for number, vector in zip(owner.tolist(), matrix, strict=True):
            window = next(numbers.setdefault(number, count()))
            of_chunk = windows.setdefault(number, [])
            if window == len(of_chunk):
                of_chunk.append({})
            of_chunk[window][view] = vector
    return windows


def widths_of(rows: Sequence[EngineRow], known: Mapping[str, int]) -> dict[str, int]:
    """The dimensions of each view's vectors; `known` has some. Raises InvalidAnswer for vectors of
    other dimensions."""
    widths = dict(known)
    for row in rows:
        for view, vector in row.vectors.items():
            expected = widths.setdefault(view, len(vector))
            if len(vector) != expected:
                check_width(view, len(vector), expected, json.loads(row.document))
    return widths


# -- arrays that belong to all documents


def bytes_of_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays as one file of NumPy."""
    file = BytesIO()
    np.savez(file, **dict(sorted(arrays.items())))  # type: ignore[arg-type]
    return file.getvalue()


def arrays_of_bytes(content: bytes) -> dict[str, NDArray[Any]]:
    """Read the arrays that `bytes_of_arrays` wrote."""
    with np.load(BytesIO(content)) as arrays:
        return dict(arrays)


# -- conditions


def tags_of(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Metadata as strings that a filter finds. They are each key, and each key with each value."""
    tags: dict[str, None] = {}
    for key, value in meta.items():
        tags[key_tag(key)] = None
        for item in value if isinstance(value, list) else [value]:
            tag = value_tag(key, item)
            if tag is not None:
                tags[tag] = None
    return tuple(tags)


def key_tag(key: str) -> str:
    """The tag of documents that have a key."""
    return _short([key])


def value_tag(key: str, value: Any) -> str | None:
    """The tag of documents that have a value under a key. None for what no metadata can be. Values
    that are equal in Python have equal tags."""
    try:
        return _short([key, _comparable(value)])
    except (TypeError, ValueError):
        return None


def _comparable(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    return value


def _short(parts: list[Any]) -> str:
    tag = json.dumps(parts, sort_keys=True, allow_nan=False)
    return tag if len(tag) <= LONGEST_TAG else sha256(tag.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class EngineFilter:
    """A condition on documents or chunks; all its parts must hold.

    Attributes:
        documents: Ids as the table has them, of which it must have one; None: any.
        tags: Sets of tags, of each of which it must have one.
        rows: Of chunks, which it must be one of; None: any.
        any_of: Sets of filters, of each of which it must meet one.
        none_of: Filters that it must not meet.
    """

    documents: tuple[str, ...] | None = None
    tags: tuple[tuple[str, ...], ...] = ()
    rows: tuple[int, ...] | None = None
    any_of: tuple[tuple[EngineFilter, ...], ...] = ()
    none_of: tuple[EngineFilter, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing can meet it."""
        return self.documents == () or () in self.tags or self.rows == ()


def nested_parts(
    chosen: EngineFilter, parts_of: Callable[[EngineFilter], list[str]], all_rows: str
) -> list[str]:
    """Write the nested filters of a filter in a language with "and", "or" and "not". `all_rows` is
    a condition that all rows meet."""

    def whole(one: EngineFilter) -> str:
        return f"({' and '.join(parts_of(one) or [all_rows])})"

    of_any = (f"({' or '.join(map(whole, some))})" for some in chosen.any_of)
    return [*of_any, *(f"not {whole(one)}" for one in chosen.none_of)]


def filter_of(
    where: Any, values_of: Callable[[str], Iterable[Any]] = lambda key: ()
) -> EngineFilter | None:
    """Convert a condition to a filter; None for none. `values_of` returns the values that documents
    have under a key. Raises InvalidParameter for a condition that no engine can test."""
    if where is None or isinstance(where, EngineFilter):
        return where
    if isinstance(where, Filter):
        return _tested(where, values_of)
    if isinstance(where, Filters):
        return _grouped(where, values_of)
    if not isinstance(where, Mapping):
        got = "a function" if callable(where) else repr(where)
        raise InvalidParameter(
            "where must be None or a dict such as {'doc_id': 'report', 'year': [2020, 2021]} "
            f"when an engine keeps the documents; got {got}. Put the values that the function "
            "reads into the metadata."
        )
    parts = [_equal(key, values) for key, values in allowed_values(where).items()]
    documents = [part.documents for part in parts if part.documents is not None]
    return EngineFilter(
        next(iter(documents), None), tuple(tags for part in parts for tags in part.tags)
    )


def _grouped(
    filters: Filters, values_of: Callable[[str], Iterable[Any]]
) -> EngineFilter:
    """Conditions together."""
    parts = (filter_of(part, values_of) for part in filters.parts)
    chosen = tuple(part for part in parts if part is not None)
    if filters.how == "not":
        return EngineFilter(none_of=chosen)
    if filters.how == "or" and chosen:
        return EngineFilter(any_of=(chosen,))
    return EngineFilter(any_of=tuple((part,) for part in chosen))


def _tested(test: Filter, values_of: Callable[[str], Iterable[Any]]) -> EngineFilter:
    """A condition on one key, by the tags of the values that meet it."""
    if test.operator in ("!=", "nin"):
        return EngineFilter(none_of=(_equal(test.key, test.values),))
    if test.operator == "all":
        alternatives = tuple((_equal(test.key, [value]),) for value in test.values)
        return EngineFilter(any_of=alternatives)
    if test.operator in ("==", "in", "any"):
        return _equal(test.key, test.values)
    if test.key == "doc_id":
        raise InvalidParameter(
            "a filter on 'doc_id' must be one of ==, !=, in, nin, any and all when an engine "
            f"keeps the documents; got {test.operator!r}."
        )
    values = [value for value in values_of(test.key) if value is not None]
    if test.operator == "is_empty":
        filled = [value for value in values if value != ""]
        return EngineFilter(none_of=(_equal(test.key, filled),))
    return _equal(test.key, [value for value in values if test.met_by(value)])


def _equal(key: str, values: Sequence[Any]) -> EngineFilter:
    """Documents that have one of the values."""
    if key == "doc_id":
        names = tuple(quoted(value) for value in values if isinstance(value, str))
        return EngineFilter(documents=names)
    tags = (value_tag(key, value) for value in values)
    return EngineFilter(
        tags=(tuple(dict.fromkeys(tag for tag in tags if tag is not None)),)
    )


NO_TERM = 0  # the number that stands in a vector which would be empty
_N_NUMBERS = 2**32 - 2


def number_of(term: str) -> int:
    """The number of a term, from 1."""
    return xxh32_intdigest(term.encode("utf-8", "surrogatepass")) % _N_NUMBERS + 1


def numbered(terms: Iterable[str]) -> Counter[int]:
    """How often each term is there, by its number."""
    return Counter(map(number_of, terms))


def weights_of(counts: Mapping[int, int], average: float) -> dict[int, float]:
    """A row's vector: term -> count / (count + norm).

    Example:
        >>> weights_of({7: 3}, average=3.0) == {7: 3 / (3 + 1.2)}
        True
    """
    if not counts:
        return {NO_TERM: 1.0}
    below = length_norm(sum(counts.values()), average)
    return {number: count / (count + below) for number, count in counts.items()}


def counts_of(
    weights: Mapping[int, float], length: int, average: float
) -> dict[int, int]:
    """The counts that `weights_of` was given."""
    below = length_norm(length, average)
    return {
        int(number): round(below * weight / (1 - weight))
        for number, weight in weights.items()
        if int(number) != NO_TERM
    }


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How many rows hold each term, or the change of that number."""

    numbers: NDArray[np.uint32]  # ascending
    frequencies: NDArray[np.int32]

    @classmethod
    def of(cls, rows: Iterable[Iterable[int]]) -> RowCounts:
        """Count rows, each given as the different numbers of its terms."""
        numbers = np.fromiter(
            (number for row in rows for number in row), dtype=np.uint32
        )
        numbers = numbers[numbers != NO_TERM]
        unique, frequencies = np.unique(numbers, return_counts=True)
        return cls(unique, frequencies.astype(np.int32))

    @classmethod
    def of_terms(cls, terms: Mapping[str, int], others: Mapping[int, int]) -> RowCounts:
        """Make counts from the number of rows per term, and per other number."""
        totals = Counter(others)
        for term, frequency in terms.items():
            totals[number_of(term)] += frequency
        pairs = np.array(sorted(totals.items()), dtype=np.int64).reshape(-1, 2)
        return cls(pairs[:, 0].astype(np.uint32), pairs[:, 1].astype(np.int32))

    def __len__(self) -> int:
        return len(self.numbers)

    def __neg__(self) -> RowCounts:
        return RowCounts(self.numbers, -self.frequencies)

    def frequency(self, number: int) -> int:
        """How many rows hold a term."""
        at = int(np.searchsorted(self.numbers, number))
        there = at < len(self.numbers) and self.numbers[at] == number
        return int(self.frequencies[at]) if there else 0

    def to_parts(self, size: int) -> list[str]:
        """The array as one or more strings of at most so many characters."""
        steps = np.diff(self.numbers, prepend=np.uint32(0))
        packed = zlib.compress(steps.tobytes() + self.frequencies.tobytes(), 1)
        text = b64encode(packed).decode("ascii")
        return [text[start : start + size] for start in range(0, len(text), size)]

    @classmethod
    def from_parts(cls, parts: Sequence[str]) -> RowCounts:
        """Read the counts that `to_parts` wrote."""
        both = np.frombuffer(
            zlib.decompress(b64decode("".join(parts))), dtype=np.uint32
        )
        steps, frequencies = np.split(both, 2)
        return cls(np.cumsum(steps, dtype=np.uint32), frequencies.view(np.int32))


def summed(parts: Sequence[RowCounts]) -> RowCounts:
    """The sum of counts, without terms that no row holds any more."""
    numbers = np.concatenate([part.numbers for part in parts])
    frequencies = np.concatenate([part.frequencies for part in parts])
    unique, places = np.unique(numbers, return_inverse=True)
    sums = np.zeros(len(unique), dtype=np.int32)
    np.add.at(sums, places, frequencies)
    return RowCounts(unique[sums != 0], sums[sums != 0])
