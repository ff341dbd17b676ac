"""Pieces for the benchmark of evidence at scale: real ones, and as many more made from them."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import hiqa_boards, quality
from benchmarks.question_sets import Dataset, load_or_exit, visible
from structrag import EvidenceRetriever
from structrag.index.engine_rows import CHUNK, first_id, key_of
from structrag.index.entries import Entry, StoredRow, Vectors
from structrag.index.lance import CHUNKS
from structrag.index.snapshot import Reader
from structrag.index.store import Store
from structrag.model_calls.requests import TokenVectors
from structrag.records import Chunk, Document
from structrag.retrieval.evidence.atom_arrays import (
    BLOBS,
    AtomArrays,
    Packed,
    pack,
    unpack,
)
from structrag.retrieval.evidence.pool import TOKENS, VIEW
from structrag.retrieval.evidence.quantised import unit_rows
from structrag.text.arrays import running_totals
from structrag.text.terms import stem_keys, stems

KEPT = quality.RESULTS / "cache" / "evidence_scale"
# Set -> documents, at even distances; None: all.
SETS = {
    "qasper": None,
    "nq": None,
    "chroma": None,
    "covid_qa": None,
    "hotpotqa": None,
    "qmsum": 12,
    "cuad": 30,
    "boards": 300,
}
# Those whose documents are copied: manuals and contracts are near copies as they are.
COPIED = ("qasper/", "nq/", "chroma/", "covid_qa/", "hotpotqa/", "qmsum/")
QUESTIONS = 30  # of each set
ROWS = 12_000  # of LanceDB's table that are written together
CHANGED = 0.5  # of the words of a made piece, and of its tokens
TURNED = 0.75  # times another piece's vector is added to a made one's
COMMON = 200  # words that are never changed
NEAR = 40  # places in the order of frequency that another word is away, at most
_WORD = re.compile(r"(?<![\w'’-])[a-z]{4,}(?![\w'’-])")

Array = NDArray[Any]


class KeptQuestions:
    """The encoder as far as questions go, whose vectors are in a file: a process that only asks
    needs no model."""

    def __init__(self, path: Path) -> None:
        self.name, self.max_tokens, self._vectors = pickle.loads(path.read_bytes())

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        return [self._vectors[text] for text in texts]

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Array:
        return np.stack([self._vectors[text].vector for text in texts])


def sampled(name: str) -> Dataset:
    """Some documents of a set and questions about them, whose ids begin with the set's name."""
    whole = visible(load_or_exit(name))
    chosen = hiqa_boards.sample if name == "boards" else quality_sample
    of_set = chosen(whole, SETS[name])
    step = max(1, len(of_set.questions) // QUESTIONS)
    return Dataset(
        name,
        tuple(replace(one, id=f"{name}/{one.id}") for one in of_set.documents),
        tuple(
            replace(
                one, gold=tuple((f"{name}/{span[0]}", *span[1:]) for span in one.gold)
            )
            for one in of_set.questions[::step][:QUESTIONS]
        ),
    )


def quality_sample(whole: Dataset, documents: int | None) -> Dataset:
    """Documents at even distances, and all questions about them."""
    return quality.sampled(whole, documents, None)


def real_pieces() -> tuple[Path, Path, dict[str, Dataset]]:
    """The folder of an index of real documents, the file of the questions' vectors, and the sets.
    Made by all-MiniLM-L6-v2 in bfloat16 where they are not there yet."""
    sets = {name: sampled(name) for name in SETS}
    index, questions = KEPT / "real.index", KEPT / "questions.pickle"
    if not questions.is_file():
        KEPT.mkdir(parents=True, exist_ok=True)
        encoder = _encoder()
        retriever = EvidenceRetriever(encoder, store=index)
        for name, of_set in sets.items():
            print(name, retriever.add(of_set.documents), flush=True)
        asked = {one.question for of_set in sets.values() for one in of_set.questions}
        vectors = {text: encoder.embed_tokens([text], query=True)[0] for text in asked}
        kept = encoder.name, encoder.max_tokens, vectors
        questions.write_bytes(pickle.dumps(kept))
    return index, questions, sets


def _encoder() -> Any:
    import torch
    from sentence_transformers import SentenceTransformer

    from structrag.models.bundled import minilm_path
    from structrag.models.embedders import SentenceTransformerEmbedder

    torch.set_num_threads(1)
    model = SentenceTransformer(
        str(minilm_path()), device="cpu", model_kwargs={"dtype": torch.bfloat16}
    )
    return SentenceTransformerEmbedder(model, name="all-MiniLM-L6-v2, bfloat16")


# -- made pieces


class Pieces:
    """Made pieces: copies of the real documents of some sets.

    A copy has other words in place of half of their words, of the same length
    and about as frequent, in text, stems and all; half of the token vectors, and of the tokens, of
    other pieces; and to the vector of each piece and sentence three quarters of another one's are
    added. Each copy is changed in another way.

    Args:
        folder: Of the index of real ones.
    """

    def __init__(self, folder: Path) -> None:
        store = Store.load(folder)
        self.shared, self.config = dict(store.shared), dict(store.config)
        self.settings = store.settings
        self._folder, reader = folder, store.reader()
        self._documents = [
            (reader.stored(doc_id), reader.rows_of(doc_id))
            for doc_id in reader.document_ids
            if doc_id.startswith(COPIED)
        ]
        rows = range(self._documents[-1][1].stop)
        stored = [*reader.stored_rows(rows, BLOBS).values()]
        self._chunks = [one.row.chunk for one in stored]
        self._ids = [(one.row.texts[TOKENS] or "").split() for one in stored]
        self._record, self._atoms = unpack([_packed_row(one) for one in stored])
        self._vectors = _vectors(reader)[: len(rows)]
        self._words = _Words(self._chunks, self._record, self._atoms)

    def entries(self, n_pieces: int) -> Iterator[Entry]:
        """Made documents of so many pieces together, or a few more."""
        given = 0
        for number in count(1):
            for entry in self._copy(number):
                if given >= n_pieces:
                    return
                given += len(entry.chunks)
                yield entry

    def _copy(self, number: int) -> Iterator[Entry]:
        """The documents, changed in one way."""
        random = np.random.default_rng(number)
        mapped = self._words.shuffled(random)
        texts = self._words.texts(mapped)
        vectors, ids = self._vectors, self._ids
        vectors = vectors + TURNED * vectors[random.permutation(len(vectors))]
        others = random.permutation(len(ids)).tolist()
        ids = [
            own[: len(own) // 2] + ids[other][len(ids[other]) // 2 :]
            for own, other in zip(ids, others, strict=True)
        ]
        packed = _packed(self._changed(mapped, random), self._atoms)
        name = f"copy {number}/"
        for stored, rows in self._documents:
            if not rows:
                continue
            document = Document(
                "", **{**stored.record, "id": name + stored.record["id"]}
            )
            chunks = tuple(
                replace(
                    self._chunks[row],
                    id=name + self._chunks[row].id,
                    doc_id=document.id,
                    section_id=name + self._chunks[row].section_id,
                    text=texts[row],
                )
                for row in rows
            )
            views: dict[str, tuple[str | None, ...]] = {
                VIEW: tuple(chunk.text for chunk in chunks),
                TOKENS: tuple(" ".join(dict.fromkeys(ids[row])) for row in rows),
            }
            own = Vectors(vectors[rows.start : rows.stop], np.arange(len(rows)))
            blobs = zip(
                BLOBS, zip(*packed[rows.start : rows.stop], strict=True), strict=True
            )
            yield Entry(
                document,
                stored.fingerprint,
                chunks,
                views,
                {VIEW: own},
                blobs=dict(blobs),
            )

    def _changed(self, mapped: Array, random: np.random.Generator) -> AtomArrays:
        """The arrays of all atoms with the stems of other words, and turned vectors."""
        record = self._record
        rows, scales = record.token_rows.copy(), record.token_scales.copy()
        places = np.flatnonzero(random.random(len(rows)) < CHANGED)
        others = random.integers(0, len(rows), len(places))
        rows[places], scales[places] = (
            record.token_rows[others],
            record.token_scales[others],
        )
        sums = record.sums[random.permutation(len(record))] * np.float32(TURNED)
        sums += record.sums
        largest = np.abs(sums).max(axis=1, keepdims=True, initial=0)
        sums *= 127 / np.maximum(1, largest)
        return replace(
            record,
            token_rows=rows,
            token_scales=scales,
            sums=sums.astype(np.int8),
            **self._words.stems(mapped),
        )


def real_entries(folder: Path) -> Iterator[Entry]:
    """The documents of an index, as they were put."""
    reader = Store.load(folder).reader()
    vectors = _vectors(reader)
    for doc_id in reader.document_ids:
        rows = reader.rows_of(doc_id)
        stored = [*reader.stored_rows(rows, BLOBS).values()]
        packed = [_packed_row(one) for one in stored]
        own = Vectors(vectors[rows.start : rows.stop], np.arange(len(rows)))
        yield Entry(
            reader.document(doc_id),
            reader.stored(doc_id).fingerprint,
            tuple(one.row.chunk for one in stored),
            {
                view: tuple(one.row.texts[view] for one in stored)
                for view in reader.views
            },
            {VIEW: own} if stored else {},
            blobs=dict(zip(BLOBS, zip(*packed, strict=True), strict=True))
            if stored
            else {},
        )


def repeat(place: str, n_pieces: int) -> None:
    """Write rows of LanceDB's table once more until there are so many pieces: under other ids, in
    documents of other names, with vectors turned again and half of the terms of other pieces."""
    import lancedb
    import pyarrow as pa

    table = lancedb.connect(place).open_table(CHUNKS)
    missing = n_pieces - table.count_rows(f"kind = {CHUNK}")
    ids = np.sort(table.search().select(["id"]).to_arrow()["id"].to_numpy())
    later = first_id(key_of(int(ids[-1])) + 1)
    random = np.random.default_rng(0)
    first = 0
    while missing > 0 and first < len(ids):
        bounds = ids[first], ids[min(first + ROWS, len(ids)) - 1]
        rows = (
            table.search().where(f"id >= {bounds[0]} AND id <= {bounds[1]}").to_arrow()
        )
        others = random.permutation(len(rows)).tolist()
        missing -= rows["kind"].to_pylist().count(CHUNK)
        columns = []
        for column in rows.schema:
            values = rows[column.name].combine_chunks()
            if column.name == "id":
                values = pa.array(values.to_numpy() + later)
            elif column.name in ("document", "chunk", "record"):
                values = pa.array(
                    [_renamed(one) for one in values.to_pylist()], column.type
                )
            elif column.name.startswith("terms"):
                terms = [one and one.split() for one in values.to_pylist()]
                pairs = zip(terms, [terms[other] for other in others], strict=True)
                values = pa.array([_mixed(*pair) for pair in pairs], column.type)
            elif column.name.startswith("vector"):
                width, are_missing = column.type.list_size, values.is_null()
                vectors = np.nan_to_num(values.values.to_numpy().reshape(-1, width))
                vectors = unit_rows(vectors + np.float32(TURNED) * vectors[others])
                values = pa.FixedSizeListArray.from_arrays(
                    pa.array(vectors.ravel()), width, mask=are_missing
                ).cast(column.type)
            columns.append(values)
        table.add(pa.Table.from_arrays(columns, schema=rows.schema))
        first += ROWS


def _mixed(own: list[str] | None, other: list[str] | None) -> str | None:
    """Half of the terms of each of two pieces; None where the first has none."""
    return None if own is None else " ".join(own[::2] + (other or [])[1::2])


def _renamed(name: str | bytes | None) -> str | bytes | None:
    """An id, or a record with ids, of a document of another name."""
    if isinstance(name, bytes):
        return name.replace(b"copy ", b"repeated copy ")
    return name and name.replace("copy ", "repeated copy ")


def _packed_row(stored: StoredRow) -> Packed:
    light, codes = map(bytes, stored.blobs)
    return light, codes


def _vectors(reader: Reader) -> Array:
    """The vectors of all pieces, each of which has one."""
    place = {
        part.place.offset: part.table.matrix.all() for part in reader.dense(VIEW).parts
    }
    return np.concatenate([place[offset] for offset in sorted(place)])


def _packed(record: AtomArrays, atoms: Array) -> list[Packed]:
    """All pieces as they are kept, given how many atoms each has."""
    firsts = running_totals(atoms)
    stems, tokens = (
        running_totals(record.stem_sizes),
        running_totals(record.token_sizes),
    )
    # Runs of one section in a piece have titles.
    begins = np.diff(record.sections, prepend=-1) != 0
    begins[firsts[:-1]] = True
    runs = np.append(running_totals(begins), 0)
    titles = running_totals(record.title_sizes)
    of_atoms = {field.name for field in fields(AtomArrays)} - _OTHERS.keys()
    packed = []
    for first, stop in pairwise(firsts.tolist()):
        low, high = int(runs[first]), int(runs[stop])
        bounds = {
            "stems": slice(stems[first], stems[stop]),
            "tokens": slice(tokens[first], tokens[stop]),
            "runs": slice(low, high),
            "titles": slice(titles[low], titles[high]),
        }
        parts = dict.fromkeys(of_atoms, slice(first, stop))
        parts |= {name: bounds[kind] for name, kind in _OTHERS.items()}
        packed.append(
            pack(
                AtomArrays(
                    **{
                        name: getattr(record, name)[part]
                        for name, part in parts.items()
                    }
                )
            )
        )
    return packed


# Arrays that are not by atom.
_OTHERS = {
    "stem_keys": "stems",
    "stem_counts": "stems",
    "token_scales": "tokens",
    "token_rows": "tokens",
    "title_sizes": "runs",
    "title_keys": "titles",
}


class _Words:
    """The words of pieces, some of which may be changed for others of their length."""

    def __init__(
        self, chunks: Sequence[Chunk], record: AtomArrays, atoms: Array
    ) -> None:
        self._record = record
        self._between: list[list[str]] = []  # of each piece, what is around its words
        words: list[str] = []
        places: list[int] = []
        sizes: list[int] = []
        documents = {chunk.doc_id: number for number, chunk in enumerate(chunks)}
        for chunk in chunks:
            end, between = 0, []
            for match in _WORD.finditer(chunk.text):
                between.append(chunk.text[end : match.start()])
                end = match.end()
                words.append(match.group())
                places.append(
                    documents[chunk.doc_id] << 32 | chunk.start + match.start()
                )
            sizes.append(len(between))
            self._between.append([*between, chunk.text[end:]])
        self._firsts = running_totals(sizes)
        self._names, self._numbers, counts = np.unique(
            np.array(words), return_inverse=True, return_counts=True
        )
        # The atom of each word.
        owners = np.repeat([documents[chunk.doc_id] for chunk in chunks], atoms) << 32
        at = np.array(places)
        self._atoms = np.searchsorted(owners + record.starts, at, "right") - 1
        inside = at < (owners + record.ends)[self._atoms]
        of_names = [stems(word) for word in self._names.tolist()]
        is_plain = np.array([len(one) == 1 for one in of_names])
        is_plain[np.unique(self._numbers[~inside])] = False
        is_plain[np.argsort(-counts)[:COMMON]] = False
        keys = stem_keys([one[0] if len(one) == 1 else "" for one in of_names])
        self._keys, numbers = np.unique(
            np.concatenate([keys, record.stem_keys]), return_inverse=True
        )
        self._stem_of, self._stems = numbers[: len(keys)], numbers[len(keys) :]
        lengths = np.char.str_len(self._names)
        order = np.lexsort((-counts, lengths))
        self._order = order[is_plain[order]]  # by length, frequent ones first
        self._lengths = lengths[self._order]

    def shuffled(self, random: np.random.Generator) -> Array:
        """For each word the one that stands for it."""
        mapped = np.arange(len(self._names))
        is_chosen = random.random(len(self._order)) < CHANGED
        chosen, lengths = self._order[is_chosen], self._lengths[is_chosen]
        # One up to NEAR places away among those of its length.
        near = np.arange(len(chosen)) + random.integers(0, NEAR, len(chosen))
        mapped[chosen] = chosen[np.lexsort((near, lengths))]
        return mapped

    def texts(self, mapped: Array) -> list[str]:
        """The texts of all pieces with other words."""
        words = self._names[mapped[self._numbers]].tolist()
        texts = []
        for between, first in zip(self._between, self._firsts.tolist(), strict=False):
            parts = [""] * (2 * len(between) - 1)
            parts[::2] = between
            parts[1::2] = words[first : first + len(between) - 1]
            texts.append("".join(parts))
        return texts

    def stems(self, mapped: Array) -> dict[str, Array]:
        """The stems of all atoms with other words."""
        record, n_stems = self._record, len(self._keys)
        changed = np.flatnonzero(mapped[self._numbers] != self._numbers)
        atoms, numbers = self._atoms[changed], self._numbers[changed]
        places = np.concatenate(
            [
                np.repeat(np.arange(len(record)), record.stem_sizes) * n_stems
                + self._stems,
                atoms * n_stems + self._stem_of[numbers],
                atoms * n_stems + self._stem_of[mapped[numbers]],
            ]
        )
        ones = np.ones(len(changed), dtype=np.int32)
        places, of_places = np.unique(places, return_inverse=True)
        totals = np.bincount(
            of_places, np.concatenate([record.stem_counts, -ones, ones])
        )
        places, totals = places[totals > 0], totals[totals > 0]
        sizes = np.bincount(places // n_stems, minlength=len(record))
        return {
            "stem_sizes": sizes.astype(np.int32),
            "stem_keys": self._keys[places % n_stems],
            "stem_counts": totals.astype(np.int32),
        }
