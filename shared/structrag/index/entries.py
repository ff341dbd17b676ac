"""What a store takes in, one document at a time, and the form it keeps: JSON lines, term counts,
unit vectors."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.index.dense import check_owner, unit_vectors
from structrag.records import Chunk, Document


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of one view of one document; a chunk may have several (windows of a long text) or
    none."""

    matrix: ArrayLike  # (m, d), any length: they are normalised
    owner: ArrayLike  # (m,) ascending positions into the entry's chunks


@dataclass(frozen=True, slots=True)
class Entry:
    """One document prepared for the store."""

    document: Document  # id, title, format and meta are kept, the text is not
    fingerprint: str  # what the entry was made from, text and settings: equal means unchanged
    chunks: tuple[Chunk, ...]
    views: Mapping[
        str, tuple[str | None, ...]
    ]  # view -> index text per chunk; None: the chunk lacks this view
    vectors: Mapping[str, Vectors]  # view -> vectors; may lack views
    degraded: int = 0  # how many views fell back


@dataclass(frozen=True, slots=True)
class Prepared:
    """An entry checked and brought into row order (chunk start, end, id)."""

    record: dict[str, Any]  # the document's id, title, format and meta
    lines: list[bytes]  # one JSON line per row
    texts: dict[str, list[str | None]]  # view -> index text per row
    vectors: dict[
        str, tuple[NDArray[Any], NDArray[np.int32]]
    ]  # view -> unit vectors and their rows


def prepare(entry: Entry, views: Sequence[str], dtype: str) -> Prepared:
    """Check everything about an entry that can be checked without the store, and convert it.

    Raises InvalidParameter for chunks or texts that do not fit together and for metadata that JSON
    cannot hold, InvalidAnswer for unusable vectors.
    """
    document, chunks = entry.document, entry.chunks
    _check_views(entry, views)
    seen: set[str] = set()
    for chunk in chunks:
        if chunk.doc_id != document.id:
            raise InvalidParameter(
                f"chunk {chunk.id!r} belongs to document {chunk.doc_id!r}, not to {document.id!r}."
            )
        if chunk.id in seen:
            raise InvalidParameter(
                f"chunk ids must differ; document {document.id!r} has {chunk.id!r} twice."
            )
        seen.add(chunk.id)
    order = sorted(range(len(chunks)), key=lambda i: (chunks[i].start, chunks[i].end, chunks[i].id))
    texts = {view: [entry.views[view][i] for i in order] for view in views}
    return Prepared(
        record={
            "id": document.id,
            "title": document.title,
            "format": document.format,
            "meta": plain_json(dict(document.meta), f"meta of document {document.id!r}"),
        },
        lines=[
            _to_line(chunks[i], {view: texts[view][row] for view in views})
            for row, i in enumerate(order)
        ],
        texts=texts,
        vectors={view: _prepare_vectors(entry, view, order, dtype) for view in entry.vectors},
    )


def _check_views(entry: Entry, views: Sequence[str]) -> None:
    name = entry.document.id
    if set(entry.views) != set(views) or not set(entry.vectors) <= set(views):
        raise InvalidParameter(
            f"views must be {', '.join(map(repr, views))} for this store; document {name!r} has "
            "texts for "
            f"{sorted(entry.views)} and vectors for {sorted(entry.vectors)}. Build a new store to "
            "change the views."
        )
    for view, texts in entry.views.items():
        if len(texts) != len(entry.chunks):
            raise InvalidParameter(
                f"view {view!r} needs one text per chunk; document {name!r} has "
                f"{len(entry.chunks)} chunks "
                f"and {len(texts)} texts."
            )


def _prepare_vectors(
    entry: Entry, view: str, order: list[int], dtype: str
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    given = entry.vectors[view]
    place = f"{view}, document {entry.document.id}"
    owner = np.asarray(given.owner)
    if not len(owner) and not np.size(given.matrix):
        return np.empty((0, 0), dtype=dtype), owner.astype(np.int32)
    matrix = unit_vectors(given.matrix, dtype=dtype, view=place)
    owner = check_owner(owner, len(matrix), len(order), view=place)
    if len(matrix) and not matrix.shape[1]:
        raise InvalidAnswer(f"The vectors of view {view!r} have no values; check the embedder.")
    if order != sorted(order):
        rows = np.argsort(np.array(order))[owner]
        sequence = np.argsort(rows, kind="stable")
        matrix, owner = matrix[sequence], rows[sequence].astype(np.int32)
    return matrix, owner


def plain_json(value: Any, name: str) -> Any:
    """A copy of `value` made of what JSON gives back unchanged (tuples become lists).

    Raises InvalidParameter naming the place of anything else: NaN, a key that is not a string, a
    date, an object.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple):
        return [plain_json(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InvalidParameter(
                    f"{name} must have strings as keys to be saved as JSON; got the key {key!r}."
                )
        return {
            str.__str__(key): plain_json(item, f"{name}[{key!r}]") for key, item in value.items()
        }
    raise InvalidParameter(
        f"{name} must be None, a bool, a finite number, a string, or lists and dicts of these, to "
        "be saved as JSON; "
        f"got {value!r} of type {type(value).__name__}. Convert it, for example with str() or "
        ".item()."
    )


def dump_json(value: Any) -> bytes:
    """One line of JSON. Lone surrogates are kept as they are: escapes would merge neighbours into
    one character."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def parse_json(line: bytes) -> Any:
    """What `dump_json` was given."""
    return json.loads(line.decode("utf-8", "surrogatepass"))


def _to_line(chunk: Chunk, texts: Mapping[str, str | None]) -> bytes:
    own = chunk.index_text
    record = {
        "id": chunk.id,
        "doc_id": chunk.doc_id,
        "section_id": chunk.section_id,
        "start": chunk.start,
        "end": chunk.end,
        "text": chunk.text,
        "context": chunk.context,
        "n_tokens": chunk.n_tokens,
        "path": list(chunk.path),
        "kind": chunk.kind,
        "extras": chunk.extras,
        "body_start": chunk.body_start,
        # true stands for the chunk's own index text, which need not be written twice
        "views": {view: True if text == own else text for view, text in texts.items()},
    }
    return dump_json(plain_json(record, f"chunk {chunk.id!r}"))


def chunk_of(line: bytes) -> Chunk:
    """The chunk a line holds."""
    return _to_chunk(parse_json(line))


def view_text_of(line: bytes, view: str) -> str | None:
    """The index text a line holds for a view; None where the chunk lacks it."""
    record = parse_json(line)
    text: str | bool | None = record["views"][view]
    return _to_chunk(record).index_text if isinstance(text, bool) else text


def _to_chunk(record: Mapping[str, Any]) -> Chunk:
    fields = {name: value for name, value in record.items() if name != "views"}
    return Chunk(**{**fields, "path": tuple(fields["path"])})
