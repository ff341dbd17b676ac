"""Made sections for the benchmark of stores, and the stores of others that keep the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed_search_data import VOCABULARY
from structrag import FunctionEmbedder, Index, MultiViewRetriever
from structrag.index.engine_rows import numbered
from structrag.index.entries import Entry, Vectors
from structrag.records import Chunk, Document
from structrag.text.terms import terms

DIMENSIONS = 384
SECTIONS = 100  # of a document
GROUP = 50  # documents that are put together
TOPICS = 1000
ROUTE = 1000  # rows of each route that are put together, where a store has two

Floats = NDArray[np.float32]


class Subject(NamedTuple):
    """A store to be measured."""

    fill: Callable[[], object]
    ask: Callable[[str], list[str]]  # ids, or texts, of ten sections
    update: Callable[[int], object]  # replaces a document
    questions: Callable[[int], list[str]]
    count: Callable[[], int]  # of sections


class Section(NamedTuple):
    id: str
    text: str
    vector: Floats


class Made:
    """Documents of 100 sections each, the same in every process.

    A section has 40 to 200 words (half of them; real chunks have as many) by Zipf's law over
    50,000. Its vector is the sum of those of its topic, its document and its own, which are random
    and of one length.
    """

    def __init__(self, n_rows: int) -> None:
        self.n_documents = -(-n_rows // SECTIONS)
        self.n_sections = self.n_documents * SECTIONS
        self._topics = np.random.default_rng(1).standard_normal((TOPICS, DIMENSIONS))
        share = 1 / np.arange(1, VOCABULARY + 1)
        self._shares = np.cumsum(share / share.sum())
        self._asked: dict[str, Floats] = {}

    def document(self, number: int, version: int = 0) -> list[Section]:
        random = np.random.default_rng([number, version])
        lengths = np.clip(random.lognormal(np.log(90), 1.2, SECTIONS), 5, 400).astype(
            int
        )
        numbers = np.searchsorted(self._shares, random.random(lengths.sum()))
        words = np.split(numbers, np.cumsum(lengths)[:-1])
        topic = self._topics[number % TOPICS]
        document = random.standard_normal(DIMENSIONS)
        vectors = unit(
            topic + document + random.standard_normal((SECTIONS, DIMENSIONS))
        )
        return [
            Section(
                f"d{number}:{place}",
                " ".join(f"w{word}" for word in of_section),
                vector,
            )
            for place, (of_section, vector) in enumerate(
                zip(words, vectors, strict=True)
            )
        ]

    def documents(self) -> Iterator[list[Section]]:
        return map(self.document, range(self.n_documents))

    def questions(self, count: int) -> list[str]:
        """Eight words that follow each other in a section; their vector is near the section's."""
        random = np.random.default_rng(2)
        while len(self._asked) < count:
            section = self.document(int(random.integers(self.n_documents)))[0]
            words = section.text.split()
            start = int(random.integers(max(1, len(words) - 7)))
            noise = random.standard_normal(DIMENSIONS) / DIMENSIONS**0.5
            self._asked[" ".join(words[start : start + 8])] = unit(
                section.vector + noise
            )
        return list(self._asked)

    def vector(self, question: str) -> Floats:
        return self._asked[question]


def unit(vectors: Any) -> Floats:
    return np.asarray(
        vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32
    )


def entry_of(name: str, sections: Sequence[Section]) -> Entry:
    """A document as our stores take it."""
    chunks, start = [], 0
    for section in sections:
        end = start + len(section.text)
        chunks.append(Chunk(section.id, name, f"{name}#0", start, end, section.text))
        start = end
    matrix = np.stack([section.vector for section in sections])
    texts = tuple(section.text for section in sections)
    vectors = {"raw": Vectors(matrix, np.arange(len(sections)))}
    return Entry(
        Document("", id=name), f"{hash(texts)}", tuple(chunks), {"raw": texts}, vectors
    )


def own(address: str, made: Made) -> Subject:
    """Our index at an address, filled without splitting and embedding."""
    embedder = FunctionEmbedder(
        lambda asked: [made.vector(text) for text in asked], name="made"
    )
    index = Index(embedder=embedder, views=["raw"], store=address)
    retriever = MultiViewRetriever(index, k=10)

    def fill() -> None:
        entries: list[Entry] = []
        for number, sections in enumerate(made.documents(), start=1):
            entries.append(entry_of(f"d{number - 1}", sections))
            if len(entries) == GROUP or number == made.n_documents:
                index.store.put_all(entries)
                entries.clear()
        index.save(address)
        getattr(index.store, "optimize", lambda: None)()

    def update(number: int) -> None:
        index.store.put(entry_of(f"d{number}", made.document(number, version=1)))
        index.save(address)

    def ask(question: str) -> list[str]:
        return [hit.chunk.id for hit in retriever.search(question)]

    return Subject(fill, ask, update, made.questions, lambda: made.n_sections)


