"""Documents with the pages and boxes of their parts."""

from __future__ import annotations

from structrag import parse
from structrag.reading.bridges.placed import (
    Part,
    code,
    heading,
    paragraph,
    placed_document,
)


def test_text_stays_text() -> None:
    parts = [
        Part(paragraph("# no heading")),
        Part(heading(1, "1 *A*\nB")),
        Part(code("```\nx")),
    ]
    document = placed_document(parts).document
    assert [section.title for section in parse(document).sections] == ["", "1 *A* B"]
    assert placed_document(
        [Part(paragraph("---\na: b\n---"))]
    ).document.text.startswith("\\---")


def test_nothing_is_an_empty_document() -> None:
    placed = placed_document([])
    assert (
        placed.document.text == "" and placed.places == () and placed.pages(0, 9) == ()
    )
