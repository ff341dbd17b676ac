"""The section tree of a document, by its format."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from samples import nasty_text

from structrag.errors import InvalidParameter
from structrag.reading.files import read_text
from structrag.reading.sections import flat_outline, nest_by_number, parse
from structrag.records import Document, Heading


def shape(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Every section's path and own body."""
    outline = parse(read_text(text, format="markdown"))
    return [(s.path, text[s.body_start : s.body_end]) for s in outline.sections]


@settings(max_examples=300, deadline=None)
@given(nasty_text)
def test_blocks_tile_every_body(text: str) -> None:
    outline = parse(read_text(text, format="markdown"))
    for section in outline.sections:
        blocks = outline.blocks(section)
        edges = [section.body_start, *(block.end for block in blocks)]
        assert [block.start for block in blocks] == edges[:-1]
        assert edges[-1] == section.body_end
        for block in blocks:
            assert list(block.cuts) == sorted(set(block.cuts))
            assert all(block.start < cut < block.end for cut in block.cuts)


@pytest.mark.parametrize(("format", "begins"), [("plain", 0), ("markdown", 13)])
def test_a_flat_outline_begins_behind_the_front_matter(
    format: str, begins: int
) -> None:
    (root,) = flat_outline(
        Document("---\na: b\n---\n# A\n\nText.\n", format=format)
    ).sections
    assert (root.start, root.body_start, root.body_end, root.end) == (0, begins, 24, 24)


def test_worked_example() -> None:
    text = "Intro.\n\n# A\n\nBody A.\n\n### A.x\n\nDeep.\n\n# B\n"
    sections = parse(read_text(text, format="markdown")).sections
    rows = [
        (s.level, s.path, s.start, s.body_start, s.body_end, s.end, s.parent)
        for s in sections
    ]
    assert rows == [
        (0, (), 0, 0, 8, 42, None),
        (1, ("A",), 8, 12, 22, 38, 0),
        (3, ("A", "A.x"), 22, 30, 38, 38, 1),
        (1, ("B",), 38, 42, 42, 42, 0),
    ]


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("Title\n=====\n\nbody\n", [((), ""), (("Title",), "\nbody\n")]),
        ("# T\n\n~~~\n# not\n~~~\n", [((), ""), (("T",), "\n~~~\n# not\n~~~\n")]),
        ("# A\n\n````md\n```\n# no\n```\n````\n\n## B\n\ny\n", [
            ((), ""), (("A",), "\n````md\n```\n# no\n```\n````\n\n"), (("A", "B"), "\ny\n")]),
        ("# A\n\n## B\n\n## C\n\ny\n", [((), ""), (("A",), "\n"), (("A", "B"), "\n"), (("A", "C"),
        "\ny\n")]),
        ("# A\n\n    # note\n    x = 1\n", [((), ""), (("A",), "\n    # note\n    x = 1\n")]),
        ("# A/B\n\n## C\n\nc\n", [((), ""), (("A/B",), "\n"), (("A/B", "C"), "\nc\n")]),
        ("# A\n\n```code``` inline\n\n## B\n\nb\n", [
            ((), ""), (("A",), "\n```code``` inline\n\n"), (("A", "B"), "\nb\n")]),
        ("---\ntitle: x\n# comment\n---\n\n# A\n\nx\n", [((), "\n"), (("A",), "\nx\n")]),
        ("# A\r\n\r\n## B\r\n\r\ntext\r\n", [((), ""), (("A",), "\r\n"), (("A", "B"),
        "\r\ntext\r\n")]),
        ("#\tA\n\nx\n", [((), ""), (("A",), "\nx\n")]),
        ("# A\n\nwrite # B here\n\n# B\n", [((), ""), (("A",), "\nwrite # B here\n\n"), (("B",),
        "")]),
        ("# A\n\nsame\n\n# A\n\nsame\n", [((), ""), (("A",), "\nsame\n\n"), (("A",), "\nsame\n")]),
    ],
)  # fmt: skip
def test_inputs_that_peers_get_wrong(
    text: str, sections: list[tuple[tuple[str, ...], str]]
) -> None:
    assert shape(text) == sections


