"""Every method and every peer as a way to index a set and to search it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.methods_peers import SIZE, SMALL, Peer, Splitting, by_size, each_text
from benchmarks.question_sets import Dataset, static_vectors
from benchmarks.splitters_systems import peers as semantic_peers
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.evaluation.searched import GivenChunks
from structrag.index.index import Index
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import Embed, Flow
from structrag.model_calls.runner import Runner
from structrag.records import Chunk, Document
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.multiview import MultiViewRetriever

Search = Callable[
    [str, Mapping[str, Any] | None], Sequence[Chunk]
]  # question, filter -> chunks, best first
BOTH, DENSE = "both", "dense"
RANKING = 100  # chunks asked for
# Families of rows.
OURS, SIZED, SEMANTIC = "structrag", "by size or markup", "by meaning"


@dataclass(frozen=True)
class Models:
    """What all systems embed with, and where vectors are kept."""

    embedder: Any
    cache: Cache | None

    def runner(self) -> Runner:
        """Asks them, for splitters."""
        return Runner(embedder=self.embedder, cache=self.cache, batch_size=256)


@dataclass(frozen=True)
class Indexed:
    """A set as one system has it."""

    chunks: Sequence[Chunk]
    searches: Mapping[str, Search]  # BOTH or DENSE -> search


@dataclass(frozen=True)
class System:
    """A row of the tables."""

    name: str
    family: str
    index: Callable[[Dataset, Models], Indexed]
    formats: tuple[str, ...] | None = None  # of the documents it reads; None: all


def systems(
    sources: Mapping[str, str], of_peers: Any, models: Models
) -> tuple[list[System], list[str]]:
    """All systems in the tables' order, and the names of the peers that are not installed.

    `of_peers` is an embedder of the semantic peers' own; from now on it is answered by ours, which
    keeps what was embedded before.
    """
    sized, absent = by_size(sources)
    semantic, more_absent = by_meaning(of_peers, models)
    found = own_systems()
    for family, peers in ((SIZED, fixed() | sized), (SEMANTIC, semantic)):
        found += [
            System(name, family, partial(given, peer), peer.formats)
            for name, peer in peers.items()
        ]
    return found, absent + more_absent


def splitters(of_peers: Any, models: Models) -> tuple[dict[str, Splitting], list[str]]:
    """All splitters that read plain text, ours first, and the names of the peers that are not
    installed; `of_peers` as in `systems`."""
    sized, absent = by_size({})
    semantic, more_absent = by_meaning(of_peers, models)
    vectors = static_vectors()
    found = {
        "PICSplitter": reading(PICSplitter(), models),
        "PICSplitter, static vectors": reading(
            PICSplitter(boundary_embedder=vectors), models
        ),
        "PICSplitter.paper()": reading(PICSplitter.paper(), models),
        "IDMSSplitter": reading(IDMSSplitter(), models),
        "IDMSSplitter, static vectors": reading(
            IDMSSplitter(boundary_embedder=vectors), models
        ),
        "ContentAwareSplitter": reading(ContentAwareSplitter(), models),
    }
    peers = (
        fixed()
        | {name: peer for name, peer in sized.items() if peer.formats is None}
        | semantic
    )
    return found | {
        name: peer.split for name, peer in peers.items()
    }, absent + more_absent


def reading(splitter: Any, models: Models) -> Splitting:
    """One of our splitters, with its models, as a function."""
    runner = models.runner()
    if not hasattr(splitter, "split_all"):
        return partial(_each, splitter)
    return lambda documents: list(splitter.split_all(documents, runner=runner))


def fixed() -> dict[str, Peer]:
    """Chunks of so many tokens, whatever the text."""
    return {
        f"fixed {size}": Peer(partial(_each, FixedSplitter(size)))
        for size in (SMALL, SIZE)
    }


def by_meaning(of_peers: Any, models: Models) -> tuple[dict[str, Peer], list[str]]:
    """The installed semantic chunkers with their default settings, and the names of the absent
    ones."""
    of_peers.model.encode = partial(_kept_vectors, models.runner())
    semantic, absent = semantic_peers(of_peers)
    return {
        name: Peer(partial(_semantic, split)) for name, split in semantic.items()
    }, absent


def own_systems() -> list[System]:
    """Our methods without a language model, with their default settings."""
    ways: Mapping[str, Callable[[Dataset, Models], Indexed]] = {
        "MC-indexing (MultiViewRetriever)": multiview,
        "D3 (D3Retriever)": d3,
        "PICSplitter": partial(own, PICSplitter()),
        "PICSplitter(reuse_vectors=False)": partial(
            own, PICSplitter(reuse_vectors=False)
        ),
        "PICSplitter, static vectors": partial(with_static, PICSplitter),
        "PICSplitter.paper()": partial(own, PICSplitter.paper()),
        "PICSplitter.paper(reuse_vectors=True)": partial(
            own, PICSplitter.paper(reuse_vectors=True)
        ),
        "IDMSSplitter": partial(own, IDMSSplitter()),
        "IDMSSplitter and IDMSEnricher": enriched,
        "HiQA (HiQARetriever)": hiqa,
        "ContentAwareSplitter": partial(own, ContentAwareSplitter()),
    }
    return [System(name, OURS, way) for name, way in ways.items()]


def own(splitter: Any, dataset: Dataset, models: Models) -> Indexed:
    """One of our splitters in an index of one view."""
    index = Index(
        embedder=models.embedder,
        cache=models.cache,
        splitter=splitter,
        views=("raw",),
        batch_size=256,
    )
    index.add(dataset.documents)
    return _routes(index)


def with_static(make: Callable[..., Any], dataset: Dataset, models: Models) -> Indexed:
    """One of our splitters that decides by static vectors; its chunks are embedded by the
    encoder."""
    return own(make(boundary_embedder=static_vectors()), dataset, models)


def given(peer: Peer, dataset: Dataset, models: Models) -> Indexed:
    """Another library's chunks in the same index."""
    chunks = peer.split(dataset.documents)
    of_each = {
        document.id: own
        for document, own in zip(dataset.documents, chunks, strict=True)
    }
    return own(GivenChunks(of_each), dataset, models)


