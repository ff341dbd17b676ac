"""The HTML reader: visible text, headings, blocks, tables, broken markup."""

from __future__ import annotations

import gzip
import json
import re
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

from structrag.reading.html.reader import html_blocks_between, read_html, text_offset
from structrag.reading.outline import build_outline
from structrag.records import Block, Document, Layout


def read(source: str) -> str:
    return read_html(source)[0]


def headings(source: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in read_html(source)[2].headings]


def kinds(source: str) -> list[tuple[str, str]]:
    text, _, layout = read_html(source)
    return [(block.kind, text[block.start : block.end].strip()) for block in layout.blocks]


# Where other splitters go wrong: `peers` inputs H1 to H16 and N1 to N7.
PEERS = {
    "H1": (
        "<h1>T</h1><p>Press <b>Save</b> to finish.</p>",
        "T\n\nPress Save to finish.",
        [(1, "T")],
    ),
    "H2": ("<h1>T</h1>loose text<p>para</p>", "T\n\nloose text\n\npara", [(1, "T")]),
    "H3": ("<h1>Use <code>pip</code> now</h1><p>x</p>", "Use pip now\n\nx", [(1, "Use pip now")]),
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
        "<h1>T</h1><table>" + "".join(f"<tr><td>row {i}</td></tr>" for i in range(20)) + "</table>",
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


def test_offset_of_a_repeated_letter_leads_to_the_right_tag() -> None:
    source = "<h1>T</h1><pre>x = 1</pre><p>p</p>"  # N6: found inside the tag `pre` by searching
    text, _, layout = read_html(source)
    assert layout.source_map.to_source(text.index("p")) == 29
    assert text_offset(layout.source_map, 29) == text.index("p")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<b>S</b>ave, x<sup>2</sup>, un<i>believ</i>able", "Save, x2, unbelievable"),
        ("a<br>b", "a\nb"),
        ("a<br><br>b", "a\n\nb"),
        ("a<br/>\n<BR>\n<br>b", "a\n\nb"),
        ("<td>a</td><td>b</td>", "a b"),
        ("<div>a</div><div>b</div>", "a\n\nb"),
        ("one<hr>two", "one\n\ntwo"),
        ("<p>a <b> b </b> c</p>", "a b c"),
        ("  a\r\n\t b \f c  ", "a b c"),
        ("a\x0bb\x85c\u2028d\xa0e", "a\x0bb\x85c\u2028d\xa0e"),  # white space that is not HTML's
        ("a&nbsp;b&#160;c", "a\xa0b\xa0c"),
        ("<p>&nbsp;</p><p>x</p><p> &nbsp; </p>", "x"),
        ("a&#32;&#10;b", "a b"),
        ("<select><option>a<option>b</select>c<button>d</button>e", "a b c d e"),
        ("<p>x <textarea>\n a  b\n</textarea> y", "x\n\n a  b\n\ny"),
        ("<details><summary>S</summary>D</details>", "S\n\nD"),
        ("<figure><img alt=pic><figcaption>C</figcaption></figure>", "pic\n\nC"),
        ("<svg><title>icon</title><text>t</text></svg>", "icon t"),
        ("see<img alt='a cat'>here", "see a cat here"),
        ("<img src=x><img alt=''>x", "x"),
        (
            "<style>s</style><script>'</p>'</script><template>t</template><noscript>n</noscript>x",
            "x",
        ),
        ("<script>if (a < b) { '<p>no</p>' }</SCRIPT >x", "x"),
        ("<head><title>T</title><meta><style>s</style></head>x", "x"),
        ("<ix:header><p>facts</p></ix:header>x", "x"),
        ("", ""),
        (" \n ", ""),
        ("<p></p><!-- only --><br>", ""),
    ],
)
def test_visible_text(source: str, text: str) -> None:
    assert read(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<ul><li>a<p>b</p><p>c</p><li>d</ul>e", "- a\n  b\n  c\n- d\n\ne"),
        ("<ol start=9><li>a<li>b<ul><li>c</ul></ol>", "9. a\n10. b\n  - c"),
        ("<ul><li></li><li>a</li></ul>", "- a"),
        ("<li>a<li>b", "- a\n- b"),
        ("<dl><dt>T<dd>d<dd>e<dt>U<dd>f</dl>", "T\n  d\n  e\nU\n  f"),
        ("<ul><li>a<table><tr><td>t</table>b<li>c</ul>", "- a\n\n| t |\n\n  b\n- c"),
        ("<ul><li><ol><li>a</ul>x", "  1. a\n\nx"),
    ],
)
def test_lists(source: str, text: str) -> None:
    assert read(source) == text


