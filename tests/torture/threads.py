"""Threads and tasks that search while documents come and go: every answer fits some state."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from doubles import HashEmbedder, HostStore

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.index.entries import Entry
from structrag.index.index import Index
from structrag.model_calls.requests import Ranking, Search
from structrag.models.embedders import FunctionEmbedder
from structrag.reading.files import read_text
from structrag.records import Document, Hit
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.multiview import MultiViewRetriever
from torture.indexes import WORDS, document, small_segments
from torture.promise import Promise, random_of

STABLE = 4  # documents that never change, and are found at any moment
COMING = 5  # ids under which documents come and go
SEARCHERS = (3, 16)
ROUNDING = 1e-5
TURNS = 12  # changes that a writer makes
SEARCHES = 8  # at least, of each searcher


class LockedHost(HostStore):
    """The double of a host's store, safe for threads as those of hosts are."""

    def __init__(self, *, wants_vectors: bool) -> None:
        super().__init__(wants_vectors=wants_vectors)
        self.lock = threading.RLock()

    def put(self, entry: Entry) -> None:
        with self.lock:
            super().put(entry)

    def delete(self, doc_id: str, entry_keys: Sequence[tuple[str, str]]) -> None:
        with self.lock:
            super().delete(doc_id, entry_keys)

    def search(self, request: Search) -> Ranking:
        with self.lock:
            ranking = super().search(replace(request, n=10_000))
        doc_id = (request.where or {}).get("doc_id")
        matching = [
            (key, score)
            for key, score in ranking
            if doc_id is None or key.startswith(f"{doc_id}:")
        ]
        return matching[: request.n]


def lengths(texts: Sequence[str]) -> Any:
    """Vectors of letters: an embedder as users write them."""
    return [[1.0 + text.count(letter) for letter in "aeioust"] for text in texts]


def _static() -> Any:
    from static_making import static_of_rows, words

    vocabulary = ["[UNK]", *WORDS]
    rows = np.random.default_rng(1).normal(size=(len(vocabulary), 8)).astype(np.float32)
    return static_of_rows(rows, words(vocabulary), "words")


EMBEDDERS: tuple[Callable[[], dict[str, Any]], ...] = (
    dict,  # LSA, fitted anew whenever documents change
    dict,
    lambda: {"embedder": HashEmbedder(16)},
    lambda: {"embedder": FunctionEmbedder(lengths, name="lengths")},
    lambda: {"embedder": HashEmbedder(), "dense_store": LockedHost(wants_vectors=True)},
    lambda: {
        "embedder": HashEmbedder(),
        "dense_store": LockedHost(wants_vectors=False),
    },
    lambda: {"embedder": _static()},
)


def _stable(number: int) -> Document:
    """A document with a word that no other has."""
    text = f"# Stable {number}\n\nThe stable{number} stands here; pump and valve too.\n"
    return read_text(text, id=f"stable{number}", format="markdown")


def _coming(number: int, version: int) -> Document:
    return document(number, version, words=12)


class States:
    """Every chunk that any state of the index may have, and how it is checked."""

    def __init__(self, splitter: Any) -> None:
        self.versions: dict[str, set[tuple[str, int]]] = {}
        documents = [_stable(number) for number in range(STABLE)]
        documents += [_coming(n, v) for n in range(COMING) for v in range(TURNS)]
        for i, one in enumerate(documents):
            for chunk in splitter.split(one):
                self.versions.setdefault(f"{chunk.id} {chunk.text}", set()).add(
                    (one.id, i)
                )

    def check(self, hits: Sequence[Hit], k: int) -> None:
        """Hits are of states that were, ranked, and of one version a document."""
        assert len(hits) <= k, "more hits than asked for"
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1)), (
            "ranks have gaps"
        )
        # Scores that differ by rounding alone are taken for equal, and ordered by row.
        ranked = all(a.score >= b.score - ROUNDING for a, b in pairwise(hits))
        assert ranked, f"scores are not in order: {[hit.score for hit in hits]}"
        assert len({hit.chunk.id for hit in hits}) == len(hits), "a chunk twice"
        version: dict[str, set[int]] = {}
        for hit in hits:
            key = f"{hit.chunk.id} {hit.chunk.text}"
            assert key in self.versions, f"no document ever had {hit.chunk.text[:40]!r}"
            possible = {i for _, i in self.versions[key]}
            both = version.setdefault(hit.chunk.doc_id, possible) & possible
            assert both, f"two versions of {hit.chunk.doc_id} in one answer"
            version[hit.chunk.doc_id] = both


