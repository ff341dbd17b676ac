"""The HTML reader: visible text, headings, blocks, tables, broken markup."""

from __future__ import annotations

import gzip
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.reading.files import read_text
from structrag.reading.html.reader import html_blocks_between, read_html, text_offset
from structrag.reading.outline import build_outline
from structrag.records import (
    Block,
    Document,
    Heading,
    Layout,
    PlacedImage,
    SourceMap,
)


def read(source: str) -> str:
    return read_html(source)[0]


def headings(source: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in read_html(source)[2].headings]


# Where other splitters go wrong: `peers` inputs H1 to H16 and N1 to N7.
PEERS = {
    "H1": (
        "<h1>T</h1><p>Press <b>Save</b> to finish.</p>",
        "T\n\nPress Save to finish.",
        [(1, "T")],
    ),
    "H2": ("<h1>T</h1>loose text<p>para</p>", "T\n\nloose text\n\npara", [(1, "T")]),
    "H3": (
        "<h1>Use <code>pip</code> now</h1><p>x</p>",
        "Use pip now\n\nx",
        [(1, "Use pip now")],
    ),
    "H4": ("<h2><a href='#a'>Linked</a></h2><p>x</p>", "Linked\n\nx", [(2, "Linked")]),
    "H5": (
        "<h1>A</h1><div><h2>B</h2><p>b</p></div><p>tail of A</p>",
        "A\n\nB\n\nb\n\ntail of A",
        [(1, "A"), (2, "B")],
    ),
    "H6": ("<h1>T</h1><!-- secret --><p>y</p>", "T\n\ny", [(1, "T")]),
    "H9": ("plain text no tags", "plain text no tags", []),
    "H10": ("<h1>A</h1><h2>B</h2><p>x</p>", "A\n\nB\n\nx", [(1, "A"), (2, "B")]),
    "H12": ("<div><h1>T</h1><p>a</p></div>", "T\n\na", [(1, "T")]),
    "H13": (
        "<h1>T</h1><p>the name PRESERVED_0 is used</p><pre>KEEP</pre>",
        "T\n\nthe name PRESERVED_0 is used\n\nKEEP",
        [(1, "T")],
    ),
    "H14": (
        "<h1>T</h1><table>"
        + "".join(f"<tr><td>row {i}</td></tr>" for i in range(20))
        + "</table>",
        "T\n\n" + "\n".join(f"| row {i} |" for i in range(20)),
        [(1, "T")],
    ),
    "H15": ("<p>intro</p><h1>T</h1><p>x</p>", "intro\n\nT\n\nx", [(1, "T")]),
    "H16": (
        "".join(f"<pre>code {i}</pre>" for i in range(12)),
        "\n\n".join(f"code {i}" for i in range(12)),
        [],
    ),
    "N1": (
        "<h1>T</h1><table><tr><td>cell</td></tr></table><p>after</p>",
        "T\n\n| cell |\n\nafter",
        [(1, "T")],
    ),
    "N2": ("<div>only in a div</div>", "only in a div", []),
    "N3": ("<pre>code</pre>", "code", []),
    "N4": ("<p>Press <b>Save</b> now</p>", "Press Save now", []),
    "N5": ("<ul><li>a<ul><li>b</li></ul></li></ul>", "- a\n  - b", []),
    "N6": ("<h1>T</h1><pre>x = 1</pre><p>p</p>", "T\n\nx = 1\n\np", [(1, "T")]),
    "N7": ("<p>one</p><p>two</p>", "one\n\ntwo", []),
}


@pytest.mark.parametrize("name", PEERS)
def test_inputs_that_other_splitters_get_wrong(name: str) -> None:
    source, text, titles = PEERS[name]
    assert read(source) == text
    assert headings(source) == titles


