"""Headings, title, navigation and blocks of a page."""

from __future__ import annotations

import pytest

from structrag.reading.html.reader import read_html


def read(source: str) -> str:
    return read_html(source)[0]


def headings(source: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in read_html(source)[2].headings]


def kinds(source: str) -> list[tuple[str, str]]:
    text, _, layout = read_html(source)
    return [
        (block.kind, text[block.start : block.end].strip()) for block in layout.blocks
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
        (
            "<section><h1>a</h1><section><h2>b</h2><section><h1>c",
            [(1, "a"), (2, "b"), (1, "c")],
        ),
        ("<header>x</header><hr><h7>no</h7>", []),
    ],
)
def test_headings(source: str, expected: list[tuple[int, str]]) -> None:
    assert headings(source) == expected


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


def test_title() -> None:
    assert (
        read_html("<TITLE>\n A &amp; <b>B\n</TITLE><p>x<title>second</title>")[1]
        == "A & <b>B"
    )
    assert read_html("<svg><title>icon</title></svg>")[1] == ""


def test_navigation_is_left_out() -> None:
    source = "<nav>n<nav>m</nav></nav><h1>T</h1><aside>a</aside>x<footer>f</footer>"
    assert read(source) == "T\n\na\n\nx\n\nf"
    assert read_html(source, drop_navigation=False)[0] == "n\n\nm\n\nT\n\na\n\nx\n\nf"
    assert read("<nav>never closed<p>x") == "never closed\n\nx"


def test_navigation_is_left_out_by_its_role() -> None:
    source = "<div class=a ROLE = ' Navigation'><div>n</div>m</div><div role=note>x</div><p>y"
    assert read(source) == "x\n\ny"
    assert read_html(source, drop_navigation=False)[0] == "n\n\nm\n\nx\n\ny"
    assert read("<div title='a role=navigation-like text'>x</div>") == "x"


@pytest.mark.parametrize("main", ["<h1>T</h1>", "<main>T</main>"])
def test_navigation_that_takes_in_the_page_is_kept(main: str) -> None:
    assert read(f"<div role=navigation><div>n</div>{main}</div>x") == "n\n\nT\n\nx"
    assert read(f"<nav>n{main}</nav><nav>m</nav>x") == "n\n\nT\n\nm\n\nx"


@pytest.mark.parametrize("sign", ["¶", "#", " &para; ", "&#8203;", "\u200b", "🔗"])
def test_permalinks_are_no_text(sign: str) -> None:
    page = (
        f'<h1>Pumps<a class="headerlink" href="#pumps">{sign}</a></h1><p>They pump.</p>'
    )
    text, _, layout = read_html(page)
    assert text == "Pumps\n\nThey pump." and layout.headings[0].title == "Pumps"
    elsewhere = f'<p>See <a href="other.html">{sign}</a>.</p>'
    assert read(elsewhere) == read(f"<p>See {sign}.</p>")


def test_links_that_say_something_are_text() -> None:
    assert read(
        '<p>See <a href="#a">¶ 3</a>, <a href="#b">*</a> and <a href="#c"></a>.'
    ) == ("See ¶ 3, * and .")


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
    ("source", "text"),
    [
        ("<p>a</p><pre>x\n y</pre><p>b</p>", "a\n\nx\n y\n\nb"),
        ("<ul><li>a<pre>x</pre>b</ul>", "- a\n\nx\n\n  b"),
        ("<pre>\nx</pre><pre>y</pre>", "x\n\ny"),
    ],
)
def test_code_stands_between_blank_lines(source: str, text: str) -> None:
    assert read(source).strip() == text


def test_a_term_and_what_is_said_of_it_are_not_cut_apart() -> None:
    text, _, layout = read_html("<dl><dt>T<dd>d<dd>e<dt>U<dd>f</dl>")
    (block,) = layout.blocks
    assert [text[cut:].split()[0] for cut in block.cuts] == ["e", "U"]


def test_the_end_of_a_cell_counts_for_the_open_table_alone() -> None:
    inner = "<table><tr><td>b</td></tr></table>"
    assert read(f"<table><tr><th>h<tr><td>a{inner}c</td></tr></table>").endswith(
        "| a b c |"
    )
    assert read("a</td>b") == "a b"


