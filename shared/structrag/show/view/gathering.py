"""What the page shows, as JSON values. All places are characters of `Document.text`, as everywhere
in the library."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from structrag._version import __version__
from structrag.asking.requests import Progress
from structrag.chunks.asking_splitter import Explanation, ReadingSplitter, runner_for
from structrag.chunks.series import Series
from structrag.errors import InvalidParameter
from structrag.reading.outline import Outline
from structrag.reading.sections import parse
from structrag.records import Chunk, Document
from structrag.show.view.searching import search_chunks
from structrag.text.tokens import count_tokens

MONOSPACED = {"code", "table"}  # kinds of blocks whose columns have a meaning
DIGITS = 6


def gather(
    documents: Sequence[Document],
    splitters: Mapping[str, Any],
    *,
    query: str = "",
    k: int = 10,
    embedder: Any = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Split documents by several splitters, search the chunks of each, and give all that the page
    shows.

    Args:
        documents: At least one, each with its own id.
        splitters: Name -> splitter, in the order they are shown; anything with `split(document)`.
            What splitters that read the text saw (PIC, IDMS) is shown beside it. Those named "hiqa"
            are searched by `HiQARetriever`, the others by `MultiViewRetriever`.
        query: Looked for in an index of each splitter's chunks; "": nothing is indexed.
        k: How many hits a splitter.
        embedder: What `as_embedder` takes; None: LSA.
        progress: Called as (splitter's name, documents done, documents).

    Raises:
        InvalidParameter: there is no document or no splitter, or two documents have the same id.
    """
    if not documents or not splitters:
        raise InvalidParameter(
            "There is nothing to show: give at least one document that holds text, and one method."
        )
    if len({document.id for document in documents}) < len(documents):
        raise InvalidParameter("Two documents have the same id; give each its own.")
    found: dict[str, list[tuple[Chunk, ...]]] = {}
    series: dict[str, list[dict[str, Any] | None]] = {}
    for name, splitter in splitters.items():
        found[name], series[name] = [], []
        for number, document in enumerate(documents, start=1):
            chunks, seen = _split(splitter, document, embedder)
            found[name].append(chunks)
            series[name].append(seen)
            if progress is not None:
                progress(name, number, len(documents))
    return {
        "version": __version__,
        "query": query,
        "methods": [_method(name, splitter) for name, splitter in splitters.items()],
        "documents": [
            {
                **document_record(parse(document)),
                "splits": [
                    {
                        "chunks": [chunk_record(chunk) for chunk in found[name][i]],
                        "series": series[name][i],
                    }
                    for name in splitters
                ],
            }
            for i, document in enumerate(documents)
        ],
        "searches": [
            search_chunks(name, documents, found[name], query, k, embedder) for name in splitters
        ]
        if query.strip()
        else [],
    }


def _split(
    splitter: Any, document: Document, embedder: Any
) -> tuple[tuple[Chunk, ...], dict[str, Any] | None]:
    if not isinstance(splitter, ReadingSplitter):
        return tuple(splitter.split(document)), None
    explanation = splitter.explain(document, runner=runner_for(embedder))
    return explanation.chunks, series_record(explanation)


def _method(name: str, splitter: Any) -> dict[str, Any]:
    kind = type(splitter).__name__
    return {"name": name, "splitter": kind, "max_tokens": getattr(splitter, "max_tokens", None)}


def document_record(outline: Outline) -> dict[str, Any]:
    """A document with its sections, and where its text is a heading or has columns.

    A section's `tokens` are those of its own text and of everything below it.
    """
    document, sections = outline.document, outline.sections
    tokens = [count_tokens(document.text[section.start : section.body_end]) for section in sections]
    for section in reversed(sections[1:]):
        tokens[section.parent or 0] += tokens[section.ordinal]
    return {
        "id": document.id,
        "title": document.title,
        "format": document.format,
        "text": document.text,
        "sections": [
            {
                "title": section.title,
                "parent": section.parent,
                "start": section.start,
                "body": section.body_start,
                "end": section.end,
                "tokens": size,
            }
            for section, size in zip(sections, tokens, strict=True)
        ],
        "columns": [
            [block.start, block.end]
            for section in sections
            for block in outline.blocks(section)
            if block.kind in MONOSPACED
        ],
    }


def chunk_record(chunk: Chunk) -> dict[str, Any]:
    """A chunk without its text, which is the document's between its places."""
    return {
        "start": chunk.start,
        "end": chunk.end,
        "tokens": chunk.n_tokens,
        "path": list(chunk.path),
        "kind": chunk.kind,
        "context": chunk.context,
        "extras": _json_value(chunk.extras),
    }


def series_record(explanation: Explanation) -> dict[str, Any] | None:
    """A splitter's numbers by unit, in reading order; None where no scope has any.

    `starts` and `ends` are the units' places without the heading in front, `values` and
    `thresholds` their numbers (None: none), and `notes` are [start, end, what was used] for each
    scope that says so.
    """
    shown = [series for series in explanation.series if series.units and series.values]
    if not shown:
        return None
    shown.sort(key=lambda series: series.units[0].start)
    return {
        "starts": [unit.text_start for series in shown for unit in series.units],
        "ends": [unit.end for series in shown for unit in series.units],
        "values": [_number(value) for series in shown for value in series.values],
        "thresholds": [_number(value) for series in shown for value in _thresholds(series)],
        "notes": [
            [series.units[0].start, series.units[-1].end, series.note]
            for series in shown
            if series.note
        ],
    }


def _thresholds(series: Series) -> Iterable[float]:
    return series.thresholds or [math.nan] * len(series.units)


def _number(value: float) -> float | None:
    return round(float(value), DIGITS) if math.isfinite(value) else None


def _json_value(value: Any) -> Any:
    """The value with numbers that JSON does not have as None."""
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, float):
        return _number(value)
    return value