def test_list_block_can_be_cut_before_every_item() -> None:
    text, _, layout = read_html("x<ul><li>a<ul><li>b</ul><li>c</ul><dl><dt>T<dd>d<dt>U<dd>e</dl>")
    assert [[text[cut:].splitlines()[0] for cut in block.cuts] for block in layout.blocks] == [
        [],
        ["  - b", "- c"],
        ["U"],
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<h1>Unclosed<p>body", [(1, "Unclosed")]),
        ("<h1>a<h2>b</h2>c", [(1, "a"), (2, "b")]),
        ("<h2><div>a</div><br>b</h2>", [(2, "a b")]),
        ("<h1></h1><h2> &nbsp;</h2><h3><img alt='logo'></h3>", [(3, "logo")]),
        ("<ul><li><h3>a</h3>b</ul>", [(3, "a")]),
        ("<blockquote><h2>q</h2></blockquote>", [(2, "q")]),
        ("<table><tr><td><h2>no</h2></table><h3>yes</h3>", [(3, "yes")]),
        ("<table><tr><td>never closed<h2>yes</h2>", [(2, "yes")]),
        (
            "<section><h1>a</h1><section><h1>b</h1></section></section><section><h1>c",
            [(1, "a"), (2, "b"), (1, "c")],
        ),
        (
            "<h1>p</h1><section><h1>a</h1><article><h1>b</h1></article></section>",
            [(1, "p"), (2, "a"), (3, "b")],
        ),
        ("<section><h1>a</h1><section><h2>b</h2><section><h1>c", [(1, "a"), (2, "b"), (1, "c")]),
        ("<header>x</header><hr><h7>no</h7>", []),
    ],
)
def test_headings(source: str, expected: list[tuple[int, str]]) -> None:
    assert headings(source) == expected


def test_a_heading_in_a_list_has_no_marker() -> None:
    assert read("<ul><li><h3>a</h3>b<li>c</ul>") == "a\n\nb\n\n- c"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<table><tr><th>k<th>v<tr><td>a<td>1</table>", "| k | v |\n| --- | --- |\n| a | 1 |"),
        ("<table><thead><tr><td>k</thead><tr><td>a</table>", "| k |\n| --- |\n| a |"),
        ("<table><tr><th>all<tr><th>heads</table>", "| all |\n| --- |\n| heads |"),
        ("<table><tr><th>only</table>", "| only |"),
        ("<table><tr><th>k<td>v<tr><td>a<td>1</table>", "| k | v |\n| a | 1 |"),
        (
            "<table><tr><td rowspan=2>a<td>1<tr><td>2<tr><td>b<td>3</table>",
            "| a | 1 |\n| | 2 |\n| b | 3 |",
        ),
        (
            "<table><tr><td colspan=2>wide<td>c<tr><td>1<td>2<td>3</table>",
            "| wide | | c |\n| 1 | 2 | 3 |",
        ),
        ("<table><tr><td>a<td><td>c<tr><td>1<td> <td>3</table>", "| a | c |\n| 1 | 3 |"),
        ("<table><tr><td><tr><td>a</table>", "| a |"),
        ("<table><tr><td> </table>x", "x"),
        ("<table><tr><td>x | y</table>", "| x | y |"),
        ("<table><caption>Cap</caption><tr><td>a</table>", "Cap\n\n| a |"),
        ("<table>stray<tr><td>a</td>s<td>b</tr><p>t</table>", "stray\n\n| a | s | b |\n| t | | |"),
        ("<table><tr><td>a<table><tr><td>m<td>n</table>b<td>c</table>d", "| a m n b | c |\n\nd"),
        (
            "<table><tr><td><h2>H</h2><p>p<ul><li>x<li>y</ul><pre>q\nr</pre></table>",
            "| H p - x - y q r |",
        ),
        ("<table><tr><td colspan=x rowspan=-1>a<td rowspan=99999>b</table>", "| a | b |"),
        ("<table><table><tr><td>a</table>", "| a |"),
    ],
)
def test_tables(source: str, text: str) -> None:
    assert read(source) == text


