"""Segments: documents with all their rows, vectors and term counts. A segment is immutable, in
memory or in a mapped file. Its documents are in the order of their keys, so consecutive rows of a
segment are consecutive in the whole index too."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from structrag._locks import cached_property
from structrag.index.blocks import ArrayFile, Column, Pieces, write_arrays
from structrag.index.dense import VectorTable
from structrag.index.entries import (
    CheckedEntry,
    ChunkRow,
    DocumentRow,
    LevelRows,
    dump_json,
    parse_json,
    parse_row,
    serialise_row,
)
from structrag.index.lexical import (
    POSTINGS,
    Postings,
    TermRows,
    Vocabulary,
    join_rows,
    to_postings,
    to_rows,
)
from structrag.index.ranking import IntArray, concatenated

Levels = Mapping[str, Sequence[str]]  # level -> its views
_Lines = tuple[Pieces, IntArray]  # the text of lines, and their bounds
# (runs, 3) int64: the number of a segment, the first document or row of a run there, and its end
Runs = IntArray
ROW_BYTES = 2000  # about what a row needs in memory besides its text and vectors


@dataclass(frozen=True, slots=True)
class PendingDocument:
    """A document that waits to become part of a segment."""

    key: int
    entry: CheckedEntry
    terms: Mapping[str, Mapping[str, TermRows]]  # level -> view -> term counts

    @property
    def n_bytes(self) -> int:
        """About how much memory it takes."""
        size = 0
        for level in self.entry.levels.values():
            size += sum(len(one) for of_all in level.blobs.values() for one in of_all)
            size += sum(matrix.nbytes for matrix, _ in level.vectors.values())
            size += sum(ROW_BYTES + 2 * len(row.chunk.text) for row in level.rows)
        return size


class StoredLines:
    """Lines of JSON, parsed when asked for. `bounds` are the bytes where each line begins and where
    the last one ends."""

    def __init__(self, text: Column, bounds: Column) -> None:
        self.text = text
        self.bounds = bounds

    @classmethod
    def of(cls, lines: Iterable[bytes]) -> StoredLines:
        lines = list(lines)
        text = np.frombuffer(b"".join(lines), dtype=np.uint8)
        return cls(Column(text), Column(_bounds(map(len, lines))))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def line(self, at: int) -> bytes:
        """One line."""
        return self.raw_line(at).tobytes()

    def raw_line(self, at: int) -> NDArray[np.uint8]:
        """One line where it lies."""
        first, last = self.bounds.part(at, at + 2).tolist()
        line: NDArray[np.uint8] = self.text.part(first, last)
        return line

    def raw_lines(self, at: IntArray) -> list[NDArray[np.uint8]]:
        """Several lines where they lie."""
        bounds = self.bounds.all()
        pairs = zip(bounds[at].tolist(), bounds[at + 1].tolist(), strict=True)
        return [self.text.part(first, last) for first, last in pairs]

    def find(self, line: bytes) -> int | None:
        """The number of a line among lines that ascend, or None."""
        # Views give single items several times faster than arrays.
        text, bounds = self.text.all().data, self.bounds.all().data

        def line_at(at: int) -> bytes:
            return text[bounds[at] : bounds[at + 1]].tobytes()

        at = bisect_left(range(len(self)), line, key=line_at)
        return at if at < len(self) and line_at(at) == line else None

    def part(
        self, first: int, last: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The bytes of the lines [first, last), and each line's length."""
        bounds = self.bounds.part(first, last + 1)
        text = self.text.part(int(bounds[0]), int(bounds[-1]))
        return text, np.diff(bounds)


class ChunkIds:
    """From ids of chunks to their rows, by hashes."""

    def __init__(self, hashes: Column, rows: Column) -> None:
        self.hashes = hashes  # ascending
        self.rows = rows

    @classmethod
    def of(cls, hashes: NDArray[np.uint64]) -> ChunkIds:
        """Index the hashes of all rows, in row order."""
        order = np.argsort(hashes, kind="stable")
        return cls(Column(hashes[order]), Column(order.astype(np.int32)))

    def of_rows(self) -> NDArray[np.uint64]:
        """The hashes of all rows, in their order."""
        hashes = np.empty(len(self.rows), dtype=np.uint64)
        hashes[self.rows.all()] = self.hashes.all()
        return hashes

    def candidates(self, chunk_id: str) -> list[int]:
        """The rows that may have this id, ascending: mostly one or none."""
        hashes, hashed = self.hashes.all(), hash_of(chunk_id)
        first = int(np.searchsorted(hashes, hashed, "left"))
        last = int(np.searchsorted(hashes, hashed, "right"))
        rows: list[int] = self.rows.part(first, last).tolist()
        return rows


