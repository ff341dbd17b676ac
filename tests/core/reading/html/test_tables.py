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


def test_labels_over_dollars_and_sums_are_header_in_filings() -> None:
    rows = "".join(
        f"<tr><td>Plant {i}</td><td>$</td><td>{50 + i}</td><td>$</td><td>{40 + i}</td></tr>"
        for i in range(5)
    )
    labels = (
        '<tr><td></td><td colspan="4">Year ended</td></tr><tr><td>(in thousands)</td>'
    )
    labels += '<td colspan="2">2023</td><td colspan="2">2022</td></tr>'
    assert read(f"<table>{labels}{rows}</table>").splitlines()[:3] == [
        "| | Year ended | Year ended | Year ended | Year ended |",
        "| (in thousands) | 2023 | 2023 | 2022 | 2022 |",
        "| --- | --- | --- | --- | --- |",
    ]
