"""The white space around a chunk, left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from structrag.records import Chunk

_BLANK_LINES = re.compile(r"\s*[\n\r\v\f\x85\u2028\u2029]")


def trim_span(text: str) -> tuple[int, int]:
    """Where a text begins and ends without white space around it.

    The first line that is not blank keeps its indentation, which means something in code and lists.
    Of a blank text nothing is left.

    Example:
        >>> trim_span("\\n    x = 1\\n\\n")
        (1, 10)
    """
    end = len(text.rstrip())
    blank = _BLANK_LINES.match(text)
    start = blank.end() if blank else 0
    return min(start, end), end


def trimmed_text(text: str) -> str:
    """The text without blank lines before and white space after it."""
    start, end = trim_span(text)
    return text[start:end]


def trimmed(chunk: Chunk) -> Chunk:
    """A chunk without blank lines before and white space after it.

    Its offsets move along, so that its text stays an exact slice of the document. Its id stays.
    """
    start, end = trim_span(chunk.text)
    if end - start == len(chunk.text):
        return chunk
    return replace(
        chunk, start=chunk.start + start, end=chunk.start + end, text=chunk.text[start:end]
    )


@dataclass(frozen=True, slots=True)
class TrimmedLength:
    """The greater length of a text, trimmed or not.

    A limit that holds by this measure holds for what `trimmed` leaves too, whatever the measure.

    Example:
        >>> TrimmedLength(len)("one\\n\\n")
        5
    """

    length_function: Callable[[str], int]

    def __call__(self, text: str) -> int:
        length = self.length_function(text)
        inner = trimmed_text(text)
        return length if inner == text else max(length, self.length_function(inner))