Change = tuple[str, int, int]  # "add" or "delete", number, version


def _changes(rng: Random, writer: int) -> list[Change]:
    """What a writer does; each has ids of its own, so that the last state is certain."""
    changes: list[Change] = []
    for version in range(TURNS):
        number = rng.randrange(writer, COMING, 2)
        changes.append((rng.choice(("add", "add", "add", "delete")), number, version))
    return changes


def _last(writers: Sequence[Sequence[Change]]) -> dict[str, Document]:
    last: dict[str, Document] = {f"stable{n}": _stable(n) for n in range(STABLE)}
    for changes in writers:
        for what, number, version in changes:
            if what == "add":
                last[f"d{number}"] = _coming(number, version)
            else:
                last.pop(f"d{number}", None)
    return last


def _queries(rng: Random, multiview: Any, hiqa: Any, index: Index) -> list[Any]:
    """Searches as (retriever or None, query, options, the document that must be first)."""
    stable = rng.randrange(STABLE)
    view = rng.choice(index.views)
    route = rng.choice(("dense", "bm25"))
    return [
        (index, rng.choice(WORDS), {"k": 50, "view": view, "route": route}, None),
        (index, f"stable{stable}", {"k": 3, "route": "bm25"}, f"stable{stable}"),
        (
            index,
            "pump",
            {"k": 50, "where": {"doc_id": f"stable{stable}"}},
            f"stable{stable}",
        ),
        (multiview, f"pump stable{stable}", {"k": 20}, None),
        (hiqa, f"valve stable{stable}", {"k": 20}, None),
    ]


def _checked(
    states: States, hits: Sequence[Hit], options: Any, first: str | None
) -> None:
    states.check(hits, options["k"])
    assert first is None or (hits and hits[0].chunk.doc_id == first), (
        f"{first} was not found"
    )


def _check_end(
    index: Index, options: dict[str, Any], last: dict[str, Document]
) -> None:
    """When all is done the index is that of the last versions."""
    assert set(index.document_ids) == set(last), (
        "documents are missing, or there are too many"
    )
    for name, one in last.items():
        assert "".join(chunk.text for chunk in index.chunks(name)) == one.text
    fresh = Index(views=index.views, **options)
    fresh.add([last[name] for name in index.document_ids])
    for route in ("dense", "bm25"):
        for query in ("pump valve", "stable2"):
            # Equal scores are ordered by row, which follows from the order of adding.
            ours, theirs = (
                sorted(
                    (-round(hit.score, 4), hit.chunk.id)
                    for hit in i.search(query, 99, route=route)
                )
                for i in (index, fresh)
            )
            assert ours == theirs, f"another answer by {route} than that of a new index"


