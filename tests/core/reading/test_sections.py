"""The section tree of a document, by its format."""

from __future__ import annotations

import pytest
from fixture_cases import examples
from hypothesis import given, settings
from samples import nasty_text

from structrag.errors import InvalidParameter
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from structrag.records import Document


def shape(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Every section's path and own body."""
    outline = parse(read_text(text, format="markdown"))
    return [(s.path, text[s.body_start : s.body_end]) for s in outline.sections]


@settings(max_examples=100, deadline=None)
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


@examples
def test_inputs_that_peers_get_wrong(
    text: str, sections: list[tuple[tuple[str, ...], str]]
) -> None:
    assert shape(text) == sections


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


@examples
def test_numbers_nest_where_at_least_half_of_the_headings_have_one(
    titles: list[str], levels: list[int]
) -> None:
    document = read_text(
        "".join(f"# {title}\n\ntext\n\n" for title in titles), format="markdown"
    )
    assert [section.level for section in parse(document).sections[1:]] == levels
