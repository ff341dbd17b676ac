"""Pieces of text joined to lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from page_making import line
from pdf_making import made, texts, write

from structrag.reading.pdf.lines import (
    _WORD_GAP,
    GAP,
    _joined,
    _ruled,
    is_rtl,
    lines_of,
)
from structrag.reading.pdf.pages import Grid, Line
from structrag.reading.pdf.pieces import Piece, Turn, _Style
from structrag.reading.pdf.reader import read_pdf

pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
pytest.importorskip("reportlab")


def test_a_wide_gap_ends_a_line_and_pieces_drawn_apart_are_joined() -> None:
    def draw(canvas: Any) -> None:
        canvas.setFont("Helvetica", 10)
        canvas.drawString(72, 700, "left")
        canvas.drawString(300, 700, "right")
        canvas.drawString(72, 600, "later")
        canvas.drawString(
            72 + canvas.stringWidth("first ", "Helvetica", 10), 650, "second"
        )
        canvas.drawString(72, 650, "first")

    assert texts(read_pdf(made(draw))[0]) == ["left", "right", "first second", "later"]


@pytest.mark.parametrize("step", [0.3, 9, 12, 20])
def test_a_row_that_repeats_the_one_above_is_no_shadow(step: float) -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    latin, chinese = (
        "A long row of text that comes three times on this page",
        "北京市朝阳区科技有限公司第一分公司",
    )

    def draw(canvas: Any) -> None:
        for i in range(3):
            write(canvas, [latin], 72, 700 - step * i, 10)
            write(canvas, [chinese], 72, 400 - step * i, 10, "STSong-Light")

    copies = 1 if step < 1 else 3
    assert texts(read_pdf(made(draw))[0]) == [latin] * copies + [chinese] * copies


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


@pytest.mark.parametrize(
    "text", ["Съешь ещё этих мягких булок", "Ξεσκεπάζω την ψυχοφθόρα", "ﬁne oﬀice"]
)
def test_other_alphabets_and_ligatures(dejavu: str, text: str) -> None:
    def draw(canvas: Any) -> None:
        write(canvas, [text], 72, 700, 12, dejavu)

    expected = text.replace("ﬁ", "fi").replace("ﬀ", "ff")
    assert texts(read_pdf(made(draw))[0]) == [expected]


def test_hebrew_is_read_from_right_to_left(dejavu: str) -> None:
    def draw(canvas: Any) -> None:
        canvas.setFont(dejavu, 12)
        canvas.drawRightString(500, 700, "שלום עולם"[::-1])  # drawn as it looks
        canvas.drawRightString(300, 700, "שמאל"[::-1])
        canvas.drawRightString(500, 680, "שורה שנייה"[::-1])

    assert texts(read_pdf(made(draw))[0]) == ["שלום עולם", "שמאל", "שורה שנייה"]


@pytest.mark.parametrize("ruled", [False, True])
def test_a_vertical_rule_parts_each_row_of_a_table(ruled: bool) -> None:
    """The words are close enough to be one line but for the rule."""

    def draw(canvas: Any) -> None:
        canvas.setFont("Helvetica", 10)
        for y in (714, 700):
            canvas.drawString(72, y, "pump")
            canvas.drawString(104, y, "valve")
        if ruled:
            for x in (70, 101, 140):
                canvas.line(x, 698, x, 726)
            for y in (698, 712, 726):
                canvas.line(70, y, 140, y)

    row = ["pump", "valve"] if ruled else ["pump valve"]
    assert texts(read_pdf(made(draw))[0]) == row * 2


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
        (after("cd", 20 * GAP, size=20), ["ab cd"]),  # the larger type decides
    ],
)
def test_pieces_of_a_row_are_joined(other: Line, expected: list[str]) -> None:
    assert [one.text for one in _joined([line("ab", 100, 60), other], [])] == expected


def test_a_joined_line_has_the_type_of_the_longer_one() -> None:
    bold = [line("ab", 100, 60, bold=True), line("cdef", 98, 73, 12, True)]
    (joined,) = _joined(bold, [])
    assert joined == Line("ab cdef", 12, True, 60, 97, 98, 110)
    (joined,) = _joined([bold[0], line("cdef", 98, 73, 12)], [])
    assert not joined.bold


def test_rows_are_told_by_the_feet_of_their_first_lines() -> None:
    lines = [line("a", 100), line("b", 120), line("c", 120, 300)]
    assert [one.text for one in _joined(lines, [])] == ["a", "b", "c"]
    # Each stands a point lower than the one before: the last is two below the first.
    falling = [line(f"a{i}", 100 + i, 60 + 12 * i) for i in range(3)]
    assert [one.text for one in _joined(falling, [])] == ["a0 a1", "a2"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((90, 108), ["ab", "cd"]),  # the text stands on 108
        ((108, 120), ["ab", "cd"]),
        ((90, 107.9), ["ab cd"]),
        ((108.1, 120), ["ab cd"]),
    ],
)
def test_a_rule_parts_text_that_stands_beside_it(
    rows: tuple[float, float], expected: list[str]
) -> None:
    lines, grid = [line("ab", 100, 60), line("cd", 100, 75)], Grid((50, 72, 99), rows)
    assert [one.text for one in _joined(lines, [grid])] == expected


def test_lines_of_a_row_are_ordered_from_the_left() -> None:
    found = _joined([line("c", 100, 90), line("a", 100, 60), line("b", 100, 75)], [])
    assert [one.text for one in found] == ["a", "b", "c"]
    apart = _joined([line("a", 100, 60), line("b", 100, 90), line("c", 100, 97)], [])
    assert [one.text for one in apart] == ["a", "b c"]


@pytest.mark.parametrize(
    ("left", "right", "y", "expected"),
    [
        (40, 60, 50, True),
        (50, 60, 50, True),  # at the rule
        (40, 50, 50, True),
        (51, 60, 50, False),
        (49.5, 50.5, 50, False),  # hardly a gap
        (49.4, 50.5, 50, True),
        (40, 60, 10, True),
        (40, 60, 90, True),
        (40, 60, 9, False),  # above the table
        (40, 60, 91, False),
    ],
)
def test_a_rule_between_two_places(
    left: float, right: float, y: float, expected: bool
) -> None:
    assert _ruled([Grid((20, 50, 80), (10, 90))], left, right, y) is expected
    assert not _ruled([], left, right, y)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("שלום", True),
        ("שלום abc", True),
        ("שלום abcd", False),
        ("abc", False),
        ("12 -", False),
    ],
)
def test_most_letters_tell_the_direction(text: str, expected: bool) -> None:
    assert is_rtl(text) is expected


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
) -> Piece:
    """A piece `down` below the row that stands 100 from the page's top; letters are 5 wide."""
    foot = 700 - down
    box = (left, foot - 2, left + 5 * len(text), foot + 8)
    return Piece(text, _Style(size, bold, angle), box, (left, foot), 1, space, ended)


