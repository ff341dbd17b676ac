"""Pieces of text joined to lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixture_cases import examples
from page_making import line
from pdf_making import made, texts

from structrag.reading.pdf.lines import (
    _WORD_GAP,
    GAP,
    _joined,
    _ruled,
    lines_of,
)
from structrag.reading.pdf.pages import Grid, Line
from structrag.reading.pdf.pieces import TextPiece, Turn, _Style
from structrag.reading.pdf.reader import read_pdf


def after(text: str, gap: float, down: float = 0, size: float = 10) -> Line:
    """A line behind "ab", which ends at 70; their feet are at one height but for `down`."""
    return line(text, 110 - size + down, 70 + gap, size)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (after("cd", 10 * _WORD_GAP), ["abcd"]),
        (after("cd", 10 * _WORD_GAP + 0.1), ["ab cd"]),
        (after("cd", 10 * GAP), ["ab cd"]),
        (after("cd", 10 * GAP + 0.1), ["ab", "cd"]),
        (after("cd", -5), ["abcd"]),  # half the type's height of overlap
        (after("cd", -5.1), ["ab", "cd"]),
        (after("ab", -8.5), ["ab"]),  # a shadow
        (after("ab", -8.4), ["ab", "ab"]),
        (after("cd", 3, 1.5), ["ab cd"]),  # 0.15 of the type's height lower
        (after("cd", 3, 1.6), ["ab", "cd"]),
        (after("cd", 10 * GAP, size=20), ["ab cd"]),
        (
            after("cd", 10 * GAP + 0.1, size=20),
            ["ab", "cd"],
        ),  # the smaller type decides
    ],
)
def test_pieces_of_a_row_are_joined(other: Line, expected: list[str]) -> None:
    assert [one.text for one in _joined([line("ab", 100, 60), other], [])] == expected


@examples
def test_a_rule_between_two_places(
    left: float, right: float, y: float, expected: bool
) -> None:
    assert _ruled([Grid((20, 50, 80), (10, 90))], left, right, y) is expected
    assert not _ruled([], left, right, y)


PAGE = (0, 0, 600, 800)  # left, bottom, right, top


def piece(
    text: str,
    left: float,
    down: float = 0,
    *,
    size: float = 10,
    bold: bool = False,
    angle: float = 0,
    space: bool = True,
    ended: bool = False,
) -> TextPiece:
    """A piece `down` below the row that stands 100 from the page's top; letters are 5 wide."""
    foot = 700 - down
    box = (left, foot - 2, left + 5 * len(text), foot + 8)
    return TextPiece(
        text, _Style(size, bold, angle), box, (left, foot), 1, space, ended
    )


def found(*pieces: TextPiece, quarters: int = 0) -> list[Line]:
    return lines_of(pieces, Turn(quarters, PAGE), [])


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([piece("ab", 60), piece("cd", 75)], ["ab cd"]),
        ([piece("ab", 60), piece("cd", 70, space=False)], ["abcd"]),
        # A gap of 0.8 of the type's height.
        ([piece("ab", 60), piece("cd", 78)], ["ab cd"]),
        ([piece("ab", 60), piece("cd", 78.1)], ["ab", "cd"]),
        # Higher by 0.45 of it.
        ([piece("ab", 60), piece("2", 70, -4.5, space=False)], ["ab2"]),
        ([piece("ab", 60), piece("2", 70, -4.6, space=False)], ["2", "ab"]),
        ([piece("ab", 60), piece("cd", 65)], ["ab cd"]),  # half of the height over it
        ([piece("ab", 60), piece("cd", 64.9)], ["ab", "cd"]),
        ([piece("שלום", 60), piece("abc", 81)], ["שלום abc"]),
        # Further left than the last, by as much as further right at most.
        ([piece("cd", 78), piece("ab", 60)], ["cd ab"]),
        ([piece("cd", 78.1), piece("ab", 60)], ["ab", "cd"]),
        # Two halves of a character, and one alone.
        ([piece("\ud835\udc00", 60)], ["\U0001d400"]),
        ([piece("\ud800", 60)], ["\ufffd"]),
        ([piece("a\udfff", 60)], ["a\ufffd"]),
    ],
)
def test_pieces_of_the_file_go_on_with_a_row(
    pieces: list[TextPiece], expected: list[str]
) -> None:
    assert [line.text for line in found(*pieces)] == expected


def test_rows_joined_of_two_scripts_stay_in_the_order_of_their_places() -> None:
    joined = _joined([line("abc", 100, 60), line("שלום", 100, 77)], [])
    assert [one.text for one in joined] == ["abc שלום"]
    joined = _joined([line("שלום", 100, 60), line("עולם", 100, 82)], [])
    assert [one.text for one in joined] == ["עולם שלום"]


def test_turned_text_is_a_line_until_the_file_ends_it() -> None:
    turned = [
        piece("label", 60, angle=90),
        piece("of", 300, 200, angle=90),
        piece("next", 60, angle=90, ended=True),
    ]
    row = piece("row", 60)
    assert [(one.text, one.upright) for one in found(*turned, row)] == [
        ("row", True),
        ("label of", False),
        ("next", False),
    ]
    assert [one.text for one in found(row, *turned)] == ["row", "label of", "next"]


@pytest.fixture
def dejavu() -> str:
    matplotlib = pytest.importorskip("matplotlib")
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    pdfmetrics.registerFont(
        TTFont(
            "DejaVu",
            Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf",
        )
    )
    return "DejaVu"


def test_hebrew_is_read_from_right_to_left(dejavu: str) -> None:
    def draw(canvas: Any) -> None:
        canvas.setFont(dejavu, 12)
        canvas.drawRightString(500, 700, "שלום עולם"[::-1])  # drawn as it looks
        canvas.drawRightString(300, 700, "שמאל"[::-1])
        canvas.drawRightString(500, 680, "שורה שנייה"[::-1])

    assert texts(read_pdf(made(draw))[0]) == ["שלום עולם", "שמאל", "שורה שנייה"]


@examples
def test_a_rule_parts_text_that_stands_beside_it(
    rows: tuple[float, float], expected: list[str]
) -> None:
    lines, grid = [line("ab", 100, 60), line("cd", 100, 75)], Grid((50, 72, 99), rows)
    assert [one.text for one in _joined(lines, [grid])] == expected
