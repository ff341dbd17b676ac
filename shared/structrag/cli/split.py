"""Commands that take one file: `structrag split` prints its chunks, `structrag outline` its
sections, and `structrag resolve` says what has become of a cited passage."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from structrag import citations
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
from structrag.errors import check_choice
from structrag.reading.sections import parse
from structrag.records import Chunk, Document, Section
from structrag.text.numbers import pluralise
from structrag.text.tokens import count_tokens


def split(
    file: File,
    method: Annotated[
        str, typer.Option(help="content_aware, fixed, hiqa, idms or pic.")
    ] = "content_aware",
    max_tokens: MaxTokens = 300,
    embedder: Embedder = "",
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
    is_reading = isinstance(splitter, ReadingSplitter)
    chunks = splitter.split(document, **({"embedder": model} if is_reading else {}))
    if not chunks:
        typer.echo(harmless(f"{file} holds no text, so it has no chunks."), err=True)
    print_items(
        map(chunk_record, chunks) if as_json else _lines(document, chunks), as_json
    )


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


def resolve(
    citation: Annotated[
        str, typer.Argument(help="A citation from `search --json` or from a retriever.")
    ],
    file: File,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
    as_json: AsJson = False,
) -> None:
    """Find a cited passage in its file as it is now. Print whether it is there, moved, changed or
    gone, its character range and its text."""
    doc_id = citations.cited_document(citation)
    document = one_document(
        "resolve", file, format=format, reader=reader, isolated=isolated
    )
    if os.path.abspath(doc_id) == os.path.abspath(file):
        document = replace(document, id=doc_id)
    resolution = citations.resolve(citation, document)
    place = f"[{resolution.start}:{resolution.end}]"
    line = f"{resolution.state}  {file}{place}\n{resolution.text}"
    is_gone = resolution.state == "gone"
    print_items(
        [asdict(resolution) if as_json else "gone" if is_gone else line], as_json
    )


FIELDS = (
    "ordinal",
    "level",
    "title",
    "path",
    "start",
    "body_start",
    "body_end",
    "end",
    "parent",
)


def outline(
    file: File,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
    as_json: AsJson = False,
) -> None:
    """Print a document's sections with their character ranges and sizes."""
    document = one_document(
        "outline", file, format=format, reader=reader, isolated=isolated
    )
    sections = parse(document).sections
    print_items(
        map(_record, sections) if as_json else _section_lines(document, sections),
        as_json,
    )


def _record(section: Section) -> dict[str, Any]:
    return {name: getattr(section, name) for name in FIELDS}


def _section_lines(document: Document, sections: Iterable[Section]) -> Iterator[str]:
    yield f"{document.title or '(no title)'} · {document.format} · {len(document.text)} characters"
    for section in sections:
        tokens = count_tokens(document.text[section.body_start : section.body_end])
        name = section.title if section.ordinal else "(before the first heading)"
        if (
            section.ordinal
            or document.text[section.body_start : section.body_end].strip()
        ):
            indent = "  " * len(section.path)
            place = f"[{section.start}:{section.end}]"
            yield f"{indent}{name}  {place}  about {pluralise(tokens, 'token')} of its own"
