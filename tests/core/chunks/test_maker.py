"""Chunks made of pieces: their heading path, table header and identity."""

from __future__ import annotations

from typing import Any

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.reading.files import read_text
from structrag.records import Chunk


def split(text: str, **settings: Any) -> list[Chunk]:
    return ContentAwareSplitter(**settings).split(read_text(text, format="markdown"))


def test_later_pieces_of_a_section_carry_its_own_title_too() -> None:
    first, *later = split("# Top\n\n## Part\n\n" + "Some words stand here. " * 30, max_tokens=40)
    assert first.context == ""
    assert first.text.startswith("# Top\n\n## Part\n\nSome")
    assert later
    assert {chunk.context for chunk in later} == {"Top > Part"}
