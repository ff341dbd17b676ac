"""Tags and text runs of HTML."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest

from structrag.reading.html.reader import read_html, text_offset
from structrag.reading.html.tokens import (
    START,
    TEXT,
    Token,
    attribute_number,
    attributes,
    tokens,
    visible_tokens,
)


def test_offset_of_a_repeated_letter_leads_to_the_right_tag() -> None:
    # N6: found inside the tag `pre` by searching.
    source = "<h1>T</h1><pre>x = 1</pre><p>p</p>"
    text, _, layout = read_html(source)
    assert layout.source_map.to_source(text.index("p")) == 29
    assert text_offset(layout.source_map, 29) == text.index("p")


@pytest.mark.parametrize(
    "piece",
    [
        "<a ",
        '<a x=">" ',
        "<!-- ",
        "<![CDATA[",
        "&#",
        "<nav><nav></nav>",
        "<div role=navigation><h1>",
        "<a href=#a>¶",
        "<a href=#a>¶</a>",
        "<a href=#a> ",
        "<noscript>",
        "<ul></ol>",
        "word ",
        "<h1>a<p>",
    ],
)
def test_time_is_linear_on_hostile_input(piece: str) -> None:
    source = piece * (1_000_000 // len(piece))
    start = time.process_time()
    read_html(source + ">")
    assert time.process_time() - start < 20  # about 1 s; a quadratic reader needs hours


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('<?xml version="1.0"?><html><body><script/><p>a</p></body></html>', "a"),
        (
            '<?xml version="1.0"?><html><body><script>x</script><p>a</p></body></html>',
            "a",
        ),
        ("<html><body><script/><p>a</p></script><p>b</p></body></html>", "b"),
    ],
)
def test_an_empty_tag_ends_itself_in_xml_only(source: str, expected: str) -> None:
    assert read_html(source)[0].strip() == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<div role=navigation>Home</div><p>a</p>", "a"),
        ('<div class=x ROLE=" Navigation ">Home</div><p>a</p>', "a"),
        ("<div role=main>Home</div><p>a</p>", "Home\n\na"),
        ("<div class=navigation>Home</div><p>a</p>", "Home\n\na"),
        ("<h2>Pump<a href=' #p'>¶</a></h2>", "Pump"),
        ("<h2>Pump<a href='/p'>¶</a></h2>", "Pump¶"),
        ("<h2>Pump<a href='#p'>it</a></h2>", "Pumpit"),
        ('<p title="a > b">c</p>', "c"),
    ],
)
def test_what_a_page_shows(source: str, expected: str) -> None:
    assert read_html(source)[0].strip() == expected


def test_attributes_stand_where_their_values_do() -> None:
    source = "<a HREF='x y' b=2 c b=3/>"
    spans = attributes(source, 0, len(source))
    assert {name: source[slice(*span)] for name, span in spans.items()} == {
        "href": "x y",
        "b": "2",
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("12", 12),
        (" 12 ", 12),
        ("12345678", 12_345_678),
        ("123456789", 1),
        ("-2", 1),
        ("٣", 1),
        ("", 1),
    ],
)
def test_numbers_of_attributes(value: str, expected: int) -> None:
    source = f'<ol start="{value}">'
    assert (
        attribute_number(source, attributes(source, 0, len(source)), "start")
        == expected
    )
    assert attribute_number(source, {}, "start") == 1
    assert attribute_number("123", {}, "start") == 1


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a<B>c</b >d", ["a", "+b <B>", "c", "-b </b >", "d"]),
        ("1 < 2 > <i>", ["1 < 2 > ", "+i <i>"]),
        ("a<b>c <d", ["a", "+b <b>", "c ", "<d"]),  # no tag can end any more
        # comments and declarations
        ("a<!-- <b> -->c", ["a", "c"]),
        ("a--><!-- x -->b", ["a-->", "b"]),
        ("<!---->a", ["a"]),
        ("<!-->a-->b", ["a-->b"]),
        ("<!--->a-->b", ["a-->b"]),
        ("<!-- a --!>b", ["b"]),
        ("<b>a<!-- b", ["+b <b>", "a"]),
        ("<!doctype html>a<?php x ?>b</ x>c", ["a", "b", "c"]),
        # CDATA sections
        ("<![CDATA[a<b>c]]>d", ["a<b>c", "d"]),
        ("<![CDATA[a>b<![CDATA[c>d", ["b", "d"]),
        ("x<![CDATA[a]]>b", ["x", "a", "b"]),
        ("<!doctype html>a]]>b", ["a]]>b"]),
        # quotes
        ('<p title="a > b">c', ['+p <p title="a > b">', "c"]),
        ("<p title='a > b' x>c", ["+p <p title='a > b' x>", "c"]),
        ('<p title="a>c</p>d', ['+p <p title="a>', "c", "-p </p>", "d"]),
        ("<p x='a>c<q>d", ["+p <p x='a>", "c", "+q <q>", "d"]),
        ('<p x="a>b"', ['+p <p x="a>', 'b"']),  # it ends in a quoted value
        # content without tags
        ("<script>a<b></script>c", ["-script ", "-script </script>", "c"]),
        (
            "<script>a</script>b<script>c</script>d",
            [
                "-script ",
                "-script </script>",
                "b",
                "-script ",
                "-script </script>",
                "d",
            ],
        ),
        ("<style>a<b>", ["-style "]),
        ("<noscript>a<p>b", ["a", "+p <p>", "b"]),
        (
            "<textarea>a<b></TEXTAREA>c",
            ["+textarea <textarea>", "a<b>", "-textarea </TEXTAREA>", "c"],
        ),
        ("<title>a</title>b", ["+title <title>", "a", "-title </title>", "b"]),
        ("<title>a<b>c", ["+title <title>", "a", "-title ", "+b <b>", "c"]),
        ("<title>abc", ["+title <title>", "abc", "-title "]),
        ("<textarea>a<b>", ["a", "+b <b>"]),
        # empty elements end themselves in XML
        ("<?xml?><script/>a", ["+script <script/>", "a"]),
        ("\ufeff <?xml?><script/>a", ["\ufeff ", "+script <script/>", "a"]),
        ("<?xml?><script>a", ["-script "]),
    ],
)
def test_tokens_by_example(source: str, expected: list[str]) -> None:
    assert shown(source, tokens(source)) == expected


def shown(source: str, found: Iterable[Token]) -> list[str]:
    """Tokens as text: + before a start tag's name, - before an end tag's."""
    return [
        (f"{'+' if kind == START else '-'}{name} " if kind != TEXT else "")
        + source[start:end]
        for kind, name, start, end in found
    ]


@pytest.mark.parametrize(
    ("source", "without", "whole"),
    [
        ("<nav>a<nav>b</nav>c</nav>d", "d", "abcd"),
        ("<nav>a<p>b</p></nav>d", "d", "abd"),
        ("a<nav>b", "ab", "ab"),  # never closed
        ("<nav>a<h1>b</h1></nav>c", "abc", "abc"),
        ("<nav>a<main>b</main></nav>c", "abc", "abc"),
        ("<nav>a</nav>b<nav>c<h1>d</nav><nav>e</nav>", "bcde", "abcde"),
        ("<nav>a</nav><div role='navigation'>b", "b", "ab"),
        ("<div role=navigation>a<div>b</div>c</div>d", "d", "abcd"),
        ("<div title=navigation role=main>a</div>d", "ad", "ad"),
        ("<div class=navigation>a</div>d", "ad", "ad"),
        ("<role>a</role>d", "ad", "ad"),
        ("<template>a<h1>b</h1></template>c", "c", "c"),
        ("<ix:header>a</ix:header>c", "c", "c"),
        ("a<a href='#x'>¶</a>b", "ab", "ab"),
        ("a<a href=' #x'>\n&para; </a>b", "ab", "ab"),
        ("a<a href='x'>¶</a>b", "a¶b", "a¶b"),
        ("a<a>¶</a>b", "a¶b", "a¶b"),
        ("a<b href='#x'>¶</a>b", "a¶b", "a¶b"),
        ("#<a name='x'>¶</a>b", "#¶b", "#¶b"),
    ],
)
def test_what_is_left_out(source: str, without: str, whole: str) -> None:
    for navigation, expected in ((False, without), (True, whole)):
        found = visible_tokens(source, navigation=navigation)
        assert "".join(source[t[2] : t[3]] for t in found if t[0] == TEXT) == expected
