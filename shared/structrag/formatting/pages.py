"""A page of a document as it is laid out: runs of text with their place and font size.

`pdf.read_pdf` makes pages of a PDF; pages of any other reader (OCR, a word processor's export) can be made by hand.
"""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Line:
    """A run of text on one line of a page, without a wide gap inside: a cell of a table is a line of its own.

    Lengths are points (1/72 inch), measured from the page's upper left corner, so `top < bottom`.
    """

    text: str
    size: float  # of the font, in points
    bold: bool
    left: float
    right: float
    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `lines` are in reading order: down the first column, then down the second, cells of a row left to right."""

    lines: tuple[Line, ...]
    width: float  # points
    height: float  # points
    images: tuple[Box, ...] = ()  # pictures, in points from the upper left corner
