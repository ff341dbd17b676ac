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
