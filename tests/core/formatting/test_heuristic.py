"""Plain text and HTML to Markdown by rules: every letter and digit stays, and headings are the ones
that were meant."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import read_file, read_text
from structrag.errors import InvalidParameter
from structrag.formatting.cleaning import cleaned_text
from structrag.formatting.heuristic import drawn_table, markdown_of_text, sound_headings
from structrag.formatting.html import markdown_of_html
from structrag.reading.escaping import heading_line
from structrag.reading.markdown import front_matter, markdown_headings
from structrag.reading.sections import parse
from structrag.records import Document

LINES = [
    "# not a heading",
    "   ## nor this",
    "####",
    "---",
    "===",
    "+++",
    "```",
    "~~~ x",
    "<div>",
    "<!-- never closed",
    "<script>",
    "- item",
    "- # in an item",
    "1. first",
    "> # quoted",
    "| # | b |",
    "|---|---|",
    "# | b",
    "--|--",
    "1. Introduction",
    "2. METHODS",
    "RESULTS AND DISCUSSION",
    "Some Title Here",
    "The text goes on for a while, as texts do, and says that this is so.",
    "    indented = code(1)",
    "\tx = [1]",
    "exam-",
    "ple of it",
    "well-",
    "known things",
    "\f",
    "HEAD",
    "",
    "",
    "",
    " ",
    "+--+--+",
    "| a|b |",
    "a     b     c",
    "1     2     3",
    "-----  ----  ----",
    "title: x",
    "第一章 概述",
    "\u000b# x",
    "ARTICLE IV",
    "Page 3",
    "3.1 Parts",
    "\\# x",
]
texts = st.one_of(
    st.text(max_size=300), st.lists(st.sampled_from(LINES), max_size=25).map("\n".join)
)


def letters(text: str) -> str:
    return "".join(re.findall(r"[^\W_]+", text))


def titles(headings: list) -> list[tuple[int, str]]:
    return [(min(heading.level, 6), heading.title) for heading in headings]


@settings(max_examples=300, deadline=None)
@given(texts)
def test_no_letter_is_lost_and_no_heading_is_an_accident(text: str) -> None:
    draft = markdown_of_text(text)
    if draft.removed:
        assert Counter(letters(draft.text)) + Counter(letters("".join(draft.removed))) == Counter(
            letters(text)
        )
    else:
        assert letters(draft.text) == letters(text)
    cleaned = cleaned_text(text).text
    assert titles(markdown_headings(draft.text)) == titles(sound_headings(cleaned))
    assert front_matter(draft.text).end == 0
    assert markdown_of_text(text) == draft


def documents(data_dir: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(data_dir / name / "documents.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("part", range(4))
def test_contracts_keep_every_letter_and_get_their_headings(data_dir: Path, part: int) -> None:
    for row in documents(data_dir, "cuad")[part::8]:
        draft = markdown_of_text(row["text"])
        assert letters(draft.text) == letters(row["text"]), row["id"]
        expected = sound_headings(cleaned_text(row["text"]).text)
        assert titles(markdown_headings(draft.text)) == titles(expected), row["id"]
        as_markdown, as_text = (
            read_text(draft.text, format="markdown"),
            read_text(row["text"], format="text"),
        )
        if len(expected) == len(parse(as_text).sections) - 1:
            assert [s.path for s in parse(as_markdown).sections] == [
                s.path for s in parse(as_text).sections
            ], row["id"]


def test_markup_of_other_formats_read_as_plain_text_is_kept(data_dir: Path) -> None:
    paths = [
        p for p in sorted((data_dir / "parsing").rglob("*")) if p.suffix in {".rst", ".tex", ".md"}
    ]
    assert len(paths) > 100
    for path in paths[::12]:
        text = path.read_text(encoding="utf-8", errors="replace")
        draft = markdown_of_text(text)
        assert letters(draft.text) == letters(text), path.name
        assert titles(markdown_headings(draft.text)) == titles(
            sound_headings(cleaned_text(text).text)
        ), path.name


def test_real_pages_keep_headings_and_words(data_dir: Path) -> None:
    paths = sorted((data_dir / "parsing").rglob("*.html"))
    assert len(paths) > 10
    for path in paths:
        document = read_file(path)
        if len(document.text) > 500_000:
            continue
        draft = markdown_of_html(document)
        assert letters(draft.text) == letters(document.text), path.name
        assert document.layout is not None
        wanted = [pair for pair in titles(list(document.layout.headings)) if pair[1]]
        assert titles(markdown_headings(draft.text)) == wanted, path.name


def test_run_in_titles_become_headings_of_their_own() -> None:
    clause = "All notices shall be in writing and shall be sent to the address of the other party."
    text = f"1. Notices. {clause}\n\n2. Governing Law. {clause}\n\n2.1 Courts. {clause}\n"
    expected = (
        f"# 1. Notices\n\n{clause}\n\n# 2. Governing Law\n\n{clause}\n\n## 2.1 Courts\n\n{clause}\n"
    )
    assert markdown_of_text(text).text == expected


def test_blank_text() -> None:
    for text in ("", "  \n\n \t", "\f\f"):
        assert markdown_of_text(text).text == ""
        assert markdown_of_text(text).uncertain == ()


BODY = (
    "Line {0} of the page says what it says and runs on\nto the next line, where it ends.\nThe "
    "page has more to say about {0}."
)


def pages_of(count: int, head: str, foot: str) -> str:
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    return "\f".join(
        f"{head.format(i + 1)}\n\n{BODY.format(words[i])}\n\n{foot.format(i + 1, count)}\n"
        for i in range(count)
    )


def test_running_heads_stay_once_and_page_numbers_go() -> None:
    draft = markdown_of_text(pages_of(5, "ACME Widget Manual", "Page {0} of {1}"))
    assert draft.text.count("ACME Widget Manual") == 1
    assert "Page" not in draft.text.replace("The page", "")
    assert draft.removed.count("ACME Widget Manual") == 4
    assert "Page 5 of 5" in draft.removed
    assert any("running heads" in note for note in draft.uncertain)


def test_running_heads_with_numbers_and_chapters() -> None:
    numbered = markdown_of_text(pages_of(5, "ACME Manual {0}", ""))
    assert numbered.text.count("ACME Manual") == 1
    parts = "\f".join(f"Figure {n} shows it\n\n{BODY.format(n)}\n\nend {n}" for n in (3, 4, 9, 17))
    assert markdown_of_text(parts).removed == ()
    chapters = markdown_of_text(pages_of(5, "Chapter {0}", ""))
    assert [f"Chapter {i}" in chapters.text for i in range(1, 6)] == [True] * 5


@pytest.mark.parametrize(("on", "removed"), [(3, 2), (2, 0)])
def test_sixty_per_cent_of_the_pages(on: int, removed: int) -> None:
    pages = [
        f"{'HEAD' if i < on else f'other{chr(97 + i)}'}\n\n{BODY.format(chr(97 + i) * 3)}"
        for i in range(5)
    ]
    assert len(markdown_of_text("\f".join(pages)).removed) == removed


def test_roman_page_numbers_go_and_a_year_on_every_page_stays_once() -> None:
    roman = "\f".join(f"{BODY.format(number)}\n\n{number}" for number in ("iv", "v", "vi", "vii"))
    assert markdown_of_text(roman).removed == ("iv", "v", "vi", "vii")
    years = markdown_of_text(pages_of(5, "2019", ""))
    assert years.text.count("2019") == 1 and years.removed == ("2019",) * 4


def test_two_pages_have_no_running_heads() -> None:
    assert markdown_of_text(pages_of(2, "HEAD", "")).removed == ()


def test_a_sentence_goes_on_over_a_page_break() -> None:
    text = "The first page ends in the middle of\n\fa sentence.\n\fA new page."
    assert (
        markdown_of_text(text).text
        == "The first page ends in the middle of\na sentence.\n\nA new page.\n"
    )


@pytest.mark.parametrize(
    ("text", "expected", "unsure"),
    [
        ("an example, an exam-\nple of it", "an example, an example\nof it", False),
        ("a well-known fact, a well-\nknown one", "a well-known fact, a well-known\none", False),
        ("self-\ngoverning bodies", "self-governing\nbodies", False),
        ("state-of-the-\nart", "state-of-the-art", False),
        ("the con-\nclusion, then.", "the conclusion,\nthen.", True),
        ("soft\u00ad\nhyphen", "softhyphen", False),
        ("Anglo-\nSaxon", "Anglo-\nSaxon", False),
        ("pre-\nand post-war years", "pre-\nand post-war years", False),
        ("a factor, a fact-\nor of it", "a factor, a factor\nof it", False),
        ("- item\n- other", "- item\n- other", False),
        ("pages 10-\ntwelve", "pages 10-\ntwelve", False),
    ],
)
def test_words_broken_at_line_ends(text: str, expected: str, unsure: bool) -> None:
    draft = markdown_of_text(text)
    assert draft.text == expected + "\n"
    assert any("rejoined by guess" in note for note in draft.uncertain) is unsure


def test_tables_that_are_certain_become_pipe_tables() -> None:
    grid = [
        "+----+----+",
        "| a  | b  |",
        "+====+====+",
        "| 1  | 2  |",
        "+----+----+",
        "| 3  |    |",
        "+----+----+",
    ]
    assert drawn_table(grid) == ["| a | b |", "| --- | --- |", "| 1 | 2 |", "| 3 |  |"]
    aligned = ["Part       Volt   Amp", "resistor    1.5    20", "coil        2.5     3"]
    assert drawn_table(aligned) == [
        "| Part | Volt | Amp |", "| --- | --- | --- |", "| resistor | 1.5 | 20 |", "| coil | 2.5 | "
                                                                                   "3 |",
    ]  # fmt: skip
    ruled = ["name    kind", "------  -----", "bolt    steel", "nut     brass"]
    assert drawn_table(ruled) == [
        "| name | kind |",
        "| --- | --- |",
        "| bolt | steel |",
        "| nut | brass |",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["name    kind", "bolt    steel", "nut     brass"],  # is the first row a header?
        ["a      1", "b      2      3", "c      4"],  # rows of two lengths
        ["name    n", "bolt  1", "nut         2"],  # columns at no common place
        [
            "+----+----+",
            "| a  | b  |",
            "| c  |    |",
            "+====+====+",
            "| 1  | 2  |",
            "| 3  |    |",
            "+----+----+",
        ],
    ],
)
def test_tables_that_are_not_certain_are_fenced_as_they_stand(lines: list[str]) -> None:
    assert drawn_table(lines) is None
    draft = markdown_of_text(
        "Text before it.\n\n" + "\n".join(line.replace("  ", "   ") for line in lines)
    )
    assert letters(draft.text) == letters("Text before it.\n\n" + "\n".join(lines))


def test_uncertain_columns_are_reported_and_pipe_tables_pass() -> None:
    columns = "name      kind\nbolt      steel\nnut       brass"
    draft = markdown_of_text(columns)
    assert draft.text == f"```\n{columns}\n```\n"
    assert "Columns beginning 'name kind'" in draft.uncertain[0]
    table = "| # | kind |\n|---|---|\n| 1 | steel |"
    assert markdown_of_text(table).text == table + "\n"


def test_html_tables_lists_and_code() -> None:
    page = (
        "<h2>A &amp; *b* #</h2><p># "
        "no</p><ul><li>x<ul><li>y</li></ul></li></ul><table><tr><td>1</td><td>2</td></tr></table>"
        "<pre># code\n```</pre><blockquote><p>said</p></blockquote>"
    )
    expected = (
        "## A \\& \\*b\\* \\#\n\n\\# no\n\n- x\n  - y\n\n|  |  |\n| --- | --- |\n| 1 | 2 "
        "|\n\n````\n# code\n```\n````\n\n> said\n"
    )
    draft = markdown_of_html(read_text(page, format="html"))
    assert draft.text == expected
    assert [h.title for h in markdown_headings(draft.text)] == ["A & *b* #"]
    with pytest.raises(InvalidParameter, match="no layout"):
        markdown_of_html(Document("x", format="html"))


@given(
    st.text(
        st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Zs"]), min_size=1, max_size=20
    )
)
def test_titles_read_as_they_were(title: str) -> None:
    assert [h.title for h in markdown_headings(heading_line(2, title))] == [title]
