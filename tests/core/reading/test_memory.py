"""A document is parsed once, by whoever needs its outline first."""

from __future__ import annotations

import copy
import gc
import pickle
from collections import Counter
from typing import Any

import pytest
from doubles import HashEmbedder

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.index.index import Index
from structrag.reading import markdown, markdown_blocks
from structrag.reading.files import read_text
from structrag.reading.memory import OutlineMemory
from structrag.reading.outline import build_outline
from structrag.reading.sections import parse
from structrag.records import Document
from structrag.retrieval.d3.index import D3Index

BODY = "A sentence about the pump and its filter. Another one about the valve.\n\n- one\n- two\n\n"
TEXT = "".join(f"# Part {i}\n\n## Sub {i}\n\n{BODY * 6}" for i in range(5))


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """How often headings were looked for, under "headings", and each span's blocks, under it."""
    counts: Counter[Any] = Counter()
    headings, blocks = markdown.markdown_headings, markdown_blocks.markdown_blocks

    def counted_headings(text: str, start: int = 0) -> Any:
        counts["headings"] += 1
        return headings(text, start)

    def counted_blocks(text: str, start: int, end: int) -> Any:
        counts[text[start:end], start] += 1
        return blocks(text, start, end)

    monkeypatch.setattr(markdown, "markdown_headings", counted_headings)
    monkeypatch.setattr(markdown_blocks, "markdown_blocks", counted_blocks)
    return counts


def document_of(number: int = 0) -> Document:
    return read_text(TEXT + f"# Last {number}\n\nEnd.\n", format="markdown", id=f"d{number}")


def test_reading_and_adding_parses_once(parses: Counter[Any]) -> None:
    documents = [document_of(number) for number in range(20)]
    report = Index(splitter=ContentAwareSplitter(max_tokens=40)).add(documents)
    assert report.added == 20 and report.chunks > 200
    assert parses.pop("headings") == 20
    assert parses and max(parses.values()) == 20  # the same spans in all documents


def test_adding_to_d3_parses_once(parses: Counter[Any]) -> None:
    index = D3Index(embedder=HashEmbedder())
    index.add([document_of()])
    assert len(index) > 50
    assert parses.pop("headings") == 1
    assert parses and max(parses.values()) == 1


def test_a_title_from_elsewhere_spares_the_search_for_one(parses: Counter[Any]) -> None:
    document = read_text(TEXT, format="markdown", title="Known")
    assert not parses
    assert parse(document) is not parse(document) and parses["headings"] == 1


def test_an_equal_document_is_another_one(parses: Counter[Any]) -> None:
    document = document_of()
    for copied in (copy.copy(document), pickle.loads(pickle.dumps(document))):
        assert copied == document and parse(copied).document is copied
    assert parses["headings"] == 3


def test_plain_headings_are_remembered_beside_none() -> None:
    document = read_text("TITLE\n=====\n\nWords.\n\nOTHER\n=====\n\nWords.\n", format="text")
    for _ in range(2):
        assert len(parse(document).sections) == 3
        assert len(parse(document, plain_headings=False).sections) == 1


def test_documents_that_are_gone_or_old_are_forgotten() -> None:
    memory = OutlineMemory(most=2)
    documents = [Document(str(number)) for number in range(3)]
    for document in documents:
        memory.keep(build_outline(document, [], lambda start, end: []), True)
    assert memory.find(documents[0], True) is None and memory.find(documents[2], False) is None
    outline = memory.find(documents[2], True)
    assert outline is not None and outline.document is documents[2]
    del document, documents, outline
    gc.collect()
    assert len(memory) == 0
