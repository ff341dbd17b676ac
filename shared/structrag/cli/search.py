"""`structrag search`: the passages of files that answer a query; and `structrag index`: many files
into a kept index, by several processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache as kept_in_memory
from pathlib import Path
from typing import Annotated, Any

import typer

from structrag.cli.engine_index import EngineIndex, embedder_for, fill
from structrag.cli.index_folder import METHODS, IndexFolder
from structrag.cli.options import (
    STORE,
    AsJson,
    Embedder,
    Format,
    Isolated,
    MaxTokens,
    Paths,
    Reader,
    one_of,
)
from structrag.cli.printing import chunk_record, path_of, print_items, show_progress
from structrag.errors import InvalidParameter, StructragError, check_choice
from structrag.index.document_index import engine_of
from structrag.ingestion.ingesting import RUNNERS
from structrag.integrations.metadata import PAGE_LABEL_KEY, place_notes
from structrag.reading.paging import PAGE_STARTS
from structrag.reading.pdf.boxes import boxes, page_image
from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.pictures import folder_for_images
from structrag.records import Document, Hit


def search(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files or folders to search. Omit them to search --store."),
    ] = None,
    query: Annotated[
        str, typer.Option("-q", "--query", help="The question or search words.")
    ] = "",
    k: Annotated[
        int, typer.Option("-k", help="The number of passages or chunks to print.")
    ] = 5,
    method: Annotated[
        str,
        typer.Option(
            help="evidence (passages), or multiview (chunks by views and routes)."
        ),
    ] = "evidence",
    embedder: Embedder = "",
    max_tokens: MaxTokens = 300,
    index: Annotated[
        str,
        typer.Option(
            *STORE,
            help=(
                "A folder to keep the index in, so that the next search reads only changed "
                "files; or a store filled by `index`, such as lancedb:FOLDER."
            ),
        ),
    ] = "",
    cache: Annotated[str, typer.Option(help="A file to cache vectors in.")] = "",
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
    as_json: AsJson = False,
    images: Annotated[
        Path | None,
        typer.Option(
            help="A folder for pictures of the pages of PDF files, with the passages marked."
        ),
    ] = None,
) -> None:
    """Search files and print the passages that answer a question.

    Each hit has its heading path, its score, what matched and its character range. `--method
    multiview` returns chunks instead of passages; `--max-tokens` limits their size.
    """
    check_choice("--method", method, METHODS)
    if not query.strip():
        raise InvalidParameter(f"-q must be a question or search words; got {query!r}.")
    files = paths or []
    in_engine = engine_of(index) is not None
    _check_places(files, index, in_engine)
    reading: dict[str, Any] = {"format": format, "reader": reader, "isolated": isolated}
    kept: EngineIndex | IndexFolder
    if in_engine:
        kept = EngineIndex(index, method, embedder=embedder)
        report = f"kept in {index}"
    else:
        kept = IndexFolder(
            Path(index) if index else None,
            method,
            embedder=embedder,
            max_tokens=max_tokens,
            cache=cache or None,
        )
        place = f"; kept in {index}" if index else ""
        report = f"{kept.update(files, **reading)} ({kept.model}{place})"
    hits, store = kept.search(query, k, files), kept.index.store
    if not as_json:
        show_progress.say(report)
    if not hits:
        show_progress.say("Nothing was found.")
    found_in = [store.document(hit.chunk.doc_id) for hit in hits]
    records = list(map(_record if as_json else _shown_hit, hits, found_in))
    if folder := folder_for_images(images, "--images"):
        read = kept_in_memory(pdf_document)
        for hit, facts, record in zip(hits, found_in, records, strict=True):
            if PAGE_STARTS not in facts.meta:
                continue
            try:
                document = read(facts.meta["source"])
                drawn = page_image(document, hit)
            except StructragError as error:
                show_progress.say(f"No picture of passage {hit.rank}: {error}")
                continue
            (folder / f"{hit.rank}.png").write_bytes(drawn)
            if isinstance(record, dict):
                record["boxes"] = [box._asdict() for box in boxes(document, hit)]
    print_items(records, as_json)


def _check_places(files: Sequence[Path], index: str, in_engine: bool) -> None:
    """Raise InvalidParameter unless files or an index are named, with an engine no files."""
    if not files and not index:
        raise InvalidParameter(
            "Name files or folders to search, or a saved index with --store."
        )
    if files and in_engine:
        raise InvalidParameter(
            f"Name no files: a store such as {index} is filled by `structrag index`."
        )


def _record(hit: Hit, document: Document) -> dict[str, Any]:
    notes = place_notes(document.meta, hit.chunk)
    return {
        "rank": hit.rank,
        "score": hit.score,
        "document": hit.chunk.doc_id,
        "title": document.title,
        "pages": notes.pop(PAGE_LABEL_KEY, ""),
        **notes,
        **chunk_record(hit.chunk),
        "citation": hit.citation,
        "routes": dict(hit.routes),
        "route_scores": dict(hit.scores),
        "parts": dict(hit.parts),
    }


def _shown_hit(hit: Hit, document: Document) -> str:
    """Where a hit stands, why it was found, and how it begins."""
    notes = place_notes(document.meta, hit.chunk)
    page = notes.pop(PAGE_LABEL_KEY, "")
    place = f"{_shown(hit.chunk.doc_id)}[{hit.chunk.start}:{hit.chunk.end}]"
    place += f" page {page}" if page else ""
    place += "".join(f", {where}" for where in notes.values())
    path = path_of(hit.chunk, _title_of(document))
    text = " ".join(hit.chunk.text.split())
    excerpt = f"{text[:200]}{'…' if len(text) > 200 else ''}"
    return f"{hit.rank}. {path}  score {hit.score:.2f}  {_matched(hit)}  {place}\n   {excerpt}"


def _title_of(document: Document) -> str:
    """The title of a document, "" where its file says the same."""
    return "" if document.title == Path(document.id).stem else document.title


def _shown(doc_id: str) -> str:
    """A file below this folder by its short name."""
    if os.path.isabs(doc_id) and Path(doc_id).is_relative_to(Path.cwd()):
        return str(Path(doc_id).relative_to(Path.cwd()))
    return doc_id


def _matched(hit: Hit) -> str:
    """What found a hit. The views it is among the best of, or the parts of its score."""
    if "views_hit" in hit.chunk.extras:
        return "views " + (
            ", ".join(hit.chunk.extras["views_hit"]) or "none among the best"
        )
    parts = sorted(hit.parts.items(), key=lambda part: -part[1])
    matches = [f"{name} {value:.2f}" for name, value in parts if value > 0]
    return "by " + (", ".join(matches) or "nothing: no word of the question was found")


def index(
    paths: Paths,
    store: Annotated[
        str,
        typer.Option(
            *STORE,
            help=(
                "Where to keep the index: a folder, lancedb:FOLDER or milvus:PLACE. Search it "
                "with `search --store`."
            ),
        ),
    ],
    workers: Annotated[
        int,
        typer.Option(
            min=0,
            help="The number of processes, each with its own models; 0: one per core.",
        ),
    ] = 0,
    runner: Annotated[
        str,
        typer.Option(
            help="process, or ray: actors of the Ray cluster at RAY_ADDRESS, else of a local one.",
            callback=one_of("--runner", RUNNERS),
        ),
    ] = "process",
    method: Annotated[
        str,
        typer.Option(
            help="evidence (passages), or multiview (chunks by views and routes)."
        ),
    ] = "evidence",
    embedder: Embedder = "",
    max_tokens: MaxTokens = 300,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
) -> None:
    """Index many files with several processes. Run it again to resume after a stop.

    Files that cannot be read are reported and skipped. `--max-tokens` applies to the chunks of
    multiview. A store in an engine needs an `--embedder`; the default there is minilm, if
    installed.
    """
    check_choice("--method", method, METHODS)
    reading: dict[str, Any] = {"format": format, "reader": reader, "isolated": isolated}
    if engine_of(store) is not None:
        filled = fill(
            store,
            paths,
            workers or None,
            method=method,
            embedder=embedder,
            max_tokens=max_tokens,
            runner=runner,
            **reading,
        )
        model = embedder_for(embedder)
        return show_progress.say(f"{filled} ({model}; kept in {store})")
    stored = IndexFolder(Path(store), method, embedder=embedder, max_tokens=max_tokens)
    report = stored.fill(paths, workers or None, runner=runner, **reading)
    show_progress.say(f"{report} ({stored.model}; kept in {store})")
