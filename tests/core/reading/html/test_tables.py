"""Tables of HTML as pipe rows."""

from __future__ import annotations

import pytest

from structrag.reading.files import read_text
from structrag.reading.html.reader import read_html
from structrag.reading.sections import parse


def read(source: str) -> str:
    return read_html(source)[0]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "<table><tr><th>k<th>v<tr><td>a<td>1</table>",
            "| k | v |\n| --- | --- |\n| a | 1 |",
        ),
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
        (
            "<table><tr><td>a<td><td>c<tr><td>1<td> <td>3</table>",
            "| a | c |\n| 1 | 3 |",
        ),
        ("<table><tr><td><tr><td>a</table>", "| a |"),
        ("<table><tr><td> </table>x", "x"),
        ("<table><tr><td>x | y</table>", "| x | y |"),
        ("<table><caption>Cap</caption><tr><td>a</table>", "Cap\n\n| a |"),
        (
            "<table>stray<tr><td>a</td>s<td>b</tr><p>t</table>",
            "stray\n\n| a | s | b |\n| t | | |",
        ),
        (
            "<table><tr><td>a<table><tr><td>m<td>n</table>b<td>c</table>d",
            "| a m n b | c |\n\nd",
        ),
        (
            "<table><tr><td><h2>H</h2><p>p<ul><li>x<li>y</ul><pre>q\nr</pre></table>",
            "| H p - x - y q r |",
        ),
        (
            "<table><tr><td colspan=x rowspan=-1>a<td rowspan=99999>b</table>",
            "| a | b |",
        ),
        ("<table><table><tr><td>a</table>", "| a |"),
        (
            "<table><tr><td><tr><td colspan=0 rowspan=0>a<td>b<tr><td>c<td>d</table>",
            "| a | b |\n| c | d |",
        ),
        (
            "<table><tr><td rowspan=3 colspan=2>a<td>1<tr><td>2<tr><td>3"
            "<tr><td>x<td>y<td>z</table>",
            "| a | | 1 |\n| | | 2 |\n| | | 3 |\n| x | y | z |",
        ),
        # A span is of at most 1,000 columns, and up to the hundredth it is kept free.
        (
            "<table><tr><td colspan=5000>a<td>b<tr><td colspan=999>c<td>d<td>e</table>",
            "| a | | b |\n| c | d | e |",
        ),
        (
            "<table><tr><td colspan=99>a<td rowspan=2>b<tr><td colspan=99>c<td>d</table>",
            "| a | b | |\n| c | | d |",
        ),
        (
            "<table><tr><td colspan=100>a<td rowspan=2>b<tr><td colspan=100>c<td>d</table>",
            "| a | b |\n| c | d |",
        ),
        # Headers are the leading rows; where all are, the first.
        (
            "<table><tr><th>a<tr><th>b<tr><th>c</table>",
            "| a |\n| --- |\n| b |\n| c |",
        ),
        (
            "<table><tr><th>a<tr><th>b<tr><td>c<tr><th>d<tr><td>e</table>",
            "| a |\n| b |\n| --- |\n| c |\n| d |\n| e |",
        ),
        (
            "<table><tr><th>k<td><tr><td>a<td>1</table>",
            "| k | |\n| --- | --- |\n| a | 1 |",
        ),
        ("<table><thead><tr><td>a</thead></table>", "| a |"),
        ("<table><tr><td>a</td>s<p>t<td>b</table>", "| a | s | t | b |"),
        # Text outside cells is no header.
        ("<table><tr><th>k</th>s<tr><td>v</table>", "| k | s |\n| v | |"),
    ],
)
def test_tables(source: str, text: str) -> None:
    assert read(source) == text


def test_table_block_has_a_header_to_repeat_and_row_starts() -> None:
    text, _, layout = read_html(
        "x<table><tr><th>k<th>v<tr><td>a<td>1<tr><td>b<td>2</table>y"
    )
    table = layout.blocks[1]
    assert table.kind == "table"
    assert text[table.start : table.header_end] == "| k | v |\n| --- | --- |\n"
    assert [text[cut:].splitlines()[0] for cut in table.cuts] == [
        "| a | 1 |",
        "| b | 2 |",
    ]
    assert text[: table.end].endswith("| b | 2 |\n\n")


def test_a_table_without_a_header_may_be_cut_before_every_row_but_the_first() -> None:
    document = read_text(
        "<table><tr><td>a</td></tr><tr><td>b</td></tr></table>", format="html"
    )
    (block,) = parse(document).blocks(parse(document).sections[0])
    assert [document.text[cut:].split()[1] for cut in block.cuts] == ["b"]
    assert block.header_end == 0


def test_a_table_of_more_than_a_hundred_columns_is_not_aligned() -> None:
    for columns, empty in ((100, 99), (101, 0)):
        wide = "<td>x" * columns
        text = read(f"<table><tr>{wide}<tr><td>y<tr><td><td>z</table>")
        first, second, third = text.splitlines()
        assert first == "|" + " x |" * columns
        assert second == "| y |" + " |" * empty
        assert third == ("| | z |" + " |" * 98 if empty else "| z |")


def test_every_row_behind_the_headers_begins_a_cut() -> None:
    text, _, layout = read_html("<table><tr><th>a<tr><th>b<tr><td>c<tr><td>d</table>")
    (table,) = layout.blocks
    assert text[: table.header_end] == "| a |\n| b |\n| --- |\n"
    assert [text[cut:].splitlines()[0] for cut in table.cuts] == ["| c |", "| d |"]