@pytest.mark.parametrize(
    ("source", "text", "blocks"),
    [
        (
            "<p>a</p><ol start=3><li>b<li>c</ol>d",
            "a\n\n3. b\n4. c\n\nd",
            [("list", "3. b\n4. c")],
        ),
        (
            "<ul><li>a<ol><li>b</li><li>c</li></ol></li><li>d</li></ul>e",
            "- a\n  1. b\n  2. c\n- d\n\ne",
            [("list", "- a\n  1. b\n  2. c\n- d")],
        ),
        (
            "<ol><li>a</ol><ol><li>b</ol>",
            "1. a\n\n1. b",
            [("list", "1. a"), ("list", "1. b")],
        ),
        ("<li>a<li>b", "- a\n- b", [("list", "- a\n- b")]),
        ("<ol start=x><li>a</ol>", "1. a", [("list", "1. a")]),
        (
            "<dl><dt>a<dd>b<dd>c<dt>d<dd>e</dl>f",
            "a\n  b\n  c\nd\n  e\n\nf",
            [("list", "a\n  b\n  c\nd\n  e")],
        ),
        ("<dd>a", "  a", [("list", "a")]),
        (
            "<p>a</p><blockquote>b<blockquote>c</blockquote>d</blockquote>e",
            "a\n\nb\n\nc\n\nd\n\ne",
            [("quote", "b"), ("quote", "c"), ("quote", "d")],
        ),
        ("a<blockquote>b<h2>c</h2>d", "a\n\nb\n\nc\n\nd", [("quote", "b")]),
        ("<pre>\n  a\n b</pre>c", "  a\n b\n\nc", [("code", "a\n b")]),
        ("<pre>a<br>b</pre>", "a\nb", [("code", "a\nb")]),
        ("<pre>a<h2>b</h2>c  d", "a\n\nb\n\nc d", [("code", "a")]),
        (
            "<table><caption>T</caption><tr><th>a<th>b<tr><td>1<td>2</table>c",
            "T\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nc",
            [("table", "| a | b |\n| --- | --- |\n| 1 | 2 |")],
        ),
        (
            "<table><tr><td>a<table><tr><td>x<td>y</table>b<td>c</table>d",
            "| a x y b | c |\n\nd",
            [("table", "| a x y b | c |")],
        ),
        (
            "<table><thead><tr><td>a<td>b</thead><tbody><tr><td>1<td>2</table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |",
            [("table", "| a | b |\n| --- | --- |\n| 1 | 2 |")],
        ),
        ("<table>stray<tr><td>a</table>", "stray\n\n| a |", [("table", "| a |")]),
        (
            "<table><tr><td>a<caption>b</caption></table>",
            "| a b |",
            [("table", "| a b |")],
        ),
        ("a<img src=x alt='b c'>d", "a b c d", []),
        ("a<img src=x>d", "ad", []),
        ("<svg><title>no</title></svg>a", "no a", []),
        ("<title>T</title>a<title>U</title>", "a", []),
        ("<h2>a<table><tr><td>b</table></h2>c", "a\nb\n\nc", []),
        ("<td>a</td><td>b</td>", "a b", []),
        ("<tr>a</tr>b", "a\nb", []),
        ("</table>a</tr>b", "a\nb", []),
        ("</ul>a</blockquote>b</pre>c", "a\n\nb\n\nc", []),
        ("a<br><br>b", "a\n\nb", []),
        ("<p>a</p><p>b", "a\n\nb", []),
        ("a<hr>b", "a\n\nb", []),
        (
            "<section><h1>a</h1></section></section><section><section><h1>b",
            "a\n\nb",
            [],
        ),
        ("<table><tr><td><h2>a</h2>b</table>", "| a b |", [("table", "| a b |")]),
    ],
)
def test_pages_by_example(
    source: str, text: str, blocks: list[tuple[str, str]]
) -> None:
    assert read(source) == text
    assert [block for block in kinds(source) if block[0] != "paragraph"] == blocks


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<title>T</title>a<title>U</title>", "T"),
        ("<svg><title>no</title></svg><title>T</title>", "T"),
        ("<title> A &amp;\n B </title>", "A & B"),
        ("a", ""),
    ],
)
def test_the_first_title_counts_but_for_those_of_pictures(
    source: str, title: str
) -> None:
    assert read_html(source)[1] == title


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a<h2>b</h2>c", "a\n\nb\n\nc"),
        ("<h2>b</h2><div>c</div>", "b\n\nc"),
        ("a<ul><li>b</ul><div>c", "a\n\n- b\n\nc"),
        ("a<ol><li>b</ol>c", "a\n\n1. b\n\nc"),
        ("a<section>b</section>c", "a\n\nb\n\nc"),
        ("a<blockquote>b</blockquote><div>c", "a\n\nb\n\nc"),
        ("a<caption>b</caption>c", "a\nb\nc"),
        (
            "<table><caption>T</caption><caption>U</caption><tr><td>a</table>",
            "T U\n\n| a |",
        ),
        ("<li>a<ul><li>b</ul><li>c", "- a\n  - b\n- c"),
        ("<svg><svg></svg><title>no</title></svg>a", "no a"),
        ("a<li>b", "a\n\n- b"),
        ("a<pre>b</pre>c", "a\n\nb\n\nc"),
        ("a</table>b", "a\n\nb"),
        ("a<tr>b", "a\nb"),
        ("a</li>b", "a\n\nb"),
        ("a<tbody>b", "a\nb"),
        ("<h2>a<table>b</h2>c", "a\nb\n\nc"),
    ],
)
def test_breaks_around_elements(source: str, text: str) -> None:
    assert read(source) == text


