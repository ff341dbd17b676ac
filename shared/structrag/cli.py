"""The command `structrag`: look at a document's outline, at its chunks, and search files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from structrag import __version__
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.idms import IDMSSplitter
from structrag.chunks.pic import PICSplitter
from structrag.chunks.reading import ReadingSplitter
from structrag.errors import InvalidParameter, MissingExtra, StructragError, check_choice, require
from structrag.index.index import Index
from structrag.reading import find_files, read_file
from structrag.records import Chunk, Document, Hit, Section
from structrag.report import plot_explanation
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.sections import parse
from structrag.tokens import count_tokens

METHODS: dict[str, Callable[[int], Any]] = {
    "content_aware": lambda max_tokens: ContentAwareSplitter(max_tokens=max_tokens),
    "fixed": lambda max_tokens: FixedSplitter(max_tokens=max_tokens),
    "idms": lambda max_tokens: IDMSSplitter(max_tokens=max_tokens, min_tokens=max_tokens // 4),
    "pic": lambda max_tokens: PICSplitter(max_tokens=max_tokens, min_tokens=min(40, max_tokens // 4)),
}


EMBEDDER_HELP = "A sentence-transformers model or folder; default LSA, which needs no model."


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a mistake of the user's ends with one sentence on standard error and exit status 2."""
    try:
        app = _app()
        app(args=arguments, standalone_mode=True)
    except MissingExtra as error:
        sys.exit(f"structrag: {error}")
    except StructragError as error:
        print(f"structrag: {error}", file=sys.stderr)  # noqa: T201 - the command line talks
        sys.exit(2)