def hash_of(chunk_id: str) -> np.uint64:
    """The hash of a chunk's id."""
    digest = xxhash.xxh3_64_intdigest(chunk_id.encode("utf-8", "surrogatepass"))
    hashed: np.uint64 = np.uint64(digest)
    return hashed


class TermFile:
    """The sorted terms of a segment in a file. A term's place is its number."""

    def __init__(self, lines: StoredLines) -> None:
        self._lines = lines

    @cached_property
    def _numbers(self) -> dict[str, int]:
        text, lengths = self._lines.part(0, len(self._lines))
        content = text.tobytes()
        ends = accumulate(lengths.tolist())
        first = 0
        numbers = {}
        for number, end in enumerate(ends):
            numbers[content[first:end].decode("utf-8", "surrogatepass")] = number
            first = end
        return numbers

    def get(self, term: str, /) -> int | None:
        """The number of a term, found by halving. No table is made, since most terms are never
        asked for."""
        if "_numbers" in self.__dict__:
            return self._numbers.get(term)
        encoded = term.encode("utf-8", "surrogatepass")
        return self._lines.find(encoded)

    def items(self) -> Iterable[tuple[str, int]]:
        return self._numbers.items()


@dataclass(frozen=True)
class LevelTable:
    """The rows of one level of a segment."""

    # (documents + 1,): the first row of each document, and the end of the last.
    bounds: IntArray
    rows: StoredLines
    ids: ChunkIds
    postings: Mapping[str, Postings]  # by view
    vectors: Mapping[str, VectorTable]
    blobs: Mapping[str, StoredLines]  # by name

    @property
    def n_rows(self) -> int:
        return int(self.bounds[-1])

    def row(self, at: int) -> ChunkRow:
        """One row."""
        return parse_row(self.rows.line(at))

    def rows_of(self, document: int) -> range:
        """The rows of a document."""
        return range(*self.bounds[document : document + 2].tolist())


