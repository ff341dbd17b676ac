"""`structrag index`: many files into a kept index, by several processes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structrag.cli.kept_index import METHODS, KeptIndex
from structrag.cli.options import Embedder, Format, Isolated, MaxTokens, Paths, Reader
from structrag.cli.printing import show_progress
from structrag.errors import check_choice


def index(
    paths: Paths,
    store: Annotated[
        Path, typer.Option(help="The folder of the index; `search --index` searches it.")
    ],
    workers: Annotated[
        int, typer.Option(help="Processes, each with its own models; 0: one a core.")
    ] = 0,
    method: Annotated[
        str, typer.Option(help="evidence (passages), or multiview (chunks by views and routes).")
    ] = "evidence",
    embedder: Embedder = "",
    max_tokens: MaxTokens = 300,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
) -> None:
    """Index many files by several processes; begun again, it goes on.

    Files that cannot be read are named and left out. `--max-tokens` limits the chunks of multiview.
    """
    check_choice("method", method, METHODS)
    stored = KeptIndex(store, method, embedder=embedder, max_tokens=max_tokens)
    report = stored.fill(paths, workers or None, format=format, reader=reader, isolated=isolated)
    show_progress.say(f"{report} ({stored.model}; kept in {store})")
