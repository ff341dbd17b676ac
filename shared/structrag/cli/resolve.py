"""`structrag resolve`: what has become of a cited passage."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from typing import Annotated

import typer

from structrag import citations
from structrag.cli.options import AsJson, File, Format, Isolated, Reader, one_document
from structrag.cli.printing import print_items


def resolve(
    citation: Annotated[
        str, typer.Argument(help="A citation of `search --json`, or of a retriever.")
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