def test_table_block_has_a_header_to_repeat_and_row_starts() -> None:
    text, _, layout = read_html("x<table><tr><th>k<th>v<tr><td>a<td>1<tr><td>b<td>2</table>y")
    table = layout.blocks[1]
    assert table.kind == "table"
    assert text[table.start : table.header_end] == "| k | v |\n| --- | --- |\n"
    assert [text[cut:].splitlines()[0] for cut in table.cuts] == ["| a | 1 |", "| b | 2 |"]
    assert text[: table.end].endswith("| b | 2 |\n\n")


def test_block_kinds() -> None:
    source = (
        "<p>p</p><ul><li>l</ul><table><tr><td>t</table><pre>c</pre><p><a><img alt=i></a></p>"
        "<p><img alt=j> w</p><blockquote><p>q<p>r</blockquote>z"
    )
    assert kinds(source) == [
        ("paragraph", "p"),
        ("list", "- l"),
        ("table", "| t |"),
        ("code", "c"),
        ("image", "i"),
        ("paragraph", "j w"),
        ("quote", "q"),
        ("quote", "r"),
        ("paragraph", "z"),
    ]


def test_pre_is_kept_as_it_is() -> None:
    text, _, layout = read_html("<pre>\n  if x:\r\n\ty  =  <b>1</b>\n\n  # &lt;end</pre>")
    assert text == "  if x:\r\n\ty  =  1\n\n  # <end"
    assert [text[cut:].split("\n")[0] for cut in layout.blocks[0].cuts] == [
        "\ty  =  1",
        "",
        "  # <end",
    ]


def test_title() -> None:
    assert read_html("<TITLE>\n A &amp; <b>B\n</TITLE><p>x<title>second</title>")[1] == "A & <b>B"
    assert read_html("<svg><title>icon</title></svg>")[1] == ""


def test_navigation_is_dropped_on_request_only() -> None:
    source = "<nav>n<nav>m</nav></nav><h1>T</h1><aside>a</aside>x<footer>f</footer>"
    assert read(source) == "n\n\nm\n\nT\n\na\n\nx\n\nf"
    assert read_html(source, drop_navigation=True)[0] == "T\n\nx"
    assert read_html("<nav>never closed<p>x", drop_navigation=True)[0] == "never closed\n\nx"


def test_blocks_tile_every_section_body() -> None:
    source = (
        "pre<h1>A</h1>a<p>b<h2>B</h2><h2>C</h2><ul><li>x<li>y</ul><table><tr><th>k<tr><td>v</table>"
    )
    text, title, layout = read_html(source)
    document = Document(text, title=title, format="html", layout=layout)
    outline = build_outline(
        document, layout.headings, lambda start, end: html_blocks_between(layout, start, end)
    )
    assert [section.path for section in outline.sections] == [(), ("A",), ("A", "B"), ("A", "C")]
    for section in outline.sections:
        blocks = outline.blocks(section)
        body = text[section.body_start : section.body_end]
        assert "".join(text[block.start : block.end] for block in blocks) == body
    assert [block.kind for block in outline.blocks(outline.sections[3])] == ["list", "table"]
    assert outline.blocks(outline.sections[2]) == []