def test_numbers_nest_headings_that_all_have_level_one() -> None:
    titles = [
        "Abstract",
        "1 Intro",
        "1.1 Why",
        "3.2. Version 1.0 notes",
        "2024 in review",
    ]
    nested = nest_by_number(
        [Heading(1, title, i, i + 1) for i, title in enumerate(titles)]
    )
    assert [heading.level for heading in nested] == [1, 1, 2, 1, 1]
    assert nested[3].title == "3.2. Version 1.0 notes"


def test_numbers_nest_headings_of_any_one_level() -> None:
    titles = ["1 Introduction", "1.1 Sub", "2 Methods"]
    text = "".join(f"## {title}\n\ntext\n\n" for title in titles)
    nested = [(), (titles[0],), (titles[0], titles[1]), (titles[2],)]
    assert [section.path for section in parse(read_text(text)).sections] == nested
    titled = parse(read_text(f"# Paper\n\n{text}")).sections
    assert [section.path for section in titled] == [
        (),
        ("Paper",),
        *(("Paper", *path) for path in nested[1:]),
    ]
    page = "".join(f"<h2>{title}</h2><p>text" for title in titles)
    outline = parse(read_text(page, format="html"))
    assert [section.path for section in outline.sections] == nested


def test_bold_lines_are_headings_where_there_are_no_others() -> None:
    text = "**1** **Pumps**\n\nThey leak.\n\n**1.1 Seals**\n\nThey wear.\n"
    document = read_text(text, format="markdown")
    paths = [section.path for section in parse(document).sections[1:]]
    assert paths == [("1 Pumps",), ("1 Pumps", "1.1 Seals")]
    headed = read_text(f"# Manual\n\n{text}", format="markdown")
    assert [section.path for section in parse(headed).sections[1:]] == [("Manual",)]


def test_numbers_are_left_alone_where_levels_differ() -> None:
    headings = [Heading(1, "1 A", 0, 1), Heading(2, "1.1.1 B", 1, 2)]
    assert nest_by_number(headings) == headings


def test_html_sections_refer_to_the_visible_text() -> None:
    document = read_text(
        "<title>P</title><p>Intro</p><h1>A</h1><p>a<h3>B</h3><p>b", format="html"
    )
    outline = parse(document)
    assert document.title == "P"
    assert [section.path for section in outline.sections] == [(), ("A",), ("A", "B")]
    bodies = [
        document.text[section.body_start : section.body_end].strip()
        for section in outline.sections
    ]
    assert bodies == ["Intro", "a", "b"]
    assert [block.kind for block in outline.blocks(outline.sections[2])] == [
        "paragraph"
    ]


def test_html_without_its_layout_says_what_to_do() -> None:
    with pytest.raises(InvalidParameter, match="read_text"):
        parse(Document("<p>x</p>", format="html"))


def test_plain_text_headings_can_be_switched_off() -> None:
    text = "1 Introduction\n\nSome words stand here.\n\n2 Methods\n\nMore words stand here.\n"
    document = read_text(text, format="text")
    assert [section.title for section in parse(document).sections[1:]] == [
        "1 Introduction",
        "2 Methods",
    ]
    assert len(parse(document, plain_headings=False).sections) == 1


@pytest.mark.parametrize("format", ["markdown", "text", "html"])
def test_an_empty_document_has_only_the_root(format: str) -> None:
    outline = parse(read_text("", format=format))
    assert len(outline.sections) == 1
    assert outline.blocks(outline.sections[0]) == []


