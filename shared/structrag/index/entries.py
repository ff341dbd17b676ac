"""Documents as they are put into a store, and the checked form in which it keeps them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.index.dense import check_owner, unit_vectors
from structrag.reading.formats import READING_RULE
from structrag.reading.markup.code import SUFFIXES as CODE_SUFFIXES
from structrag.reading.markup.code import has_grammars
from structrag.records import Chunk, Document
from structrag.text.numbers import pluralise
from structrag.text.sentences import SENTENCE_RULE

_CHUNK_FIELDS = tuple(field.name for field in fields(Chunk))


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of one view of one document. A chunk may have several (windows of a long text) or
    none."""

    matrix: ArrayLike  # (m, d), any length: they are normalised
    owner: ArrayLike  # (m,) ascending positions into the entry's chunks


@dataclass(frozen=True, slots=True)
class LevelEntry:
    """The chunks of a document at another level, for example its sections beside its paragraphs."""

    chunks: tuple[Chunk, ...]
    views: Mapping[str, tuple[str | None, ...]]  # as in `Entry`
    vectors: Mapping[str, Vectors]
    blobs: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """One document prepared for the store. Its own chunks are those of the store's first level;
    `levels` has the others."""

    document: Document  # id, title, format and meta are kept, the text is not
    # The digest of text and settings: equal means unchanged.
    fingerprint: str
    chunks: tuple[Chunk, ...]
    # view -> index text per chunk; None: the chunk lacks this view
    views: Mapping[str, tuple[str | None, ...]]
    vectors: Mapping[str, Vectors]  # view -> vectors; may lack views
    degraded: int = 0  # how many views lack what a failed call should have given
    # The store's further levels by name.
    levels: Mapping[str, LevelEntry] = field(default_factory=dict)
    # name -> what is kept of each chunk besides, as bytes
    blobs: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)

    def level(self, name: str) -> LevelEntry:
        """The level of this name; by default the first."""
        first = LevelEntry(self.chunks, self.views, self.vectors, self.blobs)
        return self.levels.get(name, first)


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """The stored facts of a document, without its chunks."""

    record: Mapping[str, Any]  # id, title, format and meta
    fingerprint: str
    degraded: int
    key: int = -1  # its place in the order of documents, where an engine keeps it


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk as the store keeps it, with its index texts."""

    chunk: Chunk
    texts: Mapping[str, str | None]  # by view; None: the chunk lacks it


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A chunk as the store keeps it, with some of its blobs."""

    row: ChunkRow
    blobs: Sequence[bytes | NDArray[np.uint8]]


@dataclass(frozen=True, slots=True)
class LevelRows:
    """The chunks of one level of a document in row order: by start, end and id."""

    rows: list[ChunkRow]
    # view -> unit vectors and their rows
    vectors: dict[str, tuple[NDArray[Any], NDArray[np.int32]]]
    blobs: dict[str, list[bytes]] = field(default_factory=dict)  # name -> by row


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """An entry checked and brought into row order."""

    document: DocumentRow
    levels: dict[str, LevelRows]


def prepare(
    entry: Entry, levels: Mapping[str, Sequence[str]], dtype: str
) -> CheckedEntry:
    """Check an entry without the store, and convert it.

    `levels` are the views of each level. Raises InvalidParameter for chunks or texts that do not
    fit together and for metadata that JSON cannot hold, InvalidAnswer for unusable vectors.
    """
    document = entry.document
    if set(entry.levels) != set(list(levels)[1:]):
        raise InvalidParameter(
            f"levels must be {', '.join(map(repr, levels))} for this store; document "
            f"{document.id!r} has {sorted(entry.levels)} besides the first. Build a new store to "
            "change the levels."
        )
    record = {
        "id": document.id,
        "title": document.title,
        "format": document.format,
        "meta": plain_json(dict(document.meta), f"meta of document {document.id!r}"),
    }
    return CheckedEntry(
        document=DocumentRow(record, entry.fingerprint, entry.degraded),
        levels={
            name: _prepare_level(document.id, entry.level(name), views, dtype)
            for name, views in levels.items()
        },
    )


def _prepare_level(
    name: str, level: LevelEntry, views: Sequence[str], dtype: str
) -> LevelRows:
    chunks = level.chunks
    _check_views(name, level, views)
    seen: set[str] = set()
    for chunk in chunks:
        if chunk.doc_id != name:
            raise InvalidParameter(
                f"chunk {chunk.id!r} belongs to document {chunk.doc_id!r}, not to {name!r}."
            )
        if chunk.id in seen:
            raise InvalidParameter(
                f"chunk ids must differ; document {name!r} has {chunk.id!r} twice."
            )
        seen.add(chunk.id)
    order = sorted(
        range(len(chunks)), key=lambda i: (chunks[i].start, chunks[i].end, chunks[i].id)
    )
    rows = [
        ChunkRow(_as_saved(chunks[i]), {view: level.views[view][i] for view in views})
        for i in order
    ]
    vectors = {
        view: _prepare_vectors(name, level, view, order, dtype)
        for view in level.vectors
    }
    blobs = {name: [of_all[i] for i in order] for name, of_all in level.blobs.items()}
    return LevelRows(rows, vectors, blobs)


def _as_saved(chunk: Chunk) -> Chunk:
    """The chunk as JSON gives it back: tuples in `extras` become lists."""
    fields = {name: getattr(chunk, name) for name in _CHUNK_FIELDS}
    plain = plain_json({**fields, "path": list(chunk.path)}, f"chunk {chunk.id!r}")
    return Chunk(**{**plain, "path": tuple(plain["path"])})


