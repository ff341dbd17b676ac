"""Rows of a page, and how two rows become one text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import regex

from structrag.reading.pdf.hyphens import Hyphens
from structrag.reading.pdf.pages import Line
from structrag.text.folding import SPACELESS

# It begins at the first part of a word with hyphens: from each part it would take quadratic time.
_BROKEN = re.compile(r"(?<![^\W_])(?<![^\W_]-)(?P<word>[^\W_]+(?:-[^\W_]+)*)[-\u2010]$")
# An option of a command, a web address, a path or an e-mail address: its hyphens are its own.
_ADDRESS = re.compile(r"\W{0,20}?(?:--\w|\w+://|www\.|~?\.{0,2}/\w|[\w.+-]{1,64}@\w)")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
# A number, a title that begins with a capital, and a sign behind it.
_RUN_IN = re.compile(
    r"(?:(?:\d{1,2}|[A-Za-z]|[ivxIVX]{1,5})[.)]|\d{1,2}(?:\.\d{1,2}){1,4}\.?)\s+"
    r"(?=[^\W\d_])[^a-z].*[.:\u2014]"
)
_RUN_IN_WORDS = 14
_UNSPACED_END = regex.compile(rf"[{SPACELESS}、。，．：；！？）」』】》…]")
_UNSPACED_START = regex.compile(rf"[{SPACELESS}、。，．：；！？（「『【《…]")
SENTENCE_END = re.compile(r"""[.!?:;。！？：；…।؟۔]["'”’»)\]]*$""")
BULLETS = frozenset("•‣◦▪●○■□")


@dataclass(frozen=True, slots=True)
class Row:
    """The lines that stand on one row, as they came."""

    page: int  # from 1
    cells: tuple[Line, ...]
    text: str
    size: float  # of the longest cell
    bold: bool  # all of it
    left: float
    right: float
    top: float
    bottom: float
    upright: bool
    italic: bool = False  # all of it
    mono: bool = False  # all of it is in type of one width
    # Characters at its start in bold or slanted type, where the rest is in none.
    lead: int = 0

    @property
    def text_left(self) -> float:
        """Where its words begin, behind a number that stands apart."""
        return next(
            (cell.left for cell in self.cells if any(map(str.isalpha, cell.text))),
            self.left,
        )

    @property
    def middle(self) -> float:
        """The height of its middle, in points from the top."""
        return (self.top + self.bottom) / 2


def rows_of(lines: Iterable[Line], page: int) -> Iterator[Row]:
    """Rows of a page's lines in their order. Lines without text are left out."""
    cells: list[Line] = []
    for line in lines:
        if not line.text.strip():
            continue
        if cells and not _same_row(cells[-1], line):
            yield row_of(cells, page)
            cells = []
        cells.append(line)
    if cells:
        yield row_of(cells, page)


def _same_row(a: Line, b: Line) -> bool:
    beside = b.left >= a.right - 1 or b.right <= a.left + 1
    is_near = abs(a.middle - b.middle) <= 0.4 * max(a.size, b.size)
    return a.upright and b.upright and beside and is_near


