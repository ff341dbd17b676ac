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
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.reading.files import read_text
from structrag.reading.html.reader import html_blocks_between, read_html, text_offset
from structrag.records import (
    Block,
    Layout,
    SourceMap,
)


def read(source: str) -> str:
    return read_html(source)[0]


@examples
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
    delimiter rows, marks of raised and struck text."""
    words = re.sub(r"~~|\^", "", text).split()
    return [word for word in words if not re.fullmatch(r"\||-|---|\d+\.", word)]


def oracle_words(source: str) -> list[str]:
    """The words of the tree that html5lib builds; every element that is not inline separates
    words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the annual report is XHTML
        soup = BeautifulSoup(source, "html5lib")
    for tag in soup(UNSEEN):
        tag.extract()
    for tag in soup(hidden=True):
        if not {"id", "role", "aria-label"} & set(tag.attrs):
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


def without_repetitions(text: str, layout: Layout) -> str:
    """The text with labels once that stand above each of their columns."""
    parts, position = [], 0
    for block in layout.blocks:
        if block.header_end:
            header = text[block.start : block.header_end]
            parts += [
                text[position : block.start],
                re.sub(r"( [^|\n]+\|)\1+", r"\1", header),
            ]
            position = block.header_end
    return "".join([*parts, text[position:]])


def check_page(source: str) -> None:
    text, _, layout = read_html(source, drop_navigation=False)
    assert words(without_repetitions(text, layout)) == oracle_words(source)
    check_layout(source, text, layout)


@needs_data
@pytest.mark.parametrize(
    "path",
    [path for path in page_files() if path.stat().st_size < 10**6],
    ids=lambda p: p.stem,
)
def test_real_pages(path: Path) -> None:
    check_page(path.read_text(encoding="utf-8"))


@pytest.mark.long
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


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
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
    text, _, layout = read_html(source, drop_navigation=False)
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


PARAGRAPH, TABLE = Block("paragraph", 2, 8), Block("table", 12, 30, (22, 26), 20)


@examples
def test_blocks_between_two_places(start: int, end: int, expected: list[Any]) -> None:
    layout = Layout((), (PARAGRAPH, TABLE), SourceMap((), (), ()))
    blocks = [Block(*block) for block in expected]
    assert html_blocks_between(layout, start, end) == blocks
