"""The files of a saved store, and how they are opened again.

    documents.jsonl                  one document a line, in order
    chunks.jsonl, chunks.npy         one chunk a line; byte offsets of the lines, so that only hits
                                     are parsed
    terms.json                       the vocabulary, sorted
    lexical-<i>-{lengths,indptr,rows,counts}.npy    postings of view i
    dense-<i>-{matrix,owner}.npy     unit vectors of view i and their rows

Term counts are saved as they are searched, so that loading rebuilds nothing: arrays and chunks are
memory-mapped.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from structrag.errors import IndexDamaged
from structrag.index.dense import DenseIndex
from structrag.index.entries import Row, dump_json, line_of, parse_json, row_of
from structrag.index.lexical import Bm25, LexicalIndex, Postings
from structrag.index.storage import Writer, checked_files, load_array, read_manifest, write_index
from structrag.index.tables import Member, Settings, Tables, canonical_vocabulary
from structrag.text.terms import Tokenizer

ATTEMPTS = 20  # of loading, while other processes save at the same path


class RowFile(Sequence[Row]):
    """The rows of a memory-mapped file, parsed when asked for.

    `offsets` are the bytes where each line begins and where the last one ends.
    """

    def __init__(self, path: Path, offsets: NDArray[np.int64]) -> None:
        self._offsets = offsets
        with open(path, "rb") as file:
            empty = not os.fstat(file.fileno()).st_size
            self._bytes = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        return row_of(self.line(at))

    def line(self, at: int) -> bytes:
        """A row as it stands in the file."""
        return self._bytes[int(self._offsets[at]) : int(self._offsets[at + 1])]


def save_store(
    path: str | os.PathLike[str],
    settings: Settings,
    members: Iterable[Member],
    tables: Tables,
    vocabulary: Mapping[str, int],
    config: Mapping[str, Any],
) -> None:
    """Write the index folder of a store.

    See `structrag.index.storage` for what can go wrong.
    """
    members = list(members)
    terms, postings = canonical_vocabulary(tables, vocabulary)
    lengths: list[int] = []
    writers: dict[str, Writer] = {
        "documents.jsonl": lambda path: _write_lines(
            path, (_document_line(member) for member in members), []
        ),
        "chunks.jsonl": lambda path: _write_lines(path, _chunk_lines(members), lengths),
        "chunks.npy": lambda path: np.save(
            path, np.array([0, *accumulate(lengths)], dtype=np.int64)
        ),
        "terms.json": lambda path: _write_bytes(path, dump_json(terms)),
    }
    for i, view in enumerate(settings.views):
        index, dense = postings[view], tables.dense[view]
        arrays = {
            f"lexical-{i}-{name}": getattr(index, name)
            for name in ("lengths", "indptr", "rows", "counts")
        }
        arrays |= {f"dense-{i}-matrix": dense.matrix, f"dense-{i}-owner": dense.owner}
        writers |= {f"{name}.npy": _array_writer(array) for name, array in arrays.items()}
    write_index(
        path,
        writers,
        {"config": dict(config), "store": _settings_record(settings), "rows": tables.n_rows},
    )


def load_store(
    path: str | os.PathLike[str], *, verify: bool
) -> tuple[Settings, dict[str, Member], Tables, dict[str, int], dict[str, Any]]:
    """Open what `save_store` wrote; raises IndexDamaged.

    Another process may save here meanwhile: then the new index is opened.
    """
    manifest = read_manifest(path)
    for _ in range(ATTEMPTS - 1):
        try:
            return _load(path, manifest, verify=verify)
        except (IndexDamaged, FileNotFoundError):
            latest = read_manifest(path)
            if latest == manifest:
                raise
            manifest = latest
    return _load(path, manifest, verify=verify)


def _load(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], *, verify: bool
) -> tuple[Settings, dict[str, Member], Tables, dict[str, int], dict[str, Any]]:
    data = checked_files(path, manifest, verify=verify)
    saved = manifest["store"]
    settings = Settings(
        views=tuple(saved["views"]),
        dtype=saved["dtype"],
        bm25=Bm25(**saved["bm25"]),
        tokenizer=Tokenizer.from_json(saved["tokenizer"]),
    )
    rows = RowFile(data / "chunks.jsonl", load_array(data / "chunks.npy", dtype="int64", ndim=1))
    members = {
        member.record["id"]: member for member in _read_members(data / "documents.jsonl", rows)
    }
    vocabulary = {term: i for i, term in enumerate(parse_json((data / "terms.json").read_bytes()))}
    n_rows = int(manifest["rows"])
    dense, lexical = {}, {}
    for i, view in enumerate(settings.views):
        postings = Postings(
            lengths=load_array(data / f"lexical-{i}-lengths.npy", dtype="int32", ndim=1),
            indptr=load_array(data / f"lexical-{i}-indptr.npy", dtype="int64", ndim=1),
            rows=load_array(data / f"lexical-{i}-rows.npy", dtype="int32", ndim=1),
            counts=load_array(data / f"lexical-{i}-counts.npy", dtype="int32", ndim=1),
        )
        matrix = load_array(data / f"dense-{i}-matrix.npy", dtype=settings.dtype, ndim=2)
        owner = load_array(data / f"dense-{i}-owner.npy", dtype="int32", ndim=1)
        if (
            len(postings.lengths) != n_rows
            or len(postings.indptr) != len(vocabulary) + 1
            or len(owner) != len(matrix)
        ):
            raise IndexDamaged(
                f"The index at {str(path)!r} is damaged: its files do not fit together. Build it "
                "again."
            )
        lexical[view] = LexicalIndex(
            postings, vocabulary, bm25=settings.bm25, tokenizer=settings.tokenizer
        )
        dense[view] = DenseIndex(matrix, owner, view=view)
    return settings, members, Tables(n_rows, dense, lexical), vocabulary, manifest["config"]


def _settings_record(settings: Settings) -> dict[str, Any]:
    bm25 = settings.bm25
    return {
        "views": list(settings.views),
        "dtype": settings.dtype,
        "bm25": {"method": bm25.method, "k1": bm25.k1, "b": bm25.b},
        "tokenizer": settings.tokenizer.to_json(),
    }


def _document_line(member: Member) -> bytes:
    return dump_json(
        {
            **member.record,
            "fingerprint": member.fingerprint,
            "degraded": member.degraded,
            "rows": member.n_rows,
            "widths": dict(member.widths),
        }
    )


def _read_members(path: Path, rows: RowFile) -> Iterator[Member]:
    start = 0
    with open(path, "rb") as file:
        for line in file:
            saved = parse_json(line)
            yield Member(
                record={name: saved[name] for name in ("id", "title", "format", "meta")},
                fingerprint=saved["fingerprint"],
                degraded=saved["degraded"],
                widths=saved["widths"],
                rows=rows,
                first=start,
                n_rows=saved["rows"],
                start=start,
            )
            start += saved["rows"]


def _chunk_lines(members: Iterable[Member]) -> Iterator[bytes]:
    for member in members:
        for row in range(member.first, member.first + member.n_rows):
            # What is mapped is copied as it stands, not parsed and written again.
            if isinstance(member.rows, RowFile):
                yield member.rows.line(row).rstrip(b"\n")
            else:
                yield line_of(member.rows[row])


def _write_lines(path: Path, lines: Iterable[bytes], lengths: list[int]) -> None:
    with open(path, "wb") as file:
        for line in lines:
            lengths.append(file.write(line + b"\n"))


def _write_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _array_writer(array: NDArray[Any]) -> Writer:
    return lambda path: np.save(path, array)
