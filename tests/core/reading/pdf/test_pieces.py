"""Pieces of text as a PDF holds them."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from fixture_cases import examples
from pdf_making import made, texts, write

from structrag.reading.pdf.pages import Box
from structrag.reading.pdf.pieces import (
    _drawn,
    _step,
    _text_of,
)
from structrag.reading.pdf.reader import read_pdf

ROW = "A long row of text that stands twice on the page"


@pytest.mark.parametrize("between", [3, 4, 5])
def test_a_row_that_stands_twice_is_read_behind_some_others(between: int) -> None:
    others = [f"Row {i} of some others in between" for i in range(between)]

    def draw(canvas: Any) -> None:
        write(canvas, [ROW], 72, 700)
        write(canvas, others, 72, 500)
        write(canvas, [ROW], 72, 691)  # so near that PDFium leaves it out

    assert texts(read_pdf(made(draw))[0]) == [ROW, ROW, *others]


class Text:
    """PDFium's answers about a page's characters."""

    def __init__(
        self, text: str, codes: list[int], objects: list[int] | None = None
    ) -> None:
        self.text, self.codes, self.objects = text, codes, objects or []

    def FPDFText_CountChars(self, page: Any) -> int:
        return len(self.codes)

    def FPDFText_GetText(self, page: Any, start: int, count: int, buffer: Any) -> int:
        units = self.text[start : start + count].encode("utf-16-le")
        ctypes.memmove(buffer, units, len(units))
        return len(units) // 2 + 1

    def FPDFText_GetUnicode(self, page: Any, i: int) -> int:
        return self.codes[i]

    def FPDFText_GetTextObject(self, page: Any, i: int) -> Any:
        return ctypes.c_void_p(self.objects[i])


@examples
def test_a_page_has_a_character_for_each_of_the_files(
    text: str, codes: list[int], expected: str
) -> None:
    assert _text_of(Text(text, codes), None) == expected


@examples
def test_a_word_is_parted_where_the_text_object_changes(
    objects: list[int], expected: list[tuple[int, int, int]]
) -> None:
    raw = Text("", [], objects)
    assert list(_drawn(raw, None, 0, len(objects))) == expected


class Bounds:
    """PDFium's answer about where objects stand; None has no place."""

    def FPDFPageObj_GetBounds(self, item: Any, *sides: Any) -> bool:
        for side, value in zip(sides, item or (), strict=False):
            side.value = value
        return item is not None


@examples
def test_a_text_repeats_another_in_another_row(
    second: Box | None, expected: tuple[float, float] | None
) -> None:
    step = _step(Bounds(), (10, 100, 110, 110), second)
    assert step == (expected and pytest.approx(expected, abs=1e-4))
    assert _step(Bounds(), None, second) is None