@dataclass(eq=False)
class Segment:
    """Documents with their rows."""

    keys: IntArray  # (documents,) ascending: their order in the index
    documents: StoredLines
    vocabulary: Vocabulary
    levels: Mapping[str, LevelTable]
    file: ArrayFile | None = field(default=None, repr=False)  # once there is one
    _facts: dict[int, DocumentRow] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str | None:
        """That of its file, the digest of its content."""
        return None if self.file is None else self.file.digest

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.keys)

    @property
    def n_rows(self) -> int:
        """The number of rows of all levels."""
        return sum(level.n_rows for level in self.levels.values())

    def document(self, number: int) -> DocumentRow:
        """One document."""
        if number not in self._facts:
            saved = parse_json(self.documents.line(number))
            names = ("id", "title", "format", "meta")
            self._facts[number] = DocumentRow(
                record={name: saved[name] for name in names},
                fingerprint=saved["fingerprint"],
                degraded=saved["degraded"],
            )
        return self._facts[number]

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The numbers of the documents by their ids."""
        return {
            self.document(number).record["id"]: number for number in range(len(self))
        }

    def has_vectors(self, level: str, view: str, document: int) -> bool:
        """Whether a document has vectors there."""
        table = self.levels[level]
        rows = table.rows_of(document)
        first, last = np.searchsorted(
            table.vectors[view].owner.all(), (rows.start, rows.stop)
        )
        return bool(first < last)


def _document_line(document: DocumentRow) -> bytes:
    return dump_json(
        {
            **document.record,
            "fingerprint": document.fingerprint,
            "degraded": document.degraded,
        }
    )


# -- from documents to a segment


def segment_of(
    documents: Iterable[PendingDocument],
    levels: Levels,
    vocabulary: dict[str, int],
    dtype: str,
) -> Segment:
    """A segment in memory of documents whose terms are numbered by `vocabulary`."""
    ordered = sorted(documents, key=lambda document: document.key)
    tables = {}
    for name, views in levels.items():
        of_documents = [document.entry.levels[name] for document in ordered]
        rows = list(chain.from_iterable(level.rows for level in of_documents))
        hashes = [hash_of(row.chunk.id) for row in rows]
        postings = {}
        for view in views:
            terms = join_rows([document.terms[name][view] for document in ordered])
            postings[view] = to_postings(terms, len(vocabulary))
        tables[name] = LevelTable(
            _bounds(len(level.rows) for level in of_documents),
            StoredLines.of(map(serialise_row, rows)),
            ChunkIds.of(np.array(hashes, dtype=np.uint64)),
            postings,
            {view: _joined_vectors(of_documents, view, dtype) for view in views},
            _joined_blobs(of_documents),
        )
    return Segment(
        np.array([document.key for document in ordered], dtype=np.int64),
        StoredLines.of(_document_line(document.entry.document) for document in ordered),
        dict(vocabulary),
        tables,
    )


def _bounds(counts: Iterable[int]) -> IntArray:
    """Return the start of each of several runs, and the end of the last."""
    return np.array([0, *accumulate(counts)], dtype=np.int64)


def _joined_vectors(levels: Sequence[LevelRows], view: str, dtype: str) -> VectorTable:
    pieces: list[NDArray[Any]] = []
    owners: list[NDArray[Any]] = []
    first = 0
    for level in levels:
        matrix, owner = level.vectors.get(
            view, (np.empty((0, 0)), np.empty(0, dtype=np.int32))
        )
        if len(matrix):
            pieces.append(matrix)
            owners.append(owner + first)
        first += len(level.rows)
    matrix = concatenated(pieces, dtype) if pieces else np.empty((0, 0), dtype=dtype)
    return VectorTable(Column(matrix), Column(concatenated(owners, np.int32)))


def _joined_blobs(levels: Sequence[LevelRows]) -> dict[str, StoredLines]:
    return {
        name: StoredLines.of(
            chain.from_iterable(
                level.blobs.get(name) or [b""] * len(level.rows) for level in levels
            )
        )
        for name in sorted({name for level in levels for name in level.blobs})
    }


def blobs_of(table: LevelTable, name: str) -> StoredLines:
    """Return the blobs of this name, row by row; empty for rows without one."""
    return table.blobs.get(name) or StoredLines.of([b""] * table.n_rows)


# -- several segments as one


def runs_of(
    segments: Sequence[Segment], live: Sequence[NDArray[np.bool_] | None]
) -> Runs:
    """The living documents of segments as runs, by their keys."""
    keys, owners, numbers = [], [], []
    for i, segment in enumerate(segments):
        alive = live[i]
        of_segment = np.arange(len(segment)) if alive is None else np.flatnonzero(alive)
        keys.append(segment.keys[of_segment])
        owners.append(np.full(len(of_segment), i))
        numbers.append(of_segment)
    order = np.argsort(concatenated(keys, np.int64), kind="stable")
    owner, number = (
        concatenated(owners, np.int64)[order],
        concatenated(numbers, np.int64)[order],
    )
    breaks = np.flatnonzero((np.diff(owner) != 0) | (np.diff(number) != 1)) + 1
    starts = np.concatenate([np.zeros(min(1, len(owner)), dtype=np.int64), breaks])
    stops = np.append(breaks, len(owner))[: len(starts)]
    runs: Runs = np.stack(
        [owner[starts], number[starts], number[stops - 1] + 1], axis=1
    )
    return runs


def row_runs(runs: Runs, bounds: Sequence[IntArray]) -> Runs:
    """The runs of rows of runs of documents. `bounds` are those of each segment's level."""
    rows: Runs = runs.copy()
    for i, of_segment in enumerate(bounds):
        chosen = runs[:, 0] == i
        rows[chosen, 1:] = of_segment[runs[chosen, 1:]]
    return rows


def _joined_terms(
    segments: Sequence[Segment],
) -> tuple[list[str], list[NDArray[np.int32]]]:
    """All terms, sorted, and each segment's numbers of terms as new ones."""
    items = [list(segment.vocabulary.items()) for segment in segments]
    terms = sorted({term for of_segment in items for term, _ in of_segment})
    number_of = {term: number for number, term in enumerate(terms)}
    numbers = []
    for of_segment in items:
        new = np.empty(len(of_segment), dtype=np.int32)
        for term, number in of_segment:
            new[number] = number_of[term]
        numbers.append(new)
    return terms, numbers


