"""Small indexes, and everything that their users can see of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from doubles import HashEmbedder

from structrag.index import store
from structrag.index.index import Index
from structrag.reading.files import read_text
from structrag.records import Document

WORDS = (  # noqa: SIM905
    "pump valve filter meter pulse water house wire night value clean month steel bridge engine "
    "train paper crane river oslo"
).split()
QUERIES = (
    "pump valve",
    "clean the filter",
    "engine of the train",
    "oslo river paper",
    "nothing",
)
ROUTES = ("dense", "bm25")
PLACES = 6  # of a score that must be equal; products of other shapes round otherwise


@contextmanager
def small_segments(rng: Random) -> Iterator[None]:
    """Half the time, let a few documents do what else a hundred thousand do. They fill the buffer,
    go to files and are joined in the background."""
    limits = {"BUFFER_BYTES": 2_000, "FAN": 3, "INLINE_ROWS": 4, "LARGEST_ROWS": 200}
    before = {name: getattr(store, name) for name in limits}
    if rng.random() < 0.5:
        for name, limit in limits.items():
            setattr(store, name, limit)
    try:
        yield
    finally:
        for name, limit in before.items():
            setattr(store, name, limit)


def document(number: int, version: int = 0, *, words: int = 40) -> Document:
    """A document of two sections whose words follow from its number and version."""
    rng = Random(f"document {number} {version}")
    prose = [" ".join(rng.choices(WORDS, k=words)) for _ in range(2)]
    text = f"# Item {number}\n\n{prose[0]}.\n\n## Part {version}\n\n{prose[1]}.\n"
    return read_text(text, id=f"d{number}", format="markdown", meta={"number": number})


def documents(
    numbers: Iterable[int], version: int = 0, *, words: int = 40
) -> list[Document]:
    return [document(number, version, words=words) for number in numbers]


def index_of(
    contents: Sequence[Document] = (),
    *,
    lsa: bool = False,
    dimensions: int = 16,
    **options: Any,
) -> Index:
    """An index of these documents, with hashed words as vectors or LSA."""
    embedder = None if lsa else HashEmbedder(dimensions)
    index = Index(embedder=embedder, **options)
    if contents:
        index.add(contents)
    return index


def load(
    path: Any, *, lsa: bool = False, dimensions: int = 16, **options: Any
) -> Index:
    """Open what `index_of` made and `save` wrote."""
    return Index.load(
        path, embedder=None if lsa else HashEmbedder(dimensions), **options
    )


def answers(index: Index, queries: Sequence[str] = QUERIES) -> list[Any]:
    """All chunks, texts of views, and the answers of every view and route."""
    chunks = [
        (
            c.id,
            c.text,
            c.context,
            c.path,
            c.kind,
            c.n_tokens,
            c.body_start,
            dict(c.extras),
        )
        for c in index.chunks()
    ]
    texts = [
        [index.store.reader().view_text(row, view) for view in index.views]
        for row in range(len(index))
    ]
    facts = [
        (
            name,
            index.store.stored(name).fingerprint,
            index.store.stored(name).degraded,
            index.store.document(name),
        )
        for name in index.document_ids
    ]
    return [chunks, texts, facts, *searches(index, queries)]


def searches(index: Index, queries: Sequence[str] = QUERIES) -> list[Any]:
    """The answers of every view and route, each also for one document alone."""
    found: list[Any] = []
    conditions: list[Any] = [None]
    if index.document_ids:
        conditions.append({"doc_id": index.document_ids[0]})
    for view in index.views:
        for route in ROUTES:
            for query in queries:
                for where in conditions:
                    hits = index.search(query, 100, view=view, route=route, where=where)
                    found.append(ranking(hits))
    return found


def ranking(hits: Sequence[Any]) -> list[Any]:
    """Chunks with rounded scores; chunks of one score by their id."""
    return sorted(
        (-round(hit.score, PLACES), hit.chunk.id, hit.chunk.text) for hit in hits
    )