def multiview(dataset: Dataset, models: Models) -> Indexed:
    """Chunks along sections in the default views."""
    index = Index(embedder=models.embedder, cache=models.cache, batch_size=256)
    index.add(dataset.documents)
    return _routes(index)


def enriched(dataset: Dataset, models: Models) -> Indexed:
    """IDMS chunks with what they presuppose added to their index text, or shortened."""
    runner = models.runner()
    chunks = IDMSSplitter().split_all(dataset.documents, runner=runner)
    enricher = IDMSEnricher()
    of_each = {
        document.id: enricher.enrich(document, own, runner=runner)
        for document, own in zip(dataset.documents, chunks, strict=True)
    }
    return own(GivenChunks(of_each), dataset, models)


def hiqa(dataset: Dataset, models: Models) -> Indexed:
    """Chunks with cascading metadata, three routes."""
    index = Index(
        embedder=models.embedder,
        cache=models.cache,
        splitter=HiQASplitter(),
        views=("raw",),
        batch_size=256,
    )
    index.add(dataset.documents)
    return Indexed(_chunks(index), {BOTH: partial(_searched, HiQARetriever(index))})


def d3(dataset: Dataset, models: Models) -> Indexed:
    """Routed to sections, then paragraphs there; both stages by BM25 and vectors."""
    index = D3Index(embedder=models.embedder, cache=models.cache, batch_size=256)
    index.add(dataset.documents)
    retriever = D3Retriever(index, max_tokens=10**9)

    def search(question: str, where: Mapping[str, Any] | None) -> list[Chunk]:
        hits = retriever.result(question, where=where).hits
        return [hit.chunk for hit in sorted(hits, key=lambda hit: hit.rank)]

    return Indexed(_chunks(index.paragraphs), {BOTH: search})


def _routes(index: Index) -> Indexed:
    routes = {BOTH: ("dense", "bm25"), DENSE: ("dense",)}
    return Indexed(
        _chunks(index),
        {
            name: partial(_searched, MultiViewRetriever(index, routes=kinds))
            for name, kinds in routes.items()
        },
    )


def _searched(
    retriever: Any, question: str, where: Mapping[str, Any] | None
) -> list[Chunk]:
    return [hit.chunk for hit in retriever.search(question, RANKING, where=where)]


def _chunks(index: Index) -> list[Chunk]:
    return index.chunks()


def _each(splitter: Any, documents: Sequence[Document]) -> list[list[Chunk]]:
    return [splitter.split(document) for document in documents]


def _semantic(
    split: Callable[[Sequence[Document]], list[list[str]]],
    documents: Sequence[Document],
) -> list[list[Chunk]]:
    return each_text(lambda text: split([Document(text)])[0], documents)


def _kept_vectors(runner: Runner, texts: Sequence[str] | str, **_: Any) -> Any:
    vectors = runner.run(_vectors((texts,) if isinstance(texts, str) else tuple(texts)))
    return vectors[0] if isinstance(texts, str) else vectors


def _vectors(texts: tuple[str, ...]) -> Flow[Any]:
    (vectors,) = yield [Embed(texts)]
    return vectors
