"""Splitters compared on the same documents: chunks and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain, pairwise
from time import perf_counter
from typing import Any

import numpy as np

from structrag.chunks.model_splitter import runner_for
from structrag.evaluation.measure import Span, chunking_error, spans_of
from structrag.evaluation.searched import check_documents, model_calls, split_counted
from structrag.model_calls.requests import Progress
from structrag.model_calls.settings import counted
from structrag.models.embedders import as_embedder
from structrag.reading.outline import Outline
from structrag.reading.sections import parse
from structrag.records import Block, Chunk, Document
from structrag.text.sentences import sentence_spans

UNITS = ("sentence", "table", "code")


@dataclass(frozen=True, slots=True)
class MethodReport:
    """One method's chunks of all documents and what they cost.

    Example:
        >>> MethodReport("mc", 1, (9, 9, 9, 9), {"table": 0}, 0.01, 0, 1, 0).cut["table"]
        0
    """

    name: str
    chunks: int
    # Estimated tokens of a chunk's text: least, median, 95th percentile, most.
    tokens: tuple[int, int, int, int]
    # "sentence", "table" and "code" -> how many lie in no single chunk as a whole.
    cut: Mapping[str, int]
    seconds: float  # to split, with what it takes to find the sections
    embedded_to_split: int  # texts that were embedded to find where to cut
    embedded_to_index: int  # texts to embed to index the chunks once
    model_calls: int  # of a language model, if one were given


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of `compare`.

    Example:
        >>> from structrag.chunks.content_aware import ContentAwareSplitter
        >>> document = Document("# Nova\\n\\nA phone.\\n", id="nova.md", format="markdown")
        >>> compare([document], {"mc": ContentAwareSplitter()}).methods[0].chunks
        1
    """

    documents: int
    characters: int
    # "sentence", "table" and "code" -> how many the documents have.
    units: Mapping[str, int]
    embedder: str
    methods: tuple[MethodReport, ...]


def compare(
    documents: Sequence[Document],
    splitters: Mapping[str, Any],
    *,
    embedder: Any = None,
    progress: Progress | None = None,
) -> Comparison:
    """Split documents by several splitters and measure each.

    All are measured on the same units. Which of them finds more, `evaluate` of
    `structrag.evaluation.labelled` says for questions.

    Args:
        documents: At least one that holds text, each with its own id.
        splitters: Name -> splitter, anything with `split(document)`.
        embedder: What `as_embedder` takes, for splitters that embed. None: LSA.
        progress: Called as (what, done, total).

    Raises:
        InvalidParameter: there is no text or no splitter, or two documents have the same id.
    """
    documents = list(documents)
    check_documents(documents, splitters)
    model = None if embedder is None else as_embedder(embedder)
    units = _units([parse(document) for document in documents])
    texts = {document.id: document.text for document in documents}
    reports: list[MethodReport] = []
    for name, splitter in splitters.items():
        reports.append(
            _measured(name, splitter, documents, units, texts, model, progress)
        )
    return Comparison(
        documents=len(documents),
        characters=sum(map(len, texts.values())),
        units={kind: len(spans) for kind, spans in units.items()},
        embedder=as_embedder(model).name,
        methods=tuple(reports),
    )


def _measured(
    name: str,
    splitter: Any,
    documents: Sequence[Document],
    units: Mapping[str, Sequence[Span]],
    texts: Mapping[str, str],
    embedder: Any,
    progress: Progress | None,
) -> MethodReport:
    """What the chunks of one splitter are like."""
    runner = runner_for(embedder, progress=progress)
    chunks: list[Chunk] = []
    embedded = 0
    seconds = 0.0
    for document in counted(progress, name, documents):
        # Every method pays for reading the document's structure.
        unparsed = copy(document)
        began = perf_counter()
        of_document, n_embedded = split_counted(splitter, unparsed, runner)
        seconds += perf_counter() - began
        chunks += of_document
        embedded += n_embedded
    sizes = [chunk.n_tokens for chunk in chunks]
    middle, high = np.quantile(sizes, [0.5, 0.95]).tolist()
    cut = {}
    for kind, spans in units.items():
        share = chunking_error(spans, spans_of(chunks), texts) or 0.0
        cut[kind] = round(share * len(spans))
    return MethodReport(
        name=name,
        chunks=len(chunks),
        tokens=(min(sizes), round(middle), round(high), max(sizes)),
        cut=cut,
        seconds=seconds,
        embedded_to_split=embedded,
        embedded_to_index=len(chunks),
        model_calls=sum(model_calls(splitter, document) for document in documents),
    )


def _units(outlines: Sequence[Outline]) -> dict[str, list[Span]]:
    """Return the spans that should stay whole: sentences of prose, tables, blocks of code."""
    units: dict[str, list[Span]] = {kind: [] for kind in UNITS}
    for outline in outlines:
        for section in outline.sections:
            for block in outline.blocks(section):
                if block.kind in ("table", "code"):
                    units[block.kind].append(
                        (outline.document.id, block.text_start, block.end)
                    )
                elif block.kind in ("paragraph", "list", "quote"):
                    units["sentence"] += _sentences(outline.document, block)
    return units


def _sentences(document: Document, block: Block) -> list[Span]:
    """The sentences of a paragraph, list or quote. An item of a list ends one."""
    places = pairwise([block.start, *block.cuts, block.end])
    return [
        (document.id, start, end)
        for start, end in chain.from_iterable(
            sentence_spans(document.text, *place) for place in places
        )
        if document.text[start:end].strip()
    ]
