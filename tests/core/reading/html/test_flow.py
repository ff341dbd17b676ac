"""The visible text: white space, lists, preformatted text."""

from __future__ import annotations

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
