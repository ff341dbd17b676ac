"""What records work out of themselves: places in a source, ids, index texts."""

from __future__ import annotations

import weakref

import pytest

from structrag.records import (
    Block,
    Chunk,
    Document,
    Section,
    SourceMap,
)

# `Hi` at 3, a run of white space at 5, `there` at 8.
SPACED = SourceMap(
    text_starts=(0, 2, 3), source_starts=(3, 5, 8), exact=(True, False, True)
)


def test_a_character_is_led_back_to_its_place_in_the_source() -> None:
    assert [SPACED.to_source(offset) for offset in range(6)] == [3, 4, 5, 8, 9, 10]
    assert SPACED.span(1, 5) == (4, 10)
    reference = SourceMap((0, 1), (7, 12), (False, True))
    assert [reference.to_source(offset) for offset in range(3)] == [7, 12, 13]


def test_a_run_that_is_not_exact_is_one_place() -> None:
    assert [
        SourceMap((0,), (7,), (False,)).to_source(offset) for offset in (0, 1, 2)
    ] == [7, 7, 7]


def test_without_runs_every_character_comes_from_the_beginning() -> None:
    assert SourceMap((), (), ()).to_source(5) == 0


def test_a_span_in_the_source_ends_behind_its_last_character() -> None:
    assert SPACED.span(0, 1) == (3, 4)
    assert SPACED.span(0, 3) == (3, 6)  # at a run of white space
    assert SPACED.span(2, 4) == (5, 9)
    assert SPACED.to_source(-1) == 0  # before all runs


def test_a_block_behind_a_heading_has_its_own_beginning() -> None:
    assert Block("table", 3, 9).text_start == 3
    assert Block("table", 3, 9, header_start=0).text_start == 0


def test_a_document_without_an_id_gets_its_sources_name_or_a_digest() -> None:
    assert Document("a", meta={"source": "pump.md"}).id == "pump.md"
    unnamed = Document("a")
    assert unnamed.id == Document("a").id != Document("b").id and len(unnamed.id) == 16
    assert len(Document("\ud800").id) == 16


def test_sections_are_named_by_their_ordinals() -> None:
    section = Section("guide", 2, 1, "Pumps", ("Pumps",), 0, 8, 20, 20, 0, ())
    assert section.id == "guide#2"


@pytest.mark.parametrize(
    ("body_start", "moved", "body"),
    [(0, 10, "# A\ntext"), (14, 14, "text"), (99, 18, "")],
)
def test_a_body_begins_within_its_chunk(body_start: int, moved: int, body: str) -> None:
    chunk = Chunk("a:10-18", "a", "a#1", 10, 18, "# A\ntext", body_start=body_start)
    assert (chunk.body_start, chunk.body, chunk.span) == (moved, body, ("a", 10, 18))


def test_what_is_indexed_has_the_context_in_front_and_the_reduced_body() -> None:
    chunk = Chunk("a:0-4", "a", "a#1", 0, 4, "text")
    assert chunk.index_text == "text"
    shortened = Chunk(
        "a:0-4", "a", "a#1", 0, 4, "text", context="A", extras={"reduced": "t"}
    )
    assert shortened.index_text == "A\nt"


def test_a_document_can_be_referenced_weakly() -> None:
    document = Document("text")
    assert weakref.ref(document)() is document


def test_a_chunk_of_headings_alone_keeps_them() -> None:
    chunk = Chunk("a:3-6", "a", "a#1", 3, 6, "# A", body_start=3)
    assert chunk.body == "# A" and chunk.index_text == "# A"
    reduced = Chunk("a:3-6", "a", "a#1", 3, 6, "# A", extras={"reduced": ""})
    assert reduced.index_text == "# A"  # an empty one is none
