"""The pieces of documents as rows of a store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.citations import text_digest
from structrag.index.entries import Entry, StoredRow, Vectors
from structrag.reading.outline import Outline
from structrag.records import Chunk, Document, SourceMap, chunk_id
from structrag.retrieval.evidence.atom_arrays import (
    BLOBS,
    AtomArrays,
    EncoderSpans,
    cut_pieces,
    pack,
    part_of,
    unpack,
    vectors_of,
)
from structrag.retrieval.evidence.required_context import RequiredContext

VIEW, TOKENS = "raw", "tokens"  # stems of a piece, and the encoder's tokens in it
MISSING = "\0"  # for each character that was not read
_BLANKS = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as far as its pieces were read.

    Its text has zero characters where nothing was.
    """

    id: str
    title: str
    digest: str  # of its whole text, for citations
    text: str
    # Its sections by ordinal: where the body begins, and the path.
    sections: Mapping[int, tuple[int, tuple[str, ...]]]
    encoder_spans: Sequence[tuple[int, int]]  # spans that an encoder reads at once
    required: NDArray[np.int64]  # (n, 4) of its tables and lists: see `RequiredContext`
    source: SourceMap | None  # places of its text in markup


# -- documents as entries


def entry_of(
    outline: Outline,
    required: Sequence[RequiredContext],
    atoms: AtomArrays,
    encoder_spans: EncoderSpans,
    token_texts: Sequence[str] | None,
    fingerprint: str,
) -> Entry:
    """A document as the store takes it in: a chunk for each piece.

    `token_texts` are the tokens of each piece as words; None: there is no encoder of tokens.
    """
    pieces = dict(cut_pieces(atoms, encoder_spans))
    equal: Counter[str] = Counter()
    digest = text_digest(outline.document.text)
    chunks = []
    for number, piece in enumerate(pieces.values()):
        chunk = _chunk(outline, required, piece, (number, len(pieces)), digest)
        equal[chunk.id] += 1
        name = chunk_id(chunk.doc_id, chunk.path, chunk.text, equal[chunk.id])
        chunks.append(replace(chunk, id=name))
    views: dict[str, Any] = {}
    if token_texts is not None:
        views[TOKENS] = tuple(token_texts)
    bare = replace(outline.document, text="", layout=None)
    return _entry(bare, fingerprint, chunks, views, [*pieces.values()])


def entry_of_part(
    name: str, whole: StoredDocument, rows: Sequence[StoredRow], start: int, end: int
) -> Entry | None:
    """Make a document of its own from a span of another; None if the span cuts an atom. `rows` are
    the pieces of `whole`."""
    atoms, sizes = unpack([stored.blobs for stored in rows])
    first = int(np.searchsorted(atoms.ends, start, "right"))
    stop = int(np.searchsorted(atoms.starts, end, "left"))
    if first >= stop:
        return None
    outside = slice(atoms.starts[first], start), slice(end, atoms.ends[stop - 1])
    if any(whole.text[of].strip() for of in outside):
        return None
    pieces = dict(cut_pieces(part_of(atoms, sizes, first, stop), whole.encoder_spans))
    chunk_rows = [rows[number].row for number in pieces]
    chunks = []
    for number, (row, piece) in enumerate(
        zip(chunk_rows, pieces.values(), strict=True)
    ):
        first, stop = _span(piece, whole.text)
        chunks.append(
            replace(
                row.chunk,
                id=f"{name}:{first}-{stop}",
                doc_id=name,
                start=first,
                end=stop,
                text=whole.text[first:stop],
                extras={**row.chunk.extras, "piece": (number, len(pieces))},
            )
        )
    views = {
        view: tuple(row.texts[view] for row in chunk_rows)
        for view in chunk_rows[0].texts
    }
    document = Document("", id=name, title=whole.title)
    return _entry(document, "", chunks, views, [*pieces.values()])


