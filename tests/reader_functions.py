"""Everything that reads a text, as functions of the text alone, for tests over many texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from structrag import (
    ContentAwareSplitter,
    FixedSplitter,
    FunctionEmbedder,
    HiQAFormatter,
    HiQASplitter,
    IDMSSplitter,
    PICSplitter,
    read_text,
)
from structrag.chunks.enriching.supplements import definition_in
from structrag.model_calls.answers import (
    first_value,
    parse_ids,
    parse_keywords,
)
from structrag.reading.sections import parse
from structrag.records import Document
from structrag.retrieval.d3.condensing import ParagraphSplitter
from structrag.retrieval.d3.routing import parse_names
from structrag.retrieval.multihop.hops import read_answer, read_reply
from structrag.show.view.gathering import looks
from structrag.text.extractive import entities, keywords, summarise
from structrag.text.terms import terms


def _vectors(texts: Sequence[str]) -> list[list[float]]:
    return [[len(text) % 7 + 1.0, sum(map(ord, text[:20])) % 11, 1.0] for text in texts]


EMBEDDER = FunctionEmbedder(_vectors, name="lengths")


def _of_document(
    format: str, function: Callable[[Document], object]
) -> Callable[[str], object]:
    return lambda text: function(read_text(text, format=format))


def _blocks(document: Document) -> list[Any]:
    outline = parse(document)
    return [outline.blocks(section) for section in outline.sections]


_SPLITTERS: dict[str, Callable[[Document], object]] = {
    "blocks": _blocks,
    "content_aware": ContentAwareSplitter().split,
    "content_aware, small": ContentAwareSplitter(max_tokens=5).split,
    "fixed": FixedSplitter().split,
    "hiqa": HiQASplitter().split,
    "shown": lambda document: looks(parse(document)),
    "paragraphs": ParagraphSplitter().split,
    "pic": lambda document: PICSplitter().split(document, embedder=EMBEDDER),
    "idms": lambda document: IDMSSplitter().split(document, embedder=EMBEDDER),
    "formatter": lambda document: HiQAFormatter().format(document),
}
READERS: dict[str, Callable[[str], object]] = {
    **{
        f"{name} ({format})": _of_document(format, function)
        for format in ("markdown", "html", "text")
        for name, function in _SPLITTERS.items()
    },
    "formatter (string)": HiQAFormatter().format,
    "summary": summarise,
    "definitions": definition_in,
    "keywords": keywords,
    "entities": entities,
    "terms": terms,
    "reply of ids": lambda text: parse_ids(text, range(1, 50)),
    "reply of JSON": first_value,
    "reply of keywords": parse_keywords,
    "reply of titles": lambda text: parse_names(text, [("A",), ("A", "B")]),
    "reply of SelfAsk": read_reply,
    "answer of a hop": read_answer,
}
