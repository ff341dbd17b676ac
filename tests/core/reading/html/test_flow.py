"""The visible text: white space, lists, preformatted text."""

from __future__ import annotations

from itertools import pairwise

import pytest

from structrag.reading.html.reader import read_html


def read(source: str) -> str:
    return read_html(source)[0]


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
        # White space that is not HTML's.
        ("a\x0bb\x85c\u2028d\xa0e", "a\x0bb\x85c\u2028d\xa0e"),
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
        ("<ul><li>a<ol><li>b</ul>c</ol>d</ul>e", "- a\n  1. b\n\nc\n\nd\n\ne"),
    ],
)
def test_lists(source: str, text: str) -> None:
    assert read(source) == text


def test_list_block_can_be_cut_before_every_item() -> None:
    text, _, layout = read_html(
        "x<ul><li>a<ul><li>b</ul><li>c</ul><dl><dt>T<dd>d<dt>U<dd>e</dl>"
    )
    assert [
        [text[cut:].splitlines()[0] for cut in block.cuts] for block in layout.blocks
    ] == [
        [],
        ["  - b", "- c"],
        ["U"],
    ]


def test_a_heading_in_a_list_has_no_marker() -> None:
    assert read("<ul><li><h3>a</h3>b<li>c</ul>") == "a\n\nb\n\n- c"


def test_pre_is_kept_as_it_is() -> None:
    text, _, layout = read_html(
        "<pre>\n  if x:\r\n\ty  =  <b>1</b>\n\n  # &lt;end</pre>"
    )
    assert text == "  if x:\r\n\ty  =  1\n\n  # <end"
    assert [text[cut:].split("\n")[0] for cut in layout.blocks[0].cuts] == [
        "\ty  =  1",
        "",
        "  # <end",
    ]


def test_blanks_before_an_item_in_a_cell_do_not_come_behind_its_marker() -> None:
    source = "<table><td><u>\u2028<li>l"
    text, _, layout = read_html(source)
    assert text == "| - l |"
    starts = layout.source_map.source_starts
    assert list(starts) == sorted(starts)
    assert layout.source_map.to_source(text.index("l")) == source.index(">l") + 1


Run = tuple[str, int, bool]  # its text, its place in the page, whether it is a copy


def runs(source: str) -> list[Run]:
    text, _, layout = read_html(source)
    starts, places, exact = (
        layout.source_map.text_starts,
        layout.source_map.source_starts,
        layout.source_map.exact,
    )
    assert (starts[-1], places[-1]) == (len(text), len(source))
    return [
        (text[start:end], place, is_copy)
        for (start, end), place, is_copy in zip(
            pairwise(starts), places[:-1], exact[:-1], strict=True
        )
    ]


def kinds(source: str) -> list[tuple[str, str]]:
    text, _, layout = read_html(source)
    assert all(block.header_end == 0 for block in layout.blocks)
    return [
        (block.kind, text[block.start : block.end].rstrip("\n"))
        for block in layout.blocks
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a<b>b</b>", [("a", 0, True), ("b", 4, True)]),
        ("a b", [("a b", 0, True)]),
        # Of several white spaces the first is shown.
        ("a  b", [("a ", 0, True), ("b", 3, True)]),
        ("a <b> </b>c", [("a ", 0, True), ("c", 10, True)]),
        ("a <b>b</b>", [("a ", 0, True), ("b", 5, True)]),
        ("<b>a </b>b", [("a ", 3, True), ("b", 9, True)]),
        ("<b>a</b> b", [("a", 3, True), (" b", 8, True)]),
        # A space that stands for other white space is no copy.
        ("a\n b", [("a", 0, True), (" ", 1, False), ("b", 3, True)]),
        ("a&#32;b", [("a", 0, True), (" ", 1, False), ("b", 6, True)]),
        ("&amp;b", [("&", 0, False), ("b", 5, True)]),
        ("a&amp;b", [("a", 0, True), ("&", 1, False), ("b", 6, True)]),
        ("a&nosuch;b", [("a&nosuch;b", 0, True)]),
        ("<pre>a  b\n c</pre>", [("a  b\n c", 5, True)]),
        ("<pre>&lt;a</pre>", [("<", 5, False), ("a", 9, True)]),
        ("<pre>a<br>b</pre>", [("a", 5, True), ("\n", 6, False), ("b", 10, True)]),
        ("<p>a</p><p>b</p>", [("a", 3, True), ("\n\n", 4, False), ("b", 11, True)]),
        ("<img alt='a b'>", [("a b", 10, True)]),
        # A marker stands for the tag of its item.
        (
            "<ul><li>x<ul><li>a",
            [
                ("- ", 4, False),
                ("x", 8, True),
                ("\n", 9, False),
                ("  - ", 13, False),
                ("a", 17, True),
            ],
        ),
    ],
)
def test_every_run_leads_back_to_its_place(source: str, expected: list[Run]) -> None:
    assert runs(source) == expected