def found(*pieces: Piece, quarters: int = 0) -> list[Line]:
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
    pieces: list[Piece], expected: list[str]
) -> None:
    assert [line.text for line in found(*pieces)] == expected


def test_a_row_has_the_type_of_most_of_its_characters() -> None:
    (line,) = found(piece("abc", 60), piece("de", 76, size=12, bold=True))
    assert line == Line("abc de", 10, False, 60, 86, 92, 102)
    (line,) = found(piece("ab", 60), piece("cd", 71, size=12, bold=True))
    # The larger of two; half of it is bold.
    assert (line.size, line.bold) == (12, False)
    (line,) = found(piece("ab", 60), piece("cde", 71, bold=True))
    assert line.bold
    (line,) = found(
        piece("a", 60, size=12), piece("bc", 66, space=False), piece("d", 76, size=12)
    )
    assert line.size == 12


def test_rows_joined_of_two_scripts_stay_in_the_order_of_their_places() -> None:
    joined = _joined([line("abc", 100, 60), line("שלום", 100, 77)], [])
    assert [one.text for one in joined] == ["abc שלום"]
    joined = _joined([line("שלום", 100, 60), line("עולם", 100, 82)], [])
    assert [one.text for one in joined] == ["עולם שלום"]


@pytest.mark.parametrize(
    ("angle", "quarters", "upright"),
    [
        (0, 0, True),
        (9.9, 0, True),
        (10, 0, False),
        (350, 0, False),
        (350.1, 0, True),
        (90, 0, False),
        (180, 0, False),
        (90, 1, True),
        (99.9, 1, True),
        (80, 1, False),
        (0, 1, False),
        (270, 3, True),
        (0, 3, False),
        (9, 2, False),
        (171, 2, True),
    ],
)
def test_text_stands_upright_within_ten_degrees(
    angle: float, quarters: int, upright: bool
) -> None:
    (one,) = found(piece("ab", 60, angle=angle), quarters=quarters)
    assert one.upright is upright


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