class Merge:
    """Several segments as one, piece by piece. Its terms are those of living rows, sorted, so
    equal content makes equal pieces, whatever its history."""

    def __init__(
        self,
        segments: Sequence[Segment],
        live: Sequence[NDArray[np.bool_] | None],
        *,
        keys: IntArray | None = None,
    ) -> None:
        """`keys`: new ones, ascending, instead of the documents' own."""
        self.segments = segments
        self.runs: Runs = runs_of(segments, live)
        runs = [segments[i].keys[first:last] for i, first, last in self.runs.tolist()]
        self.keys: IntArray = concatenated(runs, np.int64) if keys is None else keys
        self.levels: Mapping[str, LevelTable] = segments[0].levels
        self.terms: list[str]
        self.postings: dict[str, dict[str, Postings]]
        self.terms, self.postings = self._merged_terms()

    def _rows(self, level: str) -> list[list[int]]:
        """The runs of a level's rows."""
        bounds = [segment.levels[level].bounds for segment in self.segments]
        runs: list[list[int]] = row_runs(self.runs, bounds).tolist()
        return runs

    def _merged_terms(self) -> tuple[list[str], dict[str, dict[str, Postings]]]:
        """The terms of living rows, and their postings by level and view."""
        terms, numbers = _joined_terms(self.segments)
        postings: dict[str, dict[str, Postings]] = {}
        used = np.zeros(len(terms), dtype=bool)
        for name, level in self.levels.items():
            postings[name] = {}
            for view in level.postings:
                merged = self._merged_postings(name, view, numbers, len(terms))
                used |= np.diff(merged.indptr.all()) > 0
                postings[name][view] = merged
        if used.all():
            return terms, postings
        # Some terms were those of deleted rows alone.
        numbers_used = np.flatnonzero(used)
        for by_view in postings.values():
            for view, merged in by_view.items():
                by_view[view] = merged.select(numbers_used)
        return [terms[number] for number in numbers_used.tolist()], postings

    def _merged_postings(
        self, level: str, view: str, numbers: Sequence[NDArray[np.int32]], n_terms: int
    ) -> Postings:
        tables = [
            to_rows(segment.levels[level].postings[view]) for segment in self.segments
        ]
        parts = []
        for i, first, last in self._rows(level):
            rows = tables[i].slice(first, last)
            parts.append(
                TermRows(rows.lengths, rows.indptr, numbers[i][rows.terms], rows.counts)
            )
        return to_postings(join_rows(parts), n_terms)

    @staticmethod
    def _lines(parts: Sequence[StoredLines], runs: Sequence[Sequence[int]]) -> _Lines:
        pieces, lengths = [np.empty(0, dtype=np.uint8)], []
        for i, first, last in runs:
            text, of_lines = parts[i].part(first, last)
            pieces.append(text)
            lengths.append(of_lines)
        return pieces, _bounds(concatenated(lengths, np.int64).tolist())

    def _vectors(self, level: str, view: str) -> tuple[Pieces, NDArray[np.int32]]:
        pieces, owners = [], []
        row = 0
        empty = np.empty((0, 0))
        for i, first, last in self._rows(level):
            table = self.segments[i].levels[level].vectors[view]
            owner = table.owner.all()
            low, high = np.searchsorted(owner, (first, last)).tolist()
            empty = table.matrix.values[:0, :0]
            if low < high:
                pieces.append(table.matrix.part(low, high))
                owners.append(owner[low:high] - (first - row))
            row += last - first
        return pieces or [empty], concatenated(owners, np.int32)

    def _hashes(self, level: str) -> ChunkIds:
        of_segments = [segment.levels[level].ids.of_rows() for segment in self.segments]
        runs = [of_segments[i][first:last] for i, first, last in self._rows(level)]
        return ChunkIds.of(concatenated(runs, np.uint64))

    def _level_bounds(self, level: str) -> IntArray:
        counts = []
        for i, first, last in self.runs.tolist():
            counts.append(
                np.diff(self.segments[i].levels[level].bounds[first : last + 1])
            )
        return _bounds(concatenated(counts, np.int64).tolist())

    def _blobs(self, level: str) -> dict[str, _Lines]:
        tables = [segment.levels[level] for segment in self.segments]
        names = {name for table in tables for name in table.blobs}
        runs = self._rows(level)
        blobs = {
            name: self._lines([blobs_of(table, name) for table in tables], runs)
            for name in sorted(names)
        }
        # Some were those of deleted rows alone.
        return {name: lines for name, lines in blobs.items() if lines[1][-1]}

    def _content(self) -> tuple[dict[str, Pieces], dict[str, Any]]:
        """The arrays of the merged segment, and which levels, views and blobs it has."""
        documents = [segment.documents for segment in self.segments]
        text, bounds = self._lines(documents, self.runs.tolist())
        encoded = (term.encode("utf-8", "surrogatepass") for term in self.terms)
        terms = StoredLines.of(encoded)
        arrays: dict[str, Pieces] = {
            "keys": [self.keys],
            "documents": text,
            "documents.bounds": [bounds],
            "terms": [terms.text.all()],
            "terms.bounds": [terms.bounds.all()],
        }
        blobs = {}
        for name, level in self.levels.items():
            rows = [segment.levels[name].rows for segment in self.segments]
            text, bounds = self._lines(rows, self._rows(name))
            ids = self._hashes(name)
            arrays |= {
                f"{name}/bounds": [self._level_bounds(name)],
                f"{name}/rows": text,
                f"{name}/rows.bounds": [bounds],
                f"{name}/ids.hashes": [ids.hashes.all()],
                f"{name}/ids.rows": [ids.rows.all()],
            }
            for view in level.postings:
                place = f"{name}/{view}"
                for array, values in self.postings[name][view].arrays().items():
                    arrays[f"{place}/{array}"] = [values]
                arrays[f"{place}/matrix"], owner = self._vectors(name, view)
                arrays[f"{place}/owner"] = [owner]
            of_level = self._blobs(name)
            blobs[name] = list(of_level)
            for blob, (content, bounds) in of_level.items():
                place = f"{name}/blobs/{blob}"
                arrays |= {place: content, f"{place}.bounds": [bounds]}
        levels = {name: list(level.postings) for name, level in self.levels.items()}
        return arrays, {"levels": levels, "blobs": blobs}

    def in_memory(self) -> Segment:
        """The merged segment, in memory."""
        arrays, meta = self._content()
        return _assembled(lambda name: Column(np.concatenate(arrays[name])), meta)

    def write(self, folder: Path) -> Segment:
        """Write the merged segment into the folder, and open it. The file's name is the digest of
        its content."""
        unnamed = (
            folder / f"part-{id(self)}-{np.random.default_rng().integers(1 << 62)}"
        )
        digest = write_arrays(unnamed, *self._content())
        path = segment_path(folder, digest)
        unnamed.replace(path)
        return open_segment(path, digest)


