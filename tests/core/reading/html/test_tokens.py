"""Tags and text runs of HTML."""

from __future__ import annotations

import time

import pytest

from structrag.reading.html.reader import read_html, text_offset
from structrag.reading.html.tokens import attributes


def test_offset_of_a_repeated_letter_leads_to_the_right_tag() -> None:
    source = "<h1>T</h1><pre>x = 1</pre><p>p</p>"  # N6: found inside the tag `pre` by searching
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
        ('<?xml version="1.0"?><html><body><script>x</script><p>a</p></body></html>', "a"),
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
