"""Laid-out pages made of lines, for the tests of their layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structrag.reading.drafts import Draft
from structrag.reading.markdown import markdown_headings
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Line, Page

SIZE, LEFT, WIDTH, HEIGHT = 10.0, 60.0, 600.0, 800.0


def line(
    text: str,
    y: float,
    x: float = LEFT,
    size: float = SIZE,
    bold: bool = False,
    **more: Any,
) -> Line:
    return Line(text, size, bold, x, x + 0.5 * size * len(text), y, y + size, **more)


def page(*lines: Line, **more: Any) -> Page:
    return Page(lines, WIDTH, HEIGHT, **more)


# 69 characters.
FULL = "these are words that fill the whole row of the page until it ends at"


def text_from(y: float, rows: int = 3) -> list[Line]:
    return [line(FULL, y + 12 * i) for i in range(rows)]


def draft(*pages: Page) -> Draft:
    return markdown_of_pages(pages)


def headings(*pages: Page) -> list[tuple[int, str]]:
    return [
        (heading.level, heading.title)
        for heading in markdown_headings(draft(*pages).text)
    ]


def rows(
    texts: Sequence[tuple[str, float]], y: float = 200, step: float = 12
) -> list[Line]:
    return [line(text, y + step * i, x) for i, (text, x) in enumerate(texts)]


def column(
    texts: Sequence[str], y: float = 200, x: float = LEFT, **more: Any
) -> list[Line]:
    return [line(text, y + 12 * i, x, **more) for i, text in enumerate(texts)]


def markdown(*pages: Page) -> str:
    return markdown_of_pages(pages).text
