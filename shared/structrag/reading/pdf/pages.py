"""A page as it is laid out: text with place and size. `pdf.read_pdf` makes pages of a PDF; pages of
any other reader (OCR, a word processor's export) can be made by hand."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Line:
    """A run of text on one line, without a wide gap inside.

    A cell of a table is a line of its own. Lengths are points (1/72 inch), measured from the page's
    upper left corner, so `top < bottom`.
    """

    text: str
    size: float  # of the font, in points
    bold: bool
    left: float
    right: float
    top: float
    bottom: float
    # False: turned against the page's other text (a watermark, the label of an axis).
    upright: bool = True
    italic: bool = False
    faint: bool = False  # light or see-through, as a watermark is
    mono: bool = False  # in type of one width, as code is
    drawn: int = -1  # its place in the order of the file; -1: not known
    # Characters at its start in bold or slanted type, where the rest is in none.
    lead: int = 0

    @property
    def middle(self) -> float:
        """The height of its middle, in points from the top."""
        return (self.top + self.bottom) / 2


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the ruled lines of a table cross. The table has `len(columns) - 1` columns and
    `len(rows) - 1` rows."""

    columns: tuple[float, ...]  # x of the vertical rules, ascending
    rows: tuple[float, ...]  # y of the horizontal rules, ascending

    def cell(self, line: Line) -> tuple[int, int] | None:
        """Row and column of the cell in which the line begins. They count from 0. None for a line
        outside."""
        x = line.left + min(2.0, (line.right - line.left) / 2)
        is_in_rows = self.rows[0] <= line.middle < self.rows[-1]
        is_in_columns = self.columns[0] <= x < self.columns[-1]
        if not (is_in_rows and is_in_columns):
            return None
        row = bisect_right(self.rows, line.middle) - 1
        return row, bisect_right(self.columns, x) - 1


class NamedHeading(NamedTuple):
    """A heading that the file itself names: by a bookmark, or a tag of its structure."""

    level: int  # from 1
    title: str
    top: float | None = None  # points from the page's top, where the file says it


class Picture(NamedTuple):
    """A picture that is large enough to matter: no rule, sign, background or repeated logo."""

    box: Box
    alt: str = ""  # what the file says it shows
    file: str = ""  # where it was written, if it was


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `lines` are in reading order: down the first column, then down the second; the
    lines of a row left to right, those of a ruled table cell by cell; turned lines last."""

    lines: tuple[Line, ...]
    width: float  # points
    height: float  # points
    images: tuple[Box, ...] = ()  # everything that is a picture, of any size
    grids: tuple[Grid, ...] = ()  # ruled tables that hold text
    headings: tuple[NamedHeading, ...] = ()  # in reading order
    pictures: tuple[Picture, ...] = ()  # those that have a place in the text
    comments: int = 0  # notes of readers, which are in no line