def segment_path(folder: Path, name: str) -> Path:
    """Return the path of a segment's file."""
    return folder / f"{name}.seg"


def open_segment(path: Path, name: str, *, verify: bool = False) -> Segment:
    """A segment from its file, mapped into memory. Raises IndexDamaged."""
    file = ArrayFile(path, digest=name)
    if verify:
        file.verify()
    return _assembled(file.column, file.meta, file)


def _assembled(
    column: Callable[[str], Column],
    meta: Mapping[str, Any],
    file: ArrayFile | None = None,
) -> Segment:
    """Assemble a segment from its arrays, which `column` returns by name."""

    def lines(place: str) -> StoredLines:
        return StoredLines(column(place), column(f"{place}.bounds"))

    levels = {}
    for level, views in meta["levels"].items():
        postings, vectors = {}, {}
        for view in views:
            place = f"{level}/{view}"
            postings[view] = Postings(
                **{array: column(f"{place}/{array}") for array in POSTINGS}
            )
            vectors[view] = VectorTable(
                column(f"{place}/matrix"), column(f"{place}/owner")
            )
        levels[level] = LevelTable(
            column(f"{level}/bounds").all(),
            lines(f"{level}/rows"),
            ChunkIds(column(f"{level}/ids.hashes"), column(f"{level}/ids.rows")),
            postings,
            vectors,
            {
                blob: lines(f"{level}/blobs/{blob}")
                for blob in meta.get("blobs", {}).get(level, ())
            },
        )
    return Segment(
        column("keys").all(),
        lines("documents"),
        TermFile(lines("terms")),
        levels,
        file,
    )
