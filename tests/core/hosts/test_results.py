"""Where a chunk lies, and what a hit tells."""

from __future__ import annotations

import pytest

from structrag.hosts.results import (
    context_notes,
    original_span,
    oversize_notes,
    score_notes,
    source_notes,
)
from structrag.reading.files import read_text
from structrag.records import Chunk, Hit

PAGE = "<p>one</p><p>two &amp; three</p>"


def test_the_place_in_the_markup() -> None:
    document = read_text(PAGE, format="html")
    start = document.text.index("two")
    chunk = Chunk("c", "d", "0", start, len(document.text.rstrip()), document.text[start:].rstrip())
    notes = source_notes(chunk, document)
    assert PAGE[notes["source_start"] : notes["source_end"]] == "two &amp; three"
    moved = source_notes(chunk, document, 7)
    assert moved == {key: place + 7 for key, place in notes.items()}
    assert source_notes(chunk, read_text(document.text)) == {}


def test_a_chunk_of_an_index_has_its_place_with_it() -> None:
    extras = {"source_start": 4, "source_end": 9, "other": 1}
    chunk = Chunk("c", "d", "0", 0, 1, "x", extras=extras)
    assert source_notes(chunk) == {"source_start": 4, "source_end": 9}


@pytest.mark.parametrize(
    ("text", "format", "base", "span"),
    [
        ("abc", "text", 0, (1, 2)),
        ("abc", "text", 10, (11, 12)),
        ("abc", "text", None, (None, None)),
        ("<p>abc</p>", "html", 0, (1, 2)),
        ("<p>abc</p>", "html", 10, (None, None)),
    ],
)
def test_the_span_in_the_original(
    text: str, format: str, base: int | None, span: tuple[int | None, int | None]
) -> None:
    chunk = Chunk("c", "d", "0", 1, 2, "b")
    assert original_span(chunk, read_text(text, format=format), base) == span


def test_only_what_applies_is_noted() -> None:
    plain = Chunk("c", "d", "0", 0, 1, "x")
    assert oversize_notes(plain) == context_notes(plain) == score_notes(Hit(plain, 1.0, 1)) == {}
    extras = {"oversize": True, "context_shortened": True}
    chunk = Chunk("c", "d", "0", 0, 1, "x", extras=extras)
    assert oversize_notes(chunk) == {"oversize": True}
    assert context_notes(chunk) == {"context_shortened": True}
    assert score_notes(Hit(chunk, 1.0, 1, scores={"bm25": 2})) == {"scores": {"bm25": 2.0}}
