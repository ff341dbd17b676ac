"""Documents with the pages and boxes of their parts."""

from __future__ import annotations

import warnings

import pytest

from structrag import parse
from structrag.reading.bridges.placed import (
    Part,
    Place,
    code,
    heading,
    list_item,
    page_starts,
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


def test_places_at_the_edges_of_a_span_are_outside() -> None:
    parts = [Part("abc", ((1, None),)), Part("def", ((2, None),))]  # at 0 and 5
    placed = placed_document(parts)
    assert [
        placed.pages(*span) for span in ((0, 5), (2, 6), (3, 5), (5, 6), (7, 8))
    ] == [
        (1,),
        (1, 2),
        (),
        (2,),
        (2,),
    ]
    assert placed.pages(8, 9) == ()


@pytest.mark.parametrize(
    ("places", "starts"),
    [
        ([], []),
        ([Place(0, 8, 1), Place(0, 8, 2)], [(0, 1), (4, 2)]),
        ([Place(2, 9, 1), Place(2, 9, 2), Place(11, 12, 2)], [(2, 1), (5, 2), (11, 2)]),
    ],
)
def test_a_part_on_two_pages_begins_the_second_in_its_middle(
    places: list[Place], starts: list[tuple[int, int]]
) -> None:
    assert list(page_starts(places)) == starts


def test_the_source_of_a_document_may_be_named_by_its_metadata() -> None:
    part = Part("a")
    assert placed_document([part]).document.meta == {}
    assert placed_document([part], source="f").document.meta == {"source": "f"}
    meta = {"source": "g"}
    assert placed_document([part], source="f", meta=meta).document.meta == meta


def test_short_and_empty_rows_are_filled_up() -> None:
    rows = [["a"], ["b", "c", "d"], []]
    assert table(rows) == "| a |  |  |\n|---|---|---|\n| b | c | d |\n|  |  |  |"
    assert table([["a\nb"]]) == "| a b |\n|---|"
    assert list_item("a") == "- a"
    assert list_item("a", "2.", 2) == "    2. a"
    assert code("\n a\n\n") == "```\n a\n```"
