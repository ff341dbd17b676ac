"""What the quality benchmark compares: ways to cut a document, views to index, routes to search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.index.index import Index
from structrag.index.views import VIEWS
from structrag.model_calls.cache import Cache
from structrag.records import Document
from structrag.retrieval.multiview import MultiViewRetriever

BASELINE = "fixed 300"
ROUTES = {"BM25": ("bm25",), "dense": ("dense",), "both": ("dense", "bm25")}
WHOLE_RANKING = 200  # chunks asked for where a ranking is cut at a token budget


@dataclass(frozen=True, slots=True)
class Chunking:
    """One way to index a document."""

    name: str
    options: dict[str, Any]  # of `Index`; nothing here is the default
    view_choices: tuple[tuple[str, ...], ...] = (
        ("raw",),
    )  # what is searched, each for a row of its own


@dataclass(frozen=True, slots=True)
class System:
    """A row of the table."""

    chunking: str
    views: str
    route: str  # a key of ROUTES
    retriever: MultiViewRetriever
    exact_k: bool  # False: preset `paper`, which returns a set whose size depends on k

    @property
    def name(self) -> str:
        return f"{self.chunking} | {self.views} | {self.route}"


def chunkings() -> list[Chunking]:
    """The ways to index, in the table's order."""
    each_and_all = (*((view,) for view in VIEWS), VIEWS)
    fixed = FixedSplitter(300)
    within = FixedSplitter(300, within_sections=True)
    with_path = FixedSplitter(300, within_sections=True, context=True)
    whole = ContentAwareSplitter(max_tokens=None)
    without_path = ContentAwareSplitter(context=False)
    limit = without_path.max_tokens
    return [
        Chunking(BASELINE, {"splitter": fixed, "views": ("raw",)}),
        Chunking("fixed 300 within sections", {"splitter": within, "views": ("raw",)}),
        Chunking(
            "fixed 300 within sections, path",
            {"splitter": with_path, "views": ("raw",)},
        ),
        Chunking("whole sections, path", {"splitter": whole, "views": ("raw",)}),
        Chunking(
            f"content-aware {limit}, no path",
            {"splitter": without_path, "views": VIEWS},
            each_and_all,
        ),
        Chunking(f"content-aware {limit}, path", {"views": VIEWS}, each_and_all),
    ]


def systems(
    documents: Sequence[Document],
    embedder: Any,
    cache: Cache | None,
    *,
    batch_size: int = 32,
) -> list[System]:
    """Index the documents in every way; the rows of the table, the defaults and preset `paper`
    last."""
    rows: list[System] = []
    for chunking in chunkings():
        index = Index(
            embedder=embedder, cache=cache, batch_size=batch_size, **chunking.options
        )
        index.add(documents)
        for views in chunking.view_choices:
            label = "all" if len(views) > 1 else views[0]
            for route, kinds in ROUTES.items():
                retriever = MultiViewRetriever(index, views=views, routes=kinds)
                rows.append(System(chunking.name, label, route, retriever, True))
    paper = Index(embedder=embedder, cache=cache, batch_size=batch_size, preset="paper")
    paper.add(documents)
    for route in ("BM25", "dense"):
        retriever = MultiViewRetriever(paper, preset="paper", routes=ROUTES[route])
        rows.append(System("preset paper", "all", route, retriever, False))
    default = Index(embedder=embedder, cache=cache, batch_size=batch_size)
    default.add(documents)
    retriever = MultiViewRetriever(default)
    rows.append(
        System(
            "defaults",
            "+".join(retriever.views),
            "+".join(retriever.kinds),
            retriever,
            True,
        )
    )
    return rows