def _check_views(name: str, level: LevelEntry, views: Sequence[str]) -> None:
    if set(level.views) != set(views) or not set(level.vectors) <= set(views):
        raise InvalidParameter(
            f"views must be {', '.join(map(repr, views))} for this store; document {name!r} has "
            f"texts for {sorted(level.views)} and vectors for {sorted(level.vectors)}. "
            "Build a new store to change the views."
        )
    for view, texts in level.views.items():
        if len(texts) != len(level.chunks):
            raise InvalidParameter(
                f"view {view!r} needs one text per chunk; document {name!r} has "
                f"{pluralise(len(level.chunks), 'chunk')} and {pluralise(len(texts), 'text')}."
            )
    for blob, contents in level.blobs.items():
        if len(contents) != len(level.chunks):
            raise InvalidParameter(
                f"blobs[{blob!r}] must have one item per chunk; document {name!r} has "
                f"{pluralise(len(level.chunks), 'chunk')} and {pluralise(len(contents), 'item')}."
            )


def _prepare_vectors(
    name: str, level: LevelEntry, view: str, order: list[int], dtype: str
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    vectors = level.vectors[view]
    place = f"{view}, document {name}"
    owner = np.asarray(vectors.owner)
    if not len(owner) and not np.size(vectors.matrix):
        return np.empty((0, 0), dtype=dtype), owner.astype(np.int32)
    matrix = unit_vectors(vectors.matrix, dtype=dtype, view=place)
    owner = check_owner(owner, len(matrix), len(order), view=place)
    if len(matrix) and not matrix.shape[1]:
        raise InvalidAnswer(
            f"The vectors of view {view!r} are empty; check the embedder."
        )
    # Chunks that were not in row order take their vectors along.
    if order != sorted(order):
        rows = np.argsort(np.array(order))[owner]
        sequence = np.argsort(rows, kind="stable")
        matrix, owner = matrix[sequence], rows[sequence].astype(np.int32)
    return matrix, owner


# Most values: they stay, and need no name for an error.
_PLAIN = {str, int, bool, type(None)}


def plain_json(value: Any, name: str) -> Any:
    """Copy a value, with tuples as lists, so that JSON keeps it unchanged. Raises InvalidParameter
    that names the place of anything else: NaN, a key that is not a string, a date, an object."""
    if isinstance(value, list | tuple):
        return [
            item if type(item) in _PLAIN else plain_json(item, f"{name}[{i}]")
            for i, item in enumerate(value)
        ]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InvalidParameter(
                    f"{name} must have strings as keys to be saved as JSON; got the key {key!r}."
                )
        return {
            str.__str__(key): item
            if type(item) in _PLAIN
            else plain_json(item, f"{name}[{key!r}]")
            for key, item in value.items()
        }
    return _plain_scalar(value, name)


def _plain_scalar(value: Any, name: str) -> Any:
    """A value as its plain type, such as a string of NumPy."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise InvalidParameter(
        f"{name} must be None, a bool, a finite number, a string, or lists and dicts of these, to "
        f"be saved as JSON; got {value!r} of type {type(value).__name__}. Convert it, for example "
        "with str() or .item()."
    )


def dump_json(value: Any) -> bytes:
    """One line of JSON. Lone surrogates are kept as they are: escapes would merge neighbours into
    one character."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode("utf-8", "surrogatepass")


def parse_json(line: bytes) -> Any:
    """Parse a line of `dump_json`."""
    return json.loads(line.decode("utf-8", "surrogatepass"))


def serialise_row(row: ChunkRow) -> bytes:
    """A row as one line of JSON."""
    fields = {name: getattr(row.chunk, name) for name in _CHUNK_FIELDS}
    # true stands for the chunk's own index text, which need not be written twice
    texts = {
        view: True if text == row.chunk.index_text else text
        for view, text in row.texts.items()
    }
    return dump_json({**fields, "path": list(row.chunk.path), "views": texts})


@lru_cache(maxsize=2048)  # what is found once is mostly found again
def parse_row(line: bytes) -> ChunkRow:
    """The row that `serialise_row` wrote."""
    record = parse_json(line)
    texts = record.pop("views")
    chunk = Chunk(**{**record, "path": tuple(record["path"])})
    return ChunkRow(
        chunk,
        {
            view: chunk.index_text if text is True else text
            for view, text in texts.items()
        },
    )


# Changes when the same input would be read, cut or indexed differently.
RULES = f"index 6, readers {READING_RULE}, sentences {SENTENCE_RULE}"


def rules_of(format: str | None = None) -> str:
    """The rules by which documents of a format are read and cut on this machine; None: of any.
    Source code has sections only with the extra `code`."""
    is_code = format is None or format in CODE_SUFFIXES
    return f"{RULES}, code" if is_code and has_grammars() else RULES


def fingerprint(document: Document, settings: str) -> str:
    """Digest everything that decides a document's entry.

    This is its id, text, title, format, metadata and markup, the rules by which it is read, and
    `settings`, including all models.
    The order of metadata keys does not count. Raises InvalidParameter for metadata that JSON cannot
    hold.
    """
    meta = plain_json(dict(document.meta), f"meta of document {document.id!r}")
    layout = document.layout and (
        document.layout.headings,
        document.layout.blocks,
        document.layout.images,
    )
    parts = (
        rules_of(document.format),
        document.id,
        document.title,
        document.format,
        json.dumps(meta, sort_keys=True, ensure_ascii=False),
        layout,
        document.text,
    )
    return f"{_digest(repr(parts))[:_OF_DOCUMENT]}{_digest(settings)[_OF_DOCUMENT:]}"


_OF_DOCUMENT = 48  # digits of a fingerprint; the others are of the settings


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def made_alike(before: str | None, now: str) -> bool:
    """Return True if two fingerprints are of the same settings, models included."""
    return before is not None and before[_OF_DOCUMENT:] == now[_OF_DOCUMENT:]
