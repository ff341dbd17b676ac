"""Laid-out pages to Markdown: no word is lost or moved, and structure is what the layout shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.reading.drafts import Draft
from structrag.reading.markdown import markdown_headings
from structrag.reading.markdown_blocks import markdown_blocks
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Grid, Line, Page
from structrag.reading.pdf.running_heads import find_running_heads

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


HEAD, FOOT = 30.0, 780.0  # heights of running heads


def text_from(y: float, rows: int = 3) -> list[Line]:
    return [line(FULL, y + 12 * i) for i in range(rows)]


def draft(*pages: Page) -> Draft:
    return markdown_of_pages(pages)


def headings(*pages: Page) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in markdown_headings(draft(*pages).text)]


def test_levels_follow_the_size_of_the_type() -> None:
    lines = [
        line("The book", 100, size=24),
        *text_from(140),
        line("Part", 200, size=16),
        *text_from(230),
        line("Detail", 290, bold=True),
        *text_from(310),
        line("Next part", 370, size=16.2),
        *text_from(400),
    ]
    assert headings(page(*lines)) == [
        (1, "The book"),
        (2, "Part"),
        (3, "Detail"),
        (2, "Next part"),
    ]


def test_levels_follow_numbers_where_the_type_is_one() -> None:
    titles = [
        "Abstract",
        "1 Introduction",
        "1.1 Aim",
        "1.1.1 Scope",
        "2 Method",
        "2.1 Data",
        "References",
    ]
    lines = [
        part
        for i, title in enumerate(titles)
        for part in (line(title, 40 + 90 * i, bold=True), *text_from(60 + 90 * i))
    ]
    assert headings(page(*lines)) == list(zip([1, 1, 2, 3, 1, 2, 1], titles, strict=True))


def test_a_heading_of_several_rows_is_one() -> None:
    lines = [
        line("A title that goes on", 100, size=20),
        line("in a second row", 124, size=20),
        *text_from(170),
    ]
    assert headings(page(*lines)) == [(1, "A title that goes on in a second row")]


def test_headings_below_one_another_stay_apart() -> None:
    lines = [
        line("Part", 100, size=16),
        line("Chapter", 132, size=16),
        line("Section", 164, size=16),
        *text_from(200, 6),
    ]
    assert [title for _, title in headings(page(*lines))] == [
        "Part",
        "Chapter",
        "Section",
    ]


def test_a_number_apart_from_its_title_is_part_of_it() -> None:
    lines = [
        line("1.", 100, size=16),
        line("Results", 100, 100, size=16),
        *text_from(130),
    ]
    assert headings(page(*lines)) == [(1, "1. Results")]


def test_numbers_of_headings_that_could_be_list_items_stay() -> None:
    titles = ["1. Aim", "2. Method", "3. Result"]
    lines = [
        part
        for i, title in enumerate(titles)
        for part in (line(title, 40 + 90 * i, size=16), *text_from(70 + 90 * i))
    ]
    assert headings(page(*lines)) == [(1, title) for title in titles]


@pytest.mark.parametrize(
    ("title", "is_heading"),
    [
        ("3.2 Test Results", True),
        ("Article IV Termination", True),
        ("LIMITATION OF LIABILITY", True),
        ("BEGIN", False),
        ("3 apples", False),
        ("3.2 mm of rain fell in the year.", False),
    ],
)
def test_headings_in_the_type_of_the_body(title: str, is_heading: bool) -> None:
    lines = [*text_from(100), line(title, 160), *text_from(180)]
    assert [found for _, found in headings(page(*lines))] == ([title] if is_heading else [])


def test_bold_text_in_a_bold_document_and_bold_sentences_are_no_headings() -> None:
    bold = [
        replace(one, bold=True)
        for one in (*text_from(100), line("Short row", 160), *text_from(180))
    ]
    assert headings(page(*bold)) == []
    assert (
        headings(
            page(
                *text_from(100),
                line("This is a warning.", 160, bold=True),
                *text_from(180),
            )
        )
        == []
    )


def test_long_text_in_large_type_is_reported() -> None:
    large = [line(FULL[:40], 100 + 20 * i, size=16) for i in range(5)]
    found = draft(page(*large, *(one for k in range(3) for one in text_from(250 + 60 * k, 4))))
    assert markdown_headings(found.text) == []
    assert any(note.startswith("Large type on page 1") for note in found.uncertain)


def test_a_table_of_contents_has_no_headings_and_keeps_its_rows() -> None:
    entries = [
        line(f"{i} Part number {i} . . . . . . . . . . {i + 3}", 100 + 20 * i, size=14)
        for i in range(1, 5)
    ]
    found = draft(page(*entries, *text_from(300, 12)))
    assert markdown_headings(found.text) == []
    assert all(entry.text in found.text.splitlines() for entry in entries)


def test_titles_keep_their_signs() -> None:
    titles = ["Vector<int> & *more*", "Fortran #", "a_b __init__ `x`", "[1] Notes", "# Hash"]
    lines = [
        part
        for i, title in enumerate(titles)
        for part in (line(title, 40 + 90 * i, size=16), *text_from(70 + 90 * i))
    ]
    assert [title for _, title in headings(page(*lines))] == titles


def rows(texts: Sequence[tuple[str, float]], y: float = 200, step: float = 12) -> list[Line]:
    return [line(text, y + step * i, x) for i, (text, x) in enumerate(texts)]


@pytest.mark.parametrize("bullet", ["•", "–", "-", "\uf0b7", "▪"])
def test_bullets_with_hanging_rows_and_nested_ones(bullet: str) -> None:
    long = FULL[:60]
    lines = rows(
        [(f"{bullet} {long}", 60), ("goes on here", 70), ("• nested", 80), (f"{bullet} last", 60)]
    )
    assert draft(page(*lines)).text == f"- {long} goes on here\n  - nested\n- last\n"


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (["1.", "2.", "3."], ["1.", "2.", "3."]),
        (["9)", "10)"], ["9)", "10)"]),
        (["1)", "2)"], ["1)", "2)"]),
        (["(a)", "(b)"], ["- (a)", "- (b)"]),
        (["i.", "ii.", "iii."], ["- i.", "- ii.", "- iii."]),
        (["h)", "i)", "j)"], ["- h)", "- i)", "- j)"]),
        (["iv)", "v)", "vi)"], ["- iv)", "- v)", "- vi)"]),
        (["A.", "B."], ["- A.", "- B."]),
    ],
)
def test_numbered_lists(labels: list[str], shown: list[str]) -> None:
    lines = rows([(f"{label} item text", 60) for label in labels], step=30)
    found = draft(page(*text_from(100), *lines)).text
    assert found.splitlines()[2:] == [f"{label} item text" for label in shown]


def test_a_lone_dash_begins_no_list() -> None:
    found = draft(page(*text_from(100), line("— Italo Calvino", 160), *text_from(200)))
    assert "\n\n— Italo Calvino\n\n" in found.text


def test_a_lone_number_begins_no_list() -> None:
    found = draft(page(*text_from(100), line("7. is a lucky number", 160)))
    assert found.text.endswith("\n\n7\\. is a lucky number\n")
    assert (
        draft(
            page(
                line(FULL, 100),
                line("3. In this row a number is only a number", 112),
            )
        ).text.count("\n")
        == 1
    )


def test_a_list_goes_on_over_a_page() -> None:
    first = page(*rows([("• one", 60), ("– sub", 80)], 700))
    second = page(*rows([("– sub two", 110), ("• two", 90)], 100))
    assert draft(first, second).text == "- one\n  - sub\n  - sub two\n- two\n"


def cells(
    table: Sequence[Sequence[str]],
    y: float = 200,
    xs: Sequence[float] = (60, 200, 340),
    step: float = 14,
) -> list[Line]:
    return [
        line(text, y + step * i, x)
        for i, row in enumerate(table)
        for text, x in zip(row, xs, strict=False)
        if text
    ]


TABLE = [
    ["Name", "Size", "Use"],
    ["Pump", "3 mm", "lifts"],
    ["Valve", "", "shuts"],
    ["Pipe", "2 | 3", "carries"],
]


def test_an_aligned_table() -> None:
    found = draft(page(*text_from(100), *cells(TABLE), *text_from(300)))
    assert found.text.split("\n\n")[1] == (
        "| Name | Size | Use |\n| --- | --- | --- |\n| Pump | 3 mm | lifts |\n| Valve |  | shuts "
        "|\n| Pipe | 2 \\| 3 | carries |"
    )
    assert not any("table" in note for note in found.uncertain)


def test_numbers_aligned_at_the_right() -> None:
    right = [
        replace(one, left=one.left - width, right=one.right - width) if k % 2 else one
        for k, one in enumerate(cells([["a", "1"], ["b", "1000"], ["c", "50"]]))
        for width in [one.right - one.left]
    ]
    assert "| b | 1000 |" in draft(page(*right)).text


def test_cells_of_two_rows_make_a_table_uncertain() -> None:
    wrapped = [
        *cells(TABLE[:2]),
        *cells([["Bend", "9 mm", "turns"]], 228),
        line("round", 240, 340),
    ]
    found = draft(page(*wrapped))
    assert "|" not in found.text
    assert found.text.splitlines()[:3] == ["Name Size Use", "Pump 3 mm lifts", "Bend 9 mm turns"]
    assert [
        note for note in found.uncertain if note.startswith("3 rows of page 1 that may be a table")
    ]


def test_ragged_cells_are_no_table() -> None:
    ragged = [
        line(text, 100 + 14 * i, x)
        for i, row in enumerate([(60, 200), (75, 290), (60, 150)])
        for text, x in zip("ab", row, strict=True)
    ]
    found = draft(page(*ragged)).text
    assert "|" not in found and found.split() == ["a", "b"] * 3


def test_labels_beside_text_are_a_list() -> None:
    found = draft(page(*cells([["1.", "one"], ["2.", "two"], ["3.", "three"]], xs=(60, 90)))).text
    assert found == "1. one\n2. two\n3. three\n"


def test_a_ruled_table_with_empty_rows_and_columns() -> None:
    grid = Grid((50, 150, 250, 350), (190, 210, 230, 250))
    inside = [
        line("a", 195),
        line("b", 195, 260),
        line("c-", 235),
        line("d", 243),
        line("e", 235, 260),
    ]
    found = draft(page(*text_from(100), *inside, *text_from(300), grids=(grid,))).text
    assert found.split("\n\n")[1] == "| a | b |\n| --- | --- |\n| cd | e |"


def numbered(count: int, head: str = "Annual report", foot: str = "{}") -> list[Page]:
    return [
        page(
            line(head, HEAD),
            *(line(f"row {k} of {n} {FULL[:40]}", 200 + 12 * k) for k in range(4)),
            line(foot.format(n), FOOT),
        )
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize("foot", ["{}", "- {} -", "Page {} of 90", "p. {}", "Report 2020, page {}"])
def test_heads_and_page_numbers(foot: str) -> None:
    pages = numbered(5, foot=foot)
    found = draft(*pages)
    assert found.removed == tuple(
        text for n in range(1, 6) for text in ("Annual report", foot.format(n))
    )
    assert (
        all(f"row {k} of {n}" in found.text for k in range(4) for n in range(1, 6))
        and "Annual" not in found.text
    )
    assert any("'Annual report' was left out on 5 of 5" in note for note in found.uncertain)
    assert any(repr(foot.format(1)) in note for note in found.uncertain)


def test_roman_page_numbers_before_arabic_ones() -> None:
    pages = numbered(8)
    for i, number in enumerate(["i", "ii", "iii", "1", "2", "3", "4", "5"]):
        pages[i] = replace(pages[i], lines=(*pages[i].lines[:-1], line(number, FOOT)))
    assert draft(*pages).removed[1::2] == ("i", "ii", "iii", "1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    ("on", "count"), [([0, 1, 2], 3), ([0, 1], 0), ([1, 3, 5], 3), ([0, 1, 2, 3, 4], 5)]
)
def test_sixty_percent_of_the_pages(on: list[int], count: int) -> None:
    """Of all pages, of one side, or of a chapter's; two of six are too few."""
    pages = [page(*([line("Head", HEAD)] if i in on else []), *text_from(200)) for i in range(6)]
    assert sum(map(len, find_running_heads(pages).removed)) == count