def _app() -> Any:
    typer: Any = require("typer", extra="cli")
    app = typer.Typer(
        no_args_is_help=True, add_completion=False, help="Split and search documents by their own structure."
    )
    as_json = typer.Option(False, "--json", help="One JSON object a line.")
    format_option = typer.Option("auto", help="auto, markdown, html or text.")

    @app.callback(invoke_without_command=True)
    def root(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
        if version:
            typer.echo(__version__)
            raise typer.Exit

    @app.command()
    def outline(
        file: Path = typer.Argument(..., help="The document."), format: str = format_option, json: bool = as_json
    ) -> None:
        """Print a document's sections with their character ranges and sizes."""
        document = read_file(file, format=format)
        sections = parse(document).sections
        _print(map(_section_record, sections) if json else _outline_lines(document, sections), json)

    @app.command()
    def split(
        file: Path = typer.Argument(..., help="The document."),
        method: str = typer.Option("content_aware", help="content_aware, fixed, idms or pic."),
        max_tokens: int = typer.Option(300, help="Most tokens in a chunk, its heading path included."),
        embedder: str = typer.Option("", help=EMBEDDER_HELP),
        plot: Path = typer.Option(None, help="idms and pic: draw what was seen to this .png, .svg or .pdf file."),
        format: str = format_option,
        json: bool = as_json,
    ) -> None:
        """Print a document's chunks: heading path, character range, tokens, text."""
        splitter = METHODS[check_choice("--method", method, METHODS)](max_tokens)
        document = read_file(file, format=format)
        chunks = _split(splitter, document, embedder or None, plot)
        _print(map(_chunk_record, chunks) if json else _chunk_lines(chunks), json)

    @app.command()
    def search(
        paths: list[Path] = typer.Argument(..., help="Documents, or folders of documents."),
        query: str = typer.Option(..., "-q", "--query", help="What to look for."),
        k: int = typer.Option(5, "-k", help="How many chunks."),
        embedder: str = typer.Option("", help=EMBEDDER_HELP),
        max_tokens: int = typer.Option(300, help="Most tokens in a chunk, its heading path included."),
        cache: str = typer.Option("", help="A file that keeps vectors for the next time."),
        json: bool = as_json,
    ) -> None:
        """Search files by all views and routes; prints path, score, views and character range of every hit."""
        index = Index(
            embedder=embedder or None,
            splitter=ContentAwareSplitter(max_tokens=max_tokens),
            cache=cache or None,
            progress=_progress,
        )
        report = index.add(_documents(paths))
        if not json:
            typer.echo(f"{report} ({index.embedder.name})", err=True)
        hits = MultiViewRetriever(index, k=k).search(query)
        _print(map(_hit_record, hits) if json else _hit_lines(hits), json)

    return app


def _split(splitter: Any, document: Document, embedder: str | None, plot: Path | None) -> Iterable[Chunk]:
    if not isinstance(splitter, ReadingSplitter):
        if plot is not None:
            raise InvalidParameter(
                "--plot is for --method idms or pic, which read the text; the others have nothing to draw."
            )
        chunks: Iterable[Chunk] = splitter.split(document)
        return chunks
    explanation = splitter.explain(document, embedder=embedder)
    if plot is not None:
        plot_explanation(explanation, plot)
    return explanation.chunks


def _documents(paths: Iterable[Path]) -> Iterator[Document]:
    """Every readable file, once; a file that holds no text is named and left out."""
    seen: set[Path] = set()
    for path in paths:
        for file in find_files(path):
            if file.resolve() in seen:
                continue
            seen.add(file.resolve())
            try:
                yield read_file(file)
            except StructragError as error:
                if file == path:
                    raise
                print(f"left out: {error}", file=sys.stderr)  # noqa: T201


def _print(items: Iterable[Any], as_json: bool) -> None:
    for item in items:
        line = json.dumps(item) if as_json else str(item)
        sys.stdout.write(line.encode("utf-8", "replace").decode("utf-8") + "\n")


def _progress(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else "\r"
        print(f"{what}: {done} of {total}   ", end=end, file=sys.stderr, flush=True)  # noqa: T201


def _section_record(section: Section) -> dict[str, Any]:
    return {
        "ordinal": section.ordinal,
        "level": section.level,
        "title": section.title,
        "path": list(section.path),
        "start": section.start,
        "body_start": section.body_start,
        "body_end": section.body_end,
        "end": section.end,
        "parent": section.parent,
    }


def _outline_lines(document: Document, sections: Iterable[Section]) -> Iterator[str]:
    yield f"{document.title or '(no title)'} · {document.format} · {len(document.text)} characters"
    for section in sections:
        tokens = count_tokens(document.text[section.body_start : section.body_end])
        name = section.title if section.ordinal else "(before the first heading)"
        if section.ordinal or document.text[section.body_start : section.body_end].strip():
            depth = len(section.path)
            yield f"{'  ' * depth}{name}  [{section.start}:{section.end}]  about {tokens} tokens of its own"


def _chunk_record(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "path": list(chunk.path),
        "start": chunk.start,
        "end": chunk.end,
        "n_tokens": chunk.n_tokens,
        "context": chunk.context,
        "text": chunk.text,
        **dict(chunk.extras),
    }


def _chunk_lines(chunks: Iterable[Chunk]) -> Iterator[str]:
    for number, chunk in enumerate(chunks, start=1):
        yield f"── {number}  {_path(chunk)}  [{chunk.start}:{chunk.end}]  about {chunk.extras['index_tokens']} tokens"
        yield chunk.text.rstrip("\n")


def _hit_record(hit: Hit) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "score": hit.score,
        "document": hit.chunk.doc_id,
        **_chunk_record(hit.chunk),
        "routes": dict(hit.routes),
        "route_scores": dict(hit.scores),
    }


def _hit_lines(hits: Iterable[Hit]) -> Iterator[str]:
    for hit in hits:
        views = ", ".join(hit.chunk.extras["views_hit"]) or "none among the best"
        yield f"{hit.rank}. {_path(hit.chunk)}  score {hit.score:.2f}  views {views}  {hit.chunk.doc_id}[{hit.chunk.start}:{hit.chunk.end}]"
        excerpt = " ".join(hit.chunk.text.split())
        yield f"   {excerpt[:200]}{'…' if len(excerpt) > 200 else ''}"


def _path(chunk: Chunk) -> str:
    return " > ".join(chunk.path) or "(no heading)"
