"""`structrag search`: the chunks of files that answer a query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.cli.options import (
    AsJson,
    Embedder,
    Format,
    Isolated,
    MaxTokens,
    Paths,
    Reader,
    documents,
)
from structrag.cli.printing import chunk_record, path_of, print_items, show_progress
from structrag.index.index import Index
from structrag.records import Hit
from structrag.retrieval.multiview import MultiViewRetriever


def search(
    paths: Paths,
    query: Annotated[str, typer.Option("-q", "--query", help="What to look for.")],
    k: Annotated[int, typer.Option("-k", help="How many chunks.")] = 5,
    embedder: Embedder = "",
    max_tokens: MaxTokens = 300,
    cache: Annotated[str, typer.Option(help="A file that keeps vectors for the next time.")] = "",
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
    as_json: AsJson = False,
) -> None:
    """Search files by all views and routes.

    Printed are path, score, views and character range of every hit.
    """
    index = Index(
        embedder=embedder or None,
        splitter=ContentAwareSplitter(max_tokens=max_tokens),
        cache=cache or None,
        progress=show_progress,
    )
    report = index.add(documents(paths, format=format, reader=reader, isolated=isolated))
    if not as_json:
        typer.echo(f"{report} ({index.embedder.name})", err=True)
    hits = MultiViewRetriever(index, k=k).search(query)
    print_items(map(_record, hits) if as_json else _lines(hits), as_json)


def _record(hit: Hit) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "score": hit.score,
        "document": hit.chunk.doc_id,
        **chunk_record(hit.chunk),
        "routes": dict(hit.routes),
        "route_scores": dict(hit.scores),
    }


def _lines(hits: Iterable[Hit]) -> Iterator[str]:
    for hit in hits:
        views = ", ".join(hit.chunk.extras["views_hit"]) or "none among the best"
        place = f"{hit.chunk.doc_id}[{hit.chunk.start}:{hit.chunk.end}]"
        yield f"{hit.rank}. {path_of(hit.chunk)}  score {hit.score:.2f}  views {views}  {place}"
        excerpt = " ".join(hit.chunk.text.split())
        yield f"   {excerpt[:200]}{'…' if len(excerpt) > 200 else ''}"