def test_blocks_tile_every_section_body() -> None:
    source = (
        "pre<h1>A</h1>a<p>b<h2>B</h2><h2>C</h2>"
        "<ul><li>x<li>y</ul><table><tr><th>k<tr><td>v</table>"
    )
    text, title, layout = read_html(source)
    document = Document(text, title=title, format="html", layout=layout)
    outline = build_outline(
        document,
        layout.headings,
        lambda start, end: html_blocks_between(layout, start, end),
    )
    assert [section.path for section in outline.sections] == [
        (),
        ("A",),
        ("A", "B"),
        ("A", "C"),
    ]
    for section in outline.sections:
        blocks = outline.blocks(section)
        body = text[section.body_start : section.body_end]
        assert "".join(text[block.start : block.end] for block in blocks) == body
    assert [block.kind for block in outline.blocks(outline.sections[3])] == [
        "list",
        "table",
    ]
    assert outline.blocks(outline.sections[2]) == []


def test_blocks_are_cut_at_the_edges_asked_for() -> None:
    text, _, layout = read_html("<table><tr><th>k<tr><td>v<tr><td>w</table><p>p")
    whole = layout.blocks[0]
    later = html_blocks_between(layout, whole.cuts[0], len(text))
    assert later == [
        Block("table", whole.cuts[0], whole.end, whole.cuts[1:], 0),
        layout.blocks[1],
    ]
    assert html_blocks_between(layout, 5, 5) == []
    assert html_blocks_between(Layout((), (), layout.source_map), 0, 3) == [
        Block("other", 0, 3)
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a < b", "a < b"),
        ("a <b", "a <b"),
        ("a <", "a <"),
        ("</>a</ x>b", "ab"),
        ("<!DOCTYPE html><?xml v?>a<!bogus>b", "ab"),
        ('<a href="x>kept</a> too', "kept too"),
        ('<p title="a>b">x', "x"),
        ("<p title=it's>x</p> it's", "x\n\nit's"),
        ("a<!-- never closed <p>b", "a"),
        ("a<!-->b<!--->c<!-- d --!>e", "abce"),
        ("a<script>never closed <p>b", "a"),
        ("<title>never closed<p>b", "b"),
        ("<noscript>never closed<p>b", "never closed\n\nb"),
        ("<textarea>never closed<p>b", "never closed\n\nb"),
        ("a<template>never closed<p>b", "anever closed\n\nb"),
        ("<![CDATA[a<b]]> c", "a<b c"),
        ("<![CDATA[a> c", "c"),
        ("a\0b \ud800 c", "a\0b \ud800 c"),
        ("&amp &lt;&bogus; &#xD800; &notit; &", "& <&bogus; \ufffd ¬it; &"),
        ("<!DOCTYPE x [<!ENTITY e 'boom'>]>&e;", "]>&e;"),
        (
            "<H1> x </H1> <Table> <Tr> <Td> a </Td> </Tr> </Table> <P>b",
            "x\n\n| a |\n\nb",
        ),
        ("</p></div></table></ul></h1>x", "x"),
        ("<?xml version='1.0'?><html><script src='x'/><p>kept</p></html>", "kept"),
    ],
)
def test_broken_markup_keeps_its_text(source: str, text: str) -> None:
    assert read(source) == text


needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no evaluation data at {DATA} (set STRUCTRAG_DATA)"
)


UNSEEN = ["script", "style", "template", "noscript", "iframe", "ix:header"]


INLINE = {
    "a",
    "abbr",
    "b",
    "bdi",
    "cite",
    "code",
    "dfn",
    "em",
    "font",
    "i",
    "kbd",
    "label",
    "mark",
    "q",
    "s",
    "samp",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "time",
    "u",
    "var",
    "wbr",
    "ins",
    "del",
    "big",
    "input",
}


def page_files() -> list[Path]:
    return sorted(
        [
            *DATA.glob("parsing/docling_inputs/html/**/*.html"),
            *DATA.glob("parsing/unstructured_html/*.html"),
        ]
    )


def read_lines(name: str) -> list[dict[str, Any]]:
    path = DATA / "nq" / name
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


PAGES = {page["id"]: page["text"] for page in read_lines("documents.jsonl.gz")}


def words(text: str) -> list[str]:
    """The words without what the reader writes of its own, on both sides: pipes, list markers,
    delimiter rows."""
    return [word for word in text.split() if not re.fullmatch(r"\||-|---|\d+\.", word)]


