"""One query over 100,000 made segments by all three routes: against the bare product of the
vectors, and beside the peers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks.hiqa_peers import fused
from benchmarks.machine import corpus_line
from benchmarks.speed_search_data import (
    DIMENSION,
    SECTIONS_PER_DOCUMENT,
    Made,
    Search,
    _unit,
    _words,
    langchain_search,
    made_entry,
)
from benchmarks.speed_tables import Table, Timing, by_turns, ratios, spread
from structrag.index.index import Index
from structrag.models.embedders import FunctionEmbedder
from structrag.records import Document
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.multiview import MultiViewRetriever

SEGMENTS = 100_000
QUERIES, PEER_QUERIES = 20, 1  # peers take seconds a query
QUERY_WORDS = 8
K = 5
LETTERS = "ABCDE"
BARE, OURS, MULTIVIEW, LANGCHAIN, LLAMA = (
    "bare product",
    "HiQARetriever",
    "MultiViewRetriever",
    "LangChain",
    "LlamaIndex",
)


def make(segments: int, *, seed: int = 0) -> Made:
    """Segments under the names of products, 100 a document; queries of eight words and a name, all
    with one vector."""
    random = np.random.default_rng(seed)
    vector = _unit(random.standard_normal((1, DIMENSION)))[0]
    embedder = FunctionEmbedder(
        lambda texts: np.tile(vector, (len(texts), 1)), name="fixed query vector"
    )
    index = Index(embedder=embedder, views=("raw",))
    texts: list[str] = []
    blocks = []
    for number in range(0, segments, SECTIONS_PER_DOCUMENT):
        entry = made_entry(
            f"d{number}", min(SECTIONS_PER_DOCUMENT, segments - number), random
        )
        name = product(number // SECTIONS_PER_DOCUMENT)
        chunks = tuple(
            replace(chunk, context=f"{name} > Part {i}")
            for i, chunk in enumerate(entry.chunks)
        )
        own = tuple(chunk.index_text for chunk in chunks)
        raw = {"raw": entry.vectors["raw"]}
        index.store.put(
            replace(
                entry,
                document=Document("", id=f"d{number}", title=name),
                chunks=chunks,
                views={"raw": own},
                vectors=raw,
            )
        )
        texts += own
        blocks.append(np.asarray(raw["raw"].matrix))
    queries = tuple(
        f"{' '.join(words)} {product(7 * i)}"
        for i, words in enumerate(_words(random, QUERIES, QUERY_WORDS))
    )
    return Made(index, queries, vector, {"raw": texts}, {"raw": np.concatenate(blocks)})


def product(number: int) -> str:
    """The name of the product with this number, such as "Nova A10"."""
    return f"Nova {LETTERS[number % len(LETTERS)]}{10 + number}"


def run(repeat: int, segments: int = SEGMENTS) -> list[Table]:
    """The table."""
    made = make(segments)
    matrix, vector = made.matrices["raw"], made.vector
    retriever = HiQARetriever(made.index, k=K)
    own: dict[str, Search] = {
        BARE: lambda query: matrix @ vector,
        OURS: retriever.search,
        "dense route alone": lambda query: made.index.search(query, K),
        "BM25 route alone": lambda query: made.index.search(query, K, route="bm25"),
        MULTIVIEW: MultiViewRetriever(made.index, k=K).search,
    }
    found = retriever.search(made.queries[0])
    if not (found and found[0].parts["keywords"] > 0):
        raise RuntimeError(
            "the made query names a product that was not found; the figures would leave out the "
            "keywords"
        )
    compared = {OURS: retriever.search, **peers(made)}
    rows = []
    figures = {}
    for searches, base, queries, turns, note in (
        (own, BARE, made.queries, repeat, ""),
        (
            compared,
            OURS,
            made.queries[:PEER_QUERIES],
            min(repeat, 3),
            " (peers' run)",
        ),
    ):
        tasks = {name: partial(_all, one, queries) for name, one in searches.items()}
        timings = by_turns(tasks, turns)
        for name, timing in timings.items():
            row = _row(name, timing, timings, base, len(queries))
            rows.append((row[0] + note, *row[1:]))
            figures[name] = {
                "wall": timing.wall,
                "cpu": timing.cpu,
                "queries": len(queries),
            }
    return [
        Table(
            f"One query over {segments:,} segments, vectors, BM25 and keywords fused, {K} hits",
            (
                "search",
                "ms a query, median (min-max)",
                "times as long",
                "the same, CPU",
            ),
            tuple(rows),
            corpus_line("made, index texts", made.texts["raw"]),
            (
                f"The query vector is given, so no model runs. {DIMENSION} dimensions, float32; "
                "bare: one `matrix @ q`, nothing ranked. "
                f"{segments // SECTIONS_PER_DOCUMENT:,} documents, each under a product's name; "
                "every query names one.",
                "Times as long: as the bare product, in the peers' run as HiQARetriever; ratios of "
                "one round each, by turns.",
                "LangChain: InMemoryVectorStore and a rank_bm25 retriever in its "
                "EnsembleRetriever. LlamaIndex: SimpleVectorStore, bm25s "
                "and its QueryFusionRetriever. Retrievers of ten lines stand for the BM25 packages "
                "of both.",
            ),
            figures,
        )
    ]


def peers(made: Made) -> dict[str, Search]:
    """The peers that are installed."""
    found: dict[str, Search] = {}
    if find_spec("langchain_classic") and find_spec("rank_bm25"):
        found[LANGCHAIN] = langchain_search(made, k=K)
    if find_spec("llama_index"):
        found[LLAMA] = llama_search(made, k=K)
    return found


def llama_search(made: Made, *, k: int) -> Search:
    """LlamaIndex's SimpleVectorStore and a bm25s retriever through its QueryFusionRetriever."""
    import bm25s
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery

    texts, matrix, vector = (
        made.texts["raw"],
        made.matrices["raw"],
        made.vector.tolist(),
    )
    nodes = [TextNode(id_=str(i), text=text) for i, text in enumerate(texts)]
    store = SimpleVectorStore()
    store.add(
        [
            TextNode(id_=str(i), text="", embedding=row.tolist())
            for i, row in enumerate(matrix)
        ]
    )
    lexical = bm25s.BM25()
    lexical.index([text.split() for text in texts], show_progress=False)

    def dense(_: str) -> list[NodeWithScore]:
        result = store.query(
            VectorStoreQuery(query_embedding=vector, similarity_top_k=k)
        )
        pairs = zip(result.ids or [], result.similarities or [], strict=True)
        return [
            NodeWithScore(node=nodes[int(name)], score=score) for name, score in pairs
        ]

    def words(query: str) -> list[NodeWithScore]:
        rows, scores = lexical.retrieve([query.split()], k=k, show_progress=False)
        pairs = zip(rows[0].tolist(), scores[0].tolist(), strict=True)
        return [NodeWithScore(node=nodes[row], score=score) for row, score in pairs]

    return fused([dense, words], "relative_score", k)


def _all(search: Search, queries: Sequence[str]) -> None:
    for query in queries:
        search(query)


def _row(
    name: str, timing: Timing, timings: dict[str, Timing], base: str, n: int
) -> tuple[str, ...]:
    milliseconds = spread([1000 * value / n for value in timing.wall], 2)
    if timing is timings[base]:
        return (name, milliseconds, "", "")
    times = ratios(timing.wall, timings[base].wall)
    return (
        name,
        milliseconds,
        spread(times, 2),
        spread(ratios(timing.cpu, timings[base].cpu), 2),
    )