@pytest.mark.parametrize(
    ("source", "text", "titles"),
    [
        # Without an end tag a heading ends with its first line.
        ("<h2>a<p>b", "a\n\nb", ["a"]),
        ("x<h2>a<p>b", "x\n\na\n\nb", ["a"]),
        ("<h2><p>a<p>b<h2>c</h2>", "a\n\nb\n\nc", ["a", "c"]),
        ("<h2><p>a</p>b</h2>c", "a\nb\n\nc", ["a b"]),
        ("<h2>a<br><br>b</h2>", "a\nb", ["a b"]),
        ("<h2>a<ul><li>b</ul></h2>c", "a\nb\n\nc", ["a b"]),
        ("<h2>a<pre>b</pre></h2>c", "a\nb\n\nc", ["a b"]),
        ("<pre>a<h2>b<br><br>c</h2>d  e</pre>", "a\n\nb\nc\n\nd  e", ["b c"]),
        ("<ul><li>a<h2>b</h2></ul>", "- a\n\nb", ["b"]),
        ("<pre>a<h2>b</h2></pre>", "a\n\nb", ["b"]),
        ("a<h2></h2>b", "a\n\nb", []),
    ],
)
def test_a_heading_is_a_line_between_empty_ones(
    source: str, text: str, titles: list[str]
) -> None:
    visible, _, layout = read_html(source)
    assert visible == text
    assert [heading.title for heading in layout.headings] == titles


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a<br>b", [("paragraph", "a\nb")]),
        ("a<br><br>b", [("paragraph", "a"), ("paragraph", "b")]),
        ("<p><img alt=i></p>", [("image", "i")]),
        ("<p><img alt=i><img alt=j></p>", [("image", "i j")]),
        ("<p><img alt=i>w</p>", [("paragraph", "i w")]),
        ("<p>w<img alt=i></p>", [("paragraph", "w i")]),
        ("<blockquote>q</blockquote>a", [("quote", "q"), ("paragraph", "a")]),
        ("<ul><li>a<br><br>b</ul>", [("list", "- a\n  b")]),
        (
            "<ul><li>a<pre>x</pre>b</ul>c",
            [("list", "- a"), ("code", "x"), ("list", "  b"), ("paragraph", "c")],
        ),
        (
            "<table><caption>C</caption><tr><td>a</table>b",
            [("paragraph", "C"), ("table", "| a |"), ("paragraph", "b")],
        ),
        (
            "<ul><li>a<table><tr><td>t</table></ul>",
            [("list", "- a"), ("table", "| t |")],
        ),
    ],
)
def test_blocks_by_example(source: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(source) == expected


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<table><caption>C</caption><tr><td>a</table>b", "C\n\n| a |\n\nb"),
        ("<table> <tr> <td> a </td> </tr> </table>", "| a |"),
        ("<table>&nbsp;<tr>&nbsp;<td>a&nbsp;b<td>c</table>", "| a\xa0b | c |"),
        ("<table><tr><td>a<br>b<br><br>c</table>", "| a b c |"),
        ("<table><tr><td>a</td>s<p>t<td>b</table>", "| a | s | t | b |"),
    ],
)
def test_white_space_in_a_table(source: str, text: str) -> None:
    assert read(source) == text


def test_lists_are_indented_up_to_twenty_levels() -> None:
    for depth, spaces in ((20, 38), (21, 38), (25, 38)):
        text = read("<ul><li>" * depth + "x")
        assert text == " " * spaces + "- x"
    assert read("<ul><li>" * 20 + "x<p>y").splitlines()[1] == " " * 40 + "y"
    assert read("<ul><li>" * 21 + "x<p>y").splitlines()[1] == " " * 40 + "y"