def oracle_words(source: str) -> list[str]:
    """The words of the tree that html5lib builds; every element that is not inline separates
    words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the annual report is XHTML
        soup = BeautifulSoup(source, "html5lib")
    for tag in soup(UNSEEN):
        tag.extract()
    for tag in soup("title"):
        if not tag.find_parent("svg"):
            tag.extract()
    parts: list[str] = []
    waiting: list[Any] = [soup]
    while waiting:
        node = waiting.pop()
        if type(node) is NavigableString:
            parts.append(str(node))
        elif isinstance(node, Tag):
            separate = node.name not in INLINE and ":" not in node.name
            if separate:
                parts.append(" ")
                waiting.append(NavigableString(" "))
            if node.name == "img":
                parts.append(str(node.get("alt", "")))
            waiting.extend(reversed(node.contents))
    return words("".join(parts))


def check_layout(source: str, text: str, layout: Layout) -> None:
    pieces = sorted([*layout.headings, *layout.blocks], key=lambda piece: piece.start)
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text
    for heading in layout.headings:
        assert heading.title
        assert " ".join(text[heading.start : heading.end].split()) == heading.title
    for block in layout.blocks:
        assert text[block.start : block.end].strip()
        assert all(block.start < cut < block.end for cut in block.cuts)
        assert list(block.cuts) == sorted(set(block.cuts))
        assert block.header_end == 0 or block.start < block.header_end <= block.end
    blocks = html_blocks_between(layout, 0, len(text))
    assert "".join(text[block.start : block.end] for block in blocks) == text
    check_source_map(source, text, layout)


def check_source_map(source: str, text: str, layout: Layout) -> None:
    source_map = layout.source_map
    starts, places = source_map.text_starts, source_map.source_starts
    assert len(starts) == len(places) == len(source_map.exact)
    assert starts[0] == 0 and starts[-1] == len(text) and places[-1] == len(source)
    assert list(starts[:-1]) == sorted(set(starts[:-1]))
    assert list(places) == sorted(places)
    assert source_map.to_source(len(text)) == len(source)
    for i, exact in enumerate(source_map.exact[:-1]):
        if exact:
            run = text[starts[i] : starts[i + 1]]
            assert source[places[i] : places[i] + len(run)] == run
            assert text_offset(source_map, places[i]) == starts[i]
            assert (
                text_offset(source_map, places[i] + len(run) - 1) == starts[i + 1] - 1
            )


def check_page(source: str) -> None:
    text, _, layout = read_html(source, drop_navigation=False)
    assert words(text) == oracle_words(source)
    check_layout(source, text, layout)


@needs_data
@pytest.mark.parametrize(
    "path",
    [path for path in page_files() if path.stat().st_size < 10**6],
    ids=lambda p: p.stem,
)
def test_real_pages(path: Path) -> None:
    check_page(path.read_text(encoding="utf-8"))


@needs_data
@pytest.mark.slow
def test_annual_report() -> None:
    check_page(
        (DATA / "parsing/unstructured_html/example-10k.html").read_text(
            encoding="utf-8"
        )
    )


@needs_data
@pytest.mark.parametrize("page", PAGES)
def test_wikipedia_pages(page: str) -> None:
    check_page(PAGES[page])


@needs_data
def test_gold_answers_are_found_through_the_source_map() -> None:
    layouts = {page: read_html(source) for page, source in PAGES.items()}
    spans = [
        tuple(span)
        for question in read_lines("questions.jsonl.gz")
        for span in question["gold"]
    ]
    assert len(spans) > 100
    for page, start, end in spans:
        text, _, layout = layouts[page]
        a, b = (
            text_offset(layout.source_map, start),
            text_offset(layout.source_map, end),
        )
        assert words(text[a:b]) == words(
            re.sub(r"<[^>]*>", " ", PAGES[page][start:end])
        )
        assert layout.source_map.to_source(a) == start


WORD = st.integers(0, 10**6).map(lambda number: f"w{number}x")


TEXT = st.lists(
    WORD | st.sampled_from([" ", "\n", "  ", "&amp;", "&nbsp;", "é", "<!-- no -->"]),
    max_size=6,
).map("".join)


def wrap(names: str, inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from(names.split()), inside).map(
        lambda pair: f"<{pair[0]}>{pair[1]}</{pair[0]}>"
    )


def join(parts: st.SearchStrategy[str], most: int = 4) -> st.SearchStrategy[str]:
    return st.lists(parts, max_size=most).map("".join)


PHRASE = join(
    TEXT
    | wrap("b i a code sup", TEXT)
    | st.sampled_from(["<br>", "<img alt='p1x q2x'>", "<script>no</script>"])
)


SIMPLE = wrap("p h1 h2 h3 pre", PHRASE)


def nested(flow: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = join(wrap("li", join(flow)))
    rows = join(wrap("tr", join(wrap("td th", join(flow)))))
    return (
        wrap("div section blockquote", join(flow))
        | wrap("ul ol", items)
        | wrap("table", rows)
    )


FLOW = st.recursive(SIMPLE | TEXT, nested, max_leaves=12)


@settings(max_examples=150, deadline=None)
@given(join(FLOW, most=6))
def test_well_formed_pages_agree_with_html5lib(source: str) -> None:
    check_page(source)


TAGS = [
    "b",
    "p",
    "div",
    "h1",
    "h2",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "caption",
    "thead",
    "tr",
    "td",
    "th",
    "pre",
    "blockquote",
    "section",
    "br",
    "hr",
    "select",
    "option",
    "nav",
]


TAG = st.tuples(
    st.sampled_from(["<", "</"]),
    st.sampled_from(TAGS),
    st.sampled_from([">", " x='>'>", "/>"]),
).map("".join)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(TAG | WORD.map(lambda word: f" {word} "), max_size=40).map("".join),
    st.booleans(),
)
def test_any_order_of_tags_keeps_every_word_once(source: str, drop: bool) -> None:
    text, _, layout = read_html(source)
    assert re.findall(r"w\d+x", text) == re.findall(r"w\d+x", source)
    check_layout(source, text, layout)
    check_layout(source, *read_html(source, drop_navigation=drop)[::2])


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="<>/!-?&;#=\"' abh1pretd[]CDAT\n\r\xa0\0\ud800", max_size=80))
def test_any_text_is_read(source: str) -> None:
    text, _, layout = read_html(source)
    check_layout(source, text, layout)


@given(st.text(st.characters(exclude_characters="<&"), max_size=200))
def test_text_without_markup_keeps_its_characters(source: str) -> None:
    text = read_html(source)[0]
    # White space of any script, and nothing else, is no text.
    kept = source.strip() and source
    assert re.sub(r"[ \t\n\r\f]", "", text) == re.sub(r"[ \t\n\r\f]", "", kept)


@pytest.mark.parametrize(
    "reference", ["&#" + "9" * 4301 + ";", "&#" + "0" * 5000 + "65;"]
)
def test_a_character_reference_of_any_length_is_read(reference: str) -> None:
    document = read_text(f"<p>{reference}</p><img alt='{reference}'>", format="html")
    assert set(document.text.split()) in ({"\ufffd"}, {"A"})
    assert ContentAwareSplitter().split(document)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # The numbers of the tags count ...
        ("<h3>a</h3><h1>b</h1>", [(3, "a"), (1, "b")]),
        ("<section><h2>a</h2><section><h1>b", [(2, "a"), (1, "b")]),
        ("<section><h1>a</h1><section><h2>b", [(1, "a"), (2, "b")]),
        # ... but where all in sections are 1, the depth does.
        ("<section><h1>a</h1><section><h1>b", [(1, "a"), (2, "b")]),
        ("<section><section><h1>a</h1></section><h1>b", [(2, "a"), (1, "b")]),
        ("<section><h1>a</h1></section><h2>b</h2>", [(1, "a"), (2, "b")]),
        # The page's heading before them stands above.
        ("<h1>p</h1><section><h1>a</h1><section><h1>b", [(1, "p"), (2, "a"), (3, "b")]),
        ("<h2>p</h2><section><h1>a</h1><section><h1>b", [(2, "p"), (1, "a"), (2, "b")]),
        ("<section><h1>a</h1></section><h1>p</h1>", [(1, "a"), (1, "p")]),
    ],
)
def test_levels_are_numbers_or_depths(
    source: str, expected: list[tuple[int, str]]
) -> None:
    assert headings(source) == expected


def test_headings_and_blocks_reach_to_the_next() -> None:
    text, _, layout = read_html("<h1>a  b</h1>c<pre>d\ne\n</pre><p><img alt=f></p>")
    assert text == "a b\n\nc\n\nd\ne\n\nf"
    assert layout.headings == (Heading(1, "a b", 0, 5),)
    assert layout.blocks == (
        Block("paragraph", 5, 8),
        Block("code", 8, 13, (10,)),
        Block("image", 13, 14),
    )


def test_navigation_is_left_out_unless_it_is_asked_for() -> None:
    source = "<nav>n</nav>x"
    assert read_html(source)[0] == "x"
    assert read_html(source, drop_navigation=False)[0] == "n\n\nx"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "a<img src=' x&amp;y ' alt=' c  d' title=' t  u '>b",
            PlacedImage(2, "x&y", "c d", "t u"),
        ),
        # Without alt text it stands before the text behind it.
        ("ab<img src=x>cd", PlacedImage(2, "x", "")),
        ("ab<img src=x alt=' '>cd", PlacedImage(3, "x", "")),
        # At the end it stands at the last character.
        ("ab<img src=x>", PlacedImage(1, "x", "")),
        ("a<img src=x>", PlacedImage(0, "x", "")),
        ("<img src=x>", PlacedImage(0, "x", "")),
        ("<img>", PlacedImage(0, "", "")),
    ],
)
def test_images_have_their_places(source: str, expected: PlacedImage) -> None:
    assert read_html(source)[2].images == (expected,)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (5, 0),
        (10, 0),
        (11, 1),
        (12, 2),
        (13, 3),  # behind a run: the next one
        (15, 3),
        (20, 3),
        (21, 4),  # inside what one character stands for: the next one
        (30, 4),
        (31, 5),
        (40, 6),
        (41, 6),  # behind all: the text's end
    ],
)
def test_the_way_from_a_page_to_its_text(place: int, expected: int) -> None:
    source_map = SourceMap((0, 3, 4, 6), (10, 20, 30, 40), (True, False, True, False))
    assert text_offset(source_map, place) == expected
    assert text_offset(SourceMap((), (), ()), place) == 0


PARAGRAPH, TABLE = Block("paragraph", 2, 8), Block("table", 12, 30, (22, 26), 20)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (2, 8, [PARAGRAPH]),
        (4, 6, [Block("paragraph", 4, 6)]),
        (2, 30, [Block("paragraph", 2, 12), TABLE]),
        # A body before, between or behind the blocks.
        (0, 2, [Block("other", 0, 2)]),
        (8, 12, [Block("other", 8, 12)]),
        (30, 31, [Block("other", 30, 31)]),
        (7, 12, [Block("paragraph", 7, 12)]),
        # What is not written in blocks joins the first one behind it.
        (8, 30, [Block("table", 8, 30, (22, 26), 20)]),
        (0, 8, [Block("paragraph", 0, 8)]),
        # Cuts at an edge are none; a header is whole or none.
        (12, 27, [Block("table", 12, 27, (22, 26), 20)]),
        (12, 26, [Block("table", 12, 26, (22,), 20)]),
        (12, 20, [Block("table", 12, 20, (), 20)]),
        (12, 19, [Block("table", 12, 19)]),
        (13, 30, [Block("table", 13, 30, (22, 26))]),
        (22, 30, [Block("table", 22, 30, (26,))]),
        (5, 5, []),
        (6, 5, []),
    ],
)
def test_blocks_between_two_places(start: int, end: int, expected: list[Block]) -> None:
    layout = Layout((), (PARAGRAPH, TABLE), SourceMap((), (), ()))
    assert html_blocks_between(layout, start, end) == expected
