"""The section tree: nesting, tiling, and the formats' switch."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest
from doubles import HashEmbedder
from hypothesis import given
from hypothesis import strategies as st

from structrag.reading import markdown
from structrag.reading.files import read_text
from structrag.reading.outline import Outline, OutlineMemory, build_outline
from structrag.reading.sections import parse
from structrag.records import Document, Heading
from structrag.retrieval.d3.index import D3Index

levels = st.lists(st.integers(1, 6), max_size=12)


def outline_of(levels: list[int]) -> Outline:
    text = "".join(f"{'#' * level} h\nbody\n" for level in levels)
    headings, start = [], 0
    for number, level in enumerate(levels):
        headings.append(Heading(level, f"t{number}", start, start + level + 3))
        start += level + 8
    return build_outline(Document(text), headings, lambda start, end: [])


@given(levels)
def test_headings_and_own_bodies_tile_the_document(levels: list[int]) -> None:
    outline = outline_of(levels)
    position = 0
    for section in outline.sections:
        assert section.start == position
        assert section.start <= section.body_start <= section.body_end <= section.end
        position = section.body_end
    assert position == len(outline.document.text)


@given(levels)
def test_parent_is_the_nearest_earlier_section_of_a_smaller_level(
    levels: list[int],
) -> None:
    sections = outline_of(levels).sections
    assert (sections[0].parent, sections[0].path, sections[0].level) == (None, (), 0)
    for section in sections[1:]:
        above = [
            other
            for other in sections[: section.ordinal]
            if other.level < section.level
        ]
        assert section.parent == above[-1].ordinal
        assert section.path == (*above[-1].path, section.title)
        assert section.ordinal in above[-1].children
        later = [
            other.start
            for other in sections[section.ordinal + 1 :]
            if other.level <= section.level
        ]
        assert section.end == (later[0] if later else sections[0].end)


BODY = "A sentence about the pump and its filter. Another one about the valve.\n\n- one\n- two\n\n"
TEXT = "".join(f"# Part {i}\n\n## Sub {i}\n\n{BODY * 6}" for i in range(5))


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """How often headings were looked for, under "headings", and each span's blocks, under it."""
    counts: Counter[Any] = Counter()
    headings, blocks = markdown.markdown_headings, markdown.markdown_blocks

    def counted_headings(text: str, start: int = 0) -> Any:
        counts["headings"] += 1
        return headings(text, start)

    def counted_blocks(text: str, start: int, end: int) -> Any:
        counts[text[start:end], start] += 1
        return blocks(text, start, end)

    monkeypatch.setattr(markdown, "markdown_headings", counted_headings)
    monkeypatch.setattr(markdown, "markdown_blocks", counted_blocks)
    return counts


def document_of(number: int = 0) -> Document:
    return read_text(
        TEXT + f"# Last {number}\n\nEnd.\n", format="markdown", id=f"d{number}"
    )


def test_adding_to_d3_parses_once(parses: Counter[Any]) -> None:
    index = D3Index(embedder=HashEmbedder())
    index.add([document_of()])
    assert len(index) > 50
    assert parses.pop("headings") == 1
    assert parses and max(parses.values()) == 1


def test_plain_headings_are_remembered_beside_none() -> None:
    document = read_text(
        "TITLE\n=====\n\nWords.\n\nOTHER\n=====\n\nWords.\n", format="text"
    )
    for _ in range(2):
        assert len(parse(document).sections) == 3
        assert len(parse(document, plain_headings=False).sections) == 1


def test_documents_that_are_gone_or_old_are_forgotten() -> None:
    memory = OutlineMemory(most=2)
    documents = [Document(str(number)) for number in range(3)]
    for document in documents:
        memory.keep(build_outline(document, [], lambda start, end: []), True)
    assert (
        memory.find(documents[0], True) is None
        and memory.find(documents[2], False) is None
    )
    outline = memory.find(documents[2], True)
    assert outline is not None and outline.document is documents[2]
    del document, documents, outline
    gc.collect()
    assert len(memory) == 0
