"""A place in a document as a chunk of the index, and packing by rank."""

from __future__ import annotations

from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.index.index import Index
from structrag.integrations.places import (
    TrimmedLength,
    original_span,
    slice_places,
    trim_span,
    trimmed,
    trimmed_text,
    trusted_start,
)
from structrag.integrations.segments import chunk_at
from structrag.reading.files import read_text
from structrag.records import Chunk

TEXT = "# A\n\nOne.\n\n# B\n\nTwo.\n\n# C\n\nThree.\n"


def built() -> Index:
    index = Index(views=("raw",))
    index.add([read_text(TEXT, id=name) for name in ("first", "second")])
    return index


def test_every_place_leads_to_its_chunk() -> None:
    store = built().store
    reader, chunks = store.reader(), store.chunks()
    assert len(chunks) == 6
    for chunk in chunks:
        assert chunk_at(reader, *chunk.span) == chunk
        for place in range(chunk.start, chunk.end):
            assert chunk_at(reader, chunk.doc_id, place, place + 1) == chunk
        assert chunk_at(reader, chunk.doc_id, chunk.start, chunk.end + 1) is None
    assert chunk_at(reader, "third", 0, 1) is None
    assert chunk_at(reader, "first", -1, 0) is None
    assert chunk_at(reader, "first", len(TEXT), len(TEXT) + 1) is None


@examples
def test_the_span_in_the_original(
    text: str, format: str, base: int | None, span: tuple[int | None, int | None]
) -> None:
    chunk = Chunk("c", "d", "0", 1, 2, "b")
    assert original_span(chunk, read_text(text, format=format), base) == span


@examples
def test_a_hosts_place_is_trusted_where_its_length_fits(
    start: int | None, end: int | None, trusted: int | None
) -> None:
    assert trusted_start("abc", start, end) == trusted


SPACED = st.text(alphabet=" \t\n\r\f\u00a0\u2028ab", max_size=30)


def chunk_of(text: str, start: int = 0) -> Chunk:
    return Chunk("c", "d", "0", start, start + len(text), text)


@examples
def test_blank_lines_go_and_the_first_line_keeps_its_indentation(
    text: str, inner: str
) -> None:
    assert trimmed_text(text) == inner


@given(SPACED)
def test_no_word_is_lost_and_what_is_left_begins_on_a_line_of_words(text: str) -> None:
    start, end = trim_span(text)
    assert text[start:end].strip() == text.strip()
    assert not text[:start].strip() and not text[end:].strip()
    assert len((text[start:end] or "x").lstrip(" \t\u00a0").splitlines()[0]) > 0
    assert trimmed_text(text[start:end]) == text[start:end]


@given(SPACED, st.integers(0, 5))
def test_offsets_move_with_the_text(text: str, start: int) -> None:
    document = "-" * start + text
    chunk = trimmed(chunk_of(text, start))
    assert document[chunk.start : chunk.end] == chunk.text
    assert chunk.id == "c"


@examples
def test_a_slice_has_a_place_where_its_text_has_one(
    metadata: dict[str, object], places: dict[str, int]
) -> None:
    assert slice_places("It leaks.", metadata, 3, 8) == places


def test_a_limit_holds_for_the_text_with_and_without_white_space() -> None:
    def fewest_with_breaks(text: str) -> int:
        return 10 - text.count("\n")

    measure = TrimmedLength(fewest_with_breaks)
    assert measure("a\n\n") == 10
    assert TrimmedLength(len)("a\n\n") == 3
    assert TrimmedLength(len)("  a") == 3


def test_a_text_that_does_not_begin_with_its_context_has_none_in_front() -> None:
    metadata = {"start_index": 40, "end_index": 54, "heading_context": "Pump"}
    # Another line break, another text: the span is that of all of it.
    for text in ("Pump It leaks.", "Seal\nIt leaks."):
        assert slice_places(text, metadata, 5, 7) == {
            "start_index": 45,
            "end_index": 47,
        }
