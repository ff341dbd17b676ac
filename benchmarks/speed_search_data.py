"""Made sections for the search benchmark, and the peers that search the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.index.entries import Entry, Vectors
from structrag.index.index import Index
from structrag.models.embedders import FunctionEmbedder
from structrag.records import Chunk, Document

VIEWS = {"raw": 60, "summary": 60, "keywords": 20}  # view -> words of each of its texts
DIMENSION = 384
VOCABULARY = 50_000
QUERY_WORDS = 8
SECTIONS_PER_DOCUMENT = 100

Floats = NDArray[np.float32]
Search = Callable[[str], object]


@dataclass(frozen=True)
class Made:
    """An index over made sections, and what it was made of."""

    index: Index
    queries: tuple[str, ...]
    vector: Floats  # (DIMENSION,) the vector of every query
    texts: dict[str, list[str]]  # view -> text per section
    matrices: dict[str, Floats]  # view -> (sections, DIMENSION) unit vectors


def make(
    sections: int, *, n_queries: int = 5, seed: int = 0, dtype: str = "float32"
) -> Made:
    """An index of random sections: words by Zipf's law over 50,000, random unit vectors of 384
    dimensions, three views."""
    random = np.random.default_rng(seed)
    vector = _unit(random.standard_normal((1, DIMENSION)))[0]
    index = empty_index(vector, dtype=dtype)
    texts: dict[str, list[str]] = {view: [] for view in VIEWS}
    blocks: dict[str, list[Floats]] = {view: [] for view in VIEWS}
    for number in range(0, sections, SECTIONS_PER_DOCUMENT):
        entry = made_entry(
            f"d{number}", min(SECTIONS_PER_DOCUMENT, sections - number), random
        )
        index.store.put(entry)
        for view in VIEWS:
            texts[view] += [text or "" for text in entry.views[view]]
            blocks[view].append(np.asarray(entry.vectors[view].matrix))
    queries = tuple(" ".join(words) for words in _words(random, n_queries, QUERY_WORDS))
    return Made(
        index,
        queries,
        vector,
        texts,
        {view: np.concatenate(blocks[view]) for view in VIEWS},
    )


def empty_index(vector: Floats, *, dtype: str = "float32") -> Index:
    """An index in which every query has the same vector."""
    embedder = FunctionEmbedder(
        lambda texts: np.tile(vector, (len(texts), 1)), name="fixed query vector"
    )
    return Index(embedder=embedder, views=tuple(VIEWS), dtype=dtype)


def made_entry(name: str, sections: int, random: np.random.Generator) -> Entry:
    """One document of random sections, ready for the store."""
    words = {
        view: [" ".join(row) for row in _words(random, sections, n)]
        for view, n in VIEWS.items()
    }
    chunks = []
    start = 0
    for i, text in enumerate(words["raw"]):
        end = start + len(text)
        chunks.append(
            Chunk(
                f"{name}:{start}-{end}",
                name,
                f"{name}#{i}",
                start,
                end,
                text,
                n_tokens=len(text.split()),
            )
        )
        start = end
    vectors = {
        view: Vectors(
            _unit(random.standard_normal((sections, DIMENSION))), np.arange(sections)
        )
        for view in VIEWS
    }
    return Entry(
        Document("", id=name),
        name,
        tuple(chunks),
        {view: tuple(words[view]) for view in VIEWS},
        vectors,
    )


def bare_search(made: Made) -> Search:
    """The arithmetic alone: a NumPy product and bm25s scores for each view, nothing ranked."""
    import bm25s

    tokenizer = made.index.store.settings.tokenizer
    lexical = []
    for view in VIEWS:
        scorer = bm25s.BM25(k1=1.2, b=0.75)
        scorer.index(
            [tokenizer(text) for text in made.texts[view]], show_progress=False
        )
        lexical.append(scorer)

    def search(query: str) -> list[Any]:
        terms = tokenizer(query)
        products = [made.matrices[view] @ made.vector for view in VIEWS]
        return products + [scorer.get_scores(terms) for scorer in lexical]

    return search


def langchain_search(made: Made, *, k: int) -> Search:
    """LangChain's InMemoryVectorStore and a rank_bm25 retriever through its EnsembleRetriever, over
    the raw view only."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import InMemoryVectorStore
    from rank_bm25 import BM25Okapi

    class Fixed(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [made.vector.tolist() for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            return made.vector.tolist()

    class Bm25(BaseRetriever):
        vectorizer: Any
        documents: list[LangChainDocument]

        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun
        ) -> list[LangChainDocument]:
            return list(self.vectorizer.get_top_n(query.split(), self.documents, n=k))

    store = InMemoryVectorStore(Fixed())
    texts = made.texts["raw"]
    for i, (text, row) in enumerate(zip(texts, made.matrices["raw"], strict=True)):
        store.store[str(i)] = {
            "id": str(i),
            "vector": row.tolist(),
            "text": text,
            "metadata": {},
        }
    documents = [LangChainDocument(page_content=text) for text in texts]
    lexical = Bm25(
        vectorizer=BM25Okapi([text.split() for text in texts]), documents=documents
    )
    dense = store.as_retriever(search_kwargs={"k": k})
    return EnsembleRetriever(retrievers=[dense, lexical], weights=[0.5, 0.5]).invoke


def _words(random: np.random.Generator, rows: int, n: int) -> Iterator[Sequence[str]]:
    share = 1 / np.arange(1, VOCABULARY + 1)
    for row in random.choice(VOCABULARY, size=(rows, n), p=share / share.sum()):
        yield [f"w{number}" for number in row]


def _unit(matrix: NDArray[np.float64]) -> Floats:
    unit: Floats = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(
        np.float32
    )
    return unit
