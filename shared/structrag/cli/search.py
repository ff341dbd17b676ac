"""`structrag search`: the passages of files that answer a query."""

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
from structrag.errors import check_choice
from structrag.index.index import Index
from structrag.records import Hit
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.retrieval.multiview import MultiViewRetriever

METHODS = ("evidence", "multiview")


def search(
    paths: Paths,
    query: Annotated[str, typer.Option("-q", "--query", help="What to look for.")],
    k: Annotated[int, typer.Option("-k", help="How many passages or chunks.")] = 5,
    method: Annotated[
        str, typer.Option(help="evidence (passages), or multiview (chunks by views and routes).")
    ] = "evidence",
    embedder: Embedder = "",
    max_tokens: MaxTokens = 300,
    cache: Annotated[str, typer.Option(help="A file that keeps vectors for the next time.")] = "",
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
    as_json: AsJson = False,
) -> None:
    """Search files for evidence, or by all views and routes.

    Printed are path, score, what matched and character range of every hit. `--max-tokens` limits
    the chunks of multiview.
    """
    check_choice("method", method, METHODS)
    files = documents(paths, format=format, reader=reader, isolated=isolated)
    if method == "evidence":
        retriever = EvidenceRetriever(embedder or None, cache=cache or None, progress=show_progress)
        report = retriever.add(files)
        hits = retriever.search(query, k)
        model = embedder or "LSA"
    else:
        index = Index(
            embedder=embedder or None,
            splitter=ContentAwareSplitter(max_tokens=max_tokens),
            cache=cache or None,
            progress=show_progress,
        )
        report = index.add(files)
        hits = MultiViewRetriever(index, k=k).search(query)
        model = index.embedder.name
    if not as_json:
        typer.echo(f"{report} ({model})", err=True)
    print_items(map(_record, hits) if as_json else _lines(hits), as_json)


def _record(hit: Hit) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "score": hit.score,
        "document": hit.chunk.doc_id,
        **chunk_record(hit.chunk),
        "routes": dict(hit.routes),
        "route_scores": dict(hit.scores),
        "parts": dict(hit.parts),
    }


def _lines(hits: Iterable[Hit]) -> Iterator[str]:
    for hit in hits:
        place = f"{hit.chunk.doc_id}[{hit.chunk.start}:{hit.chunk.end}]"
        yield f"{hit.rank}. {path_of(hit.chunk)}  score {hit.score:.2f}  {_matched(hit)}  {place}"
        excerpt = " ".join(hit.chunk.text.split())
        yield f"   {excerpt[:200]}{'…' if len(excerpt) > 200 else ''}"


def _matched(hit: Hit) -> str:
    """What found a hit.

    The views it is among the best of, or the parts of its score.
    """
    if "views_hit" in hit.chunk.extras:
        return "views " + (", ".join(hit.chunk.extras["views_hit"]) or "none among the best")
    parts = sorted(hit.parts.items(), key=lambda part: -part[1])
    matches = [f"{name} {value:.2f}" for name, value in parts if value > 0]
    return "by " + (", ".join(matches) or "nothing: no word of the question was found")
