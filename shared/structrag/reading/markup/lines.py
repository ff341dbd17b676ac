"""What the scanners of text markups share: lines, elements of lines, and blocks that tile them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any, NamedTuple

from structrag.records import Block, BlockKind


def by_word(**groups: str) -> dict[str, Any]:
    """Each word with the name of its group.

    Example:
        >>> by_word(code="src example", quote="verse")
        {'src': 'code', 'example': 'code', 'verse': 'quote'}
    """
    return {word: name for name, words in groups.items() for word in words.split()}


class SourceLine(NamedTuple):
    """One line; `text` is without its end and the white space before it, its tabs expanded."""

    start: int
    end: int  # behind the line end
    text: str

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())


class Lines(list[SourceLine]):
    """The lines of a text, which remember what was looked for in vain."""

    def __init__(self) -> None:
        super().__init__()
        self._missing: set[str] = set()

    def until(self, i: int, mark: str, closes: Callable[[str], object]) -> int:
        """Behind the first line from `i` on that `closes` what is called `mark`; 0 without one."""
        if mark not in self._missing:
            for stop in range(i, len(self)):
                if closes(self[stop].text):
                    return stop + 1
            self._missing.add(mark)
        return 0


class Element(NamedTuple):
    """What begins at a line: a block, or a heading where it has a title."""

    stop: int  # the number of the line behind its last one
    kind: BlockKind = "paragraph"
    cuts: tuple[int, ...] = ()  # numbers of lines
    header: int = 0  # the number of the line behind the header rows of a table
    title: str | None = None
    style: str = ""  # of a heading: what its level follows from
    note: str = ""  # what the element behind this one must know


# The element that begins at line `i`, which is not blank, and the one before it.
ElementAt = Callable[[Lines, int, "Element | None"], Element]


def lines_of(text: str, start: int = 0, end: int | None = None) -> Lines:
    """The lines of `text[start:end]`; they end at `\\n`, `\\r\\n` and `\\r` only."""
    lines = Lines()
    for raw in StringIO(text[start:end], newline=""):
        stop = start + len(raw)
        lines.append(SourceLine(start, stop, raw.rstrip().expandtabs(8)))
        start = stop
    return lines


def elements(lines: Lines, element_at: ElementAt) -> Iterator[tuple[int, Element]]:
    """Each element with the number of its first line; blank lines stand between them."""
    i, before = 0, None
    while True:
        i = filled(lines, i)
        if i == len(lines):
            return
        before = element_at(lines, i, before)
        yield i, before
        i = before.stop


def tiled(element_at: ElementAt, text: str, start: int, end: int) -> list[Block]:
    """The blocks that tile `text[start:end]`.

    Each ends with the blank lines behind it; those at the beginning belong to the first one. Blank
    lines alone are one paragraph; an empty range gives none.
    """
    lines = lines_of(text, start, end)
    found = list(elements(lines, element_at))
    if not found:
        return [Block("paragraph", start, end)] if start < end else []
    starts = [start, *(lines[i].start for i, _ in found[1:]), end]
    blocks = []
    for (i, element), first, last in zip(found, starts[:-1], starts[1:], strict=True):
        cuts = tuple(lines[cut].start for cut in element.cuts if i < cut < element.stop)
        header = lines[element.header - 1].end if element.header else 0
        blocks.append(Block(element.kind, first, last, cuts, header, lines[i].start))
    return blocks


def filled(lines: Lines, i: int) -> int:
    """The first line from `i` on that is not blank."""
    while i < len(lines) and not lines[i].text:
        i += 1
    return i


def code(i: int, stop: int, kind: BlockKind = "code", note: str = "") -> Element:
    """An element that may be cut at each of its lines."""
    return Element(stop, kind, tuple(range(i + 1, stop)), note=note)


def indented(lines: Lines, i: int, indent: int = 1) -> int:
    """Behind the lines from `i` on that are indented by so much, and blank ones between them."""
    stop = i
    while i < len(lines):
        if lines[i].text:
            if lines[i].indent < indent:
                break
            stop = i + 1
        i += 1
    return stop


def paragraph(
    lines: Lines, i: int, ends: Callable[[str], object] = lambda line: False
) -> int:
    """Behind the paragraph whose first line is `i`: a blank line or one that `ends` it."""
    i += 1
    while i < len(lines) and lines[i].text and not ends(lines[i].text):
        i += 1
    return i


def items(
    lines: Lines,
    i: int,
    is_item: Callable[[int], object],
    ends: Callable[[str], object] | None = None,
) -> Element:
    """A list: its items, the lines below them, and what is indented behind blank lines.

    Text right below an item that is not indented belongs to it unless it `ends` the list; without
    `ends` it always does end it. It may be cut before the items that are indented like the first.
    """
    indent = lines[i].indent
    cuts = []
    stop = i = i + 1
    while i < len(lines):
        line = lines[i].text
        if line:
            depth = lines[i].indent
            if depth <= indent:
                if is_item(i):
                    if depth == indent:
                        cuts.append(i)
                elif ends is None or i > stop or ends(line):
                    break
            stop = i + 1
        i += 1
    return Element(stop, "list", tuple(cuts))
