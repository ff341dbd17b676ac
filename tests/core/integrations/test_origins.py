"""Chunks of chunks: their places and titles are those of the whole document."""

from __future__ import annotations

from typing import Any

from fixture_cases import examples

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.integrations.metadata import UNKNOWN
from structrag.integrations.places import Origin, parent_of, titles_above, under_titles
from structrag.reading.files import read_text
from structrag.records import Chunk, Document


@examples
def test_titles_that_the_text_begins_with_are_not_above_it(
    path: tuple[str, ...], text: str, above: tuple[str, ...]
) -> None:
    assert titles_above(path, read_text(text, format="markdown")) == above


def test_the_titles_above_stand_before_the_pieces() -> None:
    document = read_text("## B\n\nx", format="markdown")
    parent = parent_of(document, {"heading_path": "A > B"}, 7)
    (chunk,) = ContentAwareSplitter().split(under_titles(document, parent))
    assert chunk.index_text == "A\n## B\n\nx" and parent.place(chunk).path == ("A", "B")
    titled = Document(document.text, format="markdown", meta={"title": "Manual"})
    (chunk,) = ContentAwareSplitter().split(under_titles(titled, parent))
    assert chunk.context == "Manual > A"
    assert under_titles(document, Origin()) is document


def test_the_place_in_the_file_goes_along() -> None:
    document = read_text("some words")
    chunk = Chunk("c", "d", "0", 5, 10, "words")
    exact = parent_of(document, {"source_start": 100, "source_end": 110}, 40)
    assert exact.span(chunk) == (45, 50)
    assert exact.source_notes(chunk, document) == {
        "source_start": 105,
        "source_end": 110,
    }
    # Of rendered markup only the place of the whole is known.
    rendered = parent_of(document, {"source_start": 100, "source_end": 190}, 40)
    assert rendered.source_notes(chunk, document) == {
        "source_start": 100,
        "source_end": 190,
    }
    lost = parent_of(document, {"source_start": UNKNOWN, "source_end": UNKNOWN}, None)
    assert lost.span(chunk) == (UNKNOWN, UNKNOWN)
    assert set(lost.source_notes(chunk, document).values()) == {UNKNOWN}
    page = read_text("<p>one</p>", format="html")
    assert set(Origin(None).source_notes(chunk, page).values()) == {UNKNOWN}


@examples
def test_a_span_in_the_file_is_taken_over_where_both_ends_are_numbers(
    metadata: dict[str, Any], source: tuple[int, int] | None
) -> None:
    assert parent_of(read_text("x"), metadata, 0).source == source


def test_markup_that_was_cut_from_a_page_has_its_place_in_the_page() -> None:
    page = read_text("<p>one</p>", format="html")
    chunk = Chunk("c", "d", "0", 0, 3, "one")
    assert Origin(40).source_notes(chunk, page) == {
        "source_start": 43,
        "source_end": 46,
    }
    plain = read_text("one")
    assert Origin(40).source_notes(chunk, plain) == {
        "source_start": 40,
        "source_end": 43,
    }


@examples
def test_a_documents_title_stands_before_the_titles_above_once(
    meta: dict[str, Any], title: str
) -> None:
    document = Document("x", meta=meta)
    parent = Origin(path=("Pump", "Seal"), titles=("Pump", "Seal"))
    assert under_titles(document, parent).title == title


@examples
def test_as_many_titles_as_fit_are_the_texts(
    path: tuple[str, ...], text: str, above: tuple[str, ...]
) -> None:
    assert titles_above(path, read_text(text, format="markdown")) == above
