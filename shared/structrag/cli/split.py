"""`structrag split`: a document's chunks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from structrag.chunks.model_splitter import ReadingSplitter
from structrag.cli.options import (
    METHODS,
    AsJson,
    Embedder,
    File,
    Format,
    ImagesTo,
    Isolated,
    MaxTokens,
    Reader,
    embedder_of,
    one_document,
)
from structrag.cli.printing import chunk_record, harmless, path_of, print_items
from structrag.errors import InvalidParameter, check_choice
from structrag.reading.sections import parse
from structrag.records import Chunk, Document
from structrag.show.explanation import plot_explanation
from structrag.text.numbers import pluralise


def split(
    file: File,
    method: Annotated[
        str, typer.Option(help="content_aware, fixed, hiqa, idms or pic.")
    ] = "content_aware",
    max_tokens: MaxTokens = 300,
    embedder: Embedder = "",
    plot: Annotated[
        Path | None,
        typer.Option(
            help=(
                "For idms and pic: a .png, .svg or .pdf file to draw the boundaries and their "
                "scores to."
            )
        ),
    ] = None,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
    images_to: ImagesTo = None,
    as_json: AsJson = False,
) -> None:
    """Print a document's chunks: heading path, character range, token count and text."""
    splitter = METHODS[check_choice("--method", method, METHODS)](max_tokens)
    model = embedder_of(embedder)
    document = one_document(
        "split",
        file,
        format=format,
        reader=reader,
        isolated=isolated,
        images_to=images_to,
    )
    chunks = list(_split(splitter, document, model, plot))
    if not chunks:
        typer.echo(harmless(f"{file} holds no text, so it has no chunks."), err=True)
    print_items(
        map(chunk_record, chunks) if as_json else _lines(document, chunks), as_json
    )


def _split(
    splitter: Any, document: Document, embedder: Any, plot: Path | None
) -> Iterable[Chunk]:
    if not isinstance(splitter, ReadingSplitter):
        if plot is not None:
            raise InvalidParameter(
                "--plot works with --method idms or pic only; the other methods have nothing to "
                "draw."
            )
        chunks: Iterable[Chunk] = splitter.split(document)
        return chunks
    explanation = splitter.explain(document, embedder=embedder)
    if plot is not None:
        plot_explanation(explanation, plot)
    return explanation.chunks


def _lines(document: Document, chunks: Iterable[Chunk]) -> Iterator[str]:
    sections = parse(document).sections
    for number, chunk in enumerate(chunks, start=1):
        size = f"about {pluralise(chunk.extras['index_tokens'], 'token')}"
        where = path_of(chunk)
        if not chunk.path:  # the splitter looks at no headings, or there is none
            above = (
                bisect_right(sections, chunk.start, key=lambda section: section.start)
                - 1
            )
            begins = sections[above].path
            where = f"(begins under {' > '.join(begins)})" if begins else where
        yield f"── {number}  {where}  [{chunk.start}:{chunk.end}]  {size}"
        yield chunk.text.rstrip("\n")