def test_what_is_no_head() -> None:
    same_words = [page(line("Repeated", 400), *text_from(200)) for _ in range(4)]
    elsewhere = [page(line("Moves", 30 + 12 * i), *text_from(200)) for i in range(4)]
    chapters = [page(line(f"Chapter {i}", HEAD), *text_from(200)) for i in range(4)]
    not_counting = [page(line(f"{i * i + 7} items", FOOT), *text_from(200)) for i in range(4)]
    everything = [page(line("Slide", HEAD)) for _ in range(4)]
    for pages in (same_words, elsewhere, chapters, not_counting, everything):
        assert draft(*pages).removed == ()


def test_the_header_row_of_a_ruled_table_is_no_head() -> None:
    grid = Grid((50, 150, 250), (20, 50, 80))
    lines = [
        line("Name", HEAD),
        line("Size", HEAD, 160),
        line("x", 60),
        line("y", 60, 160),
    ]
    assert draft(*[page(*lines, *text_from(200), grids=(grid,)) for _ in range(4)]).removed == ()


def test_a_chapters_title_beside_the_page_number() -> None:
    pages = numbered(6)
    for i, title in enumerate(["Start", "Start", "Middle", "Middle", "End", "Once"]):
        pages[i] = replace(pages[i], lines=(*pages[i].lines[1:], line(title, FOOT, 300)))
    assert {"Start", "Middle"} <= set(draft(*pages).removed)
    assert not {"End", "Once"} & set(draft(*pages).removed)


def test_a_watermark_on_every_page_is_left_out_and_one_stays() -> None:
    mark = line("DRAFT", 400, 200, 60, upright=False)
    assert draft(*[page(*text_from(200), mark) for _ in range(3)]).removed == ("DRAFT",) * 3
    assert draft(page(*text_from(200), mark)).text.endswith("\n\nDRAFT\n")


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
        "Page 2 is mostly a picture, with 1 words of text",
        "On page 3 the file does not say which 2 characters it shows; they are U+FFFD here.",
    ]


def test_nothing_gives_nothing() -> None:
    assert draft() == draft(page()) == draft(page(line("  ", 100))) == Draft("")
