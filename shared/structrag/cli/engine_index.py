"""An index in an engine, filled and searched from the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structrag.cli.index_folder import fill_store, search_index
from structrag.cli.options import embedder_of, files_of
from structrag.errors import InvalidParameter
from structrag.index.corpus import CorpusStore
from structrag.index.index import Index
from structrag.ingestion.ingesting import IngestReport
from structrag.records import Hit


def fill(
    address: str,
    paths: Sequence[Path],
    workers: int | None = None,
    *,
    method: str = "multiview",
    embedder: str = "",
    max_tokens: int = 300,
    **options: Any,
) -> IngestReport:
    """Put files into the store at an address, by several processes.

    Documents have the absolute paths of their files as ids; those whose files are gone leave it.

    Args:
        method: "multiview", the only one that an engine serves.
        embedder: What `--embedder` takes.
        max_tokens: Of the chunks.
        options: runner, format, reader and isolated, as `ingest` takes them.

    Raises:
        InvalidParameter: it is another method, or no embedder is named.
        InvalidDocument: nothing is there.
    """
    _check(method, embedder)
    return fill_store(
        [os.path.abspath(file) for file in files_of(paths)],
        address,
        method,
        embedder,
        max_tokens,
        workers,
        **options,
    )


def search(
    address: str, query: str, k: int, *, method: str = "multiview", embedder: str = ""
) -> tuple[list[Hit], CorpusStore]:
    """The best hits in the store at an address, and the store. Raises as `fill` does."""
    _check(method, embedder)
    index = Index.load(address, embedder=embedder_of(embedder))
    return search_index(index, query, k), index.store


def _check(method: str, embedder: str) -> None:
    if method != "multiview":
        raise InvalidParameter(
            f"--method must be multiview for a store in an engine; got {method}. Give that, or a "
            "folder."
        )
    if not embedder:
        raise InvalidParameter(
            "--embedder must name a model for a store in an engine: LSA's vectors change with "
            "every document."
        )