def test_a_title_within_nested_pictures_is_none() -> None:
    source = "<svg><svg></svg><title>no</title></svg><title>T</title>"
    assert read_html(source)[1] == "T"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<h2>a<li>b</h2>", "a\nb"),
        ("<table><li>x<tr><td>a</table>", "x\n\n| a |"),
        ("<table><tr><td><li>x<li>y</table>", "| - x - y |"),
        # The end of a list ends one whose start is missing.
        ("<li>a</ul>b", "- a\n\nb"),
        ("<dd>a</dl>b", "  a\n\nb"),
        ("<li>a</dl>b", "- a\n  b"),
        # Items behind a heading in a list are a list again.
        ("<ul><li><h3>a</h3>b<li>c<li>d</ul>e", "a\n\nb\n\n- c\n- d\n\ne"),
    ],
)
def test_items_without_their_list(source: str, text: str) -> None:
    assert read(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<pre>a<pre>b</pre>c  d</pre>e  f", "a\n\nb\n\nc  d\n\ne f"),
        ("<table><tr><td><pre>a</table>b  c", "| a |\n\nb c"),
        ("<h2>a<pre>b</h2>c  d", "a\nb\n\nc d"),
        ("<pre>a<table><tr><td></pre>b</table>c  d</pre>", "a\n\n| b |\n\nc  d"),
        ("<pre>a<h2></pre>b</h2>c  d</pre>", "a\n\nb\n\nc  d"),
        ("</pre><pre>a  b</pre>", "a  b"),
    ],
)
def test_the_end_of_code_counts_where_code_began(source: str, text: str) -> None:
    assert read(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "<table><thead><tr><td>k<tr><td>l</thead><tr><td>a</table>",
            "| k |\n| l |\n| --- |\n| a |",
        ),
        (
            "<table><thead><tr><td>k<tr><td>l<tbody><tr><td>a</table>",
            "| k |\n| l |\n| --- |\n| a |",
        ),
        (
            "<table><tr><td>x</tr><caption>a<p>b</caption></table>",
            "| x |\n| a b |",
        ),
        (
            "<table><tr><td>x</tr><caption>a</caption>b<td>c</table>",
            "| x | |\n| a | |\n| b | c |",
        ),
        (
            "<table><tr><td>x<table><caption>a</caption>b</table>c<td>d</table>",
            "| x a b c | d |",
        ),
    ],
)
def test_groups_of_rows_and_captions(source: str, text: str) -> None:
    assert read(source) == text


def test_an_end_tag_too_many_changes_nothing() -> None:
    assert read_html("</svg><svg><title>no</title></svg><title>T</title>")[1] == "T"
    assert kinds("</blockquote>a<blockquote>b</blockquote>c") == [
        ("paragraph", "a"),
        ("quote", "b"),
        ("paragraph", "c"),
    ]
    source = "</section><section><h1>a</h1><section><h1>b</h1></section></section>"
    assert headings(source) == [(1, "a"), (2, "b")]


def test_definitions_in_a_list() -> None:
    source = "<ol><li>x<dl><dd>c<dt>T<dd>d<dd>e</dl><li>y</ol>"
    text, _, layout = read_html(source)
    assert text == "1. x\n    c\n  T\n    d\n    e\n2. y"
    (block,) = layout.blocks
    assert [text[cut:].split()[0] for cut in block.cuts] == ["c", "T", "e", "2."]


def test_the_space_behind_an_image_stands_for_the_end_of_its_tag() -> None:
    text, _, layout = read_html("<img alt=a >b")
    assert text == "a b"
    assert [layout.source_map.to_source(i) for i in range(3)] == [9, 11, 12]
    assert layout.source_map.exact == (True, False, True, False)