def level_rows(lines: Iterable[Line]) -> list[list[Line]]:
    """The lines from top to bottom by rows, each from left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.middle, line.left)):
        if rows and is_level(line, rows[-1][0]):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.left) for row in rows]


def is_level(line: Line, above: Line) -> bool:
    """Whether a line stands on the row of one above it, or higher."""
    size = max(1.0, min(line.size, above.size))
    return line.middle - above.middle <= 0.35 * size


def stands_out_beside(line: Line, text: Line) -> bool:
    """Whether a line is in bold or slanted type, and the text beside it in other type."""
    return (line.bold or line.italic) and (line.bold, line.italic) != (
        text.bold,
        text.italic,
    )


def row_of(cells: Sequence[Line], page: int) -> Row:
    """One row of lines that stand side by side."""
    text = ""
    lead: int | None = None
    for i, cell in enumerate(cells):
        cell_text = " ".join(cell.text.split())
        space = space_between(text, cell.text)
        if text and len(cell_text) > 1 and cell.left - cells[i - 1].right > cell.size:
            space = " "  # the next of a form's fields; letters set apart are one word
        stands_out = (cell.bold or cell.italic) and not cell.lead
        if lead is None and not stands_out:
            lead = len(text) + (len(space) + cell.lead if cell.lead else 0)
        text = f"{text}{space}{cell_text}"
    longest = max(cells, key=lambda cell: len(cell.text))
    words = [cell for cell in cells if any(map(str.isalpha, cell.text))]
    # Names in type of one width have no bold of their own: the rest of a title tells.
    telling = [cell for cell in words if not cell.mono]
    telling = telling or [cell for cell in cells if not cell.mono] or list(cells)
    return Row(
        page,
        tuple(cells),
        text,
        longest.size,
        all(cell.bold for cell in telling),
        min(cell.left for cell in cells),
        max(cell.right for cell in cells),
        longest.top,
        longest.bottom,
        longest.upright,
        all(cell.italic for cell in words or cells),
        all(cell.mono for cell in cells),
        lead or 0,
    )


def with_run_in_titles(rows: Sequence[Row]) -> Iterator[Row]:
    """Rows, with a numbered title in bold or slanted type apart from the text that follows it in
    its row. The text goes on below its number: that of an item hangs."""
    for row, below in zip_longest(rows, rows[1:]):
        title = row.text[: row.lead].rstrip()
        is_title = _RUN_IN.fullmatch(title) and len(title.split()) <= _RUN_IN_WORDS
        if (
            is_title
            and row.upright
            and below
            and row.top < below.top < row.top + 2 * row.size
            and below.left <= row.left + 1
        ):
            yield replace(row, text=title, lead=len(title), italic=not row.bold)
            yield replace(
                row,
                text=row.text[row.lead :].lstrip(),
                lead=0,
                bold=False,
                italic=False,
            )
        else:
            yield row


def are_small_capitals(above: Row, row: Row) -> bool:
    """Whether two rows are of capitals, and those of the second are small ones."""
    capitals = above.text.isupper() and row.text.isupper()
    smaller = 0.75 * above.size <= row.size < 0.92 * above.size
    return capitals and smaller and above.bold == row.bold


def space_between(before: str, after: str) -> str:
    """A space, or nothing at the start. Nothing either between characters of scripts that are
    written without spaces."""
    if not before or (_UNSPACED_END.match(before[-1]) and _UNSPACED_START.match(after)):
        return ""
    return " "


@dataclass
class Joiner:
    """Joins texts across line ends; words broken by a hyphen become whole."""

    hyphens: Hyphens

    @classmethod
    def of(cls, texts: Iterable[str]) -> Joiner:
        """A joiner that knows the words of the lines."""
        return cls(Hyphens.of(texts))

    def join(self, before: str, after: str) -> str:
        """The two as one text. There is a space between them, except where a word or a script
        without spaces goes on."""
        if before.endswith("\u00ad"):
            return before[:-1] + after
        broken = (
            _BROKEN.search(before.rpartition(" ")[2])
            if before[-1] in "-\u2010"
            else None
        )
        if broken and (after[0].islower() or _is_in_capitals(broken["word"], after)):
            first = _FIRST_WORD.match(after)
            if first and not self.hyphens.is_suspended(broken["word"], first[0]):
                keeps = _is_address(before) or self.hyphens.keep(
                    broken["word"], first[0]
                )
                return (before if keeps else before[:-1]) + after
        elif broken and after[0].isalnum():
            return before + after  # a capital or a digit: the hyphen is the word's
        return f"{before}{space_between(before, after)}{after}"


def _is_in_capitals(word: str, after: str) -> bool:
    first = _FIRST_WORD.match(after)
    return word.isupper() and first is not None and first[0].isupper()


def _is_address(before: str) -> bool:
    return _ADDRESS.match(before.rpartition(" ")[2]) is not None