def chroma(place: Path, made: Made) -> Subject:
    """Chroma in a folder, vectors alone: it has no BM25 of its own."""
    import chromadb

    client = chromadb.PersistentClient(str(place))
    space = {"hnsw": {"space": "ip"}}
    sections = client.create_collection("sections", configuration=space)

    def put(document: Sequence[Section]) -> None:
        ids, texts, vectors = zip(*document, strict=True)
        sections.upsert(list(ids), list(vectors), documents=list(texts))

    def ask(question: str) -> list[str]:
        return sections.query([made.vector(question)], n_results=10)["ids"][0]

    return _each(made, put, ask)


def qdrant(place: Path, made: Made) -> Subject:
    """Qdrant's local mode: vectors and counts of terms with idf, 1,000 of each, by rank."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(place))
    client.create_collection(
        "sections",
        {"dense": models.VectorParams(size=DIMENSIONS, distance=models.Distance.DOT)},
        {"terms": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )

    def sparse(text: str) -> Any:
        counts = numbered(terms(text))
        return models.SparseVector(
            indices=list(counts), values=list(map(float, counts.values()))
        )

    def put(document: Sequence[Section]) -> None:
        first = int(document[0].id[1:].partition(":")[0]) * SECTIONS
        points = [
            models.PointStruct(
                id=first + place,
                vector={
                    "dense": section.vector.tolist(),
                    "terms": sparse(section.text),
                },
                payload={"id": section.id, "text": section.text},
            )
            for place, section in enumerate(document)
        ]
        client.upsert("sections", points)

    def ask(question: str) -> list[str]:
        routes = {"dense": made.vector(question).tolist(), "terms": sparse(question)}
        answer = client.query_points(
            "sections",
            prefetch=[
                models.Prefetch(query=query, using=name, limit=ROUTE)
                for name, query in routes.items()
            ],
            query=models.FusionQuery(fusion=models.Fusion.RRF),
            limit=10,
        )
        return [point.payload["id"] for point in answer.points if point.payload]

    return _each(made, put, ask)


def llama_index(place: Path, made: Made) -> Subject:
    """LlamaIndex's own store, vectors alone; kept by `persist`."""
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery

    store = SimpleVectorStore()

    def put(document: Sequence[Section]) -> None:
        store.delete_nodes([section.id for section in document])
        store.add(
            [
                TextNode(id_=id, text=text, embedding=vector.tolist())
                for id, text, vector in document
            ]
        )

    def fill() -> None:
        store.add(
            [
                TextNode(id_=id, text=text, embedding=vector.tolist())
                for document in made.documents()
                for id, text, vector in document
            ]
        )
        store.persist(str(place / "store.json"))

    def ask(question: str) -> list[str]:
        query = VectorStoreQuery(made.vector(question).tolist(), similarity_top_k=10)
        return list(store.query(query).ids or ())

    return _filled_by(fill, made, put, ask)


def langchain(place: Path, made: Made) -> Subject:
    """LangChain's own store and rank_bm25, put together by `EnsembleRetriever`; kept by `dump`."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import InMemoryVectorStore
    from rank_bm25 import BM25Okapi

    class Asked(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise NotImplementedError

        def embed_query(self, text: str) -> list[float]:
            return made.vector(text).tolist()

    class Terms(BaseRetriever):
        def _get_relevant_documents(
            self, query: str, **_: Any
        ) -> list[LangChainDocument]:
            return list(lexical[0].get_top_n(terms(query), documents, n=10))

    store = InMemoryVectorStore(Asked())
    documents: list[LangChainDocument] = []
    lexical: list[Any] = []
    both = EnsembleRetriever(
        retrievers=[store.as_retriever(search_kwargs={"k": 10}), Terms()],
        weights=[0.5, 0.5],
    )

    def put(document: Sequence[Section]) -> None:
        for id, text, vector in document:
            store.store[id] = {
                "id": id,
                "vector": vector.tolist(),
                "text": text,
                "metadata": {},
            }

    def count() -> None:
        rows = store.store.values()
        documents[:] = [
            LangChainDocument(id=row["id"], page_content=row["text"]) for row in rows
        ]
        lexical[:] = [
            BM25Okapi([terms(document.page_content) for document in documents])
        ]

    def fill() -> None:
        for document in made.documents():
            put(document)
        count()
        store.dump(str(place / "store.json"))

    def update(number: int) -> None:
        put(made.document(number, version=1))
        count()

    def ask(question: str) -> list[str]:
        return [document.id or "" for document in both.invoke(question)[:10]]

    return Subject(fill, ask, update, made.questions, lambda: made.n_sections)


def _each(
    made: Made, put: Callable[[list[Section]], None], ask: Callable[[str], list[str]]
) -> Subject:
    """A store that is filled document by document."""

    def fill() -> None:
        for document in made.documents():
            put(document)

    return _filled_by(fill, made, put, ask)


def _filled_by(
    fill: Callable[[], None],
    made: Made,
    put: Callable[[list[Section]], None],
    ask: Callable[[str], list[str]],
) -> Subject:
    def update(number: int) -> None:
        put(made.document(number, version=1))

    return Subject(fill, ask, update, made.questions, lambda: made.n_sections)


PEERS: dict[str, Callable[[Path, Made], Subject]] = {
    "Chroma (vectors alone)": chroma,
    "Qdrant, local": qdrant,
    "LlamaIndex's own (vectors alone)": llama_index,
    "LangChain's own": langchain,
}
