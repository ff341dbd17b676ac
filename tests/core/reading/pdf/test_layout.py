"""Laid-out pages to Markdown: no word is lost or moved, and structure is what the layout shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.reading.markdown import markdown_headings
from structrag.reading.markdown_blocks import markdown_blocks
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Line, Page

SIZE, LEFT, WIDTH, HEIGHT = 10.0, 60.0, 600.0, 800.0


def line(
    text: str, y: float, x: float = LEFT, size: float = SIZE, bold: bool = False, **more: Any
) -> Line:
    return Line(text, size, bold, x, x + 0.5 * size * len(text), y, y + size, **more)


def page(*lines: Line, **more: Any) -> Page:
    return Page(lines, WIDTH, HEIGHT, **more)


def column(texts: Sequence[str], y: float = 200, x: float = LEFT, **more: Any) -> list[Line]:
    return [line(text, y + 12 * i, x, **more) for i, text in enumerate(texts)]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.replace("\\", ""))


FULL = "these are words that fill the whole row of the page until it ends at"  # 69 characters
TEXT = [FULL, FULL, "the last row."]


def markdown(*pages: Page) -> str:
    return markdown_of_pages(pages).text


# Invariants

WORD = st.text(st.sampled_from("abcxyzäßI1239"), min_size=1, max_size=8)
CJK = st.text(st.sampled_from("今天天气很好我们"), min_size=1, max_size=10)
SIGNS = [
    "#", "##", "-", "+", "*", ">", ">>", "1.", "2)", "(a)", "a)", "i.", "ii.", "•", "–", "|", "| |", "---", "- - -", "***",
    "___", "===", "=", "```", "~~~", "<div>", "<!-- x", "</p>", "[x]: y", "[x]", "+++", "|---|", ":-:", ". . . . 3", "\\",
    "&amp;", "`x", "_x_", "**x**", "!", "$$", "Chapter 1", "A.", "3.2", "\t", "\u00a0", "\x0b", "\u2028", "{#id}", "#x",
]  # fmt: skip
PIECE = st.one_of(WORD, WORD, WORD, CJK, st.sampled_from(SIGNS))
ROW_TEXT = st.lists(PIECE, min_size=0, max_size=12).map(" ".join)


@st.composite
def random_pages(draw: st.DrawFn, texts: st.SearchStrategy[str] = ROW_TEXT) -> list[Page]:
    pages = []
    for _ in range(draw(st.integers(1, 4))):
        y, lines = draw(st.sampled_from([20.0, 100.0, 200.0])), []
        for _ in range(draw(st.integers(0, 12))):
            size, bold = (
                draw(st.sampled_from([8.0, 10.0, 10.0, 10.0, 14.0, 20.0])),
                draw(st.booleans()),
            )
            upright = draw(st.integers(0, 15)) > 0
            x = draw(st.sampled_from([60.0, 60.0, 60.0, 75.0, 300.0]))
            for text in draw(
                st.lists(texts, min_size=1, max_size=draw(st.sampled_from([1, 1, 1, 3])))
            ):
                lines.append(line(text, y, x, size, bold, upright=upright))
                x = lines[-1].right + draw(st.sampled_from([3.0, 15.0, 60.0]))
            y += draw(st.sampled_from([0.0, 12.0, 12.0, 12.0, 20.0, 40.0, -300.0]))
        pages.append(page(*lines))
    return pages


def without(texts: list[str], removed: Sequence[str]) -> list[str]:
    """The texts that are left when the removed ones are taken out; fails unless these are among
    them in order."""
    left, gone = [], list(removed)
    for text in texts:
        if gone and " ".join(text.split()) == gone[0]:
            gone.pop(0)
        else:
            left.append(text)
    assert not gone
    return left


@settings(max_examples=80, deadline=None)
@given(random_pages())
def test_every_word_stays_in_its_place(pages: list[Page]) -> None:
    draft = markdown_of_pages(pages)
    texts = [line.text for page in pages for line in page.lines]
    whole = "".join(words(" ".join(without(texts, draft.removed))))
    assert "".join(words(draft.text)) == whole


@settings(max_examples=80, deadline=None)
@given(random_pages(st.lists(WORD, max_size=12).map(" ".join)))
def test_words_stay_apart(pages: list[Page]) -> None:
    draft = markdown_of_pages(pages)
    texts = [line.text for page in pages for line in page.lines]
    assert words(draft.text) == words(" ".join(without(texts, draft.removed)))


@settings(max_examples=50, deadline=None)
@given(random_pages())
def test_no_structure_by_accident(pages: list[Page]) -> None:
    text = markdown_of_pages(pages).text
    blocks = [block for block in text.split("\n\n") if block.strip()]
    headings = markdown_headings(text)
    assert [text[heading.start : heading.end].strip() for heading in headings] == [
        block.strip() for block in blocks if re.match(r"#{1,6} ", block)
    ]
    for block in blocks:
        if not re.match(r"#{1,6} ", block):
            kinds = [found.kind for found in markdown_blocks(block, 0, len(block))]
            assert len(kinds) == 1 and kinds[0] in {
                "paragraph",
                "list",
                "table",
                "image",
                "math",
            }, block


@settings(max_examples=50, deadline=None)
@given(random_pages())
def test_titles_read_as_on_the_page(pages: list[Page]) -> None:
    draft = markdown_of_pages(pages)
    everything = "".join("".join(line.text.split()) for page in pages for line in page.lines)
    for heading in markdown_headings(draft.text):
        assert "".join(heading.title.split()).replace("-", "") in everything.replace("-", "")


@settings(max_examples=50, deadline=None)
@given(random_pages(), st.integers(1, 6))
def test_the_same_pages_give_the_same_text(pages: list[Page], times: int) -> None:
    assert markdown_of_pages(pages) == markdown_of_pages([replace(page) for page in pages])


# Paragraphs


def test_rows_of_a_paragraph_are_joined_and_gaps_part_paragraphs() -> None:
    lines = [*column(TEXT, 200), *column(TEXT, 260)]
    paragraph = f"{FULL} {FULL} the last row."
    assert markdown(page(*lines)) == f"{paragraph}\n\n{paragraph}\n"


def test_an_indented_first_row_begins_a_paragraph() -> None:
    lines = column([FULL, FULL, FULL, FULL])
    lines[2] = replace(lines[2], left=lines[2].left + 15)
    assert markdown(page(*lines)) == f"{FULL} {FULL}\n\n{FULL} {FULL}\n"


def test_a_row_that_ends_on_purpose_keeps_its_end() -> None:
    lines = column(
        ["John Smith", "12 High Street", "Springfield", "The United Kingdom of Great Britain"]
    )
    assert markdown(page(*lines)).splitlines() == [line.text for line in lines]


@pytest.mark.parametrize(
    ("last", "first", "joined"),
    [
        (FULL, "goes on here.", True),
        (FULL[:-1] + ".", "A new one begins.", False),
        (FULL, "London is a name.", True),
        ("short row", "New thought", False),
    ],
)
def test_paragraphs_over_pages(last: str, first: str, joined: bool) -> None:
    text = markdown(page(*column([FULL, FULL, last], 700)), page(*column([first], 60)))
    assert (f"{last} {first}" in text) == joined


def test_paragraphs_over_columns() -> None:
    half = FULL[:39]
    lines = [*column([half, half, half], 200), *column(["goes on.", half], 200, x=320)]
    assert f"{half} {half} {half} goes on." in markdown(page(*lines))


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        ("an impor-", "tant thing", "an important thing"),
        ("a well-", "known man", "a well-known man"),
        ("the Smith-", "Jones family", "the Smith-Jones family"),
        ("2019-", "2020", "2019-2020"),
        ("short-", "and long-term", "short- and long-term"),
        ("soft\u00ad", "ened", "softened"),
        ("a dash -", "like this", "a dash - like this"),
        ("我们今天去", "公园", "我们今天去公园"),
        ("今天", "beta", "今天 beta"),
    ],
)
def test_line_ends(a: str, b: str, joined: str) -> None:
    assert joined in markdown(page(*column([FULL, f"{FULL[: 68 - len(a)]} {a}", b])))


def test_hyphens_follow_what_the_text_writes_elsewhere() -> None:
    lines = column(
        [
            FULL,
            "the e-",
            "mail is in the in-",
            "box and in the inbox an e-mail lies, so that",
            "the con-",
            "tent",
        ]
    )
    draft = markdown_of_pages([page(*lines)])
    assert "the e-mail is in the inbox and" in draft.text
    assert "the content" in draft.text
    assert [note for note in draft.uncertain if "by guess" in note] == [
        "1 words broken at line ends were rejoined by guess, such as 'con-tent'."
    ]


def test_a_suspended_hyphen_joins_nothing_unless_the_word_is_found_elsewhere() -> None:
    draft = markdown_of_pages(
        [
            page(
                *column(
                    [f"{FULL[:60]} the pre-", "and post-war years, a fact-", "or, and a factor"]
                )
            )
        ]
    )
    assert "pre- and post-war years, a factor, and" in draft.text
