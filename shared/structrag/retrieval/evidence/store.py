"""The pieces of documents in a store, and what a question reads of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

import numpy as np

from structrag.errors import IndexDamaged, UnknownDocument
from structrag.index.corpus import CorpusStore
from structrag.index.dense import DenseIndex
from structrag.index.entries import Entry, StoredRow
from structrag.index.levels import SearchedLevel
from structrag.index.snapshot import Reader
from structrag.index.store import Store
from structrag.retrieval.evidence.corpus import Pool
from structrag.retrieval.evidence.pieces import VIEW, documents_of, entry_of_part
from structrag.retrieval.evidence.quantised import Quantiser
from structrag.retrieval.evidence.record import (
    BLOBS,
    Record,
    unpack,
    vectors_of,
    with_vectors_of_all,
)
from structrag.text.arrays import running_totals

KIND = "evidence"
AXES, BITS, MEAN = "token_axes", "token_bits", "token_mean"  # of the quantiser
FOUND = 100  # pieces in which a question is answered, and those beside them
SAMPLED = 16  # pieces that show what is usual
_SAMPLES = 64  # conditions whose samples are remembered


class EvidenceLevel(SearchedLevel):
    """Pieces of documents as evidence is searched in them.

    With an embedder that is fitted (LSA) the vectors of atoms and pieces belong to the fit.
    """

    def __init__(self, store: CorpusStore, embedder: Any = None) -> None:
        super().__init__(store, embedder)  # type: ignore[arg-type]
        # Of one reader: by condition, how many rows meet it and the pieces of the sample.
        self._samples: tuple[Any, dict[str, _Sample]] = None, {}

    @property
    def quantiser(self) -> Quantiser | None:
        """Of the token vectors; fitted when the first came, and saved."""
        shared = self.store.shared
        if AXES not in shared:
            return None
        return Quantiser(shared[AXES], shared[BITS], shared[MEAN])

    @quantiser.setter
    def quantiser(self, quantiser: Quantiser) -> None:
        self.store.shared.update(
            {BITS: quantiser.bits, MEAN: quantiser.mean, AXES: quantiser.axes}
        )

    def reader(self, snapshot: Any = None) -> Any:
        """The pieces as they are now, untouched by later changes."""
        if isinstance(self.store, Store):
            return super().reader(snapshot)
        return self.store.reader()

    def fit(self, reader: Reader) -> Reader:
        """The reader with vectors of the embedder fitted to all its pieces."""
        pieces = reader.stored_rows(range(len(reader)), BLOBS).values()
        whole: list[Record] = []
        sizes: list[int] = []
        texts: list[str] = []
        # Windows go over the pieces of a document.
        for _, of_one in groupby(pieces, key=lambda piece: piece.row.chunk.doc_id):
            rows = list(of_one)
            record, of_rows = unpack([row.blobs for row in rows])
            whole.append(record)
            sizes += of_rows.tolist()
            places = zip(record.starts.tolist(), record.ends.tolist(), strict=True)
            for row, size in zip(rows, of_rows.tolist(), strict=True):
                chunk = row.row.chunk
                for start, end in islice(places, size):
                    texts.append(chunk.text[start - chunk.start : end - chunk.start])
        fitted = self.embedder.fit([piece.row.chunk.text for piece in pieces])
        vectors = np.asarray(fitted.embed(texts), dtype=np.float32)
        whole = with_vectors_of_all(whole, vectors)
        dense = {}
        arrays: dict[str, Any] = {"firsts": running_totals(sizes)}
        if whole:
            arrays["sums"] = np.concatenate([one.sums for one in whole])
            arrays["lengths"] = np.concatenate([one.lengths for one in whole])
            summed = np.add.reduceat(
                np.concatenate([*map(vectors_of, whole)]), arrays["firsts"][:-1], axis=0
            )
            dense[VIEW] = DenseIndex.from_vectors(
                summed, dtype=reader.settings.dtype, view=VIEW
            )
        return Reader(
            reader.snapshot,
            reader.level,
            fitted=dense,
            fitted_embedder=fitted,
            fitted_arrays=arrays,
        )

    def whole(self, reader: Any, doc_id: str) -> Pool | None:
        """All pieces of a document; None without any. Raises UnknownDocument if unknown."""
        return _pool_of(reader, _with_beside(reader, reader.rows_of(doc_id)), None)

    def part(
        self, name: str, doc_id: str, start: int, end: int, text: str
    ) -> Entry | None:
        """What stands between two places of a document, as a document of its own. None unless it
        is this text, of whole atoms."""
        reader = self.store.reader()
        try:
            rows = reader.rows_of(doc_id)
        except UnknownDocument:
            return None
        stored = reader.stored_rows(rows, ())
        touched = [
            row
            for row, of_row in stored.items()
            if of_row.row.chunk.start < end and start < of_row.row.chunk.end
        ]
        if not touched:
            return None
        found = [*_with_beside(reader, touched).values()]
        whole = documents_of(of_row.row.chunk for of_row in found)[doc_id]
        if whole.text[start:end] != text:
            return None
        return entry_of_part(name, whole, found, start, end)

    def all_of(self, reader: Any, where: Any) -> Pool | None:
        """All pieces that meet a condition; None without any."""
        sample = self._sample(reader, where)
        rows = reader.first_rows(reader.select(where), sample.n_rows)
        return _pool_of(reader, _with_beside(reader, rows), sample)

    def near(self, reader: Any, rows: Iterable[int], where: Any) -> Pool | None:
        """Some pieces that meet a condition, those beside them, and a sample of all."""
        sample, chosen = self._sample(reader, where), dict.fromkeys(rows)
        if len(chosen) < min(FOUND, sample.n_rows):
            # What no search finds: there is room for it.
            chosen |= dict.fromkeys(reader.first_rows(reader.select(where), FOUND))
        return _pool_of(reader, _with_beside(reader, [*chosen][:FOUND]), sample)

    def _sample(self, reader: Any, where: Any) -> _Sample:
        """Pieces at even distances among those that meet a condition."""
        key = repr(where) if where is None or isinstance(where, Mapping) else ""
        if self._samples[0] is not reader:
            self._samples = reader, {}
        samples = self._samples[1]
        sample = samples.get(key)
        if sample is None:
            n_rows, chosen = reader.sampled_rows(reader.select(where), SAMPLED)
            pieces = _with_beside(reader, chosen)
            sample = _Sample(n_rows, frozenset(chosen), pieces)
            if key:
                samples[key] = sample
            if len(samples) > _SAMPLES:
                samples.pop(next(iter(samples)), None)
        return sample


@dataclass(frozen=True, slots=True)
class _Sample:
    """What is usual among the pieces that meet a condition."""

    n_rows: int  # that meet it
    rows: frozenset[int]
    pieces: Mapping[int, StoredRow]  # by row, with those beside


def _with_beside(reader: Any, rows: Iterable[int]) -> dict[int, StoredRow]:
    """The pieces at some rows, and those before and behind each in its document, by row.

    Raises IndexDamaged where one is missing that must be there.
    """
    chosen = set(rows)
    beside = {row + step for row in chosen for step in (-1, 1)} - chosen
    found = reader.stored_rows(sorted(chosen | beside), BLOBS)
    pieces: dict[int, StoredRow] = {}
    for row in chosen:
        number, count = found[row].row.chunk.extras["piece"] if row in found else (1, 0)
        expected = range(row - (number > 0), row + (number + 1 < count) + 1)
        if not all(one in found for one in expected):
            near = (found[one].row.chunk.doc_id for one in expected if one in found)
            raise IndexDamaged(
                f"The store has lost a row of an index, {row}, or one beside it: another program "
                "has removed it. Restore the store from a copy, or delete the document and add it "
                f"again{''.join(f': {doc_id!r}' for doc_id in dict.fromkeys(near))}."
            )
        pieces |= {one: found[one] for one in expected}
    return dict(sorted(pieces.items()))


def _pool_of(
    reader: Any, pieces: Mapping[int, StoredRow], sample: _Sample | None
) -> Pool | None:
    """Pieces that may be found, as a pool with those of the sample; None without any."""
    if not pieces:
        return None
    if sample is None:
        return Pool(pieces, pieces, pieces)
    return Pool(
        dict(sorted({**sample.pieces, **pieces}.items())),
        pieces,
        sample.rows,
        getattr(reader, "fitted_arrays", {}),
        is_all=len(pieces) == sample.n_rows,
    )
