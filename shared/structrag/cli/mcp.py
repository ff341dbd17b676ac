"""`structrag mcp`: a folder's documents for agents, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structrag.cli.index_folder import IndexFolder
from structrag.cli.options import Embedder, Format, Isolated, Paths, Reader
from structrag.cli.printing import show_progress
from structrag.errors import require


def mcp(
    paths: Paths,
    embedder: Embedder = "",
    index: Annotated[
        Path | None,
        typer.Option(
            help="A folder that keeps the index: the next start reads only changed files."
        ),
    ] = None,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
) -> None:
    """Serve documents to an agent over MCP, on standard input and output.

    Its tools: `evidence` and `search` give passages with their places, `outline` the sections of a
    document, `read_section` the text of one. Files that change are read again.
    """
    require("mcp", extra="mcp")
    from structrag.cli.mcp_server import Library, server_of

    library = Library(
        IndexFolder(index, embedder=embedder),
        paths,
        format=format,
        reader=reader,
        isolated=isolated,
    )
    show_progress.say(f"{library.refresh()}; serving on standard input and output")
    server_of(library).run("stdio")
