"""What is left out around a chunk, and that offsets move along."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag.hosts.trimming import TrimmedLength, trim_span, trimmed, trimmed_text
from structrag.records import Chunk

SPACED = st.text(alphabet=" \t\n\r\f\u00a0\u2028ab", max_size=30)


def chunk_of(text: str, start: int = 0) -> Chunk:
    return Chunk("c", "d", "0", start, start + len(text), text)


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("word", "word"),
        ("  word  ", "  word"),  # indentation stays
        ("\n\n    x = 1\n    y = 2\n\n", "    x = 1\n    y = 2"),
        (" \t\n \n\tx\n", "\tx"),
        ("\r\n\r\n  a\r\nb\r\n", "  a\r\nb"),
        ("\f  a", "  a"),  # a new page ends a line
        (" \n \n", ""),
        ("   ", ""),
        ("", ""),
    ],
)
def test_blank_lines_go_and_the_first_line_keeps_its_indentation(text: str, inner: str) -> None:
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


def test_a_chunk_without_white_space_around_it_is_the_same_object() -> None:
    chunk = chunk_of("    x = 1", 4)
    assert trimmed(chunk) is chunk


def test_a_limit_holds_for_the_text_with_and_without_white_space() -> None:
    def fewest_with_breaks(text: str) -> int:
        return 10 - text.count("\n")

    measure = TrimmedLength(fewest_with_breaks)
    assert measure("a\n\n") == 10
    assert TrimmedLength(len)("a\n\n") == 3
    assert TrimmedLength(len)("  a") == 3