@pytest.mark.parametrize(
    ("titles", "levels"),
    [
        (["1 A", "1.1 B", "C", "D"], [1, 2, 1, 1]),  # just half of them
        (["1 A", "1.1 B", "C", "D", "E"], [1, 1, 1, 1, 1]),  # fewer
        (["1 A", "2 B", "3 C"], [1, 1, 1]),  # no number below another
        (["1.1 B", "C"], [1, 1]),
        # A note among its sections.
        (["1 A", "Note", "1.1 B", "C", "2 D"], [1, 2, 2, 1, 1]),
        (["1 A", "1.1 B", "Note", "1.2 C", "Note"], [1, 2, 3, 2, 1]),
        (["1.2.1 now", "1.2 before", "1.1 once"], [1, 1, 1]),  # releases
    ],
)
def test_numbers_nest_where_at_least_half_of_the_headings_have_one(
    titles: list[str], levels: list[int]
) -> None:
    document = read_text(
        "".join(f"# {title}\n\ntext\n\n" for title in titles), format="markdown"
    )
    assert [section.level for section in parse(document).sections[1:]] == levels


@pytest.mark.parametrize(
    ("titles", "levels"),
    [
        # At least half are numbered.
        (["1 A", "1.1 B", "C", "D"], [1, 2, 1, 1]),
        (["1 A", "1.1 B", "C", "D", "E"], [1, 1, 1, 1, 1]),
        # One has two levels.
        (["1 A", "2 B", "3 C"], [1, 1, 1]),
        (["1.1 A", "B"], [1, 1]),
        # At least half ascend; an equal one does not.
        (["1.1 A", "1.1.1 B", "1.1 C"], [1, 2, 1]),
        (["1.1 A", "1.1.1 B", "1.1 C", "1.1 D"], [1, 1, 1, 1]),
        (["2.1 A", "1.2 B"], [1, 1]),
        # A number begins with at most two digits, and a title follows.
        (["99 A", "99.999 B"], [1, 2]),
        (["100 A", "100.1 B"], [1, 1]),
        (["1", "1.1"], [1, 1]),
        (["1.a A", "1.b B"], [1, 1]),
        (["1.² A", "1.³ B"], [1, 1]),
        (["1.١ A", "1.٢ B"], [1, 1]),
        # Those without a number among the sections of a chapter are below the section.
        (["1 A", "1.1 B", "C", "1.2 D", "E", "2 F"], [1, 2, 3, 2, 1, 1]),
        (["1 A", "B", "1.1 C"], [1, 2, 2]),
        # Letters and Roman numbers, labels, what stands behind all chapters.
        (["I. A", "A. B", "B. C", "II. D", "A. E"], [1, 2, 2, 1, 2]),
        (["A. A", "1. B", "2. C", "B. D", "1. E"], [1, 2, 2, 1, 2]),
        (["G. A", "H. B", "I. C", "J. D"], [1, 1, 1, 1]),
        (["Chapter 1", "1.1 A", "Chapter 2", "2.1 B"], [1, 2, 1, 2]),
        (["第一章 A", "第一节 B", "第二章 C", "第一节 D"], [1, 2, 1, 2]),
        (["1 A", "1.1 B", "References", "2 C"], [1, 2, 1, 1]),
        # A missing parent leaves a number at the first level.
        (["1 A", "1.1 B", "2.1 C", "3 D"], [1, 2, 1, 1]),
    ],
)
def test_levels_follow_from_numbers(titles: list[str], levels: list[int]) -> None:
    headings = [Heading(1, title, i, i + 1) for i, title in enumerate(titles)]
    assert [heading.level for heading in nest_by_number(headings)] == levels


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The first one alone above all others is the title.
        ([(1, "T"), (2, "1 A"), (2, "1.1 B")], [1, 2, 3]),
        ([(2, "T"), (1, "1 A"), (1, "1.1 B")], [2, 1, 1]),
        ([(1, "1 A"), (2, "1.1 B")], [1, 2]),
        ([(1, "T"), (2, "1.1 A")], [1, 2]),
        ([(1, "1.1 A")], [1]),
        ([], []),
    ],
)
def test_a_title_above_all_others_keeps_its_level(
    before: list[tuple[int, str]], after: list[int]
) -> None:
    headings = [Heading(level, title, 0, 1) for level, title in before]
    assert [heading.level for heading in nest_by_number(headings)] == after