def test_blocks_are_cut_at_the_edges_asked_for() -> None:
    text, _, layout = read_html("<table><tr><th>k<tr><td>v<tr><td>w</table><p>p")
    whole = layout.blocks[0]
    later = html_blocks_between(layout, whole.cuts[0], len(text))
    assert later == [Block("table", whole.cuts[0], whole.end, whole.cuts[1:], 0), layout.blocks[1]]
    assert html_blocks_between(layout, 5, 5) == []
    assert html_blocks_between(Layout((), (), layout.source_map), 0, 3) == [Block("other", 0, 3)]


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
        ("<H1> x </H1> <Table> <Tr> <Td> a </Td> </Tr> </Table> <P>b", "x\n\n| a |\n\nb"),
        ("</p></div></table></ul></h1>x", "x"),
        ("<?xml version='1.0'?><html><script src='x'/><p>kept</p></html>", "kept"),
    ],
)
def test_broken_markup_keeps_its_text(source: str, text: str) -> None:
    assert read(source) == text


@pytest.mark.parametrize(
    "source",
    [
        "<div>" * 10_000 + "x" + "</div>" * 10_000,
        "<b><ul><li>" * 10_000 + "x",
        "<table><tr><td>" * 10_000 + "x",
        "<h1><blockquote><section>" * 10_000 + "x",
        "<template>" * 10_000 + "x",
    ],
)
def test_deep_nesting(source: str) -> None:
    assert "x" in read(source)


@pytest.mark.parametrize(
    "piece",
    [
        "<a ",
        '<a x=">" ',
        "<!-- ",
        "<![CDATA[",
        "&#",
        "<nav><nav></nav>",
        "<noscript>",
        "<ul></ol>",
        "word ",
        "<h1>a<p>",
    ],
)
def test_time_is_linear_on_hostile_input(piece: str) -> None:
    source = piece * (1_000_000 // len(piece))
    start = time.process_time()
    read_html(source + ">", drop_navigation=True)
    assert time.process_time() - start < 20  # about 1 s; a quadratic reader needs hours


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
    """The words of the tree that html5lib builds; every element that is not inline separates words."""
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
            assert text_offset(source_map, places[i] + len(run) - 1) == starts[i + 1] - 1


def check_page(source: str) -> None:
    text, _, layout = read_html(source)
    assert words(text) == oracle_words(source)
    check_layout(source, text, layout)


@needs_data
@pytest.mark.parametrize(
    "path", [path for path in page_files() if path.stat().st_size < 10**6], ids=lambda p: p.stem
)
def test_real_pages(path: Path) -> None:
    check_page(path.read_text(encoding="utf-8"))


@needs_data
@pytest.mark.slow
def test_annual_report() -> None:
    check_page((DATA / "parsing/unstructured_html/example-10k.html").read_text(encoding="utf-8"))


@needs_data
@pytest.mark.parametrize("page", PAGES)
def test_wikipedia_pages(page: str) -> None:
    check_page(PAGES[page])


@needs_data
def test_gold_answers_are_found_through_the_source_map() -> None:
    layouts = {page: read_html(source) for page, source in PAGES.items()}
    spans = [
        tuple(span) for question in read_lines("questions.jsonl.gz") for span in question["gold"]
    ]
    assert len(spans) > 100
    for page, start, end in spans:
        text, _, layout = layouts[page]
        a, b = text_offset(layout.source_map, start), text_offset(layout.source_map, end)
        assert words(text[a:b]) == words(re.sub(r"<[^>]*>", " ", PAGES[page][start:end]))
        assert layout.source_map.to_source(a) == start


WORD = st.integers(0, 10**6).map(lambda number: f"w{number}x")


TEXT = st.lists(
    WORD | st.sampled_from([" ", "\n", "  ", "&amp;", "&nbsp;", "é", "<!-- no -->"]), max_size=6
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
    return wrap("div section blockquote", join(flow)) | wrap("ul ol", items) | wrap("table", rows)


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
    st.sampled_from(["<", "</"]), st.sampled_from(TAGS), st.sampled_from([">", " x='>'>", "/>"])
).map("".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(TAG | WORD.map(lambda word: f" {word} "), max_size=40).map("".join), st.booleans())
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
    kept = source.strip() and source  # white space of any script, and nothing else, is no text
    assert re.sub(r"[ \t\n\r\f]", "", text) == re.sub(r"[ \t\n\r\f]", "", kept)
