"""What several commands take: methods by name, files, shared options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.cli.printing import harmless
from structrag.errors import InvalidParameter, StructragError, check_choice
from structrag.reading.files import find_files, read_file
from structrag.records import Document

METHODS: dict[str, Callable[[int], Any]] = {
    "content_aware": lambda max_tokens: ContentAwareSplitter(max_tokens=max_tokens),
    "fixed": lambda max_tokens: FixedSplitter(max_tokens=max_tokens),
    "hiqa": lambda max_tokens: HiQASplitter(max_tokens=max_tokens),
    "idms": lambda max_tokens: IDMSSplitter(max_tokens=max_tokens),
    "pic": lambda max_tokens: PICSplitter(max_tokens=max_tokens),
}

File = Annotated[Path, typer.Argument(help="The document.")]
Paths = Annotated[list[Path], typer.Argument(help="Documents, or folders of documents.")]
Format = Annotated[str, typer.Option(help="auto, markdown, html or text.")]
Reader = Annotated[str, typer.Option(help="Who reads PDF files: layout, pdfplumber or docling.")]
Isolated = Annotated[
    bool,
    typer.Option(
        "--isolated/--not-isolated",
        help="Read PDF files in a process of their own, with limits; never with docling.",
    ),
]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Markdown instead of plain text.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
MaxTokens = Annotated[int, typer.Option(help="Most tokens in a chunk, its heading path included.")]
Embedder = Annotated[
    str,
    typer.Option(
        help="A sentence-transformers model or folder; default LSA, which needs no model."
    ),
]


def numbers(name: str, values: str) -> list[int]:
    """The numbers of a list with commas between.

    Raises:
        InvalidParameter: there is none, or something else than whole numbers from 1.
    """
    parts = [part.strip() for part in values.split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise InvalidParameter(
            f"{name} must be whole numbers from 1 with commas between; got {values!r}."
        )
    return [int(part) for part in parts]


def check_one_form(as_json: bool, markdown: bool) -> None:
    """Refuse a report as JSON and as Markdown at once.

    Raises:
        InvalidParameter: both are asked for.
    """
    if as_json and markdown:
        raise InvalidParameter("--json and --markdown exclude each other; give one of them.")


def splitters(names: str, max_tokens: int) -> dict[str, Any]:
    """The splitters that a list of names with commas between asks for.

    They come in the order of the list.

    Raises:
        InvalidParameter: a name is unknown or comes twice, or there is none.
    """
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    if not chosen or len(set(chosen)) != len(chosen):
        raise InvalidParameter(
            f"--method must be different names with commas between; got {names!r}."
        )
    return {check_choice("--method", name, METHODS): METHODS[name](max_tokens) for name in chosen}


def documents(
    paths: Iterable[Path], *, format: str = "auto", reader: str = "layout", isolated: bool = True
) -> Iterator[Document]:
    """Every readable file, once.

    A file in a folder that holds no text is named and left out.
    """
    seen: set[Path] = set()
    for path in paths:
        for file in find_files(path):
            if file.resolve() in seen:
                continue
            seen.add(file.resolve())
            try:
                yield read_document(file, format=format, reader=reader, isolated=isolated)
            except StructragError as error:
                if file == path:
                    raise
                # The command line talks.
                print(f"left out: {harmless(str(error))}", file=sys.stderr)  # noqa: T201


def read_document(file: Path, *, format: str, reader: str, isolated: bool) -> Document:
    """One file; PDFs in their own process unless docling reads them."""
    return read_file(file, format=format, reader=reader, isolated=isolated and reader != "docling")
