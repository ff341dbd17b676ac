"""`structrag mcp`: a folder's documents for agents, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structrag.cli.engine_index import EngineIndex
from structrag.cli.index_folder import IndexFolder
from structrag.cli.options import STORE, Embedder, Format, Isolated, Reader
from structrag.cli.printing import show_progress
from structrag.errors import InvalidParameter, require
from structrag.index.document_index import engine_of


def mcp(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files or folders to serve. Omit them to serve a store filled by `index`."
        ),
    ] = None,
    embedder: Embedder = "",
    index: Annotated[
        str,
        typer.Option(
            *STORE,
            help=(
                "A folder to keep the index in, so that the next start reads only changed files; "
                "or a store filled by `index`, such as lancedb:FOLDER."
            ),
        ),
    ] = "",
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
) -> None:
    """Serve documents to an agent over MCP, on standard input and output.

    Tools: `evidence` and `search` return passages with their positions and citations, `outline`
    lists documents and sections, `read_section` returns the text of a section, `resolve` checks a
    citation, and `show_page` returns a picture of a cited page of a PDF. Changed files are read
    again.
    """
    require("mcp", extra="mcp")
    from structrag.cli.mcp_server import Library, server_of

    in_engine = engine_of(index) is not None
    if in_engine == bool(paths):
        raise InvalidParameter(
            "Name either files or folders to serve, or a store filled by `structrag index`, such "
            "as --store lancedb:FOLDER."
        )
    opened: EngineIndex | IndexFolder = (
        EngineIndex(index, embedder=embedder)
        if in_engine
        else IndexFolder(Path(index) if index else None, embedder=embedder)
    )
    library = Library(
        opened, paths or [], format=format, reader=reader, isolated=isolated
    )
    show_progress.say(
        f"{library.refresh()} ({opened.model}); serving on standard input and output"
    )
    server_of(library).run("stdio")
