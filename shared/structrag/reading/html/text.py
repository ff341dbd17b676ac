"""Visible text under construction, with the place every run came from."""

from __future__ import annotations

import re
from html import unescape

from structrag.records import SourceMap

_ZEROS = re.compile(r"&#0+(?=\d)")
_TOO_LARGE = re.compile(r"&#\d{8,}")  # the largest character is number 1,114,111


def unescaped(markup: str) -> str:
    """Markup with its character references as the characters they stand for.

    Example:
        >>> unescaped("Fish &amp; chips &#8364;5")
        'Fish & chips €5'

    As `html.unescape`, and a number of any length that is no character's becomes U+FFFD.
    """
    if "&" not in markup:
        return markup
    return unescape(_TOO_LARGE.sub("&#1114112", _ZEROS.sub("&#", markup)))


class MappedText:
    """A growing text and its source map.

    `fresh` and `space` are the writer's state at the end of the text.

    Example:
        >>> text = MappedText()
        >>> text.add("Nova", 3, 7, exact=True)
        >>> text.insert("!")
        >>> "".join(text.parts)
        'Nova!'
        >>> text.source_map(10).to_source(2)
        5
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length: int = 0
        self.text_starts: list[int] = []
        self.source_starts: list[int] = []
        self.exact: list[bool] = []
        self.source_end: int = 0  # behind the last source character that was written
        self.fresh = True  # nothing visible yet on the current line
        # Source offset of white space that shows if something follows on the line; -1: none.
        self.space = -1

    def add(self, piece: str, start: int, end: int, exact: bool) -> None:
        """Append `piece`, which stands for `source[start:end]`.

        With `exact` it does so character by character. Calls come with ascending source offsets,
        so that the map can be searched from both sides.
        """
        joins = False  # an exact run goes on, an inexact one stands for the same place
        if self.exact and self.exact[-1] == exact:
            joins = start == (self.source_end if exact else self.source_starts[-1])
        if not joins:
            self.text_starts.append(self.length)
            self.source_starts.append(start)
            self.exact.append(exact)
        self.parts.append(piece)
        self.length += len(piece)
        self.source_end = end

    def insert(self, piece: str, place: int = 0) -> None:
        """Append characters that are not in the source. Their place is `place` or, if that is
        later, where the text before them ended."""
        if piece:
            place = max(place, self.source_end)
            self.add(piece, place, place, False)

    def extend(self, other: MappedText) -> None:
        """Append another text with its map, and take its state over."""
        offset = self.length
        self.text_starts.extend(offset + start for start in other.text_starts)
        self.source_starts.extend(other.source_starts)
        self.exact.extend(other.exact)
        self.parts.extend(other.parts)
        self.length += other.length
        self.source_end = max(self.source_end, other.source_end)

    def newlines(self) -> int:
        """How many line feeds, up to two, the text ends with."""
        tail = "".join(part[-2:] for part in self.parts[-2:])
        return min(len(tail) - len(tail.rstrip("\n")), 2)

    def source_map(self, source_length: int) -> SourceMap:
        """The map, closed by an empty run at the ends of both."""
        return SourceMap(
            text_starts=(*self.text_starts, self.length),
            source_starts=(*self.source_starts, source_length),
            exact=(*self.exact, False),
        )