def check_threads(rng: Random, make: Callable[[], dict[str, Any]]) -> None:
    """Writers and searchers in threads."""
    index = Index(views=("raw", "keywords"), **make())
    states = States(ContentAwareSplitter())
    index.add([_stable(number) for number in range(STABLE)])
    retrievers = MultiViewRetriever(index), HiQARetriever(index)
    searching = rng.choice(SEARCHERS)
    plans = [_changes(rng, writer) for writer in range(2 if searching < 16 else 1)]
    done = threading.Event()
    errors: list[BaseException] = []

    def guarded(work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException as error:
            errors.append(error)
            done.set()

    def write(changes: Sequence[Change]) -> None:
        for what, number, version in changes:
            if what == "add":
                index.add([_coming(number, version)])
            else:
                index.delete(f"d{number}")

    def search(seed: float) -> None:
        own = Random(seed)
        count = 0
        while count < SEARCHES or not done.is_set():
            for retriever, query, options, first in _queries(own, *retrievers, index):
                _checked(states, retriever.search(query, **options), options, first)
            count += 1
            if errors:
                return

    writers = [threading.Thread(target=guarded, args=(write, plan)) for plan in plans]
    searchers = [
        threading.Thread(target=guarded, args=(search, rng.random()))
        for _ in range(searching)
    ]
    for thread in (*searchers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in searchers:
        thread.join()
    if errors:
        raise errors[0]
    _check_end(index, make(), _last(plans))


async def check_tasks(rng: Random, make: Callable[[], dict[str, Any]]) -> None:
    """Writers and searchers as tasks of one event loop."""
    index = Index(views=("raw", "keywords"), **make())
    states = States(ContentAwareSplitter())
    await index.aadd([_stable(number) for number in range(STABLE)])
    retrievers = MultiViewRetriever(index), HiQARetriever(index)
    plans = [_changes(rng, writer) for writer in range(2)]

    async def write(changes: Sequence[Change]) -> None:
        for what, number, version in changes:
            if what == "add":
                await index.aadd([_coming(number, version)])
            else:
                await asyncio.to_thread(index.delete, f"d{number}")

    async def search(seed: float) -> None:
        own = Random(seed)
        for _ in range(SEARCHES):
            for retriever, query, options, first in _queries(own, *retrievers, index):
                _checked(
                    states, await retriever.asearch(query, **options), options, first
                )

    await asyncio.gather(
        *(write(plan) for plan in plans),
        *(search(rng.random()) for _ in range(rng.choice(SEARCHERS))),
    )
    _check_end(index, make(), _last(plans))


def check_d3(rng: Random, make: Callable[[], dict[str, Any]]) -> None:
    """The levels of D3: each answer is of documents that were there."""
    options = make()
    options.pop("dense_store", None)
    index = D3Index(**options)
    index.add([_stable(number) for number in range(STABLE)])
    texts = {_stable(n).id: {_stable(n).text} for n in range(STABLE)}
    for number in range(COMING):
        texts[f"d{number}"] = {
            _coming(number, version).text for version in range(TURNS)
        }
    plan = _changes(rng, 0)
    errors: list[BaseException] = []
    done = threading.Event()

    def write() -> None:
        try:
            for what, number, version in plan:
                if what == "add":
                    index.add([_coming(number, version)])
                else:
                    index.delete(f"d{number}")
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    retriever = D3Retriever(index, k=5)
    count = 0
    while count < SEARCHES or not done.is_set():
        for hit in retriever.search(
            rng.choice(("Where is stable1?", "pump and valve"))
        ):
            chunk = hit.chunk
            possible = texts[chunk.doc_id]
            assert any(text[chunk.start : chunk.end] == chunk.text for text in possible)
        count += 1
    writer.join()
    if errors:
        raise errors[0]
    assert set(index.document_ids) == set(_last([plan]))


def case(number: int) -> None:
    """A short life of one index."""
    rng = random_of("threads", number)
    make = EMBEDDERS[number % len(EMBEDDERS)]
    kind = (number // len(EMBEDDERS)) % 5
    with small_segments(rng):
        if kind <= 1:
            check_threads(rng, make)
        elif kind <= 3:
            asyncio.run(check_tasks(rng, make))
        else:
            check_d3(rng, make)


PROMISE = Promise(
    "threads",
    "threads and tasks search while documents come and go: every answer of some state",
    case,
    cases=400,
    short=14,
    share=5,
    seconds=120.0,
)
