"""Laid-out pages to Markdown: no word is lost or moved, and structure is what the layout shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from page_making import FULL, draft, line, page, text_from

from structrag.reading.drafts import Draft
from structrag.reading.markdown import markdown_blocks, markdown_headings
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Page
from structrag.reading.pdf.running_heads import find_page_marks, find_running_heads


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.replace("\\", ""))


# Invariants

WORD = st.text(st.sampled_from("abcxyzäßI1239"), min_size=1, max_size=8)
CJK = st.text(st.sampled_from("今天天气很好我们"), min_size=1, max_size=10)
SIGNS = [
    "#", "##", "-", "+", "*", ">", ">>", "1.", "2)", "(a)", "a)", "i.", "ii.", "•", "–", "|",
    "| |", "---", "- - -", "***",
    "___", "===", "=", "```", "~~~", "<div>", "<!-- x", "</p>", "[x]: y", "[x]", "+++", "|---|",
    ":-:", ". . . . 3", "\\",
    "&amp;", "`x", "_x_", "**x**", "!", "$$", "Chapter 1", "A.", "3.2", "\t", "\u00a0", "\x0b",
    "\u2028", "{#id}", "#x",
]  # fmt: skip
PIECE = st.one_of(WORD, WORD, WORD, CJK, st.sampled_from(SIGNS))
ROW_TEXT = st.lists(PIECE, min_size=0, max_size=12).map(" ".join)


@st.composite
def random_pages(
    draw: st.DrawFn, texts: st.SearchStrategy[str] = ROW_TEXT
) -> list[Page]:
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
                st.lists(
                    texts, min_size=1, max_size=draw(st.sampled_from([1, 1, 1, 3]))
                )
            ):
                lines.append(line(text, y, x, size, bold, upright=upright))
                x = lines[-1].right + draw(st.sampled_from([3.0, 15.0, 60.0]))
            y += draw(st.sampled_from([0.0, 12.0, 12.0, 12.0, 20.0, 40.0, -300.0]))
        pages.append(page(*lines))
    return pages


def texts_that_stay(pages: Sequence[Page], draft: Draft) -> list[str]:
    """The texts of all lines but those that may be left out and are: running heads, marks of pages,
    unknown characters. Fails if the draft left out others."""
    staying: list[str] = []
    left_out = list(draft.removed)
    heads, marks = find_running_heads(pages).removed, find_page_marks(pages).removed
    for one, of_heads, of_marks in zip(pages, heads, marks, strict=True):
        for i, part in enumerate(one.lines):
            may_go = i in of_heads | of_marks or "\ufffd" in part.text
            if may_go and left_out[:1] == [" ".join(part.text.split())]:
                left_out.pop(0)
            else:
                assert i not in of_heads
                staying.append(part.text)
    assert not left_out
    return staying


@settings(max_examples=80, deadline=None)
@given(random_pages())
def test_every_word_stays_in_its_place(pages: list[Page]) -> None:
    draft = markdown_of_pages(pages)
    whole = "".join(words(" ".join(texts_that_stay(pages, draft))))
    assert "".join(words(draft.text)) == whole


@settings(max_examples=80, deadline=None)
@given(random_pages(st.lists(WORD, max_size=12).map(" ".join)))
def test_words_stay_apart(pages: list[Page]) -> None:
    draft = markdown_of_pages(pages)
    assert words(draft.text) == words(" ".join(texts_that_stay(pages, draft)))


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
    everything = "".join(
        "".join(line.text.split()) for page in pages for line in page.lines
    )
    for heading in markdown_headings(draft.text):
        assert "".join(heading.title.split()).replace("-", "") in everything.replace(
            "-", ""
        )


# Paragraphs


def test_pictures_and_unknown_characters_are_reported() -> None:
    whole = ((0.0, 0.0, 600.0, 800.0),)
    pages = [
        page(images=whole),
        page(line("stamp", 100), images=whole),
        page(line("a \ufffd\ufffd", 100), *text_from(200)),
    ]
    notes = draft(*pages).uncertain
    assert [note.split(":")[0] for note in notes] == [
        "Page 1 only shows a picture",
        "Page 2 is mostly a picture, with 1 word of text",
        "On page 3 the file does not say which 2 characters it shows; they are U+FFFD here.",
    ]


def test_lines_of_unknown_characters_alone_are_left_out() -> None:
    made = draft(
        page(
            line("\ufffd", 60, size=16),
            *text_from(100),
            line("\ufffd \ufffd", 400),
            line("\ufffd", 500),
            line("an item", 500, x=120),
        )
    )
    assert made.text.count("\ufffd") == 1 and "an item" in made.text
    assert made.removed == ("\ufffd", "\ufffd \ufffd")
    assert any("which 4 characters" in note for note in made.uncertain)


def test_fields_side_by_side_stay_apart_in_scripts_without_blanks() -> None:
    fields = (
        line("氏名：山田", 100),
        line("性別：男", 100, x=150),
        line("年", 100, x=300),
    )
    assert draft(page(*fields)).text == "氏名：山田 性別：男年\n"


def test_a_page_begins_at_its_paragraph_or_within_one() -> None:
    apart = draft(page(line("First.", 100)), page(line("Second.", 100)))
    assert apart.page_starts == ((0, 1), (len("First.\n\n"), 2))
    over = draft(page(*text_from(700)), page(*text_from(60)))
    assert over.page_starts == ((0, 1), (3 * (len(FULL) + 1), 2))


@examples
def test_large_type_that_is_no_heading_is_noted(title: str, is_noted: bool) -> None:
    notes = draft(page(*text_from(100), line(title, 200, size=16))).uncertain
    expected = (
        f"Large type on page 1 was taken for a paragraph, not a heading: {title!r}."
    )
    assert notes == ((expected,) if is_noted else ())
