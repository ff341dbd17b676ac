"""The content of the page as JSON values, and the search for its hits. All places are characters of
`Document.text`, as everywhere in the library."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import pairwise
from typing import Any, NamedTuple

from structrag._version import __version__
from structrag.chunks.model_splitter import Explanation, ReadingSplitter, runner_for
from structrag.errors import InvalidParameter, StructragError
from structrag.evaluation.searched import GivenChunks, Passages
from structrag.index.index import Index
from structrag.model_calls.requests import Progress
from structrag.model_calls.runner import Runner
from structrag.model_calls.settings import counted
from structrag.reading.outline import Outline
from structrag.reading.paging import PAGE_STARTS
from structrag.reading.pdf.boxes import page_image
from structrag.reading.sections import parse
from structrag.records import Block, Chunk, Document, Hit, Section
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.retrieval.evidence.scores import SentenceMatch
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.hiqa.scores import ROUTES as HIQA_ROUTES
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.retrieval.retriever import Retriever
from structrag.text.terms import stems
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
    """Split documents, search the chunks, and give all that the page shows.

    Args:
        documents: At least one, each with its own id.
        splitters: Name -> splitter, in the order they are shown. A splitter is anything with
            `split(document)`. What splitters that read the text saw (PIC, IDMS) is shown beside it.
            Those named "hiqa" are searched by `HiQARetriever`, the others by `MultiViewRetriever`.
            `Passages()` in place of a splitter is `EvidenceRetriever`: its passages are shown,
            with the words that match the query.
        query: Looked for in an index of each splitter's chunks. "": nothing is indexed.
        k: The number of hits of each splitter.
        embedder: What `as_embedder` takes; None: LSA.
        progress: Called as (splitter's name, documents done, documents), and as (what, done, total)
            for the steps of each.

    Raises:
        InvalidParameter: there is no document or no splitter, two documents have the same id, or
            there are `Passages` and no query.
    """
    if not documents or not splitters:
        raise InvalidParameter(
            "There is nothing to show: pass at least one document with text, and one method."
        )
    if len({document.id for document in documents}) < len(documents):
        raise InvalidParameter("Two documents have the same id; give each a unique id.")
    records = [
        {**document_record(parse(document)), "splits": []} for document in documents
    ]
    searches = []
    for name, splitter in splitters.items():
        if isinstance(splitter, Passages):
            passages, search = search_passages(
                name, splitter, documents, query, k, embedder, progress
            )
            splits = [_Split(tuple(of_document)) for of_document in passages]
            searches.append(search)
        else:
            runner = runner_for(embedder, progress=progress)
            splits = [
                _split(splitter, document, runner)
                for document in counted(progress, name, documents)
            ]
            if query.strip():
                chunks = [split.chunks for split in splits]
                searches.append(
                    search_chunks(name, documents, chunks, query, k, embedder, progress)
                )
        for split, record in zip(splits, records, strict=True):
            shown = list(map(chunk_record, split.chunks))
            record["splits"].append({"chunks": shown, "series": split.series})
    return {
        "version": __version__,
        "query": query,
        "methods": [_method(name, splitter) for name, splitter in splitters.items()],
        "documents": records,
        "searches": searches,
    }


class _Split(NamedTuple):
    """A document's chunks, and what a splitter that reads the text saw."""

    chunks: tuple[Chunk, ...]
    series: dict[str, Any] | None = None


def _split(splitter: Any, document: Document, runner: Runner) -> _Split:
    if not isinstance(splitter, ReadingSplitter):
        return _Split(tuple(splitter.split(document)))
    explanation = splitter.explain(document, runner=runner)
    return _Split(explanation.chunks, series_record(explanation))


def _method(name: str, splitter: Any) -> dict[str, Any]:
    if isinstance(splitter, Passages):
        return {"name": name, "splitter": EvidenceRetriever.__name__, "passages": True}
    kind = type(splitter).__name__
    return {
        "name": name,
        "splitter": kind,
        "max_tokens": getattr(splitter, "max_tokens", None),
    }


def document_record(outline: Outline) -> dict[str, Any]:
    """A document with its sections, and where its text has columns. A section's `tokens` are those
    of its own text and of everything below it."""
    document, sections = outline.document, outline.sections
    tokens = [
        count_tokens(document.text[section.start : section.body_end])
        for section in sections
    ]
    for section in reversed(sections[1:]):
        tokens[section.parent or 0] += tokens[section.ordinal]
    columns = []
    for section in sections:
        for block in outline.blocks(section):
            if block.kind in MONOSPACED:
                columns.append([block.start, block.end])
    return {
        "id": document.id,
        "title": document.title,
        "format": document.format,
        "text": document.text,
        "sections": [
            _section(section, tokens[section.ordinal]) for section in sections
        ],
        "columns": columns,
        "looks": [list(look) for look in looks(outline)],
    }


def _section(section: Section, tokens: int) -> dict[str, Any]:
    return {
        "title": section.title,
        "parent": section.parent,
        "start": section.start,
        "body": section.body_start,
        "end": section.end,
        "tokens": tokens,
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
    """A splitter's numbers by unit, in reading order.

    None where no scope has any. `starts` and `ends` are the units' places without the heading in
    front, `values` and `thresholds` their numbers (None: none), and `notes` are [start, end, what
    was used] for each scope that says so.
    """
    shown = [series for series in explanation.series if series.units and series.values]
    if not shown:
        return None
    shown.sort(key=lambda series: series.units[0].start)
    record: dict[str, Any] = {
        "starts": [],
        "ends": [],
        "values": [],
        "thresholds": [],
        "notes": [],
    }
    for series in shown:
        record["starts"] += [unit.text_start for unit in series.units]
        record["ends"] += [unit.end for unit in series.units]
        record["values"] += map(_number, series.values)
        thresholds = series.thresholds or [math.nan] * len(series.units)
        record["thresholds"] += map(_number, thresholds)
        if series.note:
            place = [series.units[0].start, series.units[-1].end]
            record["notes"].append([*place, series.note])
    return record


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


# -- how Markdown looks on the page


WIDEST = 40  # characters of a table's column that count for its share of the width
NARROWEST = 10
LINE = 64  # characters that a line of the page holds: a smaller table is not stretched

_INLINE = re.compile(
    r"(?P<code>(?<!`)`(?!`)[^`\n]{1,300}`(?!`))"
    r"|(?P<image>!\[[^\]\n]{0,300}\]\([^)\s]{0,500}\))"
    r"|(?P<link>\[[^\]\[\n]{1,300}\]\([^)\s]{1,500}\))"
    r"|(?P<strong>\*\*(?=\S)[^*\n]{1,500}(?<=\S)\*\*)"
    r"|(?P<em>(?<![\w*])\*(?=[^\s*])[^*\n]{1,500}(?<=[^\s*])\*(?![\w*]))"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
)
_BULLET = re.compile(r"^[ \t]*(?P<sign>[-*+])[ \t]+(?=\S)", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n]*\n?", re.MULTILINE)
_CLOSING = re.compile(r"(?<![ \t])[ \t]+#+[ \t]*$")
_RULE = re.compile(
    r"^[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*(?:(?::-*:?|-+:?)[ \t]*)?)*$"
)
_PIPE = re.compile(r"(?<!\\)\|")


class Look(NamedTuple):
    """A span of the text and what it is set as. A "mark" is not shown, a "cell" takes `width` %."""

    start: int
    end: int
    kind: str
    width: int = 0


def looks(outline: Outline) -> list[Look]:
    """The looks of a document in Markdown, in order; of another format none.

    Spans of one kind do not overlap. Raw HTML, formulas and whatever else is uncertain stay as they
    are.
    """
    document = outline.document
    if document.format != "markdown":
        return []
    found: list[Look] = []
    for section in outline.sections:
        if section.level:
            found += _heading(document.text, section.start, section.body_start)
        for block in outline.blocks(section):
            found += _block(document.text, block)
    return sorted(set(found))


def _heading(text: str, start: int, end: int) -> Iterator[Look]:
    line = text[start:end].partition("\n")[0]
    marks = re.match(r"[ \t]*#{1,6}[ \t]+", line)
    if marks:
        yield Look(start, start + marks.end(), "mark")
        closing = _CLOSING.search(line, marks.end())
        if closing:
            yield Look(start + closing.start(), start + closing.end(), "mark")
    yield from _inline(line, start)


def _block(text: str, block: Block) -> Iterator[Look]:
    body = text[block.start : block.end]
    if block.kind == "code":
        for fence in _FENCE.finditer(body):
            yield Look(block.start + fence.start(), block.start + fence.end(), "mark")
    elif block.kind == "table" and "|" in body:
        yield from _table(body, block.start)
    else:
        for bullet in _BULLET.finditer(body):
            sign = block.start + bullet.start("sign")
            yield Look(sign, sign + 1, "bullet")
        for quote in _QUOTE.finditer(body):
            yield Look(block.start + quote.start(), block.start + quote.end(), "mark")
        yield from _inline(body, block.start)


def _inline(body: str, start: int) -> Iterator[Look]:
    for match in _INLINE.finditer(body):
        kind = str(match.lastgroup)
        first, last = start + match.start(), start + match.end()
        if kind == "escape":
            yield Look(first, first + 1, "mark")
            continue
        before = {"strong": 2, "image": 2}.get(kind, 1)
        inner = match.group().rindex("](") if kind in ("link", "image") else None
        after = first + inner if inner is not None else last - before
        yield Look(first, first + before, "mark")
        if first + before < after:
            yield Look(first + before, after, kind)
            if kind in ("link", "strong", "em"):
                yield from _inline(
                    body[match.start() + before : after - start], first + before
                )
        yield Look(after, last, "mark")


def _table(body: str, start: int) -> Iterator[Look]:
    rows: list[list[tuple[int, int]]] = []
    place = start
    for line in body.splitlines(keepends=True):
        content = line.rstrip("\r\n")
        if _RULE.match(content) and "-" in content:
            yield Look(place, place + len(line), "mark")
        elif "|" in content:
            rows.append(list(_cells(content, place)))
            pipes = [place + pipe.start() for pipe in _PIPE.finditer(content)]
            yield from (Look(pipe, pipe + 1, "mark") for pipe in pipes)
            yield from _inline(content, place)
        place += len(line)
    columns: list[list[tuple[int, int]]] = []
    for row in rows:
        columns += ([] for _ in row[len(columns) :])
        for cells, cell in zip(columns, row, strict=False):
            cells.append(cell)
    widths = [
        min(WIDEST, max(NARROWEST, 2 + max(last - first for first, last in cells)))
        for cells in columns
    ]
    for cells, width in zip(columns, widths, strict=True):
        share = int(99 * width / max(sum(widths), LINE))
        yield from (Look(first, last, "cell", share) for first, last in cells)


def _cells(line: str, place: int) -> Iterator[tuple[int, int]]:
    """The spans between the pipes of a row; what is empty outside the outer ones is none."""
    borders = [pipe.start() for pipe in _PIPE.finditer(line)]
    edges = [-1, *borders, len(line)]
    for number, (before, after) in enumerate(pairwise(edges)):
        outer = number == 0 or number == len(edges) - 2
        if after > before + 1 and not (outer and not line[before + 1 : after].strip()):
            yield place + before + 1, place + after


def search_chunks(
    name: str,
    documents: Sequence[Document],
    chunks: Sequence[tuple[Chunk, ...]],
    query: str,
    k: int,
    embedder: Any = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The best `k` of the chunks of all documents for a query.

    `routes` are names. Every hit has its `document` and `chunk` by number, `score`, and by route
    `shares`, which add up to the score, and `ranks` (None: the route did not find it).
    """
    by_document = dict(
        zip([document.id for document in documents], chunks, strict=True)
    )
    chosen = GivenChunks(by_document)
    index = Index(embedder=embedder, splitter=chosen, progress=progress)
    index.add(documents)
    retriever, routes = _retriever(name, index)
    hits = retriever.search(query, k)
    places: dict[str, tuple[int, int]] = {}
    for number, of_document in enumerate(chunks):
        for position, chunk in enumerate(of_document):
            places[chunk.id] = (number, position)
    records = []
    for hit in hits:
        ranks = [hit.routes.get(route) for route in routes]
        place = places[hit.chunk.id]
        shown = _hit(hit, place, routes, documents[place[0]])
        records.append({**shown, "ranks": ranks})
    return {
        "retriever": type(retriever).__name__,
        "embedder": index.embedder.name,
        "routes": list(routes),
        "hits": records,
    }


def _hit(
    hit: Hit, place: tuple[int, int], routes: Sequence[str], document: Document
) -> dict[str, Any]:
    """Return the fields that the page shows of every hit. `place` has the numbers of its document
    and chunk. One in a PDF has a `picture` of the page, where its file can be read."""
    number, chunk = place
    picture = b""
    if PAGE_STARTS in document.meta:
        with suppress(StructragError):
            picture = page_image(document, hit)
    return {
        "document": number,
        "chunk": chunk,
        "score": hit.score,
        "shares": [hit.parts.get(route, 0.0) for route in routes],
        "picture": b64encode(picture).decode(),
    }


def search_passages(
    name: str,
    passages: Passages,
    documents: Sequence[Document],
    query: str,
    k: int,
    embedder: Any = None,
    progress: Progress | None = None,
) -> tuple[list[list[Chunk]], dict[str, Any]]:
    """The best `k` passages of all documents.

    By document in reading order, and as hits. A hit's `sentences` say what matches the words of the
    query in each of them. Words that are left out of searches by terms, such as "the", are not
    among them.

    Raises:
        InvalidParameter: the query is blank.
    """
    if not query.strip():
        raise InvalidParameter(
            f"{name} finds passages for a question; pass a query (-q), or leave {name} out."
        )
    retriever = passages.retriever(documents, embedder, progress)
    hits = retriever.search(query, k)
    explained = retriever.explain(query, hits)
    numbers = {document.id: number for number, document in enumerate(documents)}
    chunks: list[list[Chunk]] = [[] for _ in documents]
    for hit in hits:
        chunks[numbers[hit.chunk.doc_id]].append(hit.chunk)
    for of_document in chunks:
        of_document.sort(key=lambda chunk: chunk.start)
    routes = list(hits[0].parts) if hits else []
    language = retriever.read_options.language
    texts = [document.text for document in documents]
    records = []
    for hit, sentences in zip(hits, explained, strict=True):
        number = numbers[hit.chunk.doc_id]
        place = (number, chunks[number].index(hit.chunk))
        matches = [
            _sentence(sentence, texts[number], language) for sentence in sentences
        ]
        shown = _hit(hit, place, routes, documents[number])
        records.append({**shown, "ranks": None, "sentences": matches})
    encoder = retriever.token_encoder or retriever.embedder
    search = {
        "retriever": type(retriever).__name__,
        "embedder": encoder.name if encoder is not None else "",
        "routes": routes,
        "words": True,
        "hits": records,
    }
    return chunks, search


def _sentence(sentence: SentenceMatch, text: str, language: str) -> dict[str, Any]:
    words = [
        asdict(word) for word in sentence.words if stems(word.word, language=language)
    ]
    for word in words:
        word["similarity"] = round(word["similarity"], 3)
        if not stems(text[word["start"] : word["end"]], language=language):
            word["end"] = word["start"]  # a comma or "the" is no match to look at
    return {
        "start": sentence.start,
        "end": sentence.end,
        "score": sentence.score,
        "words": words,
    }


def _retriever(name: str, index: Index) -> tuple[Retriever, Sequence[str]]:
    """The retriever that fits a method's chunks, and its routes."""
    if name == "hiqa":
        return HiQARetriever(index), HIQA_ROUTES
    retriever = MultiViewRetriever(index)
    return retriever, retriever.routes
