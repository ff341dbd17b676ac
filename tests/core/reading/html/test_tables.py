"""Tables of HTML as pipe rows."""

from __future__ import annotations

from fixture_cases import examples

from structrag.reading.files import read_text
from structrag.reading.html.reader import read_html
from structrag.reading.sections import parse


def read(source: str) -> str:
    return read_html(source)[0]


@examples
def test_tables(source: str, text: str) -> None:
    assert read(source) == text


def test_a_table_without_a_header_may_be_cut_before_every_row_but_the_first() -> None:
    document = read_text(
        "<table><tr><td>a</td></tr><tr><td>b</td></tr></table>", format="html"
    )
    (block,) = parse(document).blocks(parse(document).sections[0])
    assert [document.text[cut:].split()[1] for cut in block.cuts] == ["b"]
    assert block.header_end == 0
