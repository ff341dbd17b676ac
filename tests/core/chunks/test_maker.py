"""Chunks made of pieces: their heading path, table header, identity, and where their body
begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from doubles import HashEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from structrag.records import Chunk, Document
from structrag.retrieval.d3.condensing import (
    ParagraphSplitter,
    PartSplitter,
    SectionSplitter,
)

Split = Callable[[Document], list[Chunk]]


def reads(splitter: Any) -> Split:
    """A splitter that asks models, with an embedder."""
    return lambda document: splitter.split(document, embedder=HashEmbedder())


SPLITTERS: dict[str, Split] = {
    "content-aware": ContentAwareSplitter().split,
    "content-aware, small": ContentAwareSplitter(max_tokens=12, overlap=4).split,
    "content-aware, joined": ContentAwareSplitter(max_tokens=60, min_tokens=20).split,
    "fixed": FixedSplitter(12).split,
    "fixed in sections": FixedSplitter(12, within_sections=True).split,
    "HiQA": HiQASplitter(max_tokens=30).split,
    "PIC": reads(PICSplitter(max_tokens=30)),
    "PIC over sections": reads(PICSplitter.paper(plain_headings=True)),
    "IDMS": reads(IDMSSplitter(max_tokens=30)),
    "IDMS over sections": reads(IDMSSplitter(margin="words", respect_sections=False)),
    "D3 sections": reads(SectionSplitter(section_tokens=20, paragraph_tokens=10)),
    "D3 paragraphs": ParagraphSplitter(10).split,
    "D3 parts": PartSplitter(20, 10).split,
}
LINES = [
    *(
        "# One",
        "## Two",
        "### Three",
        "# One more and so many words that it has to be cut in two",
    ),
    *(
        "",
        "",
        "Words of a sentence. And one more of them.",
        "- item",
        "| a | b |",
        "|---|---|",
    ),
    *("![alt](u)", "```", "<div>", "Title", "====="),
]
TEXTS = st.tuples(
    st.sampled_from(["", "---\ntitle: Front\n---\n"]),
    st.lists(st.sampled_from(LINES), max_size=16).map("\n".join),
).map("".join)


def split(text: str, **settings: Any) -> list[Chunk]:
    return ContentAwareSplitter(**settings).split(read_text(text, format="markdown"))


# -- bodies


def check_bodies(document: Document, chunks: list[Chunk]) -> None:
    """A body begins where that of the chunk's section does, if that is in the chunk."""
    sections = {section.id: section for section in parse(document).sections}
    for chunk in chunks:
        assert chunk.start <= chunk.body_start <= chunk.end
        section = sections.get(chunk.section_id)
        if section is None:  # D3's runs of paragraphs, in a document without headings
            assert chunk.body_start == chunk.start
            continue
        after = document.text[section.body_start : chunk.end]
        starts_with_heading = chunk.start < section.body_start and after.strip()
        assert chunk.body == (after if starts_with_heading else chunk.text)
        assert chunk.body == document.text[chunk.body_start : chunk.end]


@pytest.mark.parametrize("name", SPLITTERS)
@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_a_body_begins_behind_the_headings(name: str, text: str) -> None:
    document = read_text(text, format="markdown", id="d")
    check_bodies(document, SPLITTERS[name](document))


def test_a_body_is_moved_into_the_chunk() -> None:
    assert Chunk("x", "d", "s", 3, 5, "ab").body_start == 3
    assert Chunk("x", "d", "s", 3, 5, "ab", body_start=9).body_start == 5
    assert Chunk("x", "d", "s", 3, 5, "ab", body_start=4).body == "b"
