"""`structrag index`: many files into a kept index, by several processes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from structrag.cli import engine_index
from structrag.cli.index_folder import METHODS, IndexFolder
from structrag.cli.options import (
    STORE,
    Embedder,
    Format,
    Isolated,
    MaxTokens,
    Paths,
    Reader,
    one_of,
)
from structrag.cli.printing import show_progress
from structrag.errors import check_choice
from structrag.index.opening import engine_of
from structrag.ingestion.ingesting import RUNNERS


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
        filled = engine_index.fill(
            store,
            paths,
            workers or None,
            method=method,
            embedder=embedder,
            max_tokens=max_tokens,
            runner=runner,
            **reading,
        )
        model = engine_index.embedder_for(embedder)
        return show_progress.say(f"{filled} ({model}; kept in {store})")
    stored = IndexFolder(Path(store), method, embedder=embedder, max_tokens=max_tokens)
    report = stored.fill(paths, workers or None, runner=runner, **reading)
    show_progress.say(f"{report} ({stored.model}; kept in {store})")