def _entry(
    document: Document,
    fingerprint: str,
    chunks: Sequence[Chunk],
    views: Mapping[str, Any],
    pieces: Sequence[AtomArrays],
) -> Entry:
    vectors = {}
    if chunks and pieces[0].sums.shape[1]:
        sums = np.stack([vectors_of(piece).sum(axis=0) for piece in pieces])
        vectors[VIEW] = Vectors(sums, np.arange(len(chunks), dtype=np.int32))
    return Entry(
        document,
        fingerprint,
        tuple(chunks),
        {**views, VIEW: tuple(chunk.text for chunk in chunks)},
        vectors,
        blobs=dict(zip(BLOBS, zip(*map(pack, pieces), strict=True), strict=False)),
    )


def _span(piece: AtomArrays, text: str) -> tuple[int, int]:
    """The span of a piece, with the blanks behind it, which are in no atom."""
    start, end = piece.span(0, len(piece))
    blanks = _BLANKS.match(text, end)
    return start, blanks.end() if blanks else end


def _chunk(
    outline: Outline,
    required: Iterable[RequiredContext],
    piece: AtomArrays,
    place: tuple[int, int],
    digest: str,
) -> Chunk:
    """A piece with what is to be known of its document where only this is read."""
    document = outline.document
    start, end = _span(piece, document.text)
    ordinals = np.unique(piece.sections).tolist()
    sections = [outline.sections[ordinal] for ordinal in ordinals]
    extras: dict[str, Any] = {
        "piece": place,
        "title": document.title,
        "digest": digest,
        "sections": [[one.ordinal, one.body_start, one.path] for one in sections],
        "required": [
            [*one, document.text[one.start : one.end]]
            for one in required
            if one.first < end and start < one.stop
        ],
    }
    if document.layout is not None:
        extras["source"] = _runs(document.layout.source_map, start, end)
    return Chunk(
        id=chunk_id(document.id, sections[0].path, document.text[start:end]),
        doc_id=document.id,
        section_id=f"{document.id}#{ordinals[0]}",
        start=start,
        end=end,
        text=document.text[start:end],
        n_tokens=int(piece.tokens.sum()),
        path=sections[0].path,
        extras=extras,
    )


def _runs(source: SourceMap, start: int, end: int) -> list[tuple[int, int, bool]]:
    """The runs of a source map that a span touches."""
    first, stop = np.searchsorted(source.text_starts, (start, end), "right").tolist()
    runs = slice(max(0, first - 1), stop)
    return list(
        zip(
            source.text_starts[runs],
            source.source_starts[runs],
            source.exact[runs],
            strict=True,
        )
    )


def documents_of(chunks: Iterable[Chunk]) -> dict[str, StoredDocument]:
    """Put together the documents of some pieces, by id."""
    by_id: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_id.setdefault(chunk.doc_id, []).append(chunk)
    return {doc_id: _document(pieces) for doc_id, pieces in by_id.items()}


def _document(pieces: Sequence[Chunk]) -> StoredDocument:
    texts = [(chunk.start, chunk.text) for chunk in pieces]
    sections: dict[int, tuple[int, tuple[str, ...]]] = {}
    required: dict[tuple[int, ...], None] = {}
    runs: dict[tuple[int, int, bool], None] = {}
    for chunk in pieces:
        for ordinal, body_start, path in chunk.extras["sections"]:
            sections[ordinal] = body_start, tuple(path)
        for *context, text in chunk.extras["required"]:
            required[tuple(context)] = None
            texts.append((context[2], text))
        runs |= dict.fromkeys(map(tuple, chunk.extras.get("source", ())))
    return StoredDocument(
        pieces[0].doc_id,
        pieces[0].extras["title"],
        pieces[0].extras["digest"],
        _text_of(texts),
        sections,
        [(chunk.start, chunk.end) for chunk in pieces],
        np.array([*required], dtype=np.int64).reshape(-1, 4),
        SourceMap(*zip(*sorted(runs), strict=True)) if runs else None,
    )


def _text_of(spans: Iterable[tuple[int, str]]) -> str:
    """A text of which some slices are known, up to the last of them."""
    parts, end = [], 0
    for start, text in sorted(spans):
        if start > end:
            parts.append(MISSING * (start - end))
            end = start
        parts.append(text[end - start :])
        end = max(end, start + len(text))
    return "".join(parts)
