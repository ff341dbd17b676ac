"""Documents with the pages and boxes of their parts."""

from __future__ import annotations

import warnings

import pytest

from structrag import parse
from structrag.reading.bridges.placed import (
    Part,
    code,
    heading,
    list_item,
    paragraph,
    placed_document,
    table,
)


def test_parts_are_found_again_by_their_places() -> None:
    parts = [
        Part(heading(1, "Pump"), ((1, (0.0, 1.0, 2.0, 3.0)),)),
        Part(paragraph("Same."), ((1, None),)),
        Part(""),
        Part(paragraph("Same."), ((2, None), (3, None))),
    ]
    placed = placed_document(parts, id="d")
    text = placed.document.text
    assert text == "# Pump\n\nSame.\n\nSame.\n" and placed.document.meta == {
        "pages": 3,
        "page_starts": "0:1 15:2 17:3",
    }
    assert [text[place.start : place.end] for place in placed.places] == [
        "# Pump",
        *["Same."] * 3,
    ]
    assert placed.pages(0, len(text)) == (1, 2, 3)
    assert placed.pages(text.rindex("Same"), len(text)) == (2, 3)
    assert placed.at(0, 1)[0].box == (0.0, 1.0, 2.0, 3.0)


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


def test_tables_and_lists_are_markdown() -> None:
    assert table([["a", "b|c"], ["d"]]) == "| a | b\\|c |\n|---|---|\n| d |  |"
    assert table([]) == table([[]]) == ""
    assert list_item("a\nb", depth=1) == "  - a b"


def test_a_long_document_without_a_heading_is_warned_of() -> None:
    body = Part(paragraph("The seal wears. " * 600))
    with pytest.warns(
        UserWarning, match=r"A long document has no heading, .* None is marked"
    ):
        placed_document([body])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        placed_document([Part(heading(1, "Seals")), body])


def test_nothing_is_an_empty_document() -> None:
    placed = placed_document([])
    assert (
        placed.document.text == "" and placed.places == () and placed.pages(0, 9) == ()
    )
